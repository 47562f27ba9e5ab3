/*
 * Reading code where there is no table, against tables: at every call site of real libraries the
 * scan must say what the module's .eh_frame says, or that it does not know. Call sites are found by
 * reading the code of each table entry from its start, which tests the reading too: it must never
 * step over the end of an entry.
 */
#include "tests/unit/full.h"
#include "tests/unit/unwind/mapped.h"

#include "agent/unwind/arch/x86_64/insn.h"
#include "agent/unwind/cfi.h"
#include "agent/unwind/compile.h"

static struct mapped mapped;

struct tally {
	unsigned sites, right, wrong, undecided, unreadable, framed, framed_wrong;
};

/* The same frame in other words: a table may measure from fp, and the code by sp. Then the slot of
 * the caller's fp is all that can be compared. */
static bool same(uint32_t row, const struct arch_frame *frame)
{
	if (frame->fp_words * 8ull != row_fp(row))
		return false;
	if (frame->from_fp == (row_type(row) == ROW_FP))
		return frame->cfa_words * 8ull == row_cfa(row);
	return frame->fp_words > ARCH_FP_KEPT;
}

static void check_site(struct tally *tally, const struct eh_entry *entry, uint64_t pc,
		       bool interrupted)
{
	struct arch_code code = {.begin = (const uint8_t *)(uintptr_t)mapped.module.start,
				 .end = (const uint8_t *)(uintptr_t)mapped.module.end,
				 .address = mapped.module.start};
	struct cfi_rules rules;
	struct arch_frame frame;
	uint32_t row;

	if (cfi_decode(&mapped.module, entry, pc - !interrupted, &rules))
		return;
	row = row_compile(&mapped.module, &rules);
	if (!row_is_plain(row))
		return;
	tally->sites++;
	if (!arch_scan(&code, pc, interrupted, &frame))
		tally->undecided++;
	else if (same(row, &frame))
		tally->right++;
	else
		tally->wrong++;
}

/* Where the frame pointer is said to hold, at this call or at one before, the table must say so,
 * too. */
static void check_framed(struct tally *tally, const struct eh_entry *entry, uint64_t pc)
{
	struct arch_code code = {.begin = (const uint8_t *)(uintptr_t)mapped.module.start,
				 .end = (const uint8_t *)(uintptr_t)mapped.module.end,
				 .address = mapped.module.start};
	struct arch_frame frame = {.from_fp = true, .cfa_words = 2, .ra_words = 1, .fp_words = 2};
	static struct arch_range held;
	struct cfi_rules rules;
	uint32_t row;

	if ((pc < held.begin || pc >= held.end) && !arch_framed(&code, pc, &held, &frame))
		return;
	if (cfi_decode(&mapped.module, entry, pc - 1, &rules))
		return;
	row = row_compile(&mapped.module, &rules);
	tally->framed++;
	if (same(row, &frame) && row_is_plain(row))
		return;
	tally->framed_wrong++;
	printf("%#lx: held, by the table %#x\n", (unsigned long)(pc - mapped.module.bias), row);
}

static void check_entry(struct tally *tally, const struct eh_entry *entry, bool every)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)entry->start;
	const uint8_t *end = (const uint8_t *)(uintptr_t)entry->end;
	struct insn insn;

	while (at < end) {
		if (!insn_read(at, (const uint8_t *)(uintptr_t)mapped.module.end, &insn)) {
			tally->unreadable++; /* data among the code */
			return;
		}
		if (every)
			check_site(tally, entry, (uintptr_t)at, true);
		at = insn.next;
		if (!every && insn_flow(&insn) == FLOW_CALL)
			check_site(tally, entry, (uintptr_t)at, false);
		if (!every && insn_flow(&insn) == FLOW_CALL)
			check_framed(tally, entry, (uintptr_t)at);
	}
	assert_ptr_equal(at, end);
}

static int32_t word(uint64_t address)
{
	int32_t value;

	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value));
	return value;
}

static struct tally check_module(const char *name, uint32_t stride, bool every)
{
	struct unwind_module *m = &mapped.module;
	uint32_t count = (uint32_t)word(m->eh_frame_hdr + 8);
	struct tally tally = {0};
	struct eh_entry entry;

	for (uint32_t i = 0; i < count; i += stride) {
		uint64_t start =
			m->eh_frame_hdr + (uint64_t)(int64_t)word(m->eh_frame_hdr + 12 + 8 * i);

		if (start >= m->start && start < m->end && !eh_frame_find(m, start, &entry))
			check_entry(&tally, &entry, every);
	}
	printf("%-16s %u %s: %.2f %% right, %u wrong, %u undecided, %u unreadable; "
	       "%u by the frame pointer, %u wrong\n",
	       name, tally.sites, every ? "instructions" : "call sites",
	       100.0 * tally.right / tally.sites, tally.wrong, tally.undecided, tally.unreadable,
	       tally.framed, tally.framed_wrong);
	assert_int_equal(tally.framed_wrong, 0);
	unmap_file(&mapped);
	return tally;
}

static void assert_share(unsigned part, unsigned whole, double least, double most)
{
	assert_true(part >= least * whole);
	assert_true(part <= most * whole);
}

static void test_libc(void **state)
{
	struct tally tally;

	(void)state;
	assert_true(map_library(&mapped, "libc.so"));
	tally = check_module("libc", 1, false);
	assert_int_equal(tally.unreadable, 0);
	assert_share(tally.right, tally.sites, 0.985, 1);
	assert_share(tally.wrong, tally.sites, 0, 0.001);
}

/* A signal may stop a function anywhere. */
static void test_libc_interrupted(void **state)
{
	struct tally tally;

	(void)state;
	assert_true(map_library(&mapped, "libc.so"));
	tally = check_module("libc", 40, true);
	assert_share(tally.right, tally.sites, 0.97, 1);
	assert_share(tally.wrong, tally.sites, 0, 0.01);
}

/* Of C++ much is left undecided: handlers of exceptions, which only the tables lead to. Such code
 * always has tables. */
static void test_others(void **state)
{
	static const struct {
		const char *path;
		uint32_t stride; /* above 100: only in a full run */
		double right, wrong;
	} files[] = {
		{"/usr/lib/x86_64-linux-gnu/libm.so.6", 2, 0.985, 0.001},
		{"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 16, 0.985, 0.001},
		{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 16, 0.70, 0.02},
		{"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", 256, 0.90, 0.02},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct tally tally;

		if (!map_file(&mapped, files[i].path)) {
			printf("%s: not here\n", files[i].path);
			continue;
		}
		if (files[i].stride > 100 && !test_full()) {
			unmap_file(&mapped);
			continue;
		}
		tally = check_module(strrchr(files[i].path, '/') + 1, files[i].stride, false);
		assert_share(tally.right, tally.sites, files[i].right, 1);
		assert_share(tally.wrong, tally.sites, 0, files[i].wrong);
	}
}

/* Any bytes at all: it ends, and reads nothing outside of what it was given. */
static void test_garbage(void **state)
{
	uint8_t *memory = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 88172645463325252ull;
	struct arch_code code;
	struct arch_frame frame;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	memory += 4096;
	assert_int_equal(mprotect(memory, 4096, PROT_READ | PROT_WRITE), 0);
	code = (struct arch_code){memory, memory + 4096, 0x400000};
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned i = 0; i < 4096; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* Much of what is followed, little that ends. */
			memory[i] = (uint8_t)(random % 3 ? random >> 8 : 0x50 + (random >> 8) % 48);
		}
		for (unsigned i = 0; i < 20; i++)
			arch_scan(&code, code.address + (random >> i) % 4096, i & 1, &frame);
		arch_scan(&code, code.address + 4095, true, &frame);
	}
	munmap(memory - 4096, 3 * 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_libc_interrupted),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
