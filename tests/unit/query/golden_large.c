/*
 * Every answer as it was (see golden.c), of recordings with several blocks of rows, whose blocks
 * end long after theirs were packed: as a file by itself, and as a stream of the store, whose
 * writer was parked on the way. Both give the same. The numbers are in golden_large.expect.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/derive/recording_parts.h"
#include "collector/query/sweep/parallel.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/history.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/ask_recording.h"
#include "tests/unit/query/golden_table.h"
#include "tests/unit/temporary.h"

#define LIVE_MAX 60000
#define PARKS	 3

static uint64_t live[LIVE_MAX];

/* Half of what is allocated stays for long: the further on, the more is freed, and of the
 * first rows all. */
static void build(struct builder *b, bool sampled, unsigned events)
{
	struct stack_node nodes[TEST_NODES];
	uint64_t random = 5 + sampled, time = 100, fresh = 0x10000;
	unsigned count = 0;

	builder_init(b, 1 + sampled);
	test_nodes(nodes, &random);
	test_first_batch(b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, sampled);
	for (unsigned i = 0; i < events; i++) {
		uint64_t dice = test_random(&random) % 100;
		struct event e = {.thread = 1 + (uint32_t)(test_random(&random) % TEST_THREADS),
				  .time_ns = time += test_random(&random) % 10,
				  .stack = (uint32_t)(test_random(&random) % (TEST_NODES + 1))};
		unsigned which = count ? (unsigned)(test_random(&random) % count) : 0;

		if (count && (count == LIVE_MAX || dice < 10 + 50ull * i / events)) {
			e.kind = HEAPCAST__EVENT_KIND__EVENT_FREE;
			e.address = live[which];
			live[which] = live[--count];
		} else {
			bool again = count && dice > 92;

			e.kind = again ? HEAPCAST__EVENT_KIND__EVENT_REALLOC
				       : HEAPCAST__EVENT_KIND__EVENT_MALLOC;
			e.size = test_random(&random) % (dice < 70 ? 20000 : 200);
			e.address = fresh += 16 * (1 + test_random(&random) % 30);
			e.old_address = again ? live[which] : 0;
			e.weight = sampled && e.size < 4096 ? e.size + test_random(&random) % 4096
							    : e.size;
			live[again ? which : count++] = e.address;
		}
		builder_event(b, &e);
		if (i % 10000 == 9999)
			builder_close(b, time);
	}
	/* Nothing of the first rows is left. */
	for (unsigned i = 0; i < count; i++)
		if (live[i] < fresh / 2)
			builder_free(b, time += 3, 1, live[i]);
	builder_end(b, 0);
}

/* ---- as a stream ---- */

/* All of it, in pieces, by one writer after the other. */
static void write_stream(const char *path, const struct builder *b)
{
	uint64_t cut = 0, budget = b->file.length / PARKS / 2;
	struct recording *r;

	for (unsigned i = 0; i <= PARKS; i++) {
		assert_int_equal(recording_open_writing(path, &r, &cut, NULL), 0);
		assert_int_equal(cut, 0);
		if (i == PARKS)
			while (recording_derive(r, b->file.length, budget, NULL) > 0)
				;
		else
			assert_int_equal(recording_derive(r, b->file.length, budget, NULL), 1);
		assert_int_equal(i == PARKS ? recording_finish(r, NULL) : recording_park(r, NULL),
				 0);
		recording_close(r);
	}
}

static void open_written(struct test_recording *t, const struct builder *b, bool stream)
{
	char path[128];
	FILE *file;

	/* By its name it is known for a stream of the store's. */
	snprintf(path, sizeof(path), "%s/%s.heapcast", temporary_folder,
		 stream ? "recording" : "file");
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(b->file.data, 1, b->file.length, file), b->file.length);
	fclose(file);
	if (stream)
		write_stream(path, b);
	assert_int_equal(recording_open(path, NULL, NULL, &t->recording, NULL), 0);
	assert_null(recording_rederived(t->recording));
	assert_int_equal(t->recording->rows.fd[1] >= 0, stream);
	assert_int_equal(symbols_new(&(struct symbols_options){0}, &t->symbols, NULL), 0);
	assert_int_equal(view_new(t->recording, t->symbols, &t->view, NULL), 0);
}

/* ---- questions ---- */

#define FILTERS_COUNT 9

static void fill_filters(struct filter filters[FILTERS_COUNT], uint64_t end)
{
	for (unsigned i = 0; i < FILTERS_COUNT; i++)
		filter_init(&filters[i]);
	/* The first one is short. */
	filters[0].from_ns = end / 2;
	filters[0].to_ns = end / 2 + end / 500;
	filters[2].size_min = 15000;
	filters[3].alive_at_ns = end / 2;
	filters[4].lifetime = LIFETIME_ONLY_LEAKED;
	filters[5].thread = 2;
	filters[5].lifetime_min_ns = end / 8;
	filters[6].chain_length_min = 3;
	filters[7].one_in = 8;
	filters[8].from_ns = end / 10 * 9;
	filters[8].freed_at_once = ANSWER_NO;
}

/* Those that take rows one after the other get few. */
static bool is_long(const struct ask_question *q)
{
	return q->ask == ask_pages;
}

static void ask_all(struct test_recording *t, const char *name)
{
	uint64_t end = recording_end_ns(t->recording);
	struct filter filters[FILTERS_COUNT];

	fill_filters(filters, end);
	ask_about.at_ns = end / 3;
	ask_about.buckets = 40;
	ask_about.at_once = 50000;
	for (size_t q = 0; q < ASK_QUESTIONS; q++) {
		uint64_t sum = 1;
		char line[64];

		snprintf(line, sizeof(line), "%s/%s", name, ask_questions[q].name);
		golden_begin(line);
		for (unsigned f = 0; f < (is_long(&ask_questions[q]) ? 1 : FILTERS_COUNT); f++) {
			int r;

			/* Each asks some of them. */
			if (f > 1 && (f + q) % 3)
				continue;
			ask_about.value = (enum value)(VALUE_ALLOCATED + (f + q) % 5);
			ask_about.leaked_only = (f + q) % 2;
			r = ask_questions[q].ask(t->view, &filters[f], &sum);
			if (r)
				fail_msg("%s, filter %u: %s", line, f, strerror(-r));
		}
		golden_end(line, sum);
	}
}

/* What is known of blocks without their rows. */
static void check_zones(const struct test_recording *t, const char *name)
{
	uint64_t sum = 1;
	char line[64];

	snprintf(line, sizeof(line), "%s/zones", name);
	golden_begin(line);
	for (uint32_t i = 0; i < recording_blocks(t->recording); i++) {
		const struct row_block *zone = recording_zone(t->recording, i);

		ask_digest(&sum, zone->count);
		ask_digest(&sum, zone->first_row);
		ask_digest_numbers(&sum, &zone->min);
		ask_digest_numbers(&sum, &zone->max);
	}
	golden_end(line, sum);
}

static void check_recorded(const struct test_recording *t, const char *name)
{
	uint64_t sum = 1;
	char line[64];

	snprintf(line, sizeof(line), "%s/recorded", name);
	golden_begin(line);
	assert_int_equal(ask_recording_rows(t->recording, &sum), 0);
	ask_recording_account(t->recording, &sum);
	golden_end(line, sum);
}

static void check_one(bool sampled, bool stream, const char *name)
{
	struct test_recording t;
	struct builder b;

	assert_int_equal(temporary_setup(NULL), 0);
	build(&b, sampled, sampled ? 120000 : 200000);
	open_written(&t, &b, stream);
	builder_done(&b);
	assert_true(recording_blocks(t.recording) > 1);
	parallel_limit(2);
	sweep_set_piece(0);
	history_set_sizes(1u << 12, 10000);
	if (stream != sampled)
		ask_all(&t, name);
	check_recorded(&t, name);
	check_zones(&t, name);
	test_close(&t);
	assert_int_equal(temporary_teardown(NULL), 0);
}

static void test_large(void **state)
{
	(void)state;
	check_one(false, false, "exact");
	check_one(true, false, "sampled");
	check_one(false, true, "exact-stream");
	check_one(true, true, "sampled-stream");
}

int main(int argc, char **argv)
{
	return golden_main(argc, argv, EXPECT "/golden_large.expect", test_large);
}
