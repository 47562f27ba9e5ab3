/* Rows of culled blocks: what is encoded comes back, each column has its bytes, and what a decoder
 * refuses lies just beyond what it takes. */
#include "proto/culled.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/error.h"
#include "proto/columns.h"

#define ROWS	 4
#define TIME_MAX (1ull << 63)

static const struct culled_row plain = {.thread = 7,
					.stack = 9,
					.lifetime = 3,
					.blocks = 4,
					.bytes = 4 * 100 + 30,
					.reallocated = 1,
					.size_least = 100,
					.size_most = 120,
					.first_ns = 5 * CULLED_TICK_NS,
					.last_ns = 8 * CULLED_TICK_NS};

static uint8_t memory[ROWS * CULLED_ROW_MAX];

/* A message of `rows`, in `memory`. */
static Heapcast__Culled encoded(const struct culled_row *rows, uint32_t count, uint64_t base_ns)
{
	struct culled_encoder e;
	Heapcast__Culled message;

	culled_encoder_init(&e, memory, ROWS, base_ns);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(culled_encoder_put(&e, &rows[i]), 0);
	culled_encoder_fill(&e, &message);
	return message;
}

/* Reads a message whole: the rows read; or -EBADMSG, whose sentence has `why` in it. */
static int read_all(const Heapcast__Culled *message, struct culled_row *rows, const char *why)
{
	struct culled_decoder d;
	struct culled_row row;
	struct err_text err = {{0}};
	int n = 0, r = culled_decoder_init(&d, message, &err);

	while (r >= 0 && (r = culled_decoder_next(&d, &row, &err)) == 1) {
		if (rows)
			rows[n] = row;
		n++;
	}
	if (r < 0 && why)
		assert_non_null(strstr(err.text, why));
	return r < 0 ? r : n;
}

static void assert_row(const struct culled_row *got, const struct culled_row *row)
{
	assert_int_equal(got->thread, row->thread);
	assert_int_equal(got->stack, row->stack);
	assert_int_equal(got->lifetime, row->lifetime);
	assert_int_equal(got->blocks, row->blocks);
	assert_int_equal(got->bytes, row->bytes);
	assert_int_equal(got->reallocated, row->reallocated);
	assert_int_equal(got->size_least, row->size_least);
	assert_int_equal(got->size_most, row->size_most);
	assert_int_equal(got->weight, row->weight);
	assert_int_equal(got->first_ns, row->first_ns);
	assert_int_equal(got->last_ns, row->last_ns);
}

static void test_round(void **state)
{
	struct culled_row rows[ROWS] = {plain, plain, plain, plain}, got[ROWS];
	struct culled_encoder e;
	Heapcast__Culled m;

	(void)state;
	rows[1].weight = 0;
	rows[1].thread = UINT32_MAX;
	rows[1].stack = UINT32_MAX;
	rows[2].stack = 0;
	rows[2].lifetime = (uint8_t)(culled_lifetimes - 1);
	rows[2].size_most = rows[2].size_least;
	rows[2].bytes = 400;
	rows[2].weight = 101;
	rows[3].reallocated = 4;
	rows[3].first_ns = rows[3].last_ns = 2 * CULLED_TICK_NS;
	m = encoded(rows, ROWS, 2 * CULLED_TICK_NS + 1);
	assert_int_equal(m.base_ns, 2 * CULLED_TICK_NS); /* whole ticks */
	assert_int_equal(m.count, ROWS);
	assert_int_equal(m.tick_ns, 1000000);
	assert_int_equal(m.allocations, 16);
	assert_int_equal(m.bytes, 3 * 430 + 400);
	assert_int_equal(m.frees, 3 + 3 + 3 + 0);
	assert_int_equal(m.weight.len, ROWS);
	assert_int_equal(read_all(&m, got, NULL), ROWS);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_row(&got[i], &rows[i]);
	m = encoded(rows, 2, 0);
	assert_int_equal(m.weight.len, 0); /* none has one */
	assert_int_equal(read_all(&m, got, NULL), 2);
	assert_row(&got[1], &rows[1]);
	m = encoded(rows, 0, 0);
	assert_int_equal(read_all(&m, got, NULL), 0);

	culled_encoder_init(&e, memory, 1, 0);
	assert_int_equal(culled_encoder_put(&e, &plain), 0);
	assert_int_equal(culled_encoder_put(&e, &plain), -ENOSPC);
	assert_int_equal(e.count, 1);
}

/* The longest rows fill their columns, and no column runs into the next. */
static void test_longest(void **state)
{
	struct culled_row row = {.thread = UINT32_MAX,
				 .stack = UINT32_MAX,
				 .lifetime = (uint8_t)(culled_lifetimes - 1),
				 .blocks = UINT64_MAX,
				 .bytes = UINT64_MAX,
				 .reallocated = UINT64_MAX,
				 .size_least = 1,
				 .size_most = UINT64_MAX,
				 .weight = UINT64_MAX,
				 .first_ns = UINT64_MAX,
				 .last_ns = UINT64_MAX};
	struct culled_encoder e;

	(void)state;
	culled_encoder_init(&e, memory, ROWS, 0);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_int_equal(culled_encoder_put(&e, &row), 0);
	for (unsigned i = 0; i + 1 < CULLED_COLUMNS; i++)
		assert_true(e.data[i] + e.length[i] <= e.data[i + 1]);
	assert_true(e.data[CULLED_COLUMNS - 1] + ROWS * 10 <= memory + sizeof(memory));
	assert_int_equal(e.length[CULLED_THREAD], 5 * ROWS);
	assert_int_equal(e.length[CULLED_LIFETIME], ROWS);
	assert_int_equal(e.length[CULLED_WEIGHT], 10 * ROWS);
}

static void test_header(void **state)
{
	Heapcast__Culled m = encoded(&plain, 1, 0), bad = m;

	(void)state;
	bad.count = CULLED_ROWS_MAX + 1;
	assert_int_equal(read_all(&bad, NULL, "rows in one batch"), -EBADMSG);
	bad.count = CULLED_ROWS_MAX;
	assert_int_equal(read_all(&bad, NULL, "row 1: ends too early"), -EBADMSG);
	bad = m;
	bad.tick_ns = 0;
	assert_int_equal(read_all(&bad, NULL, "ticks of 0 ns"), -EBADMSG);
	bad.tick_ns = EVENTS_MAX_TICK_NS;
	assert_int_equal(read_all(&bad, NULL, NULL), 1);
	bad.tick_ns++;
	assert_int_equal(read_all(&bad, NULL, "ticks of"), -EBADMSG);
	bad = m;
	bad.base_ns = TIME_MAX;
	assert_int_equal(read_all(&bad, NULL, "short-lived: a time that is too large"), -EBADMSG);
	bad.base_ns = TIME_MAX - 8 * CULLED_TICK_NS - 1;
	assert_int_equal(read_all(&bad, NULL, NULL), 1);
	bad.base_ns++;
	assert_int_equal(read_all(&bad, NULL, "column first, row 0: a time beyond"), -EBADMSG);
}

static void test_sums(void **state)
{
	Heapcast__Culled m = encoded(&plain, 1, 0), bad = m;

	(void)state;
	bad.allocations++;
	assert_int_equal(read_all(&bad, NULL, "add up to"), -EBADMSG);
	bad = m;
	bad.bytes--;
	assert_int_equal(read_all(&bad, NULL, "add up to"), -EBADMSG);
	bad = m;
	bad.frees--;
	assert_int_equal(read_all(&bad, NULL, "add up to"), -EBADMSG);
	bad = m;
	bad.count = 0;
	assert_int_equal(read_all(&bad, NULL, "goes on behind the last row"), -EBADMSG);
}

/* Each column a byte too short, and a byte too long. */
static void test_lengths(void **state)
{
	struct culled_row row = plain;
	Heapcast__Culled m;
	ProtobufCBinaryData *columns[] = {&m.thread, &m.stack,	    &m.lifetime,   &m.blocks,
					  &m.size,   &m.size_range, &m.bytes_over, &m.first,
					  &m.last,   &m.weight,	    &m.reallocated};

	(void)state;
	row.size_most = row.size_least;
	row.bytes = 400;
	row.weight = 120;
	m = encoded(&row, 1, 0);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		struct culled_decoder d;
		struct culled_row got;
		struct err_text err;

		columns[i]->len++;
		assert_int_equal(culled_decoder_init(&d, &m, &err), 0);
		assert_int_equal(culled_decoder_next(&d, &got, &err), 1);
		assert_int_equal(culled_decoder_next(&d, &got, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "goes on behind the last row"));
		columns[i]->len -= 2;
		if (columns[i] != &m.weight) /* none at all is no weight */
			assert_true(read_all(&m, NULL, NULL) == -EBADMSG);
		columns[i]->len++;
	}
	assert_int_equal(read_all(&m, NULL, NULL), 1);
}

static void assert_taken(struct culled_row row, const char *why)
{
	Heapcast__Culled m = encoded(&row, 1, 0);

	assert_int_equal(read_all(&m, NULL, why), why ? -EBADMSG : 1);
}

static void test_rows(void **state)
{
	struct culled_row row = plain;

	(void)state;
	row.thread = 0;
	assert_taken(row, "no number of a thread");
	row.thread = row.stack = UINT32_MAX;
	assert_taken(row, NULL);
	row = plain;
	row.lifetime = culled_lifetimes;
	assert_taken(row, "a class that this version does not know");
	row = plain;
	row.reallocated = 4;
	assert_taken(row, NULL);
	row.reallocated = 5;
	assert_taken(row, "more than there are blocks");
	row = plain;
	row.blocks = row.reallocated = row.bytes = 0;
	assert_taken(row, "no block");
	row = plain;
	row.bytes = 4 * 120;
	assert_taken(row, NULL);
	row.bytes++;
	assert_taken(row, "more than the blocks can have");
	row.bytes = 4 * 100;
	assert_taken(row, NULL);
	/* A weight is of blocks of one size, and more than that. */
	row.weight = 1000;
	assert_taken(row, "not of blocks of one size");
	row.size_most = 100;
	assert_taken(row, NULL);
	row.weight = 101;
	assert_taken(row, NULL);
	row.weight = 100;
	assert_taken(row, "or less than that");
}

/* Numbers of threads and nodes have 32 bits; a time is below 2^63, however it is put together. */
static void test_numbers(void **state)
{
	Heapcast__Culled m = encoded(&plain, 1, 0), bad = m;
	uint8_t value[VARINT_MAX];

	(void)state;
	bad.thread.data = value;
	bad.thread.len = (size_t)(varint_put(value, UINT32_MAX) - value);
	assert_int_equal(read_all(&bad, NULL, NULL), 1);
	bad.thread.len = (size_t)(varint_put(value, (uint64_t)UINT32_MAX + 1) - value);
	assert_int_equal(read_all(&bad, NULL, "no number of a thread"), -EBADMSG);
	bad = m;
	bad.stack = (ProtobufCBinaryData){(size_t)(varint_put(value, UINT32_MAX) - value), value};
	assert_int_equal(read_all(&bad, NULL, NULL), 1);
	bad.stack.len = (size_t)(varint_put(value, (uint64_t)UINT32_MAX + 1) - value);
	assert_int_equal(read_all(&bad, NULL, "no number of a node"), -EBADMSG);
}

/* Each step of the sum wraps around to a time that there is. */
static void test_times(void **state)
{
	const uint64_t past = UINT64_MAX / CULLED_TICK_NS + 1;
	Heapcast__Culled m = encoded(&plain, 1, 0), bad = m;
	uint8_t value[VARINT_MAX];

	(void)state;
	bad.first = (ProtobufCBinaryData){(size_t)(varint_put(value, past) - value), value};
	assert_int_equal(read_all(&bad, NULL, "a time beyond all"), -EBADMSG);
	bad = m;
	bad.last = (ProtobufCBinaryData){(size_t)(varint_put(value, past) - value), value};
	assert_int_equal(read_all(&bad, NULL, "a time beyond all"), -EBADMSG);
	bad.last.len = (size_t)(varint_put(value, UINT64_MAX / CULLED_TICK_NS) - value);
	assert_int_equal(read_all(&bad, NULL, "a time beyond all"), -EBADMSG);
	bad = m;
	bad.base_ns = CULLED_TICK_NS;
	bad.first = (ProtobufCBinaryData){
		(size_t)(varint_put(value, UINT64_MAX / CULLED_TICK_NS) - value), value};
	assert_int_equal(read_all(&bad, NULL, "a time beyond all"), -EBADMSG);
}

/* Numbers at the end of 64 bits. */
static void test_beyond(void **state)
{
	struct culled_row row = plain;
	Heapcast__Culled m;
	struct culled_row two[2];

	(void)state;
	row.blocks = 1;
	row.size_least = row.size_most = row.bytes = UINT64_MAX;
	assert_taken(row, NULL);
	row.size_most = 5; /* as range: it wraps around */
	assert_taken(row, "a size beyond all");
	row.blocks = 2;
	row.size_most = row.size_least;
	assert_taken(row, "more than the blocks can have");
	two[0] = plain;
	two[1] = plain;
	two[1].blocks = 1;
	two[1].size_least = two[1].size_most = two[1].bytes = UINT64_MAX - two[0].bytes;
	m = encoded(two, 2, 0);
	assert_int_equal(read_all(&m, NULL, NULL), 2);
	two[1].size_least = two[1].size_most = ++two[1].bytes;
	m = encoded(two, 2, 0);
	assert_int_equal(read_all(&m, NULL, "the sum is beyond all"), -EBADMSG);
	two[1] = plain;
	two[1].size_least = two[1].size_most = two[1].bytes = 0;
	two[1].blocks = UINT64_MAX - 4;
	m = encoded(two, 2, 0);
	assert_int_equal(read_all(&m, NULL, NULL), 2);
	two[1].blocks++;
	m = encoded(two, 2, 0);
	assert_int_equal(read_all(&m, NULL, "the sum is beyond all"), -EBADMSG);
}

static void test_lifetimes(void **state)
{
	(void)state;
	assert_int_equal(culled_lifetimes, 31);
	assert_int_equal(culled_lifetime_least(0), 0);
	assert_int_equal(culled_lifetime(0), 0);
	for (uint8_t i = 0; i < culled_lifetimes; i++) {
		assert_int_equal(culled_lifetime(culled_lifetime_least(i)), i);
		assert_int_equal(culled_lifetime(culled_lifetime_most(i)), i);
		if (i)
			assert_int_equal(culled_lifetime_least(i),
					 culled_lifetime_most((uint8_t)(i - 1)) + 1);
	}
	assert_int_equal(culled_lifetime_most(0), 999);
	assert_int_equal(culled_lifetime_least(30), 3600000000000);
	assert_true(culled_lifetime_most(30) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),	cmocka_unit_test(test_longest),
		cmocka_unit_test(test_header),	cmocka_unit_test(test_sums),
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_times),
		cmocka_unit_test(test_beyond),	cmocka_unit_test(test_lifetimes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
