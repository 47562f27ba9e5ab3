/* The table of a module read by hand: where an entry begins and ends, and records that say more of
 * their length than is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "agent/unwind/eh_frame.h"
#include "agent/unwind/unwind.h"

enum { OMITTED = 0xff, UDATA4 = 0x03, UDATA8 = 0x04, DATAREL_SDATA4 = 0x3b };

/* | header | (function, entry) | CIE | FDE | FDE | 0 |: the "module". */
static struct image {
	uint8_t bytes[1024];
	size_t size, first; /* of the first FDE */
} image;

#define CODE 512 /* offset of the first function */
#define SIZE 32	 /* of each; the second one follows on the first */

static void put(const void *bytes, size_t size)
{
	memcpy(image.bytes + image.size, bytes, size);
	image.size += size;
}

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put_u64(uint64_t value)
{
	put(&value, sizeof(value));
}

static uint64_t code(unsigned function)
{
	return (uintptr_t)image.bytes + CODE + function * SIZE;
}

static void put_fde(size_t cie, unsigned function)
{
	put_u32(4 + 8 + 8 + 4);
	put_u32((uint32_t)(image.size - cie));
	put_u64(code(function));
	put_u64(SIZE);
	put_u32(0); /* no augmentation, nothing to do */
}

/* With a table that is sorted, or to be read from its begin. */
static struct unwind_module make(bool sorted)
{
	static const uint8_t cie[] = {16, 0,   0,   0, 0, 0,	0,  0, /* length, 0 */
				      1,  'z', 'R', 0, 1, 0x78, 16, 1, UDATA8, 0, 0, 0};
	uint8_t head[] = {1, UDATA8, sorted ? UDATA4 : OMITTED, sorted ? DATAREL_SDATA4 : OMITTED};
	size_t frames;

	image = (struct image){.size = 0};
	put(head, sizeof(head));
	frames = 12 + (sorted ? 4 + 2 * 8 : 0);
	image.first = frames + sizeof(cie);
	put_u64((uintptr_t)image.bytes + frames);
	if (sorted) {
		put_u32(2);
		for (unsigned f = 0; f < 2; f++) {
			put_u32(CODE + f * SIZE);
			put_u32((uint32_t)image.first + f * 28);
		}
	}
	put(cie, sizeof(cie));
	put_fde(frames, 0);
	put_fde(frames, 1);
	put_u32(0);
	return (struct unwind_module){.start = code(0),
				      .end = code(3),
				      .load_start = (uintptr_t)image.bytes,
				      .load_end = (uintptr_t)image.bytes + sizeof(image.bytes),
				      .eh_frame_hdr = (uintptr_t)image.bytes,
				      .eh_frame_hdr_size = frames};
}

static int find(const struct unwind_module *module, uint64_t address, uint64_t *ret_start)
{
	struct eh_entry entry = {0};
	int r = eh_frame_find(module, address, &entry);

	*ret_start = entry.start;
	return r;
}

/* An entry holds from its first byte to the one before its end. */
static void test_bounds(void **state)
{
	(void)state;
	for (unsigned sorted = 0; sorted < 2; sorted++) {
		struct unwind_module module = make(sorted);
		uint64_t start;

		assert_int_equal(find(&module, code(0) - 1, &start), -ENOENT);
		for (unsigned f = 0; f < 2; f++) {
			assert_int_equal(find(&module, code(f), &start), 0);
			assert_int_equal(start, code(f));
			assert_int_equal(find(&module, code(f) + SIZE - 1, &start), 0);
			assert_int_equal(start, code(f));
		}
		assert_int_equal(find(&module, code(2), &start), -ENOENT);
	}
}

/* The table is one entry. */
static void test_single(void **state)
{
	struct unwind_module module = make(true);
	uint64_t start;

	(void)state;
	module.entry = (uintptr_t)image.bytes + image.first;
	assert_int_equal(find(&module, code(0), &start), 0);
	assert_int_equal(find(&module, code(1) - 1, &start), 0);
	assert_int_equal(find(&module, code(1), &start), -ENOENT);
	assert_int_equal(find(&module, code(0) - 1, &start), -ENOENT);
}

/* A record may end with the module; one byte more is damage. */
static void test_length(void **state)
{
	(void)state;
	for (unsigned sorted = 0; sorted < 2; sorted++) {
		struct unwind_module module = make(sorted);
		uint32_t most = (uint32_t)(sizeof(image.bytes) - image.first - 4);
		uint64_t start;

		memcpy(image.bytes + image.first, &most, sizeof(most));
		assert_int_equal(find(&module, code(0), &start), 0);
		most++;
		memcpy(image.bytes + image.first, &most, sizeof(most));
		assert_int_equal(find(&module, code(0), &start), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
