#pragma once
/*
 * Two recordings, and questions that are asked of them again and again while something fails:
 * memory (scarce.c) or the disk (failing.c). What is answered is what is answered when all is well.
 */
#include "collector/query/sweep/parallel.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/history.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/recording.h"

#define MAPPINGS 20

static struct test_recording recording, sampled;
static char *recording_file, *sampled_file;

/* With a few mappings over the blocks, whose calls are read from the file. Free the path. */
static inline char *open_recording(struct test_recording *t, uint64_t seed, unsigned events,
				   bool samples)
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
	test_random_events(&b, &seed, events, samples);
	builder_end(&b, 0);
	path = builder_save(&b, b.file.length);
	builder_done(&b);
	assert_int_equal(recording_open(path, NULL, NULL, &t->recording, NULL), 0);
	assert_int_equal(symbols_new(&options, &t->symbols, NULL), 0);
	return path;
}

static inline void close_recording(struct test_recording *t, char *path)
{
	symbols_free(t->symbols);
	recording_close(t->recording);
	unlink(path);
	free(path);
}

/* ---- questions ---- */

struct question {
	const struct test_recording *of;
	const char *name;
	const char *filter, *value; /* NULL: none */
	int (*ask)(struct view *view, const struct filter *f, uint64_t *d);
	uint64_t answer; /* when all is well; 0: not known yet */
};

/* Of a view that has not been asked yet. */
static inline int ask(void *context)
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
		fail_msg("%s, %s: another answer while something fails", q->name,
			 q->filter ? q->filter : "no filter");
	return r;
}

static const char *const again_filters[][2] = {
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
#define AGAIN_FILTERS (sizeof(again_filters) / sizeof(*again_filters))

/* ---- both of them ---- */

static inline void again_begin(unsigned events)
{
	parallel_limit(1); /* each time the same call is the n-th */
	recording_file = open_recording(&recording, 3, events, false);
	sampled_file = open_recording(&sampled, 4, events, true);
}

static inline int again_end(void **state)
{
	(void)state;
	close_recording(&recording, recording_file);
	close_recording(&sampled, sampled_file);
	return 0;
}
