/* The batches of a recording that count: from which on it lacks none, and a copy that ends before
 * one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/share/bounded.h"
#include "collector/share/parts.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

static char file[96], copy[96];

static void write_file(const void *data, size_t length)
{
	FILE *out;

	snprintf(file, sizeof(file), "%s/whole", temporary_folder);
	snprintf(copy, sizeof(copy), "%s/copy", temporary_folder);
	out = fopen(file, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, length, out), length);
	assert_int_equal(fclose(out), 0);
}

static struct stream_position first_of(const char *path, bool search)
{
	struct stream_position first = {0};
	struct err_text err = {{0}};
	struct recording *r;

	assert_int_equal(recording_open(path, NULL, NULL, &r, &err), 0);
	if (bounded_first(r, search, &first, &err) < 0)
		fail_msg("%s", err.text);
	recording_close(r);
	return first;
}

static void assert_first(bool search, uint32_t incarnation, uint64_t number)
{
	struct stream_position first = first_of(file, search);

	assert_int_equal(first.incarnation, incarnation);
	assert_int_equal(first.next, number);
}

/* So many batches, an event each. */
static void put_batches(struct builder *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		b->last_ns += 10;
		builder_malloc(b, b->last_ns, 1, 0x1000 + 64 * b->last_ns, 32);
		builder_close(b, b->last_ns);
	}
}

/* Events that went elsewhere, and all definitions again. */
static void skip_batches(struct builder *b, unsigned count)
{
	b->delivered += count;
	b->of_thread[1] += count;
	b->number += count;
	b->catch_up = true;
	builder_close(b, b->last_ns);
}

static void test_whole(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	put_batches(&b, 5);
	builder_end(&b, 0);
	write_file(b.file.data, b.file.length);
	assert_first(false, 1, 1);
	builder_done(&b);
}

static void test_later_part(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	b.number = 40;
	b.before_join = b.delivered = b.of_thread[1] = 40;
	b.catch_up = true;
	builder_close(&b, 5);
	put_batches(&b, 5);
	write_file(b.file.data, b.file.length);
	assert_first(false, 1, 41);
	builder_done(&b);
}

/* It left, and came back. */
static void test_gap(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	put_batches(&b, 5);
	skip_batches(&b, 3);
	put_batches(&b, 4);
	write_file(b.file.data, b.file.length);
	assert_first(false, 0, 0);
	assert_first(true, 1, 9);
	/* Definitions that come again are no gap. */
	skip_batches(&b, 0);
	put_batches(&b, 1);
	write_file(b.file.data, b.file.length);
	assert_first(true, 1, 9);
	builder_done(&b);
}

static void test_damage(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	put_batches(&b, 6);
	b.file.data[b.ends[2] + (b.ends[3] - b.ends[2]) / 2] ^= 0x55; /* batch 4 */
	write_file(b.file.data, b.file.length);
	assert_first(false, 0, 0);
	assert_first(true, 1, 5);
	builder_done(&b);
}

/* How much there was of the agent before is not known for sure. */
static void test_other_agent(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	put_batches(&b, 5);
	skip_batches(&b, 2);
	put_batches(&b, 1);
	b.incarnation = 2;
	b.number = 0;
	b.catch_up = true;
	builder_close(&b, b.last_ns);
	put_batches(&b, 2);
	write_file(b.file.data, b.file.length);
	assert_first(true, 2, 1);
	builder_done(&b);
}

static void test_copy(void **state)
{
	struct err_text err = {{0}};
	struct recording *r;
	struct builder b;
	uint64_t bytes;

	(void)state;
	builder_init(&b, 1);
	put_batches(&b, 5);
	builder_end(&b, 0);
	write_file(b.file.data, b.file.length);
	for (uint64_t bound = 1; bound <= 8; bound++) {
		uint64_t before = bound - 1 < b.frame_count ? bound - 1 : b.frame_count;

		assert_int_equal(
			bounded_copy(file, copy, (struct stream_position){1, bound}, &bytes, &err),
			0);
		assert_int_equal(bytes, before ? b.ends[before - 1] : 0);
		if (!before)
			continue;
		assert_int_equal(recording_open(copy, NULL, NULL, &r, &err), 0);
		assert_int_equal(recording_ledger(r)->stored, before < 5 ? before : 5);
		recording_close(r);
	}
	assert_int_equal(bounded_copy(file, copy, (struct stream_position){2, 1}, &bytes, &err), 0);
	assert_int_equal(bytes, b.file.length);
	/* What cannot be written is named. */
	snprintf(copy, sizeof(copy), "%s/none/copy", temporary_folder);
	assert_int_equal(bounded_copy(file, copy, (struct stream_position){1, 3}, &bytes, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, copy));
	assert_int_equal(bounded_copy(copy, file, (struct stream_position){1, 3}, &bytes, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, copy));
	builder_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_whole), TEST_IN_FOLDER(test_later_part),
		TEST_IN_FOLDER(test_gap),   TEST_IN_FOLDER(test_damage),
		TEST_IN_FOLDER(test_copy),  TEST_IN_FOLDER(test_other_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
