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
#include "agent/unwind/rows.h"
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

/* A CIE with these bytes behind its identifier, and an FDE with these behind its reference to it;
 * both end with what is given. */
static struct unwind_module module_with(const void *cie, size_t cie_size, const void *fde,
					size_t fde_size)
{
	image = (struct image){.size = 16};
	memset(image.bytes, 0x66, sizeof(image.bytes)); /* so that what is read too far is seen */
	image.cie = image.size;
	put_u32((uint32_t)(4 + cie_size));
	put_u32(0);
	put(cie, cie_size);
	image.first = image.size;
	put_u32((uint32_t)(4 + fde_size));
	put_u32((uint32_t)(image.size - image.cie));
	put(fde, fde_size);
	return (struct unwind_module){.load_start = (uintptr_t)image.bytes,
				      .load_end = (uintptr_t)image.bytes + sizeof(image.bytes),
				      .entry = (uintptr_t)image.bytes + image.first};
}

struct shared {
	const char *cie;
	size_t size;
	uint8_t encoding;
	bool signal, augmented;
	uint8_t initial; /* bytes of instructions */
};

#define CIE(text) text, sizeof(text) - 1

/* code_align 1, data_align -8, return register 16, whatever else is there. */
static const struct shared shared[] = {
	{CIE("\1\0\1\x78\x10"), 0, false, false, 0},
	{CIE("\1\0\1\x78\x10\0\0"), 0, false, false, 2},
	{CIE("\3\0\1\x78\x90\0\0"), 0, false, false, 1},
	{CIE("\4\0\x08\0\1\x78\x90\0\0"), 0, false, false, 1},
	{CIE("\1z\0\1\x78\x10\0\0"), 0, false, true, 1},
	{CIE("\1zR\0\1\x78\x10\1\4\0"), 4, false, true, 1},
	{CIE("\1zRS\0\1\x78\x10\1\4\0"), 4, true, true, 1},
	{CIE("\1zSR\0\1\x78\x10\1\4\0"), 4, true, true, 1},
	{CIE("\1zRB\0\1\x78\x10\1\4\0"), 4, false, true, 1},
	{CIE("\1zBR\0\1\x78\x10\1\4\0"), 4, false, true, 1},
	{CIE("\1zLR\0\1\x78\x10\2\x1b\4\0"), 4, false, true, 1},
	{CIE("\1zPLR\0\1\x78\x10\7\x9b****\x1b\4\0"), 4, false, true, 1},
	{CIE("\1zPLR\0\1\x78\x10\3\xff\x1b\4\0"), 4, false, true, 1},
	{CIE("\1zPR\0\1\x78\x10\5\xb2**\4\0\0"), 4, false, true, 1},
	{CIE("\1zXRS\0\1\x78\x10\3***\0"), 0, false, true, 1},
	{CIE("\1zRXS\0\1\x78\x10\3\4**\0"), 4, false, true, 1},
};

static void test_shared(void **state)
{
	static const uint8_t wide[] = {0x2a, 0x2a, 0x2a, 0x2a, 0x2a, 0x2a, 0, 0, /* start */
				       0x10, 0,	   0,	 0,    0,    0,	   0, 0, 2, 9, 9, 7, 7, 7};

	(void)state;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		const struct shared *s = &shared[i];
		uint8_t fde[sizeof(wide)];
		struct unwind_module module;
		struct eh_entry entry;
		uint64_t start = 0x1122334455, size = 0x10;

		memcpy(fde, wide, sizeof(fde));
		memcpy(fde, &start, 8);
		memcpy(fde + 8, &size, 8);
		module = module_with(s->cie, s->size, fde, sizeof(fde));
		assert_int_equal(eh_frame_find(&module, start, &entry), 0);
		assert_int_equal(entry.start, start);
		assert_int_equal(entry.end, start + 0x10);
		assert_int_equal(entry.code_align, 1);
		assert_int_equal(entry.data_align, -8);
		assert_int_equal(entry.return_register, 16);
		assert_int_equal(entry.pointer_encoding, s->encoding);
		assert_int_equal(entry.signal, s->signal);
		assert_int_equal(entry.initial.end, image.first);
		assert_int_equal(entry.initial.begin, image.first - s->initial);
		assert_int_equal(entry.instructions.end, image.size);
		assert_int_equal(entry.instructions.begin, image.size - (s->augmented ? 3 : 6));
		/* A CIE that ends earlier lacks what it has to say. */
		for (size_t cut = 1 + s->initial; cut <= s->size; cut++) {
			set_u32(image.cie, 4 + s->size - cut);
			assert_int_equal(eh_frame_find(&module, start, &entry), -EBADMSG);
		}
	}
}

/* Versions that are none, and augmentations that say nothing of their length. */
static void test_unknown(void **state)
{
	uint8_t fde[] = {0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0};
	struct unwind_module module;
	uint64_t start;

	(void)state;
	memcpy(fde + 8, &(uint64_t){0x10}, 8);
	for (unsigned version = 0; version < 256; version++) {
		uint8_t cie[] = {(uint8_t)version, 0, 8, 0, 0x78, 16, 0, 0};

		module = module_with(cie, sizeof(cie), fde, sizeof(fde));
		assert_int_equal(find(&module, 0, &start),
				 version == 1 || version == 3 || version == 4 ? 0 : -EBADMSG);
	}
	module = module_with(CIE("\1eh\0\1\x78\x10\0\0\0\0"), fde, sizeof(fde));
	assert_int_equal(find(&module, 0, &start), -EBADMSG);
	module = module_with(CIE("\1zP\0\1\x78\x10\5\7****"), fde, sizeof(fde)); /* a pointer? */
	assert_int_equal(find(&module, 0, &start), -EBADMSG);
	module = module_with(CIE("\1\0\1\x78\x10"), fde, sizeof(fde));
	assert_int_equal(find(&module, 0, &start), 0);
	set_u32(image.cie + 4, 1); /* not what entries share */
	assert_int_equal(find(&module, 0, &start), -EBADMSG);
	set_u32(image.cie + 4, 0);
	set_u32(image.first + 4, 0); /* this one is */
	assert_int_equal(find(&module, 0, &start), -EBADMSG);
	set_u32(image.first, 0);
	assert_int_equal(find(&module, 0, &start), -ENOENT);
	for (unsigned size = 1; size < 4 + sizeof(fde) - 1; size++) {
		set_u32(image.first + 4, image.first + 4 - image.cie);
		set_u32(image.first, size);
		assert_int_equal(find(&module, 0, &start), -EBADMSG);
	}
}

/* Lengths of 64 bits. */
static void test_long(void **state)
{
	uint8_t fde[20] = {0};
	struct unwind_module module = module_with(CIE("\1\0\1\x78\x10"), fde, sizeof(fde));
	struct eh_entry entry;
	uint64_t length, most;

	(void)state;
	image.size = image.first;
	put_u32(0xffffffff);
	put_u64(4 + 20);
	put_u32((uint32_t)(image.size - image.cie));
	put_u64(0x5000);
	put_u64(0x10);
	put_u32(0);
	assert_int_equal(eh_frame_find(&module, 0x5000, &entry), 0);
	assert_int_equal(entry.instructions.end, image.size);
	most = sizeof(image.bytes) - image.first - 12;
	memcpy(image.bytes + image.first + 4, &most, 8);
	assert_int_equal(eh_frame_find(&module, 0x5000, &entry), 0);
	most++;
	memcpy(image.bytes + image.first + 4, &most, 8);
	assert_int_equal(eh_frame_find(&module, 0x5000, &entry), -EBADMSG);
	length = UINT64_MAX;
	memcpy(image.bytes + image.first + 4, &length, 8);
	assert_int_equal(eh_frame_find(&module, 0x5000, &entry), -EBADMSG);
	length = 0;
	memcpy(image.bytes + image.first + 4, &length, 8);
	assert_int_equal(eh_frame_find(&module, 0x5000, &entry), -ENOENT);
	module.load_end = (uintptr_t)image.bytes + image.first + 11; /* of the length */
	assert_int_equal(eh_frame_find(&module, 0x5000, &entry), -EBADMSG);
}

/* Each byte of the header, and each end of it. */
static void test_header(void **state)
{
	struct unwind_module module;
	uint64_t start;

	(void)state;
	for (unsigned version = 0; version < 3; version++) {
		module = make(true);
		image.bytes[0] = (uint8_t)version;
		assert_int_equal(find_first(&module), version == 1 ? 0 : -EBADMSG);
	}
	module = make(true);
	for (size_t size = 1; size < 16; size++) {
		module.eh_frame_hdr_size = size;
		assert_int_equal(find_first(&module), -EBADMSG);
	}
	for (size_t size = 16; size < 32; size++) { /* pairs that are whole */
		module.eh_frame_hdr_size = size;
		assert_int_equal(find(&module, code(0), &start), size < 24 ? -ENOENT : 0);
		assert_int_equal(find(&module, code(1), &start), -ENOENT);
	}
	module.eh_frame_hdr_size = 0; /* as far as the module is long */
	assert_int_equal(find(&module, code(1), &start), 0);
	module.eh_frame_hdr_size = UINT64_MAX / 2;
	assert_int_equal(find(&module, code(1), &start), 0);
	module.eh_frame_hdr = 0;
	assert_int_equal(find_first(&module), -ENOENT);
	/* another kind of table is not searched, all records are read */
	for (unsigned encoding = 0; encoding < 256; encoding++) {
		module = make(true);
		image.bytes[3] = (uint8_t)encoding;
		image.bytes[image.size - 1] = 0;
		set_u32(16 + 4, 0); /* a pair that leads to what is no entry */
		assert_int_equal(find_first(&module) == 0, encoding != DATAREL_SDATA4);
	}
	module = make(true);
	memset(image.bytes + image.first + 16, 0, 8); /* of no length, which is none */
	assert_int_equal(find_first(&module), -ENOENT);
	module = make(true);
	image.bytes[2] = OMITTED;
	assert_int_equal(find(&module, code(1), &start), 0);
}

/* Records that lie outside of the module. */
static void test_records_outside(void **state)
{
	struct unwind_module module = make(true);
	uint64_t frames;

	(void)state;
	set_u32(16 + 4, sizeof(image.bytes)); /* the pair's entry */
	assert_int_equal(find_first(&module), -EBADMSG);
	set_u32(16 + 4, sizeof(image.bytes) - 1);
	assert_int_equal(find_first(&module), -EBADMSG);
	set_u32(16 + 4, UINT32_MAX);
	assert_int_equal(find_first(&module), -EBADMSG);
	set_u32(16 + 4, image.cie); /* is none */
	assert_int_equal(find_first(&module), -EBADMSG);
	module = make(false);
	frames = module.load_end;
	memcpy(image.bytes + 4, &frames, 8);
	assert_int_equal(find_first(&module), -EBADMSG);
	frames = module.load_end - 1;
	memcpy(image.bytes + 4, &frames, 8);
	assert_int_equal(find_first(&module), -EBADMSG);
	frames = module.load_start - 1;
	memcpy(image.bytes + 4, &frames, 8);
	assert_int_equal(find_first(&module), -EBADMSG);
	module.load_start--;
	assert_int_equal(find_first(&module), -EBADMSG);
}

/* One entry that is damaged does not hide the ones behind it. */
static void test_behind_damage(void **state)
{
	struct unwind_module module = make(false);
	uint64_t start;

	(void)state;
	set_u32(image.first + 4, image.first + 5); /* leads before the module */
	assert_int_equal(find(&module, code(0), &start), -ENOENT);
	assert_int_equal(find(&module, code(1), &start), 0);
	set_u32(image.first + FDE_SIZE + 4, image.first + FDE_SIZE + 5);
	assert_int_equal(find(&module, code(1), &start), -ENOENT);
	set_u32(image.first + FDE_SIZE, sizeof(image.bytes));
	assert_int_equal(find(&module, code(1), &start), -EBADMSG);
}

/* Among many, each function is found, and gaps between them are. */
static void test_search(void **state)
{
	static struct image many;
	struct unwind_module module = make(true);
	size_t first = image.first;

	(void)state;
	many = image;
	for (uint32_t count = 0; count < 16; count++) {
		image = many;
		image.size = 12;
		put_u32(count);
		for (uint32_t i = 0; i < count; i++) {
			put_u32(0x1000 + 64 * i);
			put_u32(600 + FDE_SIZE * i);
		}
		image.size = 600 - 32; /* the CIE moves to the front of them */
		put(many.bytes + many.cie, first - many.cie);
		for (uint32_t i = 0; i < count; i++) {
			image.size = 600 + i * FDE_SIZE;
			put_u32(FDE_SIZE - 4);
			put_u32((uint32_t)(image.size - (600 - 32)));
			put_u64((uintptr_t)image.bytes + 0x1000 + 64 * i);
			put_u64(SIZE);
			put_u32(0);
		}
		module.eh_frame_hdr_size = 16 + 8 * count;
		for (uint32_t i = 0; i < count; i++) {
			uint64_t at = (uintptr_t)image.bytes + 0x1000 + 64 * i, start;

			assert_int_equal(find(&module, at, &start), 0);
			assert_int_equal(start, at);
			assert_int_equal(find(&module, at + SIZE - 1, &start), 0);
			assert_int_equal(start, at);
			assert_int_equal(find(&module, at + SIZE, &start), -ENOENT);
			assert_int_equal(find(&module, at - 1, &start), -ENOENT);
		}
	}
}

static struct unwind_module only;

static const struct unwind_module *find_only(void *context, uint64_t pc)
{
	(void)context;
	(void)pc;
	return &only;
}

static uint64_t all_readable(uint64_t from, uint64_t to)
{
	(void)from;
	return to;
}

/* A stack ends at the begin of the first function that a table tells of: no call returns there.
 * (Other processors read the code in front of it.) */
static void test_end(void **state)
{
#ifndef __x86_64__
	skip();
#endif
	static const struct unwind_host host = {.find_module = find_only, .readable = all_readable};

	(void)state;
	assert_int_equal(unwind_init(&host), 0);
	only = make(true);
	assert_int_equal(rows_decode(code(0)), row_special(ROW_END, END_BY_HAND));
	assert_int_not_equal(rows_decode(code(0) - 1), row_special(ROW_END, END_BY_HAND));
	assert_int_not_equal(rows_decode(code(2) + 1), row_special(ROW_END, END_BY_HAND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_in_its_record),
		cmocka_unit_test(test_shared_before),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_around),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_records_outside),
		cmocka_unit_test(test_behind_damage),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
