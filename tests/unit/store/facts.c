/*
 * What a recording says of itself: what there is of each kind, by number, and nothing beyond; where
 * answers may be kept beside it; and what is told of it when it is opened.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "proto/culled.h"
#include "proto/event.h"
#include "proto/stack_columns.h"
#include "tests/unit/store/everything.h"
#include "tests/unit/temporary.h"

static char file[128];

static int begin(void **state)
{
	if (temporary_setup(state) < 0)
		return -1;
	snprintf(file, sizeof(file), "%s/recording.heapcast", temporary_folder);
	everything_build();
	return 0;
}

static int end(void **state)
{
	everything_done();
	return temporary_teardown(state);
}

/* Writes the first bytes of what was built. */
static void save(size_t length)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(b.file.data, 1, length, f), length);
	fclose(f);
}

static struct recording *open_it(void)
{
	struct recording *r;

	assert_int_equal(recording_open(file, NULL, NULL, &r, NULL), 0);
	return r;
}

/* ---- by number ---- */

/* Numbers begin with 1, and those at the end are there. */
static void numbers(void **state)
{
	struct recording *r;
	uint32_t n;

	(void)state;
	save(b.file.length);
	r = open_it();
	assert_string_equal(recording_path(r), file);
	assert_int_equal(recording_id(r)->bytes[0], b.id[0]);
	n = recording_modules(r);
	assert_true(n > 2);
	assert_null(recording_module(r, 0));
	assert_int_equal(recording_module(r, 1)->number, 1);
	assert_int_equal(recording_module(r, n)->number, n);
	assert_null(recording_module(r, n + 1));
	n = recording_threads(r);
	assert_true(n > 1);
	assert_null(recording_thread(r, 0));
	assert_int_equal(recording_thread(r, 1)->number, 1);
	assert_int_equal(recording_thread(r, n)->number, n);
	assert_null(recording_thread(r, n + 1));
	n = recording_nodes(r);
	assert_true(n > 2);
	assert_null(recording_node(r, 0));
	assert_ptr_equal(recording_node(r, 1), r->definitions.nodes.list);
	assert_ptr_equal(recording_node(r, n), r->definitions.nodes.list + n - 1);
	assert_null(recording_node(r, n + 1));
	recording_close(r);
}

/* Indexes begin with 0. */
#define CHECK_INDEXES(r, count, item)                                                              \
	do {                                                                                       \
		uint32_t n = count(r);                                                             \
                                                                                                   \
		assert_true(n > 0);                                                                \
		assert_non_null(item(r, 0));                                                       \
		assert_ptr_equal(item(r, n - 1), item(r, 0) + n - 1);                              \
		assert_null(item(r, n));                                                           \
		assert_null(item(r, UINT32_MAX));                                                  \
	} while (0)

static void indexes(void **state)
{
	struct recording *r;

	(void)state;
	save(b.file.length);
	r = open_it();
	CHECK_INDEXES(r, recording_gaps, recording_gap);
	CHECK_INDEXES(r, recording_marks, recording_mark);
	CHECK_INDEXES(r, recording_unrecorded_count, recording_unrecorded);
	CHECK_INDEXES(r, recording_culled_count, recording_culled);
	CHECK_INDEXES(r, recording_other_events, recording_other_event);
	recording_close(r);
}

/* A place has the frames that were named, and others none. */
static void names(void **state)
{
	struct recording *r;
	struct named_frame frame;
	uint32_t first = 7, count = 7, places = 0, frames = 0;

	(void)state;
	save(b.file.length);
	r = open_it();
	for (uint32_t i = 1; i <= recording_nodes(r); i++) {
		const struct stack_node *node = recording_node(r, i);

		if (!recording_named(r, node->module, node->offset, &first, &count))
			continue;
		places++;
		for (uint32_t k = first; k < first + count; k++) {
			frame = recording_named_frame(r, k);
			frames += frame.function || frame.file;
		}
	}
	assert_true(places && frames);
	first = count = 7;
	assert_int_equal(recording_named(r, 1, UINT64_MAX - 5, &first, &count), 0);
	assert_true(first == 7 && count == 7);
	for (unsigned i = 0; i < 2; i++) {
		frame = recording_named_frame(r, i ? UINT32_MAX : r->definitions.names.frame_count);
		assert_true(!frame.function && !frame.file && !frame.line);
	}
	recording_close(r);
}

/* ---- beside it ---- */

static void derive(void)
{
	struct recording *r;
	struct err_text err = {0};
	uint64_t cut = 0;
	int e;

	if (recording_open_writing(file, &r, &cut, &err) < 0)
		fail_msg("%s", err.text);
	while ((e = recording_derive(r, b.file.length, 1000, &err)) == 1)
		;
	assert_int_equal(e, 0);
	assert_int_equal(recording_finish(r, &err), 0);
	recording_close(r);
}

/* Answers are kept beside rows that are kept, of a program that has ended. */
static void what_is_kept(void **state)
{
	char *path = NULL, expected[160];
	uint64_t bytes = 5;
	struct recording *r;

	(void)state;
	save(b.file.length);
	r = open_it();
	assert_int_equal(recording_keep(r, "answer", &path, &bytes), -ENOENT);
	assert_true(!path && bytes == 5);
	recording_close(r);
	derive();
	r = open_it();
	assert_int_equal(recording_keep(r, "answer", &path, &bytes), 0);
	snprintf(expected, sizeof(expected), "%s/columns/answer", temporary_folder);
	assert_string_equal(path, expected);
	assert_int_equal(bytes, b.file.length);
	free(path);
	recording_close(r);
	/* Of another name, it is not a store's. */
	snprintf(expected, sizeof(expected), "%s/other.heapcast", temporary_folder);
	assert_int_equal(rename(file, expected), 0);
	assert_int_equal(recording_open(expected, NULL, NULL, &r, NULL), 0);
	assert_int_equal(recording_keep(r, "answer", &path, &bytes), -ENOENT);
	recording_close(r);
}

/* ---- when it is opened ---- */

static void check_news(bool expected, const char *text)
{
	char sentence[512];
	struct err_text news = {0};
	struct recording *r = open_it();

	assert_int_equal(recording_opening_news(r, &news), expected);
	snprintf(sentence, sizeof(sentence), "%s: %s%llu events are there", file, text,
		 (unsigned long long)recording_ledger(r)->stored);
	assert_string_equal(news.text, sentence);
	recording_close(r);
}

static void opening(void **state)
{
	char text[256];
	size_t frames = b.frame_count, second = b.ends[1] - b.ends[0];

	(void)state;
	save(b.file.length);
	check_news(false, "");
	save(b.ends[frames - 2] + 40);
	check_news(false, ""); /* the completeness says it */
	b.file.data[b.ends[0] + second / 2] ^= 1;
	save(b.ends[frames - 1]);
	snprintf(text, sizeof(text), "%zu damaged bytes in 1 place are skipped, the first at %zu; ",
		 second, b.ends[0]);
	check_news(true, text);
	/* The last frame is damaged, and no beginning of one. */
	b.file.data[b.ends[frames - 2]] ^= 1;
	save(b.ends[frames - 1]);
	snprintf(text, sizeof(text),
		 "%zu damaged bytes in 2 places are skipped, the first at %zu; ",
		 second + (b.ends[frames - 1] - b.ends[frames - 2]), b.ends[0]);
	check_news(true, text);
	b.file.data[b.ends[0] + second / 2] ^= 1;
	save(b.ends[frames - 1]);
	snprintf(text, sizeof(text), "%zu damaged bytes in 1 place are skipped, the first at %zu; ",
		 b.ends[frames - 1] - b.ends[frames - 2], b.ends[frames - 2]);
	check_news(true, text);
	b.file.data[b.ends[frames - 2]] ^= 1;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers), TEST(indexes), TEST(names), TEST(what_is_kept), TEST(opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
