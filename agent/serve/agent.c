/* Opens the agent, runs its periodic work, stops and closes it. See agent.h. */
#include "agent/serve/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/core/board.h"
#include "base/error.h"
#include "base/log.h"
#include "heapcast.pb-c.h"
#include "proto/frame.h"
#include "base/ban.h"

#define TICK_MS		 100
#define CHILDREN_SAY_NS	 1000000000 /* most children end with the program, or a moment later */
#define CHILDREN_LOOK_NS 500000000

static bool is_idle(const struct agent *a)
{
	for (uint32_t i = 0; i < a->budget.slots; i++)
		if (stream_state(&a->session[i].stream) != STREAM_FREE)
			return false;
	return true;
}

/* Counts children of the program that still run: those being recorded, and those that have not
 * asked yet. */
static uint32_t count_children(struct agent *a, uint64_t now)
{
	uint32_t recorded = 0;

	for (uint32_t i = 0; i < a->budget.slots; i++)
		recorded += stream_state(&a->session[i].stream) == STREAM_LIVE;
	if (a->children_carry && (!a->children_ns || now - a->children_ns >= CHILDREN_LOOK_NS)) {
		a->children = target_count_with(a->children_carry);
		a->children_ns = now;
	}
	return recorded > a->children ? recorded : a->children;
}

/* Waits for followed children after the program of `agent run` has ended. Gives up after a time,
 * because a daemon may never end. Returns true while the agent waits. */
static bool wait_for_children(struct agent *a, uint64_t now)
{
	uint32_t count = a->settings.each.follow && !a->stopping ? count_children(a, now) : 0;

	if (!a->children_since_ns)
		a->children_since_ns = now;
	if (!count)
		return false;
	if (now - a->children_since_ns >= a->settings.linger_ns) {
		for (uint32_t i = 0; i < a->budget.slots; i++)
			session_detach(&a->session[i]);
		return false;
	}
	if (!a->children_told && now - a->children_since_ns > CHILDREN_SAY_NS) {
		log_warn("the program has ended, %u of its children run on: recording them for up "
			 "to %.3g s (--linger; a signal ends that)",
			 count, (double)a->settings.linger_ns / 1e9);
		a->children_told = true;
	}
	return true;
}

/* Ends the loop when everything is delivered or the time for it is over. Counts the events that are
 * lost. */
static void end_stop(struct agent *a)
{
	for (uint32_t i = 0; i < a->budget.slots; i++) {
		uint64_t events = session_unsaved(&a->session[i]);

		a->undelivered += events;
		a->undelivered_of += events > 0;
	}
	uv_stop(&a->loop);
}

/* Ends the loop when nothing is left to do. */
static void check_end(struct agent *a)
{
	uint64_t now = clock_monotonic_ns();
	bool idle = is_idle(a), held;

	if (!idle)
		a->idle_since_ns = now;
	if (a->stopping && !a->stopped && (idle || now - a->stop_ns > a->settings.stop_ns)) {
		a->stopped = true;
		end_stop(a);
	}
	held = (symbol_files_busy(&a->files, now) || handshake_pending(&a->handshake)) &&
	       now - a->idle_since_ns < a->settings.linger_ns;
	if (a->only_ended && !wait_for_children(a, now) && idle && (!held || a->stopping))
		uv_stop(&a->loop);
	if (idle && !held && a->settings.idle_ns && now - a->idle_since_ns >= a->settings.idle_ns)
		uv_stop(&a->loop);
}

/* Makes room on disk: drops the oldest droppable data of all streams. Only data that a collector
 * has is droppable. */
static void make_disk_room(struct agent *a)
{
	struct session *oldest = NULL;
	uint64_t since = UINT64_MAX;

	for (uint32_t i = 0; i < a->budget.slots; i++) {
		struct session *s = &a->session[i];
		uint64_t begun = 0;

		if (stream_state(&s->stream) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&s->stream.lock);
		if (stream_state(&s->stream) != STREAM_FREE)
			begun = spool_droppable(&s->stream.spool);
		pthread_mutex_unlock(&s->stream.lock);
		if (!begun || begun >= since)
			continue;
		since = begun;
		oldest = s;
	}
	if (!oldest)
		return;
	pthread_mutex_lock(&oldest->stream.lock);
	if (spool_droppable(&oldest->stream.spool))
		spool_drop_oldest(&oldest->stream.spool);
	pthread_mutex_unlock(&oldest->stream.lock);
	drain_kick(&a->drain);
}

static void agent_work(struct agent *a)
{
	bool wanted = __atomic_exchange_n(&a->spool.wanted, false, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < a->budget.slots; i++)
		session_work(&a->session[i]);
	session_admit(a);
	if (orphans_tick(&a->orphans, a->settings.linger_ns, wanted)) {
		a->host.generation++;
		drain_kick(&a->drain);
	} else if (wanted) {
		make_disk_room(a);
	}
	for (uint32_t i = 0; i < a->budget.links; i++)
		link_pump(&a->link[i]);
	check_end(a);
}

static void news(uv_async_t *async)
{
	agent_work(async->data);
}

static void agent_tick(uv_timer_t *timer)
{
	struct agent *a = timer->data;

	handshake_tick(&a->handshake, clock_monotonic_ns());
	pending_peers_tick(&a->pending_peers);
	listener_tick(&a->listener);
	agent_forget_collectors(a);
	control_socket_tick(&a->control_socket, clock_monotonic_ns());
	cells_tick(a);
	agent_look_for_keys(a);
	dialer_rest(&a->dialer, is_idle(a) && !orphans_wait(&a->orphans));
	if (a->dialer.held && agent_has_stalled(a))
		dialer_hurry(&a->dialer);
	agent_work(a);
}

static void notify(void *context)
{
	struct agent *a = context;

	uv_async_send(&a->news);
}

static void asked(void *context, struct handshake_client *client, const struct ring_hello *hello)
{
	session_ask(context, client, hello);
}

uint32_t agent_live(const struct agent *a)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < a->budget.slots; i++)
		live += stream_state(&a->session[i].stream) != STREAM_FREE;
	return live;
}

const char *agent_file_of(const struct agent *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->budget.slots; i++) {
		const struct session *s = &a->session[i];

		if (stream_state(&s->stream) != STREAM_FREE && s->stream.target.pid == pid &&
		    *s->file.path)
			return s->file.path;
	}
	return NULL;
}

/* Gives programs that are recorded already the agent's new tags. */
static void agent_tag(struct agent *a)
{
	for (uint32_t i = 0; i < a->budget.slots; i++) {
		struct session *s = &a->session[i];

		if (stream_state(&s->stream) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&s->stream.lock);
		s->settings.tags = a->settings.each.tags;
		if (s->stream.state == STREAM_LIVE)
			session_tag(s);
		pthread_mutex_unlock(&s->stream.lock);
	}
	drain_kick(&a->drain);
}

void agent_change(struct agent *a, const struct agent_settings *wanted)
{
	struct agent_settings s = *wanted;
	const char *before = a->settings.collector ? a->settings.collector : "";
	bool turn = strcmp(before, s.collector ? s.collector : "") != 0;

	s.memory_limit = a->settings.memory_limit;
	s.cull = a->settings.cull;
	s.secure = a->settings.secure;
	s.secret = a->settings.secret;
	s.pairs = a->settings.pairs;
	s.flight = a->settings.flight;
	s.pressure = a->settings.pressure;
	s.each.ring.depth_limit = a->settings.each.ring.depth_limit;
	s.settle = a->settings.settle;
	s.settle_context = a->settings.settle_context;
	s.announce = a->settings.announce;
	s.interface = a->settings.interface;
	s.listen = a->settings.listen;
	s.listen_fd = a->settings.listen_fd;
	a->settings = s;
	a->files.policy = s.symbols;
	a->host.orders = s.orders;
	control_socket_admit(&a->control_socket, access_others(&s.access));
	agent_tag(a);
	agent_share_links(a);
	if (turn)
		agent_turn_links(a);
}

void agent_trigger(struct agent *a, enum flight_cause cause)
{
	for (uint32_t i = 0; i < a->budget.slots; i++) {
		if (stream_state(a->stream[i]) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&a->stream[i]->lock);
		if (a->stream[i]->state == STREAM_LIVE)
			flight_trigger(&a->stream[i]->flight, cause, stream_now(a->stream[i]));
		pthread_mutex_unlock(&a->stream[i]->lock);
	}
	drain_kick(&a->drain);
}

static void signalled(uv_signal_t *handle, int number)
{
	log_info("signal %d: sending what the flight recorder holds", number);
	agent_trigger(handle->data, FLIGHT_SIGNAL);
}

int agent_open(struct agent *a, const struct agent_settings *settings, int listen_fd,
	       struct err_text *err)
{
	struct home home;
	int r;

	*a = (struct agent){.settings = *settings,
			    .listener = {.fd = -1},
			    .spool = {.fd = -1, .lock = -1},
			    .orphans = {.index = -1}};
	control_socket_init(&a->control_socket);
	board_name();			      /* before other threads ask */
	setenv("UV_THREADPOOL_SIZE", "1", 0); /* the thread resolves names and reads symbol files */
	r = agent_open_keys(a, err);
	if (!r)
		r = agent_open_memory(a, err);
	if (r < 0)
		return r;
	if (getrandom(a->id, sizeof(a->id), 0) != sizeof(a->id))
		return err_set(err, -EIO, "no random numbers to be had");
	home = agent_home(&a->settings);
	r = home_mark(&home, a->mark, err);
	if (r < 0)
		return r;
	clock_init(&a->clock, clock_counter_kind());
	uv_loop_init(&a->loop);
	uv_async_init(&a->loop, &a->news, news);
	uv_timer_init(&a->loop, &a->tick);
	uv_signal_init(&a->loop, &a->trigger);
	a->news.data = a->tick.data = a->trigger.data = a;
	if (settings->flight.window_ns)
		uv_signal_start(&a->trigger, signalled, SIGUSR1);
	uv_timer_start(&a->tick, agent_tick, TICK_MS, TICK_MS);
	a->idle_since_ns = clock_monotonic_ns();
	r = handshake_open(&a->handshake, &a->loop, listen_fd, asked, a);
	if (r < 0)
		return err_set(err, r, "can't wait for programs: %s", strerror(-r));
	r = agent_open_links(a, err);
	if (r < 0)
		return r;
	r = drain_start(&a->drain, a->stream, a->budget.slots, &a->clock, notify, a);
	if (!r)
		r = observer_start(&a->observer, &a->settings.each.observe, a->stream,
				   a->budget.slots);
	return r < 0 ? err_set(err, r, "can't start the agent's threads: %s", strerror(-r)) : 0;
}

void agent_expect(struct agent *a)
{
	if (!a->budget.virtual)
		ring_source_prepare(&a->session[0].ring);
}

void agent_loop(struct agent *a)
{
	uv_run(&a->loop, UV_RUN_DEFAULT);
}

void agent_stop(struct agent *a)
{
	a->hurried = a->stopping;
	if (!a->stopping)
		a->stop_ns = clock_monotonic_ns();
	a->stopping = true;
	for (uint32_t i = 0; i < a->budget.slots; i++)
		session_detach(&a->session[i]);
	agent_work(a);
}

void agent_child_ended(struct agent *a, pid_t pid, int status, uint64_t rss_peak)
{
	struct target_end end = target_end_of_status(status, HEAPCAST__END_SOURCE__END_SOURCE_WAIT);

	if (pid != a->only)
		return;
	end.rss_peak = rss_peak;
	a->only_ended = true;
	a->only_end = end;
	agent_work(a);
}

static void close_handle(uv_handle_t *handle, void *argument)
{
	(void)argument;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

void agent_close(struct agent *a)
{
	observer_stop(&a->observer);
	drain_stop(&a->drain);
	if (!a->loop.data && a->news.data) {
		handshake_close(&a->handshake);
		control_socket_close(&a->control_socket);
		listener_close(&a->listener);
		dialer_close(&a->dialer);
		agent_forget_note(a);
		pending_peers_close(&a->pending_peers);
		beacon_close(&a->beacon);
		for (uint32_t i = 0; i < a->budget.links; i++)
			link_close(&a->link[i]);
		uv_walk(&a->loop, close_handle, NULL);
		while (uv_run(&a->loop, UV_RUN_DEFAULT))
			; /* it returns early once if uv_stop was called */
		uv_loop_close(&a->loop);
	}
	for (uint32_t i = 0; a->session && i < a->budget.slots; i++) {
		if (stream_state(&a->session[i].stream) != STREAM_FREE)
			spool_leave(&a->session[i].stream.spool);
		stream_done(&a->session[i].stream);
		ring_source_close(&a->session[i].ring); /* if it was prepared only */
	}
	symbol_files_done(&a->files);
	orphans_tick(&a->orphans, 0, true);
	orphans_close(&a->orphans);
	spool_folder_close(&a->spool);
	packer_done(&a->drain_packer);
	packer_done(&a->link_packer);
	frame_decoder_free(a->host.decoder);
	secure_close(a->secure);
	arena_close(&a->places);
	arena_close(&a->arena);
}
