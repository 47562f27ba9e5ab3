/* Questions when memory runs out: each failed allocation is told, or the answer is what it is with
 * plenty of memory. */
#include "tests/unit/scarce.h"

#include "collector/query/sweep/parallel.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/history.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/recording.h"

#define EVENTS	 300
#define MAPPINGS 20

static struct test_recording recording, sampled;

/* With a few mappings over the blocks, whose calls are read from the file. Free the path. */
static char *open_recording(struct test_recording *t, uint64_t seed, bool samples)
{
	struct symbols_options options = {0};
	struct stack_node nodes[TEST_NODES];
	struct builder b;
	char *path;

	builder_init(&b, (uint8_t)seed);
	test_nodes(nodes, &seed);
	test_first_batch(&b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, samples);
	for (uint64_t i = 0; i < MAPPINGS; i++)
		builder_event(&b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MMAP,
						  .thread = 1,
						  .time_ns = 10 + i,
						  .address = 0x10000 + i * 0x40000,
						  .size = 0x50000,
						  .weight = 0x50000});
	test_random_events(&b, &seed, EVENTS, samples);
	builder_end(&b, 0);
	path = builder_save(&b, b.file.length);
	builder_done(&b);
	assert_int_equal(recording_open(path, NULL, NULL, &t->recording, NULL), 0);
	assert_int_equal(symbols_new(&options, &t->symbols, NULL), 0);
	return path;
}

static void close_recording(struct test_recording *t, char *path)
{
	symbols_free(t->symbols);
	recording_close(t->recording);
	unlink(path);
	free(path);
}

/* ---- with less and less memory ---- */

struct question {
	const struct test_recording *of;
	const char *name;
	const char *filter, *value; /* NULL: none */
	int (*ask)(struct view *view, const struct filter *f, uint64_t *d);
	uint64_t answer; /* with plenty of memory; 0: not known yet */
};

/* Of a view that has not been asked yet. */
static int ask(void *context)
{
	struct question *q = context;
	struct view *view;
	struct filter f;
	uint64_t d = 1;
	int r = view_new(q->of->recording, q->of->symbols, &view, NULL);

	if (r)
		return r;
	filter_init(&f);
	if (q->filter)
		r = filter_set(&f, view, q->filter, q->value, NULL);
	if (!r)
		r = q->ask(view, &f, &d);
	filter_done(&f);
	view_free(view);
	if (!r && !q->answer)
		q->answer = d;
	if (!r && d != q->answer)
		fail_msg("%s, %s: another answer with less memory", q->name,
			 q->filter ? q->filter : "no filter");
	return r;
}

static void ask_each(struct question q)
{
	unsigned failed;
	int r = ask(&q);

	if (r)
		fail_msg("%s, %s: %s", q.name, q.filter ? q.filter : "no filter", strerror(-r));
	failed = scarce_some(ask, &q, SCARCE_STEP);
	if (!failed)
		fail_msg("%s, %s: no allocation", q.name, q.filter ? q.filter : "no filter");
}

/* How many allocations passed through each place. */
static int ask_places(struct view *view, const struct filter *f, uint64_t *d)
{
	(void)f;
	for (uint32_t node = 0; node <= TEST_NODES + 1; node++) {
		uint64_t count;
		int r = view_place_allocations(view, node, &count, NULL);

		if (r)
			return r;
		ask_digest(d, count);
	}
	return 0;
}

static void all_questions(void **state)
{
	(void)state;
	ask_each((struct question){.of = &recording, .name = "places", .ask = ask_places});
	for (size_t i = 0; i < ASK_QUESTIONS; i++)
		ask_each((struct question){.of = &recording,
					   .name = ask_questions[i].name,
					   .ask = ask_questions[i].ask});
}

static void samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < ASK_QUESTIONS; i += 2)
		ask_each((struct question){.of = &sampled,
					   .name = ask_questions[i].name,
					   .ask = ask_questions[i].ask});
}

static void all_filters(void **state)
{
	static const char *const filters[][2] = {
		{"lifetime", "only_whole_group_leaked"},
		{"lifetime", "only_chain_leaked"},
		{"size_min", "50"},
		{"function_regex", "lib.*"},
		{"negative_source_regex", "\\.c$"},
		{"thread_name", ".*"},
		{"module", "libother.so.1"},
		{"tag", "none"},
		{"marker", "1"},
		{"from_map", "0"},
		{"temporary", "yes"},
		{"arena", "main"},
		{"mmaped", "no"},
		{"jemalloc", "no"},
		{"chain_length_min", "2"},
		{"last_size_min", "10"},
		{"group_allocations_min", "3"},
		{"group_leaked_allocations_min", "50%"},
		{"group_max_total_usage_first_seen_min", "0.0000001"},
		{"alive_at", "0.0000008"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		for (unsigned k = 0; k < 2; k++)
			ask_each((struct question){.of = &recording,
						   .name = k ? "timeline" : "report",
						   .filter = filters[i][0],
						   .value = filters[i][1],
						   .ask = k ? ask_timeline : ask_report});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_questions),
		cmocka_unit_test(samples),
		cmocka_unit_test(all_filters),
	};
	char *path, *path_sampled;
	int r;

	parallel_limit(1); /* each time the same allocation is the n-th */
	sweep_set_piece(64);
	history_set_sizes(16, 50);
	path = open_recording(&recording, 3, false);
	path_sampled = open_recording(&sampled, 4, true);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	close_recording(&recording, path);
	close_recording(&sampled, path_sampled);
	return r;
}
