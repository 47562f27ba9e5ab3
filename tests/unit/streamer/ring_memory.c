/* The ring's layout: every limit gives slices of all sizes, apart from each other and inside of the
 * ring. */
#include "tests/unit/streamer/harness.h"

#include <unistd.h>

#include "agent/ring/ring_memory.h"

static uint32_t slices_of(uint64_t limit, uint32_t slots, struct budget *b)
{
	struct err_text err;

	assert_int_equal(budget_divide(b, limit, slots, &err), 0);
	return ring_slice_count(&b->shape, 1);
}

static void check_layout(uint64_t limit, uint32_t slots)
{
	struct budget b;
	uint32_t count = slices_of(limit, slots, &b);
	struct ring_memory *ring = calloc(1, ring_memory_struct_size(&b.shape));
	uint64_t end;

	assert_non_null(ring);
	assert_int_equal(ring_memory_open(ring, &b.shape, &(struct ring_settings){0}), 0);
	assert_true(ring->size <= b.ring);
	assert_int_equal(ring->slice_count, count);
	end = ring->header->data_offset;
	assert_true(end >= ring->header->modules_offset + ring->modules_size);
	assert_true(ring->header->modules_offset >=
		    ring->header->slices_offset + count * sizeof(struct ring_slice));
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(ring->extent[i].offset, end);
		assert_int_equal(ring->extent[i].words, ring_slice_words(&b.shape, i));
		assert_int_equal(ring->slices[i].words, ring->extent[i].words);
		end += ring->extent[i].words * 8;
	}
	assert_true(end <= ring->size);
	assert_int_equal(ring->extent[0].words, RING_MIN_WORDS);
	ring_memory_close(ring);
	free(ring);
}

static void test_layouts(void **state)
{
	(void)state;
	check_layout(2u << 20, 1);
	check_layout(8u << 20, 1);
	check_layout(8u << 20, 0);
	check_layout(20u << 20, 1);
}

/* 500 threads at once have a slice each at the default limit, and a single busy one half a
 * megabyte. */
static void test_crowd(void **state)
{
	struct budget b;
	uint32_t count = slices_of(8u << 20, 1, &b), first = 0;

	(void)state;
	assert_in_range(count, 501, RING_SLICES_MAX);
	for (uint32_t i = 0; i < count; i++)
		first += ring_slice_words(&b.shape, i) == RING_FIRST_WORDS;
	assert_true(first >= 12);
	assert_int_equal(ring_slice_words(&b.shape, count - 1), (512 << 10) / 8);
	assert_in_range(slices_of(1u << 30, 1, &b), 501, RING_SLICES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
