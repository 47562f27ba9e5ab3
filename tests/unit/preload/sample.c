/* Sampled mode and the policy thin: the law, the account, the set of sampled blocks, changes of the
 * mode. */
#include <math.h>

#include "base/exponential.h"
#include "proto/event.h"
#include "tests/targets/jump_alloc.h"
#include "tests/unit/preload/support/run.h"

#define RUNS 200000

/* log2 by squaring is the logarithm, from below. */
static void logarithm(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t x = random_next(&random) >> i % 64;
		double error = x ? log2((double)x) - ldexp((double)log2_fixed(x), -24) : 0;

		assert_true(error > -ldexp(1, -26) && error < ldexp(1.5, -24));
	}
}

/* The share of distances below S is 1 - exp(-S / mean), within 4.5 standard errors. */
static void follows_the_law(uint64_t mean)
{
	uint64_t random = mean, below[12] = {0};

	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t distance = exponential(&random, mean);

		for (unsigned k = 0; k < 12; k++)
			below[k] += distance < (mean << k) / 128 + 1;
	}
	for (unsigned k = 0; k < 12; k++) {
		double p = -expm1(-(double)((mean << k) / 128 + 1) / (double)mean);

		assert_true(fabs((double)below[k] - p * RUNS) < 4.5 * sqrt(p * (1 - p) * RUNS) + 1);
	}
}

static void law(void **state)
{
	(void)state;
	follows_the_law(1);
	follows_the_law(100);
	follows_the_law(512 << 10);
	follows_the_law(RING_INTERVAL_MAX);
}

static uint64_t largest_interval(const struct agent_result *r)
{
	uint64_t most = 0;

	for (size_t i = 0; i < r->count; i++)
		if (r->events[i].interval > most)
			most = r->events[i].interval;
	return most;
}

static void assert_accounted(const struct agent_result *r)
{
	assert_sound(r);
	assert_int_equal(r->produced, r->read + r->lost.events + r->not_sampled + r->died_inside);
}

/* Every death has its birth, nothing is born where something lives, and the set holds what is alive
 * and no more. */
static void assert_paired(const struct agent_result *r)
{
	struct agent_tally tagged, all = {0};

	for (unsigned tag = 0; tag < 16; tag++) {
		agent_tally(r, tag, &tagged);
		all.live += tagged.live;
	}
	assert_int_equal(tagged.orphans, 0);
	assert_int_equal(tagged.twice, 0);
	assert_int_equal(r->in_set, all.live);
}

/* The bytes that the tagged records stand for, and the variance of that. */
static double estimate(const struct agent_result *r, double *ret_variance)
{
	double sum = 0, variance = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct agent_event *e = &r->events[i];
		double s = (double)e->size, p;

		if (event_class(e->kind) == EVENT_CLASS_FREE || e->tag != TAG_OWN)
			continue;
		p = e->interval ? -expm1(-s / (double)e->interval) : 1;
		sum += s / p;
		variance += s * s * (1 - p) / p / p;
	}
	*ret_variance = variance;
	return sum;
}

/* The estimate is what full mode has summed. Gives the events that each has accounted for. */
static void agree(const char *preload_more, const char *const argv[], uint64_t *ret_full,
		  uint64_t *ret_sampled)
{
	struct agent_options full = {.big_slices = 4, .preload_more = preload_more},
			     sample = {.mode = RING_SAMPLE,
				       .sample_interval = 2048,
				       .set_lines = 1024,
				       .big_slices = 4,
				       .preload_more = preload_more};
	struct agent_result all, some;
	double variance, bytes;
	struct agent_tally t;

	agent_run(&full, argv, &all);
	agent_run(&sample, argv, &some);
	assert_int_equal(some.status, all.status);
	assert_accounted(&some);
	assert_paired(&some);
	assert_true(some.not_sampled > 0);
	agent_tally(&all, TAG_OWN, &t);
	bytes = estimate(&some, &variance);
	assert_true(variance > 0);
	assert_true(fabs(bytes - (double)t.bytes) < 5 * sqrt(variance));
	*ret_full = all.produced;
	*ret_sampled = some.produced;
	agent_result_done(&all);
	agent_result_done(&some);
}

static void agrees_with_full(void **state)
{
	uint64_t all, some;

	(void)state;
	agree(NULL, (const char *const[]){target_path("churn"), "20000", "2", "20", NULL}, &all,
	      &some);
	assert_int_equal(some, all);
}

/* Operators that an allocator brings, and such as call it by name: one draw a block, not two. */
static void operators(void **state)
{
	static const char *const libraries[] = {
		"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
		"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"};
	const char *const argv[] = {target_path("cxx"), NULL};
	uint64_t all, some;
	char path[600];

	(void)state;
	if (access(argv[0], X_OK))
		skip();
	agree(NULL, argv, &all, &some);
	snprintf(path, sizeof(path), "%s.so", target_path("named_alloc"));
	agree(path, argv, &all, &some);
	/* Each of them is two until the first one is sampled: 35 on average, 440 once in a hundred
	 * thousand runs. */
	assert_true(some - all < all / 20);
	SKIP_EMULATED(NO_ALLOCATORS);
	for (unsigned i = 0; i < 2; i++) {
		if (access(libraries[i], R_OK))
			print_message("SKIPPED: %s is not here\n", libraries[i]);
		else
			agree(libraries[i], argv, &all, &some);
	}
}

/* Blocks that are freed by other threads, their addresses reused at once. */
static void handed_over(void **state)
{
	struct agent_options options = {
		.mode = RING_SAMPLE, .sample_interval = 1000, .big_slices = 8, .set_lines = 1024};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("handover"), "100000");
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_paired(&r);
	assert_true(r.read > 1000);
	agent_result_done(&r);
}

/* A block that is freed inside of another hook of its thread is one of the sampled ones no more:
 * who gets its address meanwhile is not taken for it. */
static void freed_inside(void **state)
{
	static char library[600];
	struct agent_options options = {.mode = RING_SAMPLE,
					.sample_interval = 1 << 18,
					.big_slices = 4,
					.set_lines = 1024,
					.preload_more = library};
	struct agent_result r;
	const struct agent_event *lent = NULL;
	unsigned frees = 0;

	(void)state;
	snprintf(library, sizeof(library), "%s.so", target_path("jump_alloc"));
	RUN(&options, &r, target_path("taken"));
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_paired(&r);
	assert_int_equal(agent_said(&r, "same"), 1);
	/* Other blocks of the program may be sampled, too, as chance has it. */
	for (size_t i = 0; i < r.count; i++)
		if (r.events[i].size == LENT_SIZE &&
		    event_class(r.events[i].kind) != EVENT_CLASS_FREE)
			lent = &r.events[i];
	assert_non_null(lent);
	for (size_t i = 0; i < r.count; i++) {
		const struct agent_event *e = &r.events[i];

		if (event_class(e->kind) == EVENT_CLASS_FREE && e->address == lent->address) {
			assert_int_equal(e->tid, lent->tid);
			frees++;
		}
	}
	assert_int_equal(frees, 1);
	agent_result_done(&r);
}

/* At and above the cut everything is recorded, and stands for itself. */
static void exact_above_the_cut(void **state)
{
	struct agent_options options = {
		.mode = RING_SAMPLE, .sample_interval = 1, .big_slices = 4, .set_lines = 4096};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "5000", "1", "20");
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_paired(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	for (size_t i = 0; i < r.count; i++)
		assert_int_equal(r.events[i].interval, 0);
	agent_result_done(&r);
}

/* A set of seven: whenever it is full the interval doubles, and it is halved, and that is told. No
 * sample is refused. */
static void full_set(void **state)
{
	struct agent_options options = {
		.mode = RING_SAMPLE, .sample_interval = 1000, .big_slices = 8, .set_lines = 1};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("sampled"));
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_true(r.in_set <= RING_SET_ENTRIES);
	assert_int_equal(r.samples_refused, 0);
	assert_true(r.law.halvings > 5);
	assert_int_equal(r.law.level, 0);
	assert_true(largest_interval(&r) >= 1000 << 5);
	agent_result_done(&r);
}

/* An order for another interval comes at any time, and is noticed late: mostly at a block with a
 * point, which counts by the interval before it. */
static void intervals_change(void **state)
{
	struct agent_options options = {.mode = RING_SAMPLE,
					.sample_interval = 32768,
					.other_interval = 65536,
					.big_slices = 4,
					.set_lines = 1024};
	struct agent_result r;
	double truth, sum, variance;

	(void)state;
	SKIP_EMULATED("an emulator is too slow for so many blocks");
	RUN(&options, &r, target_path("churn"), "60000000", "1", "20");
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_nothing_lost(&r);
	truth = (double)agent_said(&r, "bytes");
	sum = estimate(&r, &variance);
	assert_true(fabs(sum - truth) < 4.5 * sqrt(variance));
	agent_result_done(&r);
}

/* A third full: here and there a line has no room, and addresses go to the next ones and are found
 * there. With half of it full, four lines in a row have none in one run of thirty: then the set is
 * halved, and its blocks are paired no more. */
static void crowded_set(void **state)
{
	struct agent_options options = {
		.mode = RING_SAMPLE, .sample_interval = 4500, .big_slices = 8, .set_lines = 256};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("sampled"));
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_int_equal(r.law.halvings, 0);
	assert_paired(&r);
	assert_true(r.in_set > 256 * RING_SET_ENTRIES / 5);
	agent_result_done(&r);
}

/* A ring without a set: the frees of all blocks are recorded. */
static void without_a_set(void **state)
{
	struct agent_options options = {
		.mode = RING_SAMPLE, .sample_interval = 2048, .big_slices = 4, .no_set = true};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	RUN(&options, &r, target_path("modes"), "1");
	assert_exited(&r, 0);
	assert_accounted(&r);
	agent_tally(&r, TAG_OWN, &t);
	assert_true(t.allocations > 100);
	assert_int_equal(t.live, 0);
	assert_int_equal(t.twice, 0);
	agent_result_done(&r);
}

/* Whatever the modes were and are: a recorded birth has its death on record. */
static void changes(uint32_t first, uint32_t second, uint32_t third, uint32_t fourth)
{
	struct agent_options options = {.mode = first,
					.sample_off = first == RING_OFF,
					.sample_interval = 4096,
					.set_lines = 1024,
					.big_slices = 4,
					.then_mode = {second, third, fourth}};
	bool full = first == RING_FULL || second == RING_FULL || third == RING_FULL ||
		    fourth == RING_FULL;
	struct agent_result r;
	struct agent_tally t;

	RUN(&options, &r, target_path("modes"), "4");
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_int_equal(r.last_mark, 3);
	agent_tally(&r, TAG_OWN, &t);
	assert_true(t.allocations > 20);
	assert_int_equal(t.live, 0);
	assert_int_equal(t.twice, 0);
	if (!full)
		assert_paired(&r);
	agent_result_done(&r);
}

static void modes(void **state)
{
	(void)state;
	changes(RING_SAMPLE, RING_SAMPLE, RING_SAMPLE, RING_SAMPLE);
	changes(RING_FULL, RING_SAMPLE, RING_OFF, RING_FULL);
	changes(RING_SAMPLE, RING_FULL, RING_SAMPLE, RING_OFF);
	changes(RING_SAMPLE, RING_OFF, RING_SAMPLE, RING_OFF);
	changes(RING_FULL, RING_SAMPLE, RING_FULL, RING_SAMPLE);
	changes(RING_OFF, RING_FULL, RING_OFF, RING_SAMPLE);
	changes(RING_OFF, RING_SAMPLE, RING_OFF, RING_FULL);
}

static void killed(void **state)
{
	struct agent_options options = {.mode = RING_SAMPLE,
					.sample_interval = 4096,
					.set_lines = 1024,
					.big_slices = 4,
					.kill_after_events = 3000};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("sampled"), "0");
	assert_true(WIFSIGNALED(r.status));
	assert_accounted(&r);
	assert_true(r.not_sampled > r.read);
	agent_result_done(&r);
}

/* A slow agent, who is lost more to if nothing gives way. */
static void thin_and_count(struct agent_options *options, struct agent_result *ret_thin)
{
	struct agent_result count;

	options->small_slices = 3;
	options->drain_every_ms = 2;
	options->keep_no_events = true;
	options->policy = RING_THIN;
	RUN(options, ret_thin, target_path("churn"), "1000000", "1", "20");
	options->policy = RING_COUNT;
	RUN(options, &count, target_path("churn"), "1000000", "1", "20");
	assert_exited(ret_thin, 0);
	assert_accounted(ret_thin);
	assert_accounted(&count);
	assert_int_equal(ret_thin->produced, count.produced);
	assert_int_equal(count.thinned, 0);
	assert_true(count.lost.events > 0);
	assert_true(ret_thin->lost.events < count.lost.events * 3 / 4);
	agent_result_done(&count);
}

/* Full mode turns into sampling; every change is in the data. (tests/e2e/waits.sh sees it turn
 * back.) */
static void thins(void **state)
{
	struct agent_options options = {0};
	struct agent_result thin;

	(void)state;
	thin_and_count(&options, &thin);
	assert_true(thin.thinned > 2);
	assert_true(thin.thinned_most >= 8192);
	assert_true(thin.law.openings > 0);
	assert_true(thin.level_most > 0);
	assert_true(thin.not_sampled > thin.produced / 10);
	agent_result_done(&thin);
}

static void thins_samples(void **state)
{
	struct agent_options options = {
		.mode = RING_SAMPLE, .sample_interval = 512, .set_lines = 1024};
	struct agent_result thin;

	(void)state;
	thin_and_count(&options, &thin);
	assert_true(thin.thinned_most >= 2048);
	assert_int_equal(thin.thinned_back, 0);
	agent_result_done(&thin);
}

/* For so long nobody takes anything away. The interval grows with what the rest of a slice is used
 * up, so nearly all finds room: an interval of 2 GiB is the largest, and samples of that size come
 * behind the end now and then. */
static void thins_alone(void **state)
{
	struct agent_options options = {.small_slices = 2,
					.asleep_until_ms = 400,
					.keep_no_events = true,
					.policy = RING_THIN};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "20000000", "1", "20");
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_in_range(r.lost.events, 0, 8);
	agent_result_done(&r);
}

/* Nobody reads, and the thread is still in full mode when a stack does not fit: the event is there
 * without it. */
static void thins_deep(void **state)
{
	struct agent_options options = {.small_slices = 1,
					.asleep_until_ms = 400,
					.depth_limit = 1024,
					.policy = RING_THIN};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("deep_twice"));
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_true(r.produced > 60);
	assert_int_equal(r.lost.events, 0);
	agent_result_done(&r);
}

/* A birth for which there was no room is not on record: its block leaves the set, so that no free
 * is recorded without one. */
static void lost_births(void **state)
{
	struct agent_options options = {.mode = RING_SAMPLE,
					.sample_interval = 512,
					.set_lines = 1024,
					.small_slices = 3,
					.drain_every_ms = 5,
					.policy = RING_COUNT};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	RUN(&options, &r, target_path("churn"), "100000", "1", "20");
	assert_exited(&r, 0);
	assert_accounted(&r);
	assert_true(r.lost.allocations > 100);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.orphans, 0);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logarithm),	    cmocka_unit_test(law),
		cmocka_unit_test(agrees_with_full), cmocka_unit_test(operators),
		cmocka_unit_test(handed_over),	    cmocka_unit_test(freed_inside),
		cmocka_unit_test(full_set),	    cmocka_unit_test(crowded_set),
		cmocka_unit_test(without_a_set),    cmocka_unit_test(modes),
		cmocka_unit_test(killed),	    cmocka_unit_test(thins),
		cmocka_unit_test(thins_samples),    cmocka_unit_test(exact_above_the_cut),
		cmocka_unit_test(intervals_change), cmocka_unit_test(lost_births),
		cmocka_unit_test(thins_alone),	    cmocka_unit_test(thins_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
