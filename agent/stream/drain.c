/* Runs the drain thread. See drain.h. */
#include "agent/stream/drain.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "base/ban.h"

#define WAIT_NS	     20000000
#define WAIT_MAX_NS  80000000 /* the agent promises ten heartbeats a second */
#define POLL_NS	     5000000
#define POLLED_NS    1000000 /* while a program can't wake the agent by a system call */
#define STUCK_NS     50000   /* first wait while stuck; each further wait doubles */
#define STUCK_MAX_NS 800000
#define CLOCK_NS     1000000000
#define STACK_SIZE   (256u << 10)

struct bells {
	struct futex_waitv futex[FUTEX_WAITV_MAX];
	unsigned count;
	bool polled;
	bool all; /* false: the streams have more bells than the kernel accepts */
};

static void add_bell(struct bells *bells, uint32_t *word, uint32_t value, uint32_t flags)
{
	bells->all = bells->count < FUTEX_WAITV_MAX;
	if (!bells->all)
		return;
	bells->futex[bells->count++] = (struct futex_waitv){
		.val = value, .uaddr = (uintptr_t)word, .flags = FUTEX_32 | flags};
}

/* Collects the doorbells and tells all sources that the thread sleeps. */
static void drain_collect(struct drain *d, struct bells *bells, uint32_t kick)
{
	bells->count = 0;
	bells->polled = false;
	add_bell(bells, &d->kick, kick, FUTEX_PRIVATE_FLAG);
	for (uint32_t i = 0; i < d->streams; i++) {
		struct stream *s = d->stream[i];

		if (stream_state(s) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&s->lock);
		if (s->state == STREAM_LIVE && s->source->ops->sleep) {
			struct capture_bell bell = s->source->ops->sleep(s->source);

			bells->polled |= bell.polled;
			add_bell(bells, bell.word, bell.value, 0);
		}
		pthread_mutex_unlock(&s->lock);
	}
}

/* The old futex call's timespec consists of two machine words on every Linux, even where libc's
 * timespec differs. */
struct words_timespec {
	long s, ns;
};

static void wait_plain(const struct bells *bells, long wait_ns)
{
	const struct timespec poll = {.tv_nsec = wait_ns < POLL_NS ? wait_ns : POLL_NS};
	const struct words_timespec wait = {.ns = wait_ns};
	const struct futex_waitv *f = &bells->futex[bells->count - 1];

	if (bells->count > 2 || !bells->all)
		nanosleep(&poll, NULL);
	else
		syscall(SYS_futex, (void *)(uintptr_t)f->uaddr,
			FUTEX_WAIT | (f->flags & FUTEX_PRIVATE_FLAG), (uint32_t)f->val, &wait, NULL,
			0);
}

static void wait_all(const struct bells *bells, long wait_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += wait_ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	if (!bells->all) {
		wait_plain(bells, wait_ns);
		return;
	}
	/* EPERM: an old seccomp filter does not know the call */
	if (syscall(SYS_futex_waitv, bells->futex, bells->count, 0, &until, CLOCK_MONOTONIC) < 0 &&
	    (errno == ENOSYS || errno == EPERM))
		wait_plain(bells, wait_ns);
}

/* The main loop closes sources under the stream's lock, so a call of a source needs the lock. */
static void awake(struct drain *d)
{
	for (uint32_t i = 0; i < d->streams; i++) {
		struct stream *s = d->stream[i];

		if (stream_state(s) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&s->lock);
		if (s->state == STREAM_LIVE && s->source->ops->wake)
			s->source->ops->wake(s->source);
		pthread_mutex_unlock(&s->lock);
	}
}

/* Makes the waits longer while no program allocates. A program rings when half of a slice is
 * full. */
static void adapt_wait(struct drain *d, uint64_t delivered)
{
	if (delivered != d->delivered)
		d->wait_ns = WAIT_NS;
	else if (d->wait_ns < WAIT_MAX_NS)
		d->wait_ns *= 2;
	d->delivered = delivered;
}

enum turn { TURN_DONE, TURN_MORE, TURN_STUCK };

/* Gives each stream a turn. Returns TURN_MORE if more work is available at once. Returns TURN_STUCK
 * if more events wait but none could be taken: a thread is in the middle of a hook, and perhaps
 * waits for the processor that this thread uses. */
static enum turn drain_turn(struct drain *d)
{
	bool more = false, news = false;
	uint64_t delivered = 0, before = d->delivered;

	for (uint32_t i = 0; i < d->streams; i++) {
		struct stream *s = d->stream[i];
		enum stream_state state;
		uint64_t next;
		bool exec;

		if (stream_state(s) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&s->lock);
		if (s->state != STREAM_FREE) {
			state = s->state;
			next = s->spool.next;
			exec = s->exec_pending;
			more |= stream_drain(s) == STREAM_MORE;
			news |= s->state != state || s->spool.next != next ||
				s->exec_pending != exec || spool_wants(&s->spool);
			delivered += stream_taken(s);
		}
		pthread_mutex_unlock(&s->lock);
	}
	adapt_wait(d, delivered);
	if (news)
		d->notify(d->context);
	if (!more)
		return TURN_DONE;
	return delivered != before || news ? TURN_MORE : TURN_STUCK;
}

static bool any_filling(struct drain *d)
{
	bool filling = false;

	for (uint32_t i = 0; i < d->streams && !filling; i++) {
		struct stream *s = d->stream[i];

		if (stream_state(s) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&s->lock);
		filling = s->state == STREAM_LIVE && !s->frame_pending &&
			  s->source->ops->filling(s->source);
		pthread_mutex_unlock(&s->lock);
	}
	return filling;
}

static void tell_sleep(struct drain *d)
{
	uint64_t slept = clock_slept_ns();

	for (uint32_t i = 0; i < d->streams; i++) {
		if (stream_state(d->stream[i]) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&d->stream[i]->lock);
		stream_tell_sleep(d->stream[i], slept);
		pthread_mutex_unlock(&d->stream[i]->lock);
	}
}

/* Waits for `wait_ns`, and returns the length of the next wait. The thread that holds up the others
 * continues within microseconds, or it waits for a processor. Polling would take that processor
 * away from it. */
static long wait_stuck(long wait_ns)
{
	nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
	return wait_ns < STUCK_MAX_NS ? wait_ns * 2 : wait_ns;
}

static void *drain_run(void *argument)
{
	struct drain *d = argument;
	long stuck_ns = STUCK_NS;
	uint64_t updated = clock_monotonic_ns();
	struct bells bells;
	enum turn done;

	while (!__atomic_load_n(&d->stop, __ATOMIC_ACQUIRE)) {
		uint32_t kick = __atomic_load_n(&d->kick, __ATOMIC_ACQUIRE);

		if (clock_monotonic_ns() - updated > CLOCK_NS) {
			clock_update(d->counter);
			tell_sleep(d);
			updated = clock_monotonic_ns();
		}
		done = drain_turn(d);
		stuck_ns = done == TURN_STUCK ? wait_stuck(stuck_ns) : STUCK_NS;
		if (done != TURN_DONE)
			continue;
		drain_collect(d, &bells, kick);
		if (!any_filling(d))
			wait_all(&bells, bells.polled ? POLLED_NS : d->wait_ns);
		awake(d);
	}
	return NULL;
}

int drain_start(struct drain *d, struct stream *const *streams, uint32_t count,
		struct clock *counter, void (*notify)(void *context), void *context)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	*d = (struct drain){.stream = streams,
			    .streams = count,
			    .counter = counter,
			    .wait_ns = WAIT_NS,
			    .notify = notify,
			    .context = context};
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	/* The thread inherits the mask: only the main loop handles signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r = pthread_create(&d->thread, &attr, drain_run, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	d->running = !r;
	return -r;
}

void drain_kick(struct drain *d)
{
	__atomic_fetch_add(&d->kick, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &d->kick, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

void drain_stop(struct drain *d)
{
	if (!d->running)
		return;
	__atomic_store_n(&d->stop, 1, __ATOMIC_RELEASE);
	drain_kick(d);
	pthread_join(d->thread, NULL);
	d->running = false;
}
