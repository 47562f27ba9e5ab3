/* What a law of thinning left out of a recording is added up from what is there, also when events
 * come late, and when the law changes. */
#include "collector/columns/row_memory.h"
#include "tests/unit/store/pairing.h"

static void law(struct builder *b, uint64_t time, const struct thinning *t)
{
	uint8_t text[THINNING_BYTES];
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;

	thinning_put(t, text);
	mark.kind = HEAPCAST__MARK_KIND__MARK_THINNED;
	mark.time_ns = time;
	mark.text = builder_bytes(text, sizeof(text));
	b->mark = &mark;
	builder_close(b, time);
}

/* What is in use, as blocks of 64 bytes and their weights. */
static uint64_t in_use(const struct recording *r, uint64_t *ret_bytes)
{
	uint64_t rows = 0;

	*ret_bytes = 0;
	for (uint64_t i = 0; i < recording_rows(r); i++) {
		struct row row = row_at(r, i);

		rows += row.end == BLOCK_IN_USE;
		*ret_bytes += row.end == BLOCK_IN_USE ? row.weight : 0;
	}
	return rows;
}

enum { THINNED_BLOCKS = 100000, THINNED_FIRST = 0x100000 };

static uint64_t thinned_address(uint64_t i)
{
	return THINNED_FIRST + 80 * i;
}

/* Exact blocks, over more than one packed block of rows: at level 2 one in four goes on, at level 3
 * half of these; the free of one that does not is nobody's. A large one stays. What comes after
 * level 0 is exact; after an opening what was sampled before is thinned like the rest. */
static void thinned(void **state)
{
	struct thinning t = {.seed = 99, .level = 2, .cut = 12};
	uint64_t bytes, followed[4] = {0}, freed = 0;
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 3);
	for (uint64_t i = 0; i < THINNED_BLOCKS; i++) {
		builder_malloc(&b, 10 + i, 1, thinned_address(i), 64);
		for (unsigned level = 2; level < 4; level++)
			followed[level] += thinning_follows(99, level, thinned_address(i));
	}
	builder_malloc(&b, 200000, 1, 0x10, 4096);
	law(&b, 300000, &t);
	t.level = 3;
	law(&b, 400000, &t);
	law(&b, 400001, &t); /* nothing new */
	for (uint64_t i = 0; i < THINNED_BLOCKS / 2; i++) {
		builder_free(&b, 500000 + i, 1, thinned_address(i));
		freed += thinning_follows(99, 3, thinned_address(i));
	}
	t.level = 0;
	law(&b, 600000, &t);
	builder_malloc(&b, 700000, 1, 0x20, 64);
	builder_end(&b, 3);
	r = open_built(&b);
	assert_int_equal(in_use(r, &bytes), followed[3] - freed + 2);
	assert_int_equal(bytes, (followed[3] - freed) * 8 * 64 + 4096 + 64);
	assert_true(recording_survivors(r));
	assert_int_equal(recording_rows(r), THINNED_BLOCKS + 2 + followed[2] + followed[3]);
	assert_int_equal(recording_pairing(r)->orphan_frees, THINNED_BLOCKS / 2 - freed);
	recording_close(r);
	builder_done(&b);
}

/* Blocks whose rows are packed already and that died before the first mark, or between two: what
 * nobody follows any more has no survivor, and no end but its own. */
static void freed_before(void **state)
{
	struct thinning t = {.seed = 99, .level = 2};
	uint64_t bytes, followed[4] = {0}, left = THINNED_BLOCKS / 2;
	struct recording *r;
	struct builder b;

	(void)state;
	row_memory_limit(0); /* one block of rows is open, the others are packed */
	builder_init(&b, 3);
	for (uint64_t i = 0; i < THINNED_BLOCKS; i++)
		builder_malloc(&b, 10 + i, 1, thinned_address(i), 64);
	for (uint64_t i = 0; i < left; i++)
		builder_free(&b, 200000 + i, 1, thinned_address(i));
	law(&b, 300000, &t);
	for (uint64_t i = left; i < THINNED_BLOCKS; i++) {
		followed[2] += thinning_follows(99, 2, thinned_address(i));
		followed[3] += i % 2 && thinning_follows(99, 3, thinned_address(i));
		if (i % 2 == 0)
			builder_free(&b, 300001 + i, 1, thinned_address(i));
	}
	t.level = 3;
	law(&b, 500000, &t);
	builder_end(&b, 3);
	r = open_built(&b);
	assert_int_equal(in_use(r, &bytes), followed[3]);
	assert_int_equal(bytes, followed[3] * 8 * 64);
	assert_int_equal(recording_rows(r), THINNED_BLOCKS + followed[2] + followed[3]);
	for (uint64_t i = 0; i < left; i++)
		assert_int_equal(row_at(r, i).end, BLOCK_FREED);
	recording_close(r);
	builder_done(&b);
	row_memory_limit(64 << 20);
}

/* Two threads told of the law at a time, and the older of the two marks came last: its level
 * counts, its halvings do not; of an opening before the last nothing does. */
static void overtaken(void **state)
{
	struct thinning t = {.seed = 7, .halvings = 2, .keep = THINNING_KEEP_ALL}, older = t;
	uint64_t bytes, followed = 0;
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 6);
	for (uint64_t i = 0; i < 1000; i++) {
		builder_malloc(&b, 10 + i, 1, thinned_address(i), 64);
		followed += thinning_follows(7, 2, thinned_address(i));
	}
	t.openings = 3;
	law(&b, 2000, &t);
	older.openings = 2;
	older.level = 8;
	law(&b, 3000, &older);
	older.openings = 3;
	older.halvings = 1;
	older.level = 2;
	law(&b, 4000, &older);
	law(&b, 5000, &t); /* level 0 */
	builder_end(&b, 6);
	r = open_built(&b);
	assert_int_equal(in_use(r, &bytes), followed);
	assert_int_equal(bytes, followed * 4 * 64);
	recording_close(r);
	builder_done(&b);
}

/* Sampled blocks: each halving keeps one in two. */
static void halved(void **state)
{
	struct thinning t = {.seed = 5, .halvings = 1, .keep = 16};
	uint64_t bytes, kept = 0;
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 4);
	for (uint64_t i = 0; i < 1000; i++) {
		builder_event(&b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
						  .thread = 1,
						  .time_ns = 10 + i,
						  .address = thinned_address(i),
						  .size = 64,
						  .weight = 1000,
						  .stack = BUILDER_STACK});
		kept += thinning_keeps(5, 1, thinned_address(i)) &&
			thinning_keeps(5, 2, thinned_address(i));
	}
	builder_malloc(&b, 2000, 1, 0x10, 70000);
	law(&b, 3000, &t);
	t.halvings = 2;
	law(&b, 4000, &t);
	builder_end(&b, 3);
	r = open_built(&b);
	assert_int_equal(in_use(r, &bytes), kept + 1);
	assert_int_equal(bytes, kept * 4000 + 70000);
	recording_close(r);
	builder_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thinned),
		cmocka_unit_test(freed_before),
		cmocka_unit_test(overtaken),
		cmocka_unit_test(halved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
