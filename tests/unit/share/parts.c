/* Which of several collectors has a stream's end, and which batches of the others are in its sums,
 * too. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/share/parts.h"

/* Has batches of incarnation 1 from `first` to before `next`, a second each. */
static struct stream_part part(uint64_t collector, uint64_t first, uint64_t next)
{
	return (struct stream_part){.collector = collector,
				    .first = {first ? 1 : 0, first},
				    .next = {1, next},
				    .last_ns = next * 1000000000u,
				    .events = next - first,
				    .state = STREAM_INTERRUPTED,
				    .done = true,
				    .begins_later = first > 1};
}

static bool one_covers(const struct stream_part *a, const struct stream_part *b)
{
	assert_false(stream_part_covers(b, a));
	return stream_part_covers(a, b);
}

static void test_covers(void **state)
{
	struct stream_part desk2 = part(2, 1, 6), desk3 = part(3, 4, 10), whole = part(1, 1, 10);

	(void)state;
	assert_true(one_covers(&desk3, &desk2));
	assert_true(one_covers(&whole, &desk3)); /* both have the end; it has more */
	assert_true(one_covers(&whole, &desk2));
	desk3.first.next = 6; /* nothing is at both */
	assert_false(one_covers(&desk3, &desk2));
	desk3.first.next = 7;
	assert_false(one_covers(&desk3, &desk2));
	desk3 = part(3, 0, 10); /* whether a batch is missing is not known */
	assert_false(one_covers(&desk3, &desk2));
	desk3.first = (struct stream_position){UINT32_MAX, UINT64_MAX};
	assert_false(one_covers(&desk3, &desk2));
	assert_true(one_covers(&whole, &desk3));
	whole.first = (struct stream_position){2, 1};
	assert_false(one_covers(&whole, &desk2));
}

static void test_equals(void **state)
{
	struct stream_part a = part(1, 4, 10), b = part(2, 4, 10), unknown = part(1, 0, 10);

	(void)state;
	assert_true(one_covers(&b, &a));
	assert_false(stream_part_covers(&a, &a));
	assert_false(one_covers(&b, &unknown)); /* it may have more */
}

/* What was not sent does not cover anything. */
static void test_sent(void **state)
{
	struct stream_part desk2 = part(2, 1, 90), desk3 = part(3, 80, 100);

	(void)state;
	desk3.done = false;
	for (uint32_t minute = 0; minute < 4; minute++) {
		desk3.sent_to = minute;
		assert_int_equal(one_covers(&desk3, &desk2), minute >= 2);
	}
	desk3.sent_to = 1;
	desk3.done = true;
	assert_true(one_covers(&desk3, &desk2));
	desk3.state = STREAM_LIVE; /* done is what it had when it was interrupted */
	assert_false(one_covers(&desk3, &desk2));
}

static void test_later(void **state)
{
	struct stream_part a = part(1, 1, 6), b = part(2, 4, 10);

	(void)state;
	a.version = 9;
	a.last_ns = b.last_ns * 2;
	assert_false(stream_part_is_later(&a, &b));
	assert_true(stream_part_is_later(&b, &a));
	b.next.incarnation = 0; /* a row of before: how far its sums reach */
	assert_true(stream_part_is_later(&a, &b));
	assert_false(stream_part_is_later(&b, &a));
	b.last_ns = a.last_ns;
	b.state = STREAM_ENDED;
	assert_false(stream_part_is_later(&a, &b));
	a.state = STREAM_LIVE;
	assert_false(stream_part_is_later(&a, &b));
	b.state = STREAM_INTERRUPTED;
	assert_false(stream_part_is_later(&b, &a));
	b.state = STREAM_LIVE; /* else the one with the higher version, which follows */
	assert_true(stream_part_is_later(&b, &a));
	assert_true(stream_part_is_later(&a, &b));
}

static void test_copies(void **state)
{
	struct stream_part desk2 = part(2, 1, 6), desk3 = part(3, 4, 10), whole = part(1, 1, 10);

	(void)state;
	assert_true(stream_part_is_copy(&whole, &desk2));
	assert_true(stream_part_is_copy(&whole, &whole));
	assert_false(stream_part_is_copy(&desk2, &whole));
	assert_false(stream_part_is_copy(&desk3, &whole));
	assert_false(stream_part_is_copy(&whole, &desk3));
	desk2.next = whole.next; /* it lacks some in the middle */
	assert_false(stream_part_is_copy(&desk2, &whole));
	desk2.next.incarnation = 0;
	assert_true(stream_part_is_copy(&desk2, &whole));
}

static void put_row(struct buf *row, uint8_t state)
{
	buf_clear(row);
	buf_append(row, "0123456789abcdef", ROW_ID_SIZE);
	row_put_u64(row, 7);
	row_put_u64(row, 8);
	row_put_u32(row, 1);
	row_put_u64(row, 10);
	row_put_u32(row, 1);
	row_put_u64(row, 4);
	row_put_u64(row, 100);
	row_put_u64(row, 200);
	row_put_u64(row, 300);
	row_put_u8(row, state);
	row_put_u32(row, 5);
	row_put_u8(row, 1);
	row_put_u8(row, 1);
}

static void test_rows(void **state)
{
	struct stream_part p = {0};
	struct buf row = {0};
	struct reader r;

	(void)state;
	put_row(&row, STREAM_ENDED);
	r = reader_of(row.data, row.length);
	assert_int_equal(stream_part_get(&r, &p), 0);
	assert_false(reader_more(&r));
	assert_memory_equal(p.stream.bytes, "0123456789abcdef", ROW_ID_SIZE);
	assert_int_equal(p.collector, 7);
	assert_int_equal(p.next.next, 10);
	assert_int_equal(p.first.next, 4);
	assert_int_equal(p.events, 300);
	assert_int_equal(p.sent_to, 5);
	assert_true(p.done && p.begins_later && p.state == STREAM_ENDED);
	for (size_t length = 0; length < row.length; length++) {
		r = reader_of(row.data, length);
		assert_int_equal(stream_part_get(&r, &p), -EBADMSG);
	}
	put_row(&row, 3);
	r = reader_of(row.data, row.length);
	assert_int_equal(stream_part_get(&r, &p), -EBADMSG);
	buf_done(&row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covers), cmocka_unit_test(test_equals),
		cmocka_unit_test(test_sent),   cmocka_unit_test(test_later),
		cmocka_unit_test(test_copies), cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
