/* RowBinary, there and back; spoilt answers; exceptions of servers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "collector/clickhouse/failure.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"

static const uint8_t id[ROW_ID_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255};

static void put_row(struct buf *b)
{
	static const uint64_t numbers[] = {1, UINT64_MAX};

	row_put_u8(b, 200);
	row_put_u16(b, 0x1234);
	row_put_day(b, 20000);
	row_put_u32(b, 0x12345678);
	row_put_u64(b, UINT64_C(0x123456789abcdef0));
	row_put_i64(b, -2);
	row_put_id(b, id);
	row_put_text(b, "text");
	row_put_text(b, NULL);
	row_put_bytes(b, "\0\n", 2);
	row_put_numbers(b, numbers, 2);
	row_put_numbers(b, NULL, 0);
}

/* Returns 0 if all of it is there and as it was put. */
static int get_row(struct reader *r)
{
	uint8_t got[ROW_ID_SIZE];
	size_t text = 9, none = 9, bytes = 9;
	bool same = row_get_u8(r) == 200 && row_get_u16(r) == 0x1234 && row_get_u16(r) == 20000 &&
		    row_get_u32(r) == 0x12345678 &&
		    row_get_u64(r) == UINT64_C(0x123456789abcdef0) && row_get_i64(r) == -2;
	const char *a, *b, *c;

	row_get_id(r, got);
	a = row_get_bytes(r, 4, &text);
	b = row_get_bytes(r, 4, &none);
	c = row_get_bytes(r, 4, &bytes);
	same = same && !memcmp(got, id, sizeof(id)) && a && b && c && text == 4 && !none &&
	       bytes == 2 && !memcmp(a, "text", 4) && !memcmp(c, "\0\n", 2);
	same = same && row_get_count(r, 2) == 2 && row_get_u64(r) == 1 &&
	       row_get_u64(r) == UINT64_MAX && row_get_count(r, 2) == 0;
	return reader_error(r) ? reader_error(r) : same ? 0 : -EINVAL;
}

static void test_rows(void **state)
{
	struct buf b = {.data = NULL};
	struct reader r;

	(void)state;
	put_row(&b);
	put_row(&b);
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.length, 2 * (1 + 2 + 2 + 4 + 8 + 8 + 16 + 5 + 1 + 3 + 17 + 1));
	r = reader_of(b.data, b.length);
	assert_int_equal(get_row(&r), 0);
	assert_int_equal(get_row(&r), 0);
	assert_false(reader_more(&r));
	assert_int_equal(get_row(&r), -EBADMSG);
	buf_done(&b);
}

/* An answer that ends too early is an error, wherever it ends. */
static void test_cut(void **state)
{
	struct buf b = {.data = NULL};

	(void)state;
	put_row(&b);
	for (size_t length = 0; length < b.length; length++) {
		struct reader r = reader_of(b.data, length);

		assert_int_equal(get_row(&r), -EBADMSG);
	}
	buf_done(&b);
}

static void test_lengths(void **state)
{
	static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				       0xff, 0xff, 0xff, 1,    'x'};
	static const uint8_t endless[] = {0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t three[] = {3, 'a', 'b', 'c'};
	struct reader r = reader_of(huge, sizeof(huge));
	size_t length;

	(void)state;
	assert_null(row_get_bytes(&r, SIZE_MAX, &length));
	r = reader_of(endless, sizeof(endless));
	assert_null(row_get_bytes(&r, SIZE_MAX, &length));
	r = reader_of(three, sizeof(three));
	assert_null(row_get_bytes(&r, 2, &length));
	assert_int_equal(reader_error(&r), -EBADMSG);
	r = reader_of(huge, sizeof(huge));
	assert_int_equal(row_get_count(&r, SIZE_MAX), 0);
	assert_int_equal(reader_error(&r), -EBADMSG);
	r = reader_of(three, sizeof(three)); /* 3 numbers in 3 bytes */
	assert_int_equal(row_get_count(&r, 8), 0);
	assert_int_equal(reader_error(&r), -EBADMSG);
}

static void test_days(void **state)
{
	struct buf b = {.data = NULL};

	(void)state;
	row_put_day(&b, 65535);
	row_put_day(&b, 65536);
	row_put_day(&b, UINT64_MAX);
	assert_memory_equal(b.data, "\xff\xff\xff\xff\xff\xff", 6);
	buf_done(&b);
}

static int exception(const char *body, const char *text)
{
	char shown[FAILURE_TEXT] = "";
	int code = failure_exception(body, strlen(body), shown);

	assert_string_equal(shown, text);
	return code;
}

static void test_exceptions(void **state)
{
	(void)state;
	assert_int_equal(exception("Code: 60, e.displayText() = DB::Exception: Table d.t doesn't "
				   "exist., e.what() = DB::Exception\n",
				   "Table d.t doesn't exist."),
			 60);
	assert_int_equal(exception("Code: 516. DB::Exception: default: Authentication failed. "
				   "(AUTHENTICATION_FAILED) (version 26.7)\nmore",
				   "default: Authentication failed. (AUTHENTICATION_FAILED) "
				   "(version 26.7)"),
			 516);
	assert_int_equal(exception("Code: 62, e.displayText() = DB::Exception: \x1b[31m\x80 "
				   "\xe2\x80\xaex",
				   "?[31m? ?x"),
			 62);
	assert_int_equal(exception("", ""), 0);
	assert_int_equal(exception("Code: ", ""), 0);
	assert_int_equal(exception("Code: 60", ""), 0);
	assert_int_equal(exception("Code: 0, x", ""), 0);
	assert_int_equal(exception("Code: 99999999999999999999, x", ""), 0);
	assert_int_equal(exception("<html>Code: 60, ", ""), 0);
	assert_int_equal(exception("Code: 60,", ","), 60);
}

static void test_long_exception(void **state)
{
	char body[4096] = "Code: 1, e.displayText() = DB::Exception: ", shown[FAILURE_TEXT];

	(void)state;
	memset(body + strlen(body), 'x', sizeof(body) - strlen(body) - 1);
	assert_int_equal(failure_exception(body, sizeof(body), shown), 1);
	assert_true(strlen(shown) < FAILURE_TEXT && strlen(shown) > 300);
}

static void test_appended(void **state)
{
	static const char good[] = "Code: 1 Code: 22, Code: Code: 3. DB:";
	char body[8192], shown[FAILURE_TEXT];
	int n;

	(void)state;
	assert_int_equal(failure_appended(good, sizeof(good), shown), 0);
	assert_int_equal(failure_appended("", 0, shown), 0);
	memset(body, 0xff, sizeof(body));
	n = snprintf(body + 8000, 150, "%sCode: 395, e.displayText() = DB::Exception: no", good);
	assert_int_equal(failure_appended(body, 8000 + (size_t)n, shown), 395);
	assert_string_equal(shown, "no");
	for (int cut = 1; cut < 5; cut++) /* of "no", and of its mark */
		failure_appended(body, 8000 + (size_t)(n - cut), shown);
	/* What stands further before is data. */
	assert_int_equal(failure_appended(body, sizeof(body), shown), 395);
	n = snprintf(body, 150, "Code: 395. DB::Exception: no\n");
	memset(body + n, ' ', sizeof(body) - (size_t)n);
	assert_int_equal(failure_appended(body, sizeof(body), shown), 0);
}

static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(failure_of_code(62), -EREMOTEIO);
	assert_int_equal(failure_of_code(319), -ETIMEDOUT);
	assert_int_equal(failure_of_code(252), -EAGAIN);
	assert_int_equal(failure_of_code(193), -EACCES);
	assert_non_null(strstr(failure_advice(516), "HEAPCAST_CLICKHOUSE_PASSWORD"));
	assert_string_equal(failure_advice(252), "");
	assert_string_equal(failure_advice(62), "");
	assert_int_equal(failure_of_status(403), -EACCES);
	assert_non_null(strstr(failure_status_advice(401), "HEAPCAST_CLICKHOUSE_PASSWORD"));
	assert_string_equal(failure_status_advice(404), "");
	assert_int_equal(failure_of_status(404), -EREMOTEIO);
	assert_int_equal(failure_of_status(429), -EAGAIN);
	assert_int_equal(failure_of_status(500), -ETIMEDOUT);
	assert_int_equal(failure_of_status(501), -EREMOTEIO);
	assert_int_equal(failure_of_status(503), -EAGAIN);
	assert_int_equal(failure_of_status(504), -ETIMEDOUT);
}

/* Collectors of other versions must find the same shard. */
static void test_shards(void **state)
{
	size_t seen[3] = {0};

	(void)state;
	assert_int_equal(clickhouse_shard_of(id, 1), 0);
	assert_int_equal(clickhouse_shard_of(id, 0), 0);
	assert_int_equal(clickhouse_shard_of(id, 1000000), 697378);
	for (unsigned i = 0; i < 3000; i++) {
		uint8_t other[ROW_ID_SIZE] = {(uint8_t)i, (uint8_t)(i >> 8)};

		seen[clickhouse_shard_of(other, 3)]++;
	}
	for (size_t i = 0; i < 3; i++)
		assert_in_range(seen[i], 800, 1200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	   cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lengths),	   cmocka_unit_test(test_days),
		cmocka_unit_test(test_exceptions), cmocka_unit_test(test_long_exception),
		cmocka_unit_test(test_appended),   cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_shards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
