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
	size_t size, cie, first; /* first: of the FDEs */
} image;

#define CODE	 512 /* offset of the first function */
#define SIZE	 32  /* of each; the second one follows on the first */
#define FDE_SIZE 28

static void put(const void *bytes, size_t size)
{
	memcpy(image.bytes + image.size, bytes, size);
	image.size += size;
}

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void set_u32(size_t at, uint64_t value)
{
	uint32_t word = (uint32_t)value;

	memcpy(image.bytes + at, &word, sizeof(word));
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
	put_u32(FDE_SIZE - 4);
	put_u32((uint32_t)(image.size - cie));
	put_u64(code(function));
	put_u64(SIZE);
	put_u32(0); /* no augmentation, nothing to do */
}

/* With a table that is sorted, or to be read from its begin. */
static struct unwind_module make(bool sorted)
{
	static const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, UDATA8, 0, 0, 0};
	uint8_t head[] = {1, UDATA8, sorted ? UDATA4 : OMITTED, sorted ? DATAREL_SDATA4 : OMITTED};
	size_t frames;

	image = (struct image){.size = 0};
	put(head, sizeof(head));
	frames = 12 + (sorted ? 4 + 2 * 8 : 0);
	image.cie = frames;
	image.first = frames + 8 + sizeof(cie);
	put_u64((uintptr_t)image.bytes + frames);
	if (sorted) {
		put_u32(2);
		for (unsigned f = 0; f < 2; f++) {
			put_u32(CODE + f * SIZE);
			put_u32((uint32_t)image.first + f * FDE_SIZE);
		}
	}
	put_u32(4 + sizeof(cie)); /* length */
	put_u32(0);
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

static int find_first(const struct unwind_module *module)
{
	uint64_t start;

	return find(module, code(0), &start);
}

/* A record may end with the module; one byte more is damage. */
static void test_length(void **state)
{
	struct unwind_module module;
	size_t most;

	(void)state;
	for (unsigned sorted = 0; sorted < 2; sorted++) {
		module = make(sorted);
		most = sizeof(image.bytes) - image.first - 4;
		set_u32(image.first, most);
		assert_int_equal(find_first(&module), 0);
		set_u32(image.first, most + 1);
		assert_int_equal(find_first(&module), -EBADMSG);
	}
	module = make(true);
	most = sizeof(image.bytes) - image.cie - 4;
	set_u32(image.cie, most);
	assert_int_equal(find_first(&module), 0);
	set_u32(image.cie, most + 1);
	assert_int_equal(find_first(&module), -EBADMSG);
}

/* What an entry says lies in its record, though the module goes on behind that. */
static void test_in_its_record(void **state)
{
	struct unwind_module module = make(true);
	uint8_t *length; /* of an augmentation */

	(void)state;
	set_u32(image.first, 4 + 8 + 8 + 1);
	assert_int_equal(find_first(&module), 0);
	set_u32(image.first, 4 + 8 + 8);
	assert_int_equal(find_first(&module), -EBADMSG);

	module = make(true);
	length = image.bytes + image.first + FDE_SIZE - 4;
	*length = 3; /* what is left of the record */
	assert_int_equal(find_first(&module), 0);
	++*length;
	assert_int_equal(find_first(&module), -EBADMSG);

	module = make(true);
	length = image.bytes + image.cie + 15;
	*length = 4; /* likewise of what entries share */
	assert_int_equal(find_first(&module), 0);
	++*length;
	assert_int_equal(find_first(&module), -EBADMSG);
}

/* What entries share may begin where the module does, and not before. */
static void test_shared_before(void **state)
{
	struct unwind_module module = make(true);

	(void)state;
	module.entry = (uintptr_t)image.bytes + image.first;
	module.load_start = (uintptr_t)image.bytes + image.cie;
	assert_int_equal(find_first(&module), 0);
	set_u32(image.first + 4, image.first + 4 - image.cie + 1);
	assert_int_equal(find_first(&module), -EBADMSG);
}

/* Pairs beyond the header are none, however many it says to have. */
static void test_count(void **state)
{
	struct unwind_module module = make(true);
	uint64_t start;

	(void)state;
	set_u32(12, UINT32_MAX);
	assert_int_equal(find_first(&module), 0);
	assert_int_equal(find(&module, code(1), &start), 0);
	assert_int_equal(find(&module, code(2), &start), -ENOENT);
	module.eh_frame_hdr_size -= 8;
	assert_int_equal(find_first(&module), 0);
	assert_int_equal(find(&module, code(1), &start), -ENOENT);
	module = make(true);
	set_u32(12, 1);
	assert_int_equal(find(&module, code(1), &start), -ENOENT);
}

/* A header outside of the module is none. */
static void test_outside(void **state)
{
	struct unwind_module module = make(true);

	(void)state;
	module.load_start++;
	assert_int_equal(find_first(&module), -ENOENT);
	module = make(true);
	module.load_end = module.eh_frame_hdr;
	assert_int_equal(find_first(&module), -ENOENT);
}

/* A size that leads around the end of all addresses. */
static void test_around(void **state)
{
	struct unwind_module module = make(true);

	(void)state;
	memset(image.bytes + image.first + 16, 0xff, 8);
	assert_int_equal(find_first(&module), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),	      cmocka_unit_test(test_single),
		cmocka_unit_test(test_length),	      cmocka_unit_test(test_in_its_record),
		cmocka_unit_test(test_shared_before), cmocka_unit_test(test_count),
		cmocka_unit_test(test_outside),	      cmocka_unit_test(test_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
