/* Code made at run time: with a registered table, deregistered again, with frame records, and with
 * neither. */
#include "tests/unit/unwind/host.h"

#include "agent/unwind/jit.h"

#ifdef __x86_64__
static struct unwind_thread *incremental, *full;
static struct consumer seen, outer;
static uint32_t last_flags;
static unsigned captures;

static NOINLINE void hook(void)
{
	struct consumer whole = {.depth = 0};
	struct unwind_regs regs;
	struct unwind_delta delta, other;

	unwind_regs_here(&regs);
	unwind_capture(incremental, &regs, UNWIND_MAX_DEPTH, &delta);
	consume(&seen, &delta);
	unwind_capture_full(full, &regs, UNWIND_MAX_DEPTH, &other);
	consume(&whole, &other);
	assert_int_equal(delta.flags, other.flags);
	assert_same_stack(&seen, &whole, "incremental and full walk differ");
	last_flags = delta.flags;
	captures++;
	__asm__ volatile("");
}

/* push %rbx; sub $0x20, %rsp; mov $1, %ebp; call *%rdi; add $0x20, %rsp; pop %rbx; ret, and fp
 * saved in between. */
static const uint8_t no_record[] = {0x55, 0x53, 0x48, 0x83, 0xec, 0x28, 0xbd, 1,    0,	  0,
				    0,	  0xff, 0xd7, 0x48, 0x83, 0xc4, 0x28, 0x5b, 0x5d, 0xc3};
static const uint8_t with_record[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18,
				      0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3};

/* | CIE | FDE | FDE | ... | 0 |, with absolute addresses. */
struct table {
	uint8_t bytes[1024];
	size_t size;
};

static void put(struct table *t, const void *bytes, size_t size)
{
	assert_true(t->size + size <= sizeof(t->bytes));
	memcpy(t->bytes + t->size, bytes, size);
	t->size += size;
}

static void put_cie(struct table *t)
{
	static const uint8_t cie[] = {
		20,   0, 0, 0,	  0,  0, 0, 0, /* length, 0 */
		1,    0, 1, 0x78, 16, /* version 1, "", code 1, data -8, return address 16 */
		0x0c, 7, 8,	      /* def_cfa rsp + 8 */
		0x90, 1,	      /* rip at cfa - 8 */
		0,    0, 0, 0,	  0,  0,
	};

	put(t, cie, sizeof(cie));
}

static void put_fde(struct table *t, const uint8_t *code, size_t size)
{
	/* push %rbp at 0, push %rbx at 1, sub $0x28 at 2; the epilogue is left out. */
	static const uint8_t rules[] = {0x41, 0x0e, 16,	  0x86, 2,  0x41, 0x0e, 24,
					0x83, 3,    0x44, 0x0e, 64, 0,	  0,	0};
	uint64_t range[2] = {(uintptr_t)code, size};
	uint32_t head[2] = {4 + sizeof(range) + sizeof(rules), (uint32_t)t->size + 4};

	put(t, head, sizeof(head));
	put(t, range, sizeof(range));
	put(t, rules, sizeof(rules));
}

static uint8_t *pages;

static void (*code_at(size_t offset, const uint8_t *code, size_t size))(void (*)(void))
{
	void (*function)(void (*)(void));

	assert_int_equal(mprotect(pages, 65536, PROT_READ | PROT_WRITE), 0);
	memcpy(pages + offset, code, size);
	assert_int_equal(mprotect(pages, 65536, PROT_READ | PROT_EXEC), 0);
	*(void **)&function = pages + offset;
	return function;
}

static void assert_walked(bool whole)
{
	if (!whole) {
		assert_true(last_flags & UNWIND_TRUNCATED);
		return;
	}
	assert_int_equal(last_flags, 0);
	assert_int_equal(seen.depth, outer.depth + 2);
	assert_memory_equal(seen.pcs, outer.pcs, (outer.depth - 1) * sizeof(outer.pcs[0]));
}

static void test_registered(void **state)
{
	void (*function)(void (*)(void)) = code_at(0, no_record, sizeof(no_record));
	struct table table = {.size = 0};
	uint32_t end = 0;

	(void)state;
	put_cie(&table);
	put_fde(&table, pages + 4096, 16); /* another function */
	put_fde(&table, pages, sizeof(no_record));
	put(&table, &end, sizeof(end));
	hook();
	outer = seen;
	outer.depth--;
	function(hook);
	assert_walked(false);
	assert_int_equal(unwind_register_frame(table.bytes, false), 0);
	for (int i = 0; i < 3; i++) {
		function(hook);
		outer.depth = seen.depth - 2; /* the code, and our caller */
		assert_walked(true);
	}
	assert_true(outer.depth > 2);
	unwind_deregister_frame(table.bytes);
	function(hook);
	assert_walked(false);
}

/* The table holds for its function's code, from the first byte to the last. */
static void test_range(void **state)
{
	uint64_t start = (uintptr_t)pages + 512;
	struct unwind_module module;
	struct table table = {.size = 0};
	uint32_t end = 0;

	(void)state;
	put_cie(&table);
	put_fde(&table, pages + 512, sizeof(no_record));
	put(&table, &end, sizeof(end));
	assert_int_equal(unwind_register_frame(table.bytes, false), 0);
	assert_false(jit_find(start - 1, &module));
	assert_true(jit_find(start, &module));
	assert_int_equal(module.start, start);
	assert_int_equal(module.end, start + sizeof(no_record));
	assert_true(jit_find(module.end - 1, &module));
	assert_false(jit_find(module.end, &module));
	unwind_deregister_frame(table.bytes);
	assert_false(jit_find(start, &module));
}

/* As LLVM's libunwind is told: one entry, and no end. */
static void test_single(void **state)
{
	void (*function)(void (*)(void)) = code_at(128, no_record, sizeof(no_record));
	struct table table = {.size = 0};
	size_t first;

	(void)state;
	put_cie(&table);
	first = table.size;
	put_fde(&table, pages + 128, sizeof(no_record));
	memset(table.bytes + table.size, 0xff, sizeof(table.bytes) - table.size);
	assert_int_equal(unwind_register_frame(table.bytes + first, true), 0);
	function(hook);
	assert_int_equal(last_flags, 0);
	unwind_deregister_frame(table.bytes + first);
	function(hook);
	assert_walked(false);
}

static void test_record(void **state)
{
	void (*function)(void (*)(void)) = code_at(256, with_record, sizeof(with_record));

	(void)state;
	function(hook);
	assert_int_equal(last_flags, 0);
}

/* More functions than there is room for, and all of it free again afterwards. */
static void test_room(void **state)
{
	static struct table tables[2000];
	uint64_t before = unwind_frames_turned_away();
	uint32_t end = 0;
	int refused = 0;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 2000; i++) {
			tables[i].size = 0;
			put_cie(&tables[i]);
			for (size_t k = 0; k < 3; k++)
				put_fde(&tables[i], pages + 1024 + 32 * k, 32);
			put_fde(&tables[i], pages + 1024, 0); /* discarded: it takes no room */
			put(&tables[i], &end, sizeof(end));
			refused += unwind_register_frame(tables[i].bytes, false) == -ENOSPC;
		}
		for (size_t i = 0; i < 2000; i++)
			unwind_deregister_frame(tables[i].bytes);
	}
	assert_int_equal(refused, 2 * (2000 - 4096 / 3));
	assert_true(unwind_frames_turned_away() > before);
	test_registered(NULL);
}

/* So many records are looked at. */
static void test_records(void **state)
{
	enum { RECORDS = 65536, CIE = 24 };
	uint8_t *bytes = host_pages(NULL, (RECORDS + 4) * CIE);
	struct table cie = {.size = 0}, table;
	struct unwind_module module;
	uint32_t end = 0;

	(void)state;
	assert_non_null(bytes);
	put_cie(&cie);
	assert_int_equal(cie.size, CIE);
	for (size_t before = RECORDS - 1; before <= RECORDS; before++) {
		for (size_t i = 0; i < before; i++)
			memcpy(bytes + i * CIE, cie.bytes, CIE);
		table = cie;
		put_fde(&table, pages + 2048, 32);
		put(&table, &end, sizeof(end));
		memcpy(bytes + (before - 1) * CIE, table.bytes, table.size);
		assert_int_equal(unwind_register_frame(bytes, false), 0);
		assert_int_equal(jit_find((uintptr_t)pages + 2048, &module), before < RECORDS);
		unwind_deregister_frame(bytes);
	}
}

/* Tables of garbage do no harm. They are the program's own, and bounded by their lengths. */
static void test_damaged(void **state)
{
	uint64_t random = 88172645463325252ull;
	struct table table;
	uint32_t end = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		table.size = 0;
		put_cie(&table);
		put_fde(&table, pages, sizeof(no_record));
		put(&table, &end, sizeof(end));
		for (int k = 0; k < 4; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* Not what says where things are: a program that errs there fails by
			 * itself. */
			table.bytes[8 + (random >> 40) % 16] ^= (uint8_t)random;
			table.bytes[32 + (random >> 48) % 32] ^= (uint8_t)(random >> 8);
		}
		unwind_register_frame(table.bytes, false);
		code_at(0, no_record, sizeof(no_record))(hook);
		unwind_deregister_frame(table.bytes);
	}
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(unwind_init(&test_host), 0);
	incremental = new_unwind_thread();
	full = new_unwind_thread();
	host_know_stack();
	pages = host_pages(NULL, 65536);
	assert_non_null(pages);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registered), cmocka_unit_test(test_range),
		cmocka_unit_test(test_single),	   cmocka_unit_test(test_record),
		cmocka_unit_test(test_room),	   cmocka_unit_test(test_records),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
#else
int main(void)
{
	puts("SKIPPED: the code that is made here is of x86-64");
	return 77;
}
#endif
