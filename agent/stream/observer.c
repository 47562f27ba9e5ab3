/* Runs the thread that reads processes' files in /proc. See observer.h. */
#include "agent/stream/observer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/watch/filters.h"
#include "agent/stream/stream.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/proc/file.h"
#include "base/ban.h"

#define STACK_SIZE   (64u << 10)
#define NEVER	     UINT64_MAX
#define SECOND_NS    1000000000
#define PART_NAP_NS  20000000
#define PART_WAIT_NS 3000000000
#define SOONER_NS    10000000

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static void observer_forget(struct observed *o)
{
	if (o->proc >= 0)
		close(o->proc);
	*o = (struct observed){.proc = -1};
}

/* Starts to observe a new process. The start time must match, or the pid was reused. */
static void observer_begin(struct observed *o, uint64_t generation, pid_t pid, uint64_t start_ticks)
{
	struct figures_image image;
	struct figures f;
	uint64_t start = 0;
	int r;

	observer_forget(o);
	o->generation = generation;
	o->pid = pid;
	o->proc = proc_open(pid);
	r = o->proc < 0 ? o->proc : figures_read(o->proc, &f, &image, &start);
	if (!r && start == start_ticks)
		return;
	if (r < 0 && r != -ESRCH && r != -ENOENT)
		log_warn("can't look at pid %d (%s): its figures and maps are not recorded",
			 (int)pid, strerror(-r));
	o->no_figures = o->no_detail = o->no_maps = true;
}

/* Looks up the process that is in the slot now. Returns false if the slot has none. */
static bool meet(struct observed *o, struct stream *s)
{
	struct observer_settings settings = {0};
	uint64_t generation = 0, start_ticks = 0;
	uint32_t image = 0;
	pid_t pid = 0;

	if (stream_state(s) == STREAM_LIVE) {
		pthread_mutex_lock(&s->lock);
		if (s->state == STREAM_LIVE) {
			generation = s->start_ns;
			image = s->image;
			pid = s->target.pid;
			start_ticks = s->target.start_ticks;
			settings = s->observe;
		}
		pthread_mutex_unlock(&s->lock);
	}
	if (!generation) {
		observer_forget(o);
		return false;
	}
	if (o->generation != generation)
		observer_begin(o, generation, pid, start_ticks);
	else if (o->image != image) /* exec: the rights to read may differ for the new image */
		o->no_detail = o->no_maps = false;
	o->image = image;
	o->settings = settings;
	return true;
}

/* Logs once why the agent does not read `what`. */
static void observer_refuse(const struct observed *o, bool *no, const char *what, int error)
{
	if (error == -ESRCH)
		return; /* the process is ending, or in the middle of an exec */
	*no = true;
	if (error != -ENOENT)
		log_warn("can't read the %s of pid %d (%s): recording goes on without", what,
			 (int)o->pid, strerror(-error));
}

/* ---- figures ---- */

static void detail(struct observer *b, struct observed *o, struct figures *f, uint64_t now)
{
	uint64_t cost = cpu_ns();
	int r = figures_detail(o->proc, &b->reader, f);

	cost = cpu_ns() - cost;
	o->detail_due = now + OBSERVER_RATIO * cost;
	if (r < 0)
		observer_refuse(o, &o->no_detail, "proportional share (pss)", r);
}

static void hand_figures(struct observed *o, struct stream *s, const struct figures *f)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == STREAM_LIVE && s->start_ns == o->generation)
		stream_put_figures(s, f);
	pthread_mutex_unlock(&s->lock);
}

/* Schedules the next look: soon while the peak grows, then less and less often. An expensive look
 * is repeated less often. */
static void look_sooner(struct observed *o, bool grew, uint64_t cost, uint64_t now)
{
	uint64_t least = OBSERVER_RATIO * cost > SOONER_NS ? OBSERVER_RATIO * cost : SOONER_NS;

	o->sooner_ns = grew || o->sooner_ns < least ? least : 2 * o->sooner_ns;
	o->figures_due = earlier(o->figures_due, now + o->sooner_ns);
}

/* Reads the figures and reports them. Between two intervals, reports only a higher peak. */
static void look_at_figures(struct observer *b, struct observed *o, struct stream *s, bool interval,
			    uint64_t now)
{
	uint64_t cost = cpu_ns();
	struct figures_image image;
	struct figures f;
	int r = figures_read(o->proc, &f, &image, NULL);
	bool grew = !r && f.rss_peak > o->last.rss_peak;

	if (r < 0) {
		observer_refuse(o, &o->no_figures, "figures", r);
		return;
	}
	look_sooner(o, grew, cpu_ns() - cost, now);
	if (interval && !o->no_detail && now >= o->detail_due)
		detail(b, o, &f, now);
	if (figures_same(&f, &o->last) || !(interval || grew))
		return;
	o->last = f;
	f.time_ns = now - o->generation;
	hand_figures(o, s, &f);
}

/* ---- maps ---- */

/* Takes the stream's table. Returns false while the drain thread owns it, because a step waits to
 * be packed. */
static bool take_maps(struct observed *o, struct stream *s)
{
	enum stream_maps known = STREAM_MAPS_KNOWN;
	bool ours;

	pthread_mutex_lock(&s->lock);
	ours = s->state == STREAM_LIVE && s->start_ns == o->generation && !s->maps_ready;
	if (ours) {
		known = s->maps_known;
		s->maps_known = STREAM_MAPS_KNOWN;
	}
	pthread_mutex_unlock(&s->lock);
	if (known == STREAM_MAPS_NEW)
		maps_clear(&s->maps);
	else if (known == STREAM_MAPS_LOST)
		maps_repeat(&s->maps);
	return ours;
}

/* Hands the step over. Returns false if the stream has changed meanwhile. */
static bool hand_maps(struct observed *o, struct stream *s)
{
	bool same;

	pthread_mutex_lock(&s->lock);
	same = s->state == STREAM_LIVE && s->start_ns == o->generation && s->image == o->image;
	if (same)
		s->maps_ready = true;
	else
		s->maps_known = STREAM_MAPS_LOST;
	pthread_mutex_unlock(&s->lock);
	return same;
}

/* Returns 1 if the drain thread has packed the step, 0 if not yet, or -ESRCH if the stream has
 * ended. */
static int is_packed(struct observed *o, struct stream *s)
{
	int r;

	pthread_mutex_lock(&s->lock);
	if (s->state == STREAM_FREE || s->start_ns != o->generation)
		r = -ESRCH;
	else
		r = !s->maps_ready;
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Hands over what has been read so far and waits until the drain thread has packed it. That usually
 * takes a quarter of a second, and longer if the spool is full. Returns 0 or a negative errno. */
static int hand_part(struct observer *b, struct observed *o, struct stream *s, uint64_t time_ns)
{
	static const struct timespec nap = {.tv_nsec = PART_NAP_NS};
	uint64_t since = clock_monotonic_ns();
	int r;

	maps_part(&s->maps, time_ns);
	if (!hand_maps(o, s))
		return -ESRCH;
	while ((r = is_packed(o, s)) == 0) {
		if (__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE) ||
		    clock_monotonic_ns() - since > PART_WAIT_NS)
			return -ESRCH;
		nanosleep(&nap, NULL);
	}
	if (r < 0)
		return r;
	maps_go_on(&s->maps);
	return 0;
}

static int read_regions(struct observer *b, struct observed *o, struct stream *s, uint64_t time_ns)
{
	struct proc_mapping region;
	int r;

	maps_begin(&s->maps);
	while ((r = proc_maps_next(&b->reader, &region)) == 1) {
		if (!maps_fits(&s->maps, &region))
			r = hand_part(b, o, s, time_ns);
		if (r < 0)
			return r;
		maps_put(&s->maps, &region);
	}
	return r;
}

/* Reads all regions. The image of the process must be the same before and after: if the process
 * execs or ends, its old file just ends early. */
static int observer_read_maps(struct observer *b, struct observed *o, struct stream *s,
			      uint64_t time_ns)
{
	cleanup(cleanup_close) int fd = figures_open_maps(o->proc);
	struct figures_image before, after;
	struct figures f;
	int r = fd < 0 ? fd : figures_read(o->proc, &f, &before, NULL);

	if (r < 0)
		return r;
	proc_maps_begin(&b->reader, fd);
	r = read_regions(b, o, s, time_ns);
	if (!r)
		r = figures_read(o->proc, &f, &after, NULL);
	if (!r && (before.stack != after.stack || before.arguments != after.arguments))
		r = -ESRCH;
	return r;
}

static void look_at_maps(struct observer *b, struct observed *o, struct stream *s, uint64_t now)
{
	uint64_t since = cpu_ns(), took, due;
	bool news;
	int r;

	if (!take_maps(o, s))
		return;
	r = observer_read_maps(b, o, s, now - o->generation);
	took = cpu_ns() - since;
	due = clock_monotonic_ns() + OBSERVER_RATIO * took;
	if (took > MAPS_SLOW_NS && due > o->maps_due)
		o->maps_due = due;
	if (r < 0) {
		maps_repeat(&s->maps); /* the table contains news that may not have been sent */
		observer_refuse(o, &o->no_maps, "memory maps", r);
		return;
	}
	news = maps_end(&s->maps, now - o->generation, took);
	log_debug("maps of pid %d: %u regions in %.1f ms, %u cut, %u postponed", (int)o->pid,
		  s->maps.regions, (double)took / 1e6, s->maps.cut, s->maps.postponed);
	if (news)
		hand_maps(o, s);
}

/* ---- seccomp filters ---- */

static void look_at_filters(struct observed *o, struct stream *s)
{
	struct filters seen;

	if (o->proc < 0 || filters_read(o->proc, &o->filters_at, &seen) < 0)
		return;
	pthread_mutex_lock(&s->lock);
	if (s->state == STREAM_LIVE && s->start_ns == o->generation && s->source->ops->filtered)
		s->source->ops->filtered(s->source, &seen);
	pthread_mutex_unlock(&s->lock);
}

/* ---- the allocator's own figures ---- */

static void ask_allocator(struct observed *o, struct stream *s, uint64_t now)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == STREAM_LIVE && s->start_ns == o->generation && s->source->ops->ask) {
		s->source->ops->ask(s->source);
		if (OBSERVER_RATIO * s->allocator_took_ns > ALLOCATOR_ASK_NS)
			o->allocator_due = now + OBSERVER_RATIO * s->allocator_took_ns;
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- the thread ---- */

/* Returns true if it is time, and sets `due` to the next time. Times are multiples of the interval,
 * so a late one does not delay those that follow. */
static bool observer_is_due(uint64_t *due, uint64_t interval, uint64_t now)
{
	if (!interval || now < *due)
		return false;
	*due = now - *due < interval ? *due + interval : now + interval;
	return true;
}

static uint64_t observer_visit(struct observer *b, struct observed *o, struct stream *s)
{
	const struct observer_settings *set = &o->settings;
	uint64_t next, now;

	if (!meet(o, s))
		return NEVER;
	now = clock_monotonic_ns();
	if (!o->no_figures && set->figures_ns && now >= o->figures_due) {
		bool interval = observer_is_due(&o->interval_due, set->figures_ns, now);

		o->figures_due = o->interval_due;
		look_at_figures(b, o, s, interval, now);
	}
	if (!o->no_maps && observer_is_due(&o->maps_due, set->maps_ns, clock_monotonic_ns()))
		look_at_maps(b, o, s, clock_monotonic_ns());
	if (set->allocator && observer_is_due(&o->allocator_due, ALLOCATOR_ASK_NS, now))
		ask_allocator(o, s, now);
	if (observer_is_due(&o->filters_due, FILTERS_NS, now))
		look_at_filters(o, s);
	next = o->filters_due;
	if (set->figures_ns && !o->no_figures)
		next = earlier(next, o->figures_due);
	if (set->maps_ns && !o->no_maps)
		next = earlier(next, o->maps_due);
	if (set->allocator)
		next = earlier(next, o->allocator_due);
	return next;
}

/* Waits until this time, or until a kick. */
static void wait_until(struct observer *b, uint64_t until)
{
	struct timespec t = {.tv_sec = (time_t)(until / SECOND_NS),
			     .tv_nsec = (long)(until % SECOND_NS)};
	int r = 0;

	pthread_mutex_lock(&b->lock);
	while (!b->kicked && r != ETIMEDOUT)
		r = until == NEVER ? pthread_cond_wait(&b->wake, &b->lock)
				   : pthread_cond_timedwait(&b->wake, &b->lock, &t);
	b->kicked = false;
	pthread_mutex_unlock(&b->lock);
}

static void *observer_run(void *argument)
{
	struct observer *b = argument;

	while (!__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE)) {
		uint64_t next = NEVER;

		for (uint32_t i = 0; i < b->streams; i++)
			next = earlier(next, observer_visit(b, &b->slot[i], b->stream[i]));
		wait_until(b, next);
	}
	return NULL;
}

static int start_thread(struct observer *b)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	/* The thread inherits the mask: only the main loop handles signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r = pthread_create(&b->thread, &attr, observer_run, b);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	b->running = !r;
	return -r;
}

int observer_start(struct observer *b, const struct observer_settings *settings,
		   struct stream *const *streams, uint32_t count)
{
	pthread_condattr_t attr;
	int r;

	b->settings = *settings;
	b->stream = streams;
	b->streams = count;
	b->stop = b->kicked = false;
	b->slot = calloc(count, sizeof(*b->slot));
	if (!b->slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		b->slot[i] = (struct observed){.proc = -1};
	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->wake, &attr);
	pthread_condattr_destroy(&attr);
	if ((r = start_thread(b)) < 0) {
		free(b->slot);
		b->slot = NULL;
	}
	return r;
}

void observer_kick(struct observer *b)
{
	if (!b->running)
		return;
	pthread_mutex_lock(&b->lock);
	b->kicked = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
}

void observer_stop(struct observer *b)
{
	if (!b->running)
		return;
	__atomic_store_n(&b->stop, true, __ATOMIC_RELEASE);
	observer_kick(b);
	pthread_join(b->thread, NULL);
	b->running = false;
	for (uint32_t i = 0; i < b->streams; i++)
		observer_forget(&b->slot[i]);
	free(b->slot);
	b->slot = NULL;
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->lock);
}
