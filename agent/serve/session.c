/* Runs one slot in the main loop: a program asks, is recorded, and ends. session_deliver.c delivers
 * its batches. See agent.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/serve/agent.h"
#include "agent/serve/ring_stream.h"
#include "base/log.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define EXIT_UNKNOWN_NS 1000000000  /* how long to ask for the exit status */
#define HEAR_NS		10000000000 /* how long an ended program waits for its descendants */
#define DETACH_NS	100000000   /* for the program to notice */
#define ANCESTORS_MAX	64
#define PLACE_WAIT_NS	200000000 /* how long a pending program waits for a slot at most */
#define ANSWER_LATER	((enum ring_answer_kind)0)

static struct session *session_of(struct agent *a, pid_t pid, uint64_t start_ticks)
{
	for (uint32_t i = 0; i < a->budget.slots; i++) {
		struct session *s = &a->session[i];

		if (stream_state(&s->stream) != STREAM_FREE && s->stream.target.pid == pid &&
		    s->stream.target.start_ticks == start_ticks)
			return s;
	}
	return NULL;
}

/* Returns the session of the nearest recorded ancestor; NULL if none is recorded. */
static const struct session *recorded_ancestor(struct agent *a, pid_t pid)
{
	uint64_t start;

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (target_identity(pid, &pid, &start) < 0)
			return NULL;
		for (uint32_t k = 0; k < a->budget.slots; k++)
			if (stream_state(&a->session[k].stream) == STREAM_LIVE &&
			    a->session[k].stream.target.pid == pid)
				return &a->session[k];
	}
	return NULL;
}

static void watch_closed(uv_handle_t *handle)
{
	struct session *s = handle->data;

	s->closing = false;
}

static void unwatch(struct session *s)
{
	if (!s->watching)
		return;
	s->watching = false;
	s->closing = true;
	uv_close((uv_handle_t *)&s->pidfd_poll, watch_closed);
	close(s->pidfd);
	s->pidfd = -1;
}

static void process_gone(uv_poll_t *poll, int status, int events)
{
	struct session *s = poll->data;

	(void)status;
	(void)events;
	uv_poll_stop(poll);
	s->gone = true;
	s->gone_ns = clock_monotonic_ns();
	session_work(s);
}

static void watch(struct session *s)
{
	s->pidfd = target_pidfd(s->stream.target.pid);
	if (s->pidfd < 0)
		return; /* Linux before 5.3 has no pidfd: session_work looks for the process
			 * instead */
	s->watching = true;
	s->pidfd_poll.data = s;
	uv_poll_init(&s->agent->loop, &s->pidfd_poll, s->pidfd);
	uv_poll_start(&s->pidfd_poll, UV_READABLE, process_gone);
}

/* Returns the number of events that the parent's stream has produced when its child asks, which is
 * not before the fork. Returns 0 if that stream has ended. Includes the events that the source has
 * not reported as counted yet (capture_ops.uncounted). The ledger already has those of them that
 * were read, so with the ledger they would count twice. */
static uint64_t parent_position(struct agent *a, const uint8_t *id)
{
	uint64_t position = 0;

	for (uint32_t i = 0; i < a->budget.slots; i++) {
		struct stream *t = &a->session[i].stream;

		if (stream_state(t) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&t->lock);
		if (stream_state(t) == STREAM_LIVE && !memcmp(t->id, id, sizeof(t->id)))
			position = threads_total(&t->threads).produced + t->no_thread +
				   t->source->ops->uncounted(t->source);
		pthread_mutex_unlock(&t->lock);
	}
	return position;
}

/* Completes a stream that has begun: opens its file, watches for the end of the process, and
 * announces the stream. Returns 0, or -EIO if no output is possible; then `say` has the reason.
 * `say` also has a sentence if the output goes to another place than the settings name. */
static int enlist(struct agent *a, struct session *s, struct err_text *say)
{
	const struct target_info *target = &s->stream.target;

	a->recordings++;
	s->gone = s->lingered = s->detaching = s->given_up = s->waits_for_room = false;
	s->waiting = NULL;
	s->patches = 0;
	s->saved = 0;
	session_begin_cursors(s);
	s->file_error = 0;
	s->folder[0] = '\0';
	session_note(s);
	if (a->settings.beside_target || s->settings.own_output)
		target_folder(target->pid, s->folder, sizeof(s->folder));
	s->file.fd = -1;
	s->file.path[0] = '\0';
	if ((s->settings.output || !a->to_links) && session_open_file(s, 1, say) < 0 &&
	    !a->to_links) {
		s->stream.source->ops->retire(s->stream.source);
		pthread_mutex_lock(&s->stream.lock);
		stream_close(&s->stream);
		pthread_mutex_unlock(&s->stream.lock);
		a->unwritable = true;
		return -EIO;
	}
	watch(s);
	oom_begin(&s->oom, target->pid, clock_monotonic_ns());
	if (a->settings.flight.window_ns)
		pressure_begin(&s->pressure, "", target->pid);
	a->host.generation++;
	beacon_send(&a->beacon);
	drain_kick(&a->drain);
	observer_kick(&a->observer);
	log_info("recording pid %d (%s)%s", (int)target->pid, target->executable,
		 s->stream.incarnation > 1 ? ", which another agent had begun to record" : "");
	return 0;
}

int session_attach(struct agent *a, const struct target_info *target,
		   struct capture_source *capture, const uint8_t *parent)
{
	const struct ring_settings *each = &a->settings.each.ring;
	struct stream_settings settings = {
		.mode = each->mode,
		.sample_interval = each->sample_interval,
		.frees_have_stacks = each->frees_have_stacks,
		.runs = true,
		.agent_id = a->id,
		.parent_stream = parent,
		.parent_event = parent ? parent_position(a, parent) : 0,
	};
	struct session *s;
	int r;

	if (session_of(a, target->pid, target->start_ticks))
		return -EEXIST;
	s = session_take(a);
	if (!s)
		return -ENOSPC;
	s->settings = a->settings.each;
	pthread_mutex_lock(&s->stream.lock);
	r = stream_prepare(&s->stream, target, &settings);
	if (!r) {
		stream_begin(&s->stream, capture, 1);
		session_settle_stream(s);
	}
	pthread_mutex_unlock(&s->stream.lock);
	if (!r)
		r = enlist(a, s, NULL);
	if (r < 0)
		session_give(s);
	return r;
}

static struct target_said said_in(const struct ring_hello *hello)
{
	return (struct target_said){
		.machine = hello->machine,
		.pointer_bits = hello->pointer_bits,
		.page_size = hello->page_shift < 32 ? 1u << hello->page_shift : 0,
	};
}

static int session_open_stream(struct agent *a, struct session *s, const struct target_info *target,
			       const struct ring_hello *hello)
{
	struct stream_settings settings = {.agent_id = a->id, .said = said_in(hello)};
	struct ring_settings ring = s->settings.ring;
	int r;

	memcpy(ring.mark, a->mark, sizeof(ring.mark));
	if (hello->flags & RING_HELLO_FORKED) {
		settings.parent_stream = hello->parent_stream;
		settings.parent_event = hello->parent_event
						? hello->parent_event
						: parent_position(a, hello->parent_stream);
	}
	pthread_mutex_lock(&s->stream.lock);
	r = ring_stream_open(&s->stream, &s->ring, target, &settings, &ring);
	if (!r)
		session_settle_stream(s);
	pthread_mutex_unlock(&s->stream.lock);
	return r;
}

/* Enters the session in the lists, with its file if one is written. If the file can't be created
 * and its name came from the program's user, `say` tells the user. */
static int enlist_and_say(struct agent *a, struct session *s, struct err_text *say)
{
	struct err_text file = {{0}};
	int r = enlist(a, s, &file);

	bool asked =
		s->settings.own_output || s->settings.output_owner != a->settings.each.output_owner;

	if (asked && *file.text)
		err_set(say, r, "%s%s", file.text,
			r < 0		 ? ": this program is not recorded"
			: s->file.fd < 0 ? ": collectors get the recording"
					 : "");
	return r;
}

static enum ring_answer_kind session_begin(struct agent *a, struct session *s,
					   struct handshake_client *client,
					   const struct target_info *target,
					   const struct ring_hello *hello)
{
	struct err_text say = {{0}};
	int r = session_settle(a, s, client, &say);

	if (r < 0) {
		session_say(a, client, &say);
		session_give(s);
		return RING_REFUSED;
	}
	r = session_open_stream(a, s, target, hello);
	if (r < 0) {
		a->ringless = true;
		log_error("can't make a ring for pid %d: %s", (int)target->pid, strerror(-r));
		session_give(s);
		return RING_BUSY;
	}
	r = enlist_and_say(a, s, &say);
	session_say(a, client, &say);
	if (r < 0)
		session_give(s);
	else
		cells_placed(a, target->pid);
	return r < 0 ? RING_REFUSED : RING_ACCEPTED;
}

/* Returns true if another session has the same stream id. A stream has one source, so a program
 * that has copied another stream's id is turned away. */
static bool session_is_copy(const struct agent *a, const struct session *s)
{
	for (uint32_t i = 0; i < a->budget.slots; i++)
		if (&a->session[i] != s && stream_state(&a->session[i].stream) != STREAM_FREE &&
		    !memcmp(a->session[i].stream.id, s->stream.id, STREAM_ID_SIZE))
			return true;
	return false;
}

int session_take_up(struct agent *a, const struct target_info *target, int lock)
{
	bool may = access_may_process(&a->settings.access, target->pid);
	struct session *s = may ? session_take(a) : NULL;
	int r;

	if (!s) {
		close(lock);
		return may ? -ENOSPC : -EPERM;
	}
	pthread_mutex_lock(&s->stream.lock);
	r = ring_stream_take_up(&s->stream, &s->ring, target, lock, a->mark, a->id);
	if (!r && session_is_copy(a, s)) {
		stream_close(&s->stream);
		r = -EEXIST;
	}
	if (!r) {
		session_recall(a, s);
		session_settle_stream(s);
	}
	pthread_mutex_unlock(&s->stream.lock);
	if (!r)
		r = enlist(a, s, NULL);
	if (r < 0)
		session_give(s);
	return r;
}

static bool allowed(struct agent *a, const struct handshake_client *client)
{
	const struct session *ancestor;

	if (a->only && client->pid != a->only && !a->settings.each.follow) {
		a->unfollowed++;
		return false;
	}
	ancestor = recorded_ancestor(a, client->pid);
	return !ancestor || ancestor->settings.follow;
}

/* Returns true if programs of the client's user may be recorded. Logs the first refusal of a
 * user. */
static bool welcome(struct agent *a, const struct handshake_client *client,
		    const struct target_info *target)
{
	if (access_may(&a->settings.access, client->fd))
		return true;
	if (access_tell(&a->settings.access, client->uid))
		log_warn("pid %d (%s) of user %u asks to be recorded and may not: it runs on "
			 "unrecorded. --allow-user %u, or --allow-group, would let it (said once a "
			 "user)",
			 (int)client->pid, target_name(target), (unsigned)client->uid,
			 (unsigned)client->uid);
	return false;
}

/* Handles the request of a process that has called exec: its new image gets the old ring once the
 * drain thread has emptied the ring. */
static void next_image(struct session *s, struct handshake_client *client,
		       const struct ring_hello *hello)
{
	oom_look(&s->oom, client->pid, true, clock_monotonic_ns());
	handshake_wait(client);
	s->waiting = client;
	pthread_mutex_lock(&s->stream.lock);
	s->stream.said = said_in(hello);
	s->stream.exec_pending = true;
	pthread_mutex_unlock(&s->stream.lock);
	drain_kick(&s->agent->drain);
}

static enum ring_answer_kind decide(struct agent *a, struct handshake_client *client,
				    const struct ring_hello *hello, struct session **ret)
{
	struct target_info target;
	struct session *s;

	*ret = NULL;
	if (hello->magic == RING_MAGIC_OTHER_ORDER && access_may(&a->settings.access, client->fd))
		log_warn("pid %d has the other byte order than this agent, and is not recorded: "
			 "build an agent for its processor (docs/boards.md)",
			 (int)client->pid);
	if (hello->magic != RING_MAGIC || hello->version != RING_VERSION)
		return RING_BAD_VERSION;
	if (hello->byte_order != RING_ORDER_MARK)
		return RING_REFUSED;
	if (target_read(client->pid, &target) < 0) {
		if ((!a->only || client->pid == a->only || a->settings.each.follow) &&
		    access_may(&a->settings.access, client->fd))
			cells_unheard(a, client, hello);
		return RING_REFUSED;
	}
	s = session_of(a, client->pid, target.start_ticks);
	if (s) {
		*ret = s;
		return stream_state(&s->stream) != STREAM_LIVE || s->waiting || s->detaching
			       ? RING_BUSY
			       : RING_ACCEPTED;
	}
	if (!welcome(a, client, &target) || !allowed(a, client) || a->stopping)
		return RING_REFUSED;
	if (hello->flags & RING_HELLO_UNREADY) {
		a->unready++;
		cells_unready(a, client, hello);
		log_info("pid %d was forked while a library was being loaded: it is not recorded",
			 (int)client->pid);
		return RING_REFUSED;
	}
	s = session_take(a);
	return s ? session_begin(a, s, client, &target, hello) : ANSWER_LATER;
}

/* Returns true if the program gave up waiting for an earlier answer: it never wrote to its ring. */
static bool never_taken(const struct session *s)
{
	const struct ring_header *h = session_ring(s);

	return h && !__atomic_load_n(&h->byte_order, __ATOMIC_ACQUIRE);
}

static void session_answer(struct agent *a, struct handshake_client *client,
			   const struct ring_hello *hello, enum ring_answer_kind kind,
			   struct session *known)
{
	struct target_info target;
	struct session *s;

	log_debug("pid %d asks for a ring: answer %d", (int)client->pid, (int)kind);
	if (kind != RING_ACCEPTED) {
		handshake_answer(client, kind);
		return;
	}
	if (known && !never_taken(known)) {
		next_image(known, client, hello);
		return;
	}
	s = target_read(client->pid, &target) < 0 ? NULL
						  : session_of(a, client->pid, target.start_ticks);
	if (s)
		session_accept(s, client);
	else
		handshake_answer(client, RING_REFUSED);
}

void session_ask(struct agent *a, struct handshake_client *client, const struct ring_hello *hello)
{
	struct session *known;
	enum ring_answer_kind kind = decide(a, client, hello, &known);

	if (kind != ANSWER_LATER) {
		session_answer(a, client, hello, kind, known);
		return;
	}
	for (uint32_t i = 0; i < AGENT_HELD; i++) {
		if (a->held[i].client)
			continue;
		a->held[i] = (struct agent_held){client, *hello, clock_monotonic_ns()};
		return;
	}
	cells_turn_away(a, client, hello);
}

void session_admit(struct agent *a)
{
	uint64_t now = clock_monotonic_ns();

	for (uint32_t i = 0; i < AGENT_HELD; i++) {
		struct agent_held *h = &a->held[i];
		struct session *known;
		enum ring_answer_kind kind;

		if (!h->client)
			continue;
		kind = decide(a, h->client, &h->hello, &known);
		if (kind == ANSWER_LATER && now - h->since_ns < PLACE_WAIT_NS)
			continue;
		if (kind == ANSWER_LATER)
			cells_turn_away(a, h->client, &h->hello);
		else
			session_answer(a, h->client, &h->hello, kind, known);
		h->client = NULL;
	}
}

/* Adds the cause if SIGKILL has ended the process. The counters of the cgroup tell if the OOM
 * killer did it. */
static struct target_end with_cause(struct session *s, const struct target_end *end)
{
	struct target_end with = *end;

	if (with.kind != HEAPCAST__END_KIND__END_SIGNALLED || with.status != SIGKILL)
		return with;
	with.oom_counter = oom_verdict(&s->oom, clock_monotonic_ns());
	if (with.oom_counter)
		with.kind = HEAPCAST__END_KIND__END_OOM_KILLED;
	return with;
}

void session_ended(struct session *s, const struct target_end *how)
{
	struct target_end end = with_cause(s, how);

	oom_end(&s->oom);
	pressure_end(&s->pressure);
	session_check_patches(s);
	cells_orphaned(s);
	pthread_mutex_lock(&s->stream.lock);
	stream_end(&s->stream, &end);
	pthread_mutex_unlock(&s->stream.lock);
	unwatch(s);
	s->gone = false;
	s->progress_ns = clock_monotonic_ns();
	if (s->waiting)
		handshake_answer(s->waiting, RING_REFUSED);
	s->waiting = NULL;
	drain_kick(&s->agent->drain);
}

void session_detach(struct session *s)
{
	if (stream_state(&s->stream) != STREAM_LIVE || s->detaching)
		return;
	s->stream.source->ops->detach(s->stream.source);
	s->detaching = true;
	s->gone_ns = clock_monotonic_ns();
}

/* Returns true if the end of the program of `agent run` has to wait. Programs that have asked may
 * descend from it, and its account names those that are not recorded. */
static bool hears_descendants(const struct session *s, uint64_t now)
{
	return s->stream.target.pid == s->agent->only && now - s->gone_ns < HEAR_NS &&
	       handshake_pending(&s->agent->handshake);
}

/* Determines how the process ended. Asks at each call until the exit status is known or a second
 * has passed. */
static void look_for_end(struct session *s)
{
	struct target_end end = {.kind = HEAPCAST__END_KIND__END_UNKNOWN};
	uint64_t now = clock_monotonic_ns(), start;
	pid_t parent;
	bool is_only = s->stream.target.pid == s->agent->only;

	if (stream_state(&s->stream) != STREAM_LIVE)
		return;
	if (s->detaching && now - s->gone_ns > DETACH_NS) {
		end.kind = HEAPCAST__END_KIND__END_DETACHED;
		session_ended(s, &end);
		return;
	}
	if (!s->gone &&
	    ((is_only && s->agent->only_ended) ||
	     (!s->watching && (target_identity(s->stream.target.pid, &parent, &start) < 0 ||
			       start != s->stream.target.start_ticks)))) {
		s->gone = true;
		s->gone_ns = now;
	}
	if (!s->gone || hears_descendants(s, now))
		return;
	if (is_only) {
		if (s->agent->only_ended) /* the wait status tells */
			session_ended(s, &s->agent->only_end);
		return;
	}
	if (target_end_by_pidfd(s->pidfd, s->stream.target.pid, s->stream.target.uid, &end) == 0 ||
	    now - s->gone_ns > EXIT_UNKNOWN_NS)
		session_ended(s, &end);
}

static void give_ring(struct session *s)
{
	bool ready;

	pthread_mutex_lock(&s->stream.lock);
	ready = stream_state(&s->stream) == STREAM_LIVE && !s->stream.exec_pending;
	pthread_mutex_unlock(&s->stream.lock);
	if (!ready)
		return;
	session_accept(s, s->waiting);
	s->waiting = NULL;
}

/* Triggers the flight recorder if memory pressure demands it. */
static void look_at_pressure(struct session *s)
{
	static const enum flight_cause causes[] = {
		[PRESSURE_NONE] = FLIGHT_NONE,	   [PRESSURE_RSS] = FLIGHT_RSS,
		[PRESSURE_GROWTH] = FLIGHT_GROWTH, [PRESSURE_STALL] = FLIGHT_PRESSURE,
		[PRESSURE_LIMIT] = FLIGHT_LIMIT,
	};
	enum flight_cause cause = causes[pressure_look(&s->pressure, &s->agent->settings.pressure,
						       "", clock_monotonic_ns())];
	bool news;

	if (!cause)
		return;
	pthread_mutex_lock(&s->stream.lock);
	news = flight_trigger(&s->stream.flight, cause, stream_now(&s->stream));
	pthread_mutex_unlock(&s->stream.lock);
	if (news)
		log_info("pid %d: sending what the flight recorder holds (%s: %llu)",
			 (int)s->stream.target.pid, flight_cause_name(cause),
			 (unsigned long long)s->pressure.told);
	drain_kick(&s->agent->drain);
}

void session_work(struct session *s)
{
	if (stream_state(&s->stream) == STREAM_FREE)
		return;
	if (s->waiting)
		give_ring(s);
	if (stream_state(&s->stream) == STREAM_LIVE && !s->gone)
		oom_look(&s->oom, s->stream.target.pid, false, clock_monotonic_ns());
	look_at_pressure(s);
	look_for_end(s);
	session_deliver(s);
}
