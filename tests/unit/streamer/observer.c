/*
 * The observer and a stream of this process: which figures, regions and filters come, how often,
 * and what it does when the process or its image is another one.
 */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "agent/stream/observer.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/logged.h"

#define SECOND	    UINT64_C(1000000000)
#define LONG_TIME   (10 * SECOND)
#define PATIENCE_MS 10000
#define LARGE	    (16u << 20)
#define REGIONS	    600

static struct bench bench;
static struct observer observer;
static struct stream *streams[2], free_stream;
static struct capture_ops ops;
static unsigned descriptors, asked, filtered;
static struct observed seen;	    /* when filters were looked at, the last thing of a visit */
static struct observed first_visit; /* when the allocator was asked: behind figures and maps */
static struct filters filters;

/* The observer's thread calls both, under the stream's lock. */
static void on_ask(struct capture_source *source)
{
	(void)source;
	if (!asked++)
		first_visit = observer.slot[1];
}

static void on_filtered(struct capture_source *source, const struct filters *has)
{
	(void)source;
	filters = *has;
	if (!filtered++)
		seen = observer.slot[1];
}

static int begin(void **state)
{
	static uint64_t memory[(64u << 10) / sizeof(uint64_t)];

	(void)state;
	memset(&bench, 0, sizeof(bench));
	memset(&observer, 0, sizeof(observer));
	memset(&free_stream, 0, sizeof(free_stream));
	pthread_mutex_init(&free_stream.lock, NULL);
	descriptors = descriptors_open();
	bench_open(&bench);
	maps_init(&bench.stream.maps, memory, sizeof(memory), MAPS_STEP_MIN,
		  (uint32_t)sysconf(_SC_PAGESIZE));
	ops = *bench.stream.source->ops;
	ops.ask = on_ask;
	ops.filtered = on_filtered;
	bench.stream.source->ops = &ops;
	streams[0] = &free_stream; /* a slot without a process is passed over */
	streams[1] = &bench.stream;
	asked = filtered = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	observer_stop(&observer);
	observer_stop(&observer); /* have no effect any more */
	observer_kick(&observer);
	assert_null(observer.slot);
	pthread_mutex_destroy(&free_stream.lock);
	bench_close(&bench);
	assert_int_equal(descriptors_open(), descriptors);
	return 0;
}

static void start(uint64_t figures_ns, uint64_t maps_ns, bool allocator)
{
	struct observer_settings settings = {figures_ns, maps_ns, allocator};

	stream_settle(&bench.stream, &settings, 0);
	assert_int_equal(observer_start(&observer, &settings, streams, 2), 0);
	assert_true(observer.running);
}

enum what { FIGURES, FILTERS, MAPS, ASKED };

static unsigned count_of(enum what what)
{
	unsigned count;

	pthread_mutex_lock(&bench.stream.lock);
	count = what == FIGURES	  ? bench.stream.figures_count
		: what == FILTERS ? filtered
		: what == ASKED	  ? asked
				  : bench.stream.maps_ready;
	pthread_mutex_unlock(&bench.stream.lock);
	return count;
}

static void wait_for(enum what what, unsigned count)
{
	for (int i = 0; count_of(what) < count && i < PATIENCE_MS; i++)
		poll(NULL, 0, 1);
	assert_true(count_of(what) >= count);
}

/* From here on so many more files can be opened. */
static void leave_room_for(unsigned files)
{
	struct rlimit limit;
	int fd = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	while (fcntl(fd, F_GETFD) >= 0 || files) {
		files -= fcntl(fd, F_GETFD) < 0;
		fd++;
	}
	limit.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static uint8_t *map(size_t size, int protection)
{
	uint8_t *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/* The first visit reads all there is, and says when each comes again. */
static void test_first_visit(void **state)
{
	const struct figures *f = &bench.stream.figures[0];
	uint64_t before = now(), after;

	(void)state;
	start(LONG_TIME, 2 * LONG_TIME, true);
	wait_for(FILTERS, 1);
	after = now();
	observer_stop(&observer);
	assert_int_equal(seen.generation, bench.stream.start_ns);
	assert_int_equal(seen.pid, getpid());
	assert_int_equal(seen.image, bench.stream.image);
	assert_false(seen.no_figures || seen.no_maps);
	assert_true(seen.interval_due >= before + LONG_TIME);
	assert_true(seen.interval_due <= after + LONG_TIME);
	assert_true(seen.figures_due >= before + 10000000); /* the peak has grown: soon again */
	assert_true(seen.figures_due < before + LONG_TIME);
	assert_true(seen.sooner_ns >= 10000000);
	assert_true(seen.maps_due >= before + 2 * LONG_TIME);
	assert_true(seen.allocator_due >= before + SECOND);
	assert_true(seen.allocator_due <= after + SECOND);
	assert_true(seen.filters_due >= before + SECOND);
	assert_true(seen.filters_due <= after + SECOND);
	assert_true(seen.detail_due > before && seen.detail_due < after + LONG_TIME);
	assert_true(asked >= 1);
	assert_false(filters.strict);
	assert_true(bench.stream.maps_ready);
	assert_true(bench.stream.figures_count >= 1);
	assert_true(f->time_ns >= before - bench.stream.start_ns);
	assert_true(f->time_ns <= after - bench.stream.start_ns);
	assert_true(f->rss > 0 && f->rss_peak > 0 && f->address_space > f->rss);
	assert_int_equal(f->detailed, !seen.no_detail);
	assert_int_equal(f->pss > 0, !seen.no_detail);
}

/* Only what the stream asks for is read. */
static void test_off(void **state)
{
	(void)state;
	start(0, 0, false);
	wait_for(FILTERS, 1);
	observer_stop(&observer);
	assert_int_equal(asked, 0);
	assert_int_equal(bench.stream.figures_count, 0);
	assert_false(bench.stream.maps_ready);
	assert_int_equal(seen.maps_due, 0);
	assert_int_equal(seen.figures_due, 0);
}

/* An allocator that takes long is asked less often. */
static void test_slow_allocator(void **state)
{
	uint64_t before = now(), after;

	(void)state;
	bench.stream.allocator_took_ns = SECOND;
	start(0, 0, true);
	wait_for(FILTERS, 1);
	after = now();
	observer_stop(&observer);
	assert_true(seen.allocator_due >= before + OBSERVER_RATIO * SECOND);
	assert_true(seen.allocator_due <= after + OBSERVER_RATIO * SECOND);
}

/* Between two intervals a higher peak is reported, and nothing else. */
static void test_peak(void **state)
{
	const struct figures *f = bench.stream.figures;
	uint8_t *more;

	(void)state;
	start(1000 * SECOND, 0, false);
	wait_for(FIGURES, 1);
	more = map(LARGE, PROT_READ | PROT_WRITE);
	memset(more, 1, LARGE);
	pthread_mutex_lock(&bench.stream.lock);
	uint64_t peak = f[0].rss_peak;
	pthread_mutex_unlock(&bench.stream.lock);
	for (int i = 0; i < PATIENCE_MS; i++) {
		pthread_mutex_lock(&bench.stream.lock);
		bool higher = f[bench.stream.figures_count - 1].rss_peak >= peak + LARGE / 2;
		pthread_mutex_unlock(&bench.stream.lock);
		if (higher)
			break;
		poll(NULL, 0, 1);
	}
	observer_stop(&observer);
	munmap(more, LARGE);
	assert_true(bench.stream.figures_count > 1);
	assert_true(f[bench.stream.figures_count - 1].rss_peak >= peak + LARGE / 2);
	for (uint32_t i = 1; i < bench.stream.figures_count; i++) {
		assert_true(f[i].rss_peak > f[i - 1].rss_peak);
		assert_true(f[i].time_ns > f[i - 1].time_ns);
	}
}

/* At each interval what has changed is reported. */
static void test_interval(void **state)
{
	const struct figures *f = bench.stream.figures;
	uint8_t *more = map(LARGE, PROT_READ | PROT_WRITE);

	(void)state;
	memset(more, 1, LARGE);
	start(5000000, 0, false);
	wait_for(FIGURES, 1);
	munmap(more, LARGE);
	for (int i = 0; i < PATIENCE_MS; i++) {
		pthread_mutex_lock(&bench.stream.lock);
		bool less = f[bench.stream.figures_count - 1].rss + LARGE / 2 < f[0].rss;
		pthread_mutex_unlock(&bench.stream.lock);
		if (less)
			break;
		poll(NULL, 0, 1);
	}
	observer_stop(&observer);
	assert_true(f[bench.stream.figures_count - 1].rss + LARGE / 2 < f[0].rss);
	for (uint32_t i = 1; i < bench.stream.figures_count; i++)
		assert_true(f[i].time_ns > f[i - 1].time_ns);
}

/* The regions of the next step: how many are new and gone, and whether it is whole. */
struct step {
	size_t start, gone;
	bool whole, part;
	uint32_t regions;
};

/* Of a column: each varint ends in a byte without the highest bit. */
static size_t rows_of(enum maps_column which)
{
	const struct column *c = &bench.stream.maps.column[which];
	size_t rows = 0;

	for (size_t i = 0; i < c->length; i++)
		rows += c->data[i] < 0x80;
	return rows;
}

static struct step take_step(void)
{
	Heapcast__Maps m = HEAPCAST__MAPS__INIT;
	struct step step;

	wait_for(MAPS, 1);
	pthread_mutex_lock(&bench.stream.lock);
	maps_fill(&bench.stream.maps, &m);
	step = (struct step){rows_of(MAPS_START), rows_of(MAPS_GONE), m.whole, m.part, m.regions};
	bench.stream.maps_ready = false;
	pthread_mutex_unlock(&bench.stream.lock);
	return step;
}

/* All steps of a reading. Returns their number. */
static unsigned take_reading(struct step *sum)
{
	struct step step = take_step();
	unsigned steps = 1;

	for (*sum = step; step.part; steps++) {
		step = take_step();
		assert_false(step.whole); /* the first one says it */
		sum->start += step.start;
		sum->gone += step.gone;
	}
	sum->regions = step.regions;
	return steps;
}

/* The collector is in this state of knowledge: the next reading but one is whole. */
static void expect_again(enum stream_maps known)
{
	struct step sum = {0};

	pthread_mutex_lock(&bench.stream.lock);
	assert_int_equal(bench.stream.maps_known, STREAM_MAPS_KNOWN);
	bench.stream.maps_known = known;
	pthread_mutex_unlock(&bench.stream.lock);
	for (int i = 0; i < 10 && !sum.whole; i++)
		take_reading(&sum);
	assert_true(sum.whole);
	assert_true(sum.start > 5);
}

static void test_maps(void **state)
{
	struct step sum;

	(void)state;
	start(0, 2000000, false);
	take_reading(&sum);
	assert_true(sum.whole);
	assert_true(sum.start > 5 && sum.regions >= sum.start);
	assert_int_equal(sum.gone, 0);
	uint8_t *p = map(LARGE, PROT_NONE);
	sum.start = 0;
	for (int i = 0; i < 10 && !sum.start; i++) { /* others may come and go */
		take_reading(&sum);
		assert_false(sum.whole);
	}
	assert_true(sum.start > 0);
	munmap(p, LARGE);
	for (int i = 0; i < 10 && !sum.gone; i++)
		take_reading(&sum);
	assert_true(sum.gone > 0);
	expect_again(STREAM_MAPS_LOST);
	expect_again(STREAM_MAPS_NEW);
}

/* What has no room in one step comes in several, each after the one before was packed. */
static void test_parts(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *p = map((size_t)page * 2 * REGIONS, PROT_NONE);
	struct step sum;

	(void)state;
	for (long i = 0; i < REGIONS; i++)
		assert_int_equal(mprotect(p + 2 * i * page, (size_t)page, PROT_READ), 0);
	start(0, LONG_TIME, false);
	assert_true(take_reading(&sum) > 1);
	assert_true(sum.whole);
	assert_true(sum.regions >= 2 * REGIONS);
	assert_true(sum.start <= sum.regions);
	assert_int_equal(sum.gone, 0);
	munmap(p, (size_t)page * 2 * REGIONS);
}

/* While a step waits for a stream that has ended, the observer can be stopped at once. */
static void test_parts_end(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *p = map((size_t)page * 2 * REGIONS, PROT_NONE);
	uint64_t since;

	(void)state;
	for (long i = 0; i < REGIONS; i++)
		assert_int_equal(mprotect(p + 2 * i * page, (size_t)page, PROT_READ), 0);
	start(0, LONG_TIME, false);
	wait_for(MAPS, 1);
	since = now();
	observer_stop(&observer);
	assert_true(now() - since < 2 * SECOND); /* a nap is 20 ms, the patience 3 s */
	munmap(p, (size_t)page * 2 * REGIONS);
}

/* Another process has the number by now: nothing of it is recorded. */
static void test_other_process(void **state)
{
	(void)state;
	bench.stream.target.start_ticks++;
	start(1000000, 1000000, false);
	wait_for(FILTERS, 1);
	observer_stop(&observer);
	assert_true(seen.no_figures && seen.no_detail && seen.no_maps);
	assert_int_equal(bench.stream.figures_count, 0);
	assert_false(bench.stream.maps_ready);
}

/* There is no such process any more. */
static void test_no_process(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	bench.stream.target.pid = child;
	start(1000000, 1000000, true);
	wait_for(ASKED, 1); /* its ring is still there */
	observer_stop(&observer);
	assert_int_equal(filtered, 0);
	assert_int_equal(bench.stream.figures_count, 0);
	assert_false(bench.stream.maps_ready);
}

/* What can't be read is left out from then on, and that is logged once. Here so many files can be
 * opened at a time: the process's folder, one in there, and another one beside its maps. */
static void test_unreadable(void **state)
{
	struct rlimit before;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned files = 0; files <= 3; files++) {
		logged_begin();
		begin(state);
		leave_room_for(files);
		start(1000000, 1000000, true);
		wait_for(ASKED, 1);
		observer_stop(&observer);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(first_visit.proc >= 0, files > 0);
		assert_int_equal(first_visit.no_figures, files < 2);
		assert_int_equal(first_visit.no_maps, files < 3);
		assert_int_equal(bench.stream.figures_count > 0, files >= 2);
		assert_int_equal(bench.stream.maps_ready, files == 3);
		assert_int_equal(logged("can't look at pid "), files < 2);
		assert_int_equal(logged("can't read the memory maps of pid "), files == 2);
		assert_int_equal(logged("warn  "), files < 3);
		end(state);
		logged_end();
	}
}

/* Without a process the observer sleeps until it is told of one. */
static void test_kick(void **state)
{
	enum stream_state live = bench.stream.state;

	(void)state;
	bench.stream.state = STREAM_FREE;
	start(LONG_TIME, 0, false);
	pthread_mutex_lock(&bench.stream.lock);
	__atomic_store_n(&bench.stream.state, live, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&bench.stream.lock);
	observer_kick(&observer);
	wait_for(FIGURES, 1);
	pthread_mutex_lock(&bench.stream.lock);
	__atomic_store_n(&bench.stream.state, STREAM_ENDED, __ATOMIC_RELEASE);
	filtered = 0;
	pthread_mutex_unlock(&bench.stream.lock);
	observer_kick(&observer);
	pthread_mutex_lock(&bench.stream.lock); /* and another one in the same slot */
	__atomic_store_n(&bench.stream.state, live, __ATOMIC_RELEASE);
	bench.stream.start_ns++;
	bench.stream.figures_count = 0;
	pthread_mutex_unlock(&bench.stream.lock);
	observer_kick(&observer);
	wait_for(FIGURES, 1);
	wait_for(FILTERS, 1);
	assert_int_equal(seen.generation, bench.stream.start_ns);
}

#define OBSERVER_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OBSERVER_TEST(test_first_visit),    OBSERVER_TEST(test_off),
		OBSERVER_TEST(test_slow_allocator), OBSERVER_TEST(test_peak),
		OBSERVER_TEST(test_interval),	    OBSERVER_TEST(test_maps),
		OBSERVER_TEST(test_parts),	    OBSERVER_TEST(test_parts_end),
		OBSERVER_TEST(test_other_process),  OBSERVER_TEST(test_no_process),
		OBSERVER_TEST(test_kick),	    cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
