/* Sums of a stream against the rows: what each function had in use at the beginning of a minute,
 * for random recordings, also disordered, sampled and thinned ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/query/minutes.h"
#include "collector/query/moments.h"
#include "collector/sums/stream_sums.h"
#include "tests/unit/query/golden_recordings.h"
#include "tests/unit/temporary.h"

#define EVENTS 600
#define FIRST  28000000u /* the minute in which recordings begin */

struct place {
	struct store *store;
	struct stream_summary stream;
	struct test_recording rows;
};

static void place_recording(struct place *p, struct builder *b)
{
	char *path = stream_recording_path(p->store, &p->stream.id), *slash = strrchr(path, '/');
	FILE *file;

	*slash = 0;
	assert_true(mkdir(path, 0700) == 0 || access(path, F_OK) == 0);
	*slash = '/';
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(b->file.data, 1, b->file.length, file), b->file.length);
	fclose(file);
	free(path);
	test_open(&p->rows, b);
}

static int64_t in_sums(const struct stream_sums *sums, const struct minute_cursor *c,
		       const struct moment_group *g)
{
	int64_t bytes = 0;

	for (uint32_t i = 0; i < sums->file.stack_count; i++) {
		const struct sums_site *s = &sums->sites[sums->file.stacks[i].site];

		if (!strcmp(s->function, g->function) &&
		    !strcmp(s->module, module_basename(g->module)))
			bytes += c->bytes[i];
	}
	return bytes;
}

/* Each function has what the rows say, and no other has anything. */
static void check_minute(struct place *p, const struct stream_sums *sums, struct minute_cursor *c,
			 uint32_t minute)
{
	uint64_t moment = minute_start_ns(minute) - p->stream.start_wall_ns;
	int64_t all = 0, of_stacks = 0;
	struct moments rows = {0};
	struct filter filter;

	filter_init(&filter);
	filter.hide = HIDE_RULES;
	assert_int_equal(query_moments(p->rows.view, &filter, &moment, 1, &rows, NULL), 0);
	assert_int_equal(minute_cursor_to(c, minute), 0);
	for (uint32_t g = 0; g < rows.count; g++) {
		int64_t bytes = 0;

		/* Groups of equal names count together. */
		for (uint32_t k = 0; k < rows.count; k++)
			if (!strcmp(rows.groups[k].function, rows.groups[g].function) &&
			    !strcmp(module_basename(rows.groups[k].module),
				    module_basename(rows.groups[g].module)))
				bytes += rows.bytes[1 + k];
		assert_int_equal(in_sums(sums, c, &rows.groups[g]), bytes);
		all += rows.bytes[1 + g];
	}
	for (uint32_t i = 0; i < sums->file.stack_count; i++)
		of_stacks += c->bytes[i];
	assert_int_equal(of_stacks, all);
	moments_done(&rows);
}

static void check_stream(struct place *p, uint64_t offset_ns)
{
	const struct sums_source source = {.store = p->store, .symbols = p->rows.symbols};
	struct stream_sums sums;
	struct minute_cursor cursor;
	struct err_text err = {0};

	p->stream.start_wall_ns = minute_start_ns(FIRST + 1) - offset_ns;
	p->stream.state = STREAM_INTERRUPTED;
	assert_int_equal(stream_sums_open(&source, &p->stream, false, &sums, &err), 0);
	assert_int_equal(minute_cursor_init(&cursor, &sums.file), 0);
	check_minute(p, &sums, &cursor, FIRST + 1);
	check_minute(p, &sums, &cursor, FIRST + 2);
	check_minute(p, &sums, &cursor, FIRST + 200);
	minute_cursor_done(&cursor);
	stream_sums_close(&sums);
}

static void check_recording(struct place *p, struct builder *b, uint64_t seed)
{
	uint64_t end;

	place_recording(p, b);
	end = recording_end_ns(p->rows.recording) + 1;
	for (int i = 0; i < 6; i++)
		check_stream(p, test_random(&seed) % (end < MINUTE_NS ? end : MINUTE_NS));
	test_close(&p->rows);
}

static void open_place(struct place *p)
{
	*p = (struct place){0};
	memset(p->stream.id.bytes, 7, sizeof(p->stream.id.bytes));
	assert_int_equal(store_open(temporary_folder, STORE_ADD, &p->store, NULL), 0);
}

static void test_random_streams(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct stack_node nodes[TEST_NODES];
		uint64_t random = seed;
		struct builder b;

		builder_init(&b, (uint8_t)seed);
		memcpy(p.stream.id.bytes, b.id, sizeof(b.id));
		test_nodes(nodes, &random);
		test_first_batch(&b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, seed % 2);
		test_random_events_disordered(&b, &random, EVENTS, seed % 2,
					      (enum test_disorder)(seed / 2 % 4));
		if (seed % 3)
			builder_end(&b, 0);
		else
			builder_close(&b, b.last_ns);
		check_recording(&p, &b, seed);
		builder_done(&b);
	}
	store_close(p.store);
}

static void test_thinned_streams(void **state)
{
	struct place p;

	(void)state;
	open_place(&p);
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct builder b;

		golden_thinned(&b, seed, 4000);
		memcpy(p.stream.id.bytes, b.id, sizeof(b.id));
		check_recording(&p, &b, seed);
		builder_done(&b);
	}
	store_close(p.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_random_streams),
		TEST_IN_FOLDER(test_thinned_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
