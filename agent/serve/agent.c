/* Opens the agent, runs its periodic work and stops it. See agent.h. */
#include "agent/serve/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/net/endpoint.h"
#include "agent/serve/home.h"
#include "base/error.h"
#include "base/log.h"
#include "heapcast.pb-c.h"
#include "proto/discovery.h"
#include "proto/frame.h"
#include "base/ban.h"

#define TICK_MS		 100
#define CHILDREN_SAY_NS	 1000000000 /* most children end with the program, or a moment later */
#define CHILDREN_LOOK_NS 500000000
#define PORTS_TRIED	 (AGENT_TCP_PORT_LAST - AGENT_TCP_PORT_FIRST) /* beyond the first */
#define LINK_MESSAGE	 (48u << 10)
#define LINK_SCRATCH	 (96u << 10)
#define LEFT_FRAME_MAX	 (1u << 20) /* bytes of a frame in the spool of an earlier agent */

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

/* The program that `agent run` started has ended, but followed children may still run; a daemon may
 * never end. Returns true while the agent waits for them. */
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

/* Everything is delivered, or the time for it is over: counts what is lost and ends the loop. */
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
	held = symbol_files_busy(&a->files, now) && now - a->idle_since_ns < a->settings.linger_ns;
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

static void ordered(void *context)
{
	struct agent *a = context;

	drain_kick(&a->drain);
}

uint32_t agent_live(const struct agent *a)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < a->budget.slots; i++)
		live += stream_state(&a->session[i].stream) != STREAM_FREE;
	return live;
}

static uint32_t live_streams(void *context)
{
	return agent_live(context);
}

/* Data recorded under a key gets a folder of its own, so that an agent without this key never sends
 * it. */
static int spool_by_key(struct agent *a)
{
	char key[HOME_KEY_DIGITS + 1];
	struct err_text err = {{0}};
	int r = home_key(&a->settings, key, &err);

	if (r < 0) {
		log_warn("can't spool to %s: %s", a->settings.spool, err_get(&err, r));
		return r;
	}
	if (*key)
		mkdir(a->settings.spool, 0700); /* orphans and spools report the error if this
						 * fails */
	snprintf(a->spool_path, sizeof(a->spool_path), "%s%s%s", a->settings.spool, *key ? "/" : "",
		 key);
	return 0;
}

/* Shared memory takes `bytes` more than planned, so the common room or the spools get less. */
static void take_off(struct budget *b, size_t bytes)
{
	if (b->virtual)
		b->room.size -= bytes;
	else
		b->spool -= (bytes / b->slots + 4096) & ~(size_t)4095;
}

/* Opens the folder for batches that wait for a collector when memory is full. A failure is logged
 * and does not stop recording. The search for orphans runs now, while the memory for everything
 * else is still free. */
static void agent_open_folder(struct agent *a)
{
	struct budget *b = &a->budget;

	if (!a->settings.spool)
		return;
	if (spool_by_key(a) == 0 &&
	    spool_folder_open(&a->spool, a->spool_path, a->settings.spool_limit) == 0)
		orphans_open(&a->orphans, &a->spool, b->links,
			     b->limit / 4 < LEFT_FRAME_MAX ? (size_t)b->limit / 4 : LEFT_FRAME_MAX);
	/* A second output buffer, for definitions; the spools in memory pay for it. */
	take_off(b, b->link_out + orphans_memory(&a->orphans));
}

bool agent_has_links(const struct agent_settings *s)
{
	return s->announce || s->listen || s->listen_fd || s->collector;
}

int agent_divide(const struct agent_settings *s, uint32_t slots, struct budget *ret,
		 struct err_text *err)
{
	size_t limit = (size_t)s->memory_limit;

	if (s->cull.time_ns)
		return budget_divide_holding(ret, s->memory_limit, slots,
					     s->cull.memory ? s->cull.memory : limit / 8,
					     "short-lived blocks", err);
	if (s->flight.window_ns)
		return budget_divide_holding(ret, s->memory_limit, slots,
					     s->flight.memory ? s->flight.memory : limit / 2,
					     "the flight recorder", err);
	if (!slots && !s->no_rings)
		return budget_divide_elastic(ret, s->memory_limit, s->each.ring.depth_limit + 2,
					     agent_has_links(s), s->each.observe.maps_ns, err);
	return budget_divide(ret, s->memory_limit, slots, err);
}

/* Sessions and slots that grow live in reserved address space. */
static int open_places(struct agent *a)
{
	const struct budget *b = &a->budget;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t sessions = (b->slots * sizeof(*a->session) + page - 1) & ~(page - 1);
	int r = arena_open_sparse(&a->places, sessions + b->slots * b->virtual);

	if (r < 0)
		return r;
	a->session = arena_take(&a->places, sessions);
	return 0;
}

/* Fixed slots of equal size. */
static int open_slots(struct agent *a)
{
	const struct budget *b = &a->budget;
	int r = 0;

	a->session = arena_take(&a->arena, b->slots * sizeof(*a->session));
	if (!a->session)
		return -ENOMEM;
	for (uint32_t i = 0; !r && i < b->slots; i++) {
		struct stream *stream = &a->session[i].stream;

		r = session_init(a, &a->session[i]);
		if (!r && a->settings.cull.time_ns)
			r = stream_use_culling(stream, &a->arena, b, &a->settings.cull);
		if (!r && a->settings.flight.window_ns)
			r = stream_use_flight(stream, &a->arena, b, &a->settings.flight);
	}
	return r;
}

static int open_memory(struct agent *a, struct err_text *err)
{
	const struct budget *b = &a->budget;
	size_t own;
	int r = agent_divide(&a->settings, a->settings.many ? 0 : 1, &a->budget, err);

	if (r < 0)
		return r;
	a->budget.alike = a->settings.no_rings;
	agent_open_folder(a);
	take_off(&a->budget, SYMBOL_FILES_SIZE);
	if (b->virtual)
		take_off(&a->budget, CELLS_BYTES);
	if (a->settings.announce)
		take_off(&a->budget, BEACON_MEMORY);
	if (a->settings.each.observe.maps_ns && !b->virtual)
		budget_maps(&a->budget);
	own = SYMBOL_FILES_SIZE + (b->virtual ? 0 : b->slots * (sizeof(struct session) + 64)) +
	      b->links * b->slots * sizeof(struct subscription) +
	      b->links * (sizeof(struct link) + 64) + PENDING_PLACES * sizeof(struct pending_peer) +
	      64 + LINK_MESSAGE + LINK_SCRATCH + (a->settings.spool ? 2 : 1) * b->link_out + 4096;
	r = arena_open(&a->arena, budget_private(b) + own);
	if (!r)
		r = packer_init(&a->drain_packer, &a->arena, b->message, b->scratch);
	if (!r)
		r = packer_init(&a->link_packer, &a->arena, LINK_MESSAGE, LINK_SCRATCH);
	a->file_out = r ? NULL : arena_take(&a->arena, b->link_out);
	a->link = r ? NULL : arena_take(&a->arena, b->links * sizeof(*a->link));
	if (!r && (!a->link || !a->file_out))
		r = -ENOMEM;
	if (!r)
		r = b->virtual ? open_places(a) : open_slots(a);
	for (uint32_t i = 0; !r && i < b->slots; i++)
		a->stream[i] = &a->session[i].stream;
	for (uint32_t i = 0; !r && i < b->links; i++)
		r = link_init(&a->link[i], &a->host, &a->arena, b);
	return r < 0 ? err_set(err, r, "can't set %llu bytes of memory aside: %s",
			       (unsigned long long)a->settings.memory_limit, strerror(-r))
		     : 0;
}

static void use_folder(struct agent *a)
{
	if (a->spool.fd < 0)
		return;
	a->spool.out_size = a->budget.link_out;
	a->spool.out = arena_take(&a->arena, a->spool.out_size);
	for (uint32_t i = 0; a->spool.out && !a->budget.virtual && i < a->budget.slots; i++)
		stream_use_spool(a->stream[i], &a->spool);
}

static void log_budget(const struct agent *a)
{
	const struct budget *b = &a->budget;

	if (b->virtual) {
		log_debug("memory limit %llu: room of %zu, of which growing may take %zu; %u "
			  "levels, from %zu "
			  "(ring %zu) to %zu; %u processes at a time at most, each with %zu of "
			  "address space",
			  (unsigned long long)b->limit, b->room.size, b->room.growth, b->levels,
			  b->place[0].cost, ring_backed(&b->shape, 1), b->place[b->levels - 1].cost,
			  b->slots, b->virtual);
		return;
	}
	log_debug("memory limit %llu: own %zu, %u links of %zu, message %zu, scratch %zu, %u slots "
		  "of ring %zu + tables %zu "
		  "+ batch %zu + spool %zu + maps %zu + held back %zu (%u events); %u slices, %u "
		  "stack nodes in a slot",
		  (unsigned long long)b->limit, b->own, b->links,
		  b->link_out + b->link_in + 2 * b->socket_buffer, b->message, b->scratch, b->slots,
		  b->ring, b->tables, b->batch, b->spool, b->maps, b->hold,
		  a->session[0].stream.flight.slots + a->session[0].stream.cull.slots,
		  ring_slice_count(&b->shape, 1), a->session[0].stream.stacks.nodes_max);
}

int agent_check(const struct agent_settings *s, struct err_text *err)
{
	struct sockaddr_storage address;
	char host[256];
	uint16_t port = 0;
	int r = s->listen && *s->listen ? endpoint_listen(s->listen, &address, &port, err) : 0;

	return r < 0 ? r : endpoint_collector(s->collector, host, sizeof(host), &port, err);
}

static int open_listener(struct agent *a, struct err_text *err)
{
	uint16_t first = AGENT_TCP_PORT_FIRST, last = AGENT_TCP_PORT_LAST, port = 0;
	struct sockaddr_storage address = {0};
	bool narrow = false;
	int r = 0;

	if (a->settings.base_port) {
		first = a->settings.base_port;
		last = first > UINT16_MAX - PORTS_TRIED ? UINT16_MAX : first + PORTS_TRIED;
	}
	if (a->settings.listen && *a->settings.listen) {
		r = endpoint_listen(a->settings.listen, &address, &port, err);
		first = port ? port : first;
		last = port ? port : last;
	} else if (a->settings.interface) {
		r = endpoint_interface(a->settings.interface, &address, &narrow, err);
	}
	if (r < 0)
		return r;
	if (a->settings.listen_fd)
		r = listener_adopt(&a->listener, &a->loop, &a->pending_peers,
				   a->budget.socket_buffer, a->settings.listen_fd);
	else
		r = listener_open(&a->listener, &a->loop, &a->pending_peers,
				  a->budget.socket_buffer, &address, first, last, err);
	if (r < 0)
		return r;
	a->listener.interface = narrow && !a->settings.listen_fd ? a->settings.interface : NULL;
	a->listener.only = &a->dialer;
	log_info("listening for collectors on port %u", a->listener.port);
	return a->settings.announce
		       ? beacon_open(&a->beacon, &a->loop, a->settings.interface, &a->keys, a->id,
				     a->listener.port, live_streams, a, err)
		       : 0;
}

/* The last link belongs to the dialler if `collector` is set; all other links serve collectors that
 * connect. */
static void share_links(struct agent *a)
{
	const struct agent_settings *s = &a->settings;

	a->to_links = agent_has_links(s);
	a->pending_peers.links = a->budget.links - (s->collector ? 1 : 0);
}

static int open_links(struct agent *a, struct err_text *err)
{
	char host[256];
	uint16_t port = 0;
	int r = endpoint_collector(a->settings.collector, host, sizeof(host), &port, err);

	a->host = (struct link_host){
		.loop = &a->loop,
		.stream = a->stream,
		.streams = a->budget.slots,
		.orphans = &a->orphans,
		.packer = &a->link_packer,
		.decoder = frame_decoder_new(),
		.agent_id = a->id,
		.window_bytes = a->budget.spool,
		.files = &a->files,
		.links = a->link,
		.link_count = a->budget.links,
		.orders = a->settings.orders,
		.ordered = ordered,
		.context = a,
	};
	agent_serve_collectors(a);
	if (!a->host.decoder || symbol_files_init(&a->files, &a->arena, &a->loop, a->stream,
						  a->budget.slots, link_pump) < 0)
		return -ENOMEM;
	a->files.policy = a->settings.symbols;
	if (!r)
		r = pending_peers_init(&a->pending_peers, &a->arena, &a->loop, a->secure, a->link,
				       a->budget.links);
	a->pending_peers.paired = a->settings.secure.paired;
	if (!r && (a->settings.announce || a->settings.listen || a->settings.listen_fd))
		r = open_listener(a, err);
	if (r < 0)
		return r;
	share_links(a);
	return dialer_open(&a->dialer, &a->loop, &a->pending_peers, &a->link[a->budget.links - 1],
			   a->budget.socket_buffer, host, port);
}

void agent_change(struct agent *a, const struct agent_settings *wanted)
{
	struct agent_settings s = *wanted;
	const char *before = a->settings.collector ? a->settings.collector : "";
	bool turn = strcmp(before, s.collector ? s.collector : "") != 0;
	char host[256];
	uint16_t port = 0;

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
	share_links(a);
	if (!turn || endpoint_collector(s.collector, host, sizeof(host), &port, NULL) < 0)
		return;
	if (*host && !a->secure && s.pairs && (s.pairs->begun || s.pairs->count)) {
		log_error("this agent is paired, and was started without a network: start it anew "
			  "to have it dial %s",
			  s.collector);
		return;
	}
	for (uint32_t i = 0; *host && i < a->budget.links; i++)
		link_close(&a->link[i]); /* from now on only the dialled collector is served */
	dialer_turn(&a->dialer, host, port);
}

void agent_trigger(struct agent *a, enum flight_cause cause)
{
	for (uint32_t i = 0; i < a->budget.slots; i++) {
		if (stream_state(a->stream[i]) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&a->stream[i]->lock);
		if (a->stream[i]->state == STREAM_LIVE)
			flight_trigger(a->stream[i], cause);
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
	int r;

	*a = (struct agent){.settings = *settings,
			    .listener = {.fd = -1},
			    .spool = {.fd = -1, .lock = -1},
			    .orphans = {.index = -1}};
	control_socket_init(&a->control_socket);
	setenv("UV_THREADPOOL_SIZE", "1", 0); /* the thread resolves names and reads symbol files */
	r = agent_open_keys(a, err);
	if (!r)
		r = open_memory(a, err);
	if (r < 0)
		return r;
	log_budget(a);
	use_folder(a);
	if (getrandom(a->id, sizeof(a->id), 0) != sizeof(a->id))
		return err_set(err, -EIO, "no random numbers to be had");
	r = home_mark(&a->settings, a->mark, err);
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
	r = open_links(a, err);
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
	for (uint32_t i = 0; i < a->budget.slots; i++)
		if (stream_state(&a->session[i].stream) == STREAM_LIVE &&
		    a->session[i].stream.target.pid == pid)
			session_ended(&a->session[i], &end);
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
		pending_peers_close(&a->pending_peers);
		beacon_close(&a->beacon);
		for (uint32_t i = 0; i < a->budget.links; i++)
			link_close(&a->link[i]);
		uv_walk(&a->loop, close_handle, NULL);
		uv_run(&a->loop, UV_RUN_DEFAULT);
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
