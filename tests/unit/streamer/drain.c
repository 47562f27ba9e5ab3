/* The drain thread: when it sleeps, what wakes it, and whom it tells. */
#include "tests/unit/streamer/scripted.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "agent/stream/drain.h"

#define MS	    UINT64_C(1000000)
#define PATIENCE_NS (20000 * MS)
#define WAITS	    64

static struct drain drain;
static struct capture_ops ops;
static struct bench other; /* a second stream, FREE if not opened */
static struct stream *const streams[] = {&other.stream, &b.stream};

/* What the thread does and finds; it alone writes this, under the stream's lock or not at all. */
static struct seen {
	unsigned notified, sleeps, wakes;
	bool masked;
	size_t stack;
	long waits[WAITS]; /* before it sleeps */
} seen;

static uint32_t bell_word, bell_value;
static bool bell_polled;

static unsigned load(const unsigned *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static void count(unsigned *value)
{
	__atomic_fetch_add(value, 1, __ATOMIC_RELEASE);
}

static void on_notify(void *context)
{
	pthread_attr_t attr;
	sigset_t mask;

	assert_ptr_equal(context, &seen);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	seen.masked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1;
	if (!pthread_getattr_np(pthread_self(), &attr)) {
		pthread_attr_getstacksize(&attr, &seen.stack);
		pthread_attr_destroy(&attr);
	}
	count(&seen.notified);
}

static struct capture_bell go_to_sleep(struct capture_source *source)
{
	(void)source;
	if (seen.sleeps < WAITS)
		seen.waits[seen.sleeps] = drain.wait_ns;
	count(&seen.sleeps);
	return (struct capture_bell){.word = &bell_word,
				     .value = __atomic_load_n(&bell_value, __ATOMIC_RELAXED),
				     .polled = __atomic_load_n(&bell_polled, __ATOMIC_RELAXED)};
}

static void wake_up(struct capture_source *source)
{
	(void)source;
	count(&seen.wakes);
}

static int setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
	memset(&other, 0, sizeof(other));
	pthread_mutex_init(&other.stream.lock, NULL);
	bell_word = bell_value = 0;
	bell_polled = false;
	script_setup(state);
	ops = script_ops;
	ops.sleep = go_to_sleep;
	ops.wake = wake_up;
	script.source.ops = &ops;
	return 0;
}

static int teardown(void **state)
{
	drain_stop(&drain);
	assert_false(drain.running);
	drain_stop(&drain); /* once is enough */
	if (other.stream.state == STREAM_FREE)
		pthread_mutex_destroy(&other.stream.lock);
	return script_teardown(state);
}

static void start(unsigned from, unsigned number)
{
	assert_int_equal(drain_start(&drain, streams + from, number, &b.clock, on_notify, &seen),
			 0);
	assert_true(drain.running);
}

/* Waits until the thread has counted so far. Returns how long that took. */
static uint64_t await(const unsigned *value, unsigned until)
{
	uint64_t since = now();

	while (load(value) < until) {
		assert_true(now() < since + PATIENCE_NS);
		usleep(100);
	}
	return now() - since;
}

static void lock(void)
{
	pthread_mutex_lock(&s->lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&s->lock);
}

static unsigned turns(void)
{
	unsigned result;

	lock();
	result = script.turns;
	unlock();
	return result;
}

/* The time that so many turns take, from now on. */
static uint64_t time_of_turns(unsigned number)
{
	uint64_t since = now();

	for (unsigned first = turns(); turns() < first + number; usleep(100))
		assert_true(now() < since + PATIENCE_NS);
	return now() - since;
}

/* With nothing to do it sleeps longer and longer, and after an event as long as at first. */
static void sleeps_longer(void **state)
{
	static const long expected[] = {40, 80, 80, 80};
	unsigned slept;

	(void)state;
	start(0, 2);
	await(&seen.sleeps, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(seen.waits[i], expected[i] * 1000000);
	assert_int_equal(load(&seen.notified), 0);
	lock();
	script_thread(0, NOBODY, "a");
	script_event(0, 1, 16);
	slept = seen.sleeps;
	unlock();
	drain_kick(&drain);
	await(&seen.sleeps, slept + 3);
	while (seen.waits[slept] == 80 * (long)MS) /* it was on its way */
		assert_true(++slept < load(&seen.sleeps));
	assert_int_equal(seen.waits[slept], 20 * MS);
	await(&seen.sleeps, slept + 3);
	assert_int_equal(seen.waits[slept + 1], 40 * MS);
	assert_int_equal(seen.waits[slept + 2], 80 * MS);
}

/* A kick wakes it at once, also one that comes before it sleeps. (Older kernels wait for one bell
 * only, and that is the program's.) */
static void kicks(void **state)
{
	uint64_t since;

	(void)state;
	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno != EINVAL)
		skip();
	start(0, 2);
	await(&seen.sleeps, 3); /* 80 ms each from here on */
	since = now();
	for (unsigned i = 0; i < 30; i++) {
		unsigned slept = load(&seen.sleeps);

		drain_kick(&drain);
		await(&seen.sleeps, slept + 1);
	}
	assert_true(now() - since < 30 * 60 * MS);
	drain_stop(&drain);
	assert_int_equal(seen.sleeps, seen.wakes);
}

/* A program's bell has rung meanwhile: it does not sleep. */
static void bell_rings(void **state)
{
	(void)state;
	__atomic_store_n(&bell_value, 7, __ATOMIC_RELAXED); /* is not what the word has */
	start(0, 2);
	assert_true(time_of_turns(30) < 30 * 60 * MS);
}

/* A program that can't ring is looked at each millisecond. */
static void bell_is_polled(void **state)
{
	uint64_t took;

	(void)state;
	bell_polled = true;
	start(0, 2);
	took = time_of_turns(100);
	assert_true(took < 100 * 15 * MS);
	assert_true(took > 50 * MS);
}

/* While much waits in the ring it does not sleep; with a full spool it does. */
static void does_not_sleep(void **state)
{
	unsigned before;

	(void)state;
	script.is_filling = true;
	start(0, 2);
	assert_true(time_of_turns(30) < 30 * 15 * MS);
	drain_stop(&drain);
	assert_int_equal(seen.sleeps, seen.wakes);
	s->frame_pending = 1;
	s->spool.frame_slots = 1; /* which is taken */
	before = script.turns;
	start(0, 2);
	usleep(150000);
	drain_stop(&drain);
	assert_in_range(script.turns - before, 1, 10);
	s->frame_pending = 0;
}

/* A stream that has ended neither sleeps nor wakes. */
static void of_the_living_only(void **state)
{
	const struct target_end end = {0};
	unsigned slept;

	(void)state;
	start(0, 2);
	await(&seen.sleeps, 1);
	lock();
	stream_end(s, &end);
	unlock();
	drain_kick(&drain);
	await(&seen.notified, 1);
	assert_int_equal(stream_state(s), STREAM_ENDED);
	slept = load(&seen.sleeps);
	script.is_filling = true;
	assert_true(time_of_turns(3) > 60 * MS);
	assert_int_equal(load(&seen.sleeps), slept);
	assert_in_range(load(&seen.wakes), slept - 1, slept); /* it may have ended meanwhile */
}

/* More is there, but nothing comes of it: it waits, longer and longer, not to take the processor
 * from whom it waits for. */
static void is_stuck(void **state)
{
	uint64_t since, took;
	unsigned first;

	(void)state;
	start(0, 2);
	first = turns();
	since = now();
	while (now() < since + 100 * MS) {
		lock();
		script.rest.more = true;
		unlock();
		usleep(20);
	}
	took = now() - since;
	/* 50, 100, 200, 400, and then 800 us each; a turn in which this loop was late ends that */
	assert_true(turns() - first < took / 400000 + 40);
	assert_int_equal(seen.notified, 0);
}

/* ---- whom it tells ---- */

static void tells_of_batches(void **state)
{
	sigset_t mask;

	(void)state;
	start(0, 2);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGTERM), 0); /* the caller has its own again */
	await(&seen.sleeps, 1);
	assert_int_equal(load(&seen.notified), 0);
	lock();
	script_gap(RUN_NO_LANE, 1, 1);
	stream_hurry(s);
	unlock();
	drain_kick(&drain);
	await(&seen.notified, 1);
	assert_int_equal(__atomic_load_n(&s->spool.next, __ATOMIC_RELAXED), 3);
	await(&seen.sleeps, load(&seen.sleeps) + 2);
	assert_int_equal(load(&seen.notified), 1);
	assert_true(seen.masked);
	assert_in_range(seen.stack, 256 << 10, (256 << 10) + 65536);
}

static void tells_of_images(void **state)
{
	(void)state;
	start(0, 2);
	await(&seen.sleeps, 1);
	lock();
	s->exec_pending = true;
	unlock();
	drain_kick(&drain);
	await(&seen.notified, 1);
	assert_int_equal(load(&script.images), 1);
}

/* That a stream waits for room on the disk, as long as it does. */
static void tells_of_wants(void **state)
{
	struct spool_folder folder = {.fd = -1, .wanted = true};

	(void)state;
	s->spool.disk.folder = &folder;
	start(0, 2);
	await(&seen.notified, 3);
	__atomic_store_n(&folder.wanted, false, __ATOMIC_RELAXED);
	drain_stop(&drain);
	s->spool.disk.folder = NULL;
}

/* ---- kernels that can't wait for several bells ---- */

static void without_futex_waitv(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex_waitv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		skip();
}

/* Of one ring, by its bell; of none, by the kick; of several it looks each 5 ms. */
static void waits_plainly(void **state)
{
	uint64_t took;

	without_futex_waitv(ENOSYS);
	ops.sleep = NULL;
	ops.wake = NULL;
	start(1, 1);
	time_of_turns(3);
	took = now();
	for (unsigned i = 0; i < 30; i++) {
		unsigned before = turns();

		drain_kick(&drain);
		while (turns() == before)
			usleep(100);
	}
	assert_true(now() - took < 30 * 60 * MS);
	drain_stop(&drain);

	ops.sleep = go_to_sleep;
	ops.wake = wake_up;
	start(1, 1);
	await(&seen.sleeps, 4);
	assert_true(time_of_turns(3) > 60 * MS); /* it does sleep, 80 ms each */
	__atomic_store_n(&bell_value, 7, __ATOMIC_RELAXED);
	assert_true(time_of_turns(30) < 30 * 60 * MS);
	drain_stop(&drain);
	(void)state;
}

/* An old filter refuses what it does not know. */
static void waits_plainly_if_refused(void **state)
{
	(void)state;
	without_futex_waitv(EPERM);
	start(1, 1);
	await(&seen.sleeps, 4);
	assert_true(time_of_turns(2) > 40 * MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sleeps_longer),
		TEST(kicks),
		TEST(bell_rings),
		TEST(bell_is_polled),
		TEST(does_not_sleep),
		TEST(of_the_living_only),
		TEST(is_stuck),
		TEST(tells_of_batches),
		TEST(tells_of_images),
		TEST(tells_of_wants),
		TEST(waits_plainly),		/* the filters stay */
		TEST(waits_plainly_if_refused), /* from here on */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
