/* Rows against an independent decoder: for addresses all over the code of real libraries,
 * hand-written assembly and a compiler included, our row must say what libdw's dwarf_cfi_addrframe
 * says. */
#include "tests/unit/unwind/mapped.h"

#include "agent/unwind/cfi.h"
#include "agent/unwind/rows.h"

#ifdef HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>

#define SAMPLES 40000 /* a file */

static struct mapped mapped;

static const struct unwind_module *find_mapped(void *context, uint64_t pc)
{
	(void)context;
	return pc >= mapped.module.start && pc < mapped.module.end ? &mapped.module : NULL;
}

static const struct unwind_host mapped_host = {.find_module = find_mapped,
					       .readable = host_readable};

struct tally {
	unsigned plain, none, end, special, general;
};

/* Whether libdw finds `reg` at cfa + *ret_offset. */
static bool at_offset(Dwarf_Frame *frame, int reg, int64_t *ret_offset)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, reg, memory, &ops, &count) || count < 1 || !ops)
		return false;
	if (ops[0].atom != DW_OP_call_frame_cfa || count > 2 ||
	    (count == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	*ret_offset = count == 2 ? (int64_t)ops[1].number : 0;
	return true;
}

static bool is_unsaved(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	return !dwarf_frame_register(frame, reg, memory, &ops, &count) && !count;
}

static bool ra_undefined(Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	return !dwarf_frame_register(frame, ARCH_REG_RA, memory, &ops, &count) && !count && ops;
}

static bool cfa_is_register(Dwarf_Frame *frame, uint64_t *ret_register, int64_t *ret_offset)
{
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) || count != 1)
		return false;
	if (ops[0].atom == DW_OP_bregx) {
		*ret_register = ops[0].number;
		*ret_offset = (int64_t)ops[0].number2;
	} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		*ret_register = ops[0].atom - DW_OP_breg0;
		*ret_offset = (int64_t)ops[0].number;
	} else {
		return false;
	}
	return true;
}

static bool plain_agrees(uint32_t row, Dwarf_Frame *frame)
{
	uint64_t base;
	int64_t offset, saved;

	if (!cfa_is_register(frame, &base, &offset))
		return false;
	if (base != (row_type(row) == ROW_SP ? ARCH_REG_SP : ARCH_REG_FP) ||
	    offset != (int64_t)row_cfa(row))
		return false;
	if (!at_offset(frame, ARCH_REG_RA, &saved) || saved != -(int64_t)row_ra(row))
		return false;
	if (row_keeps_fp(row))
		return is_unsaved(frame, ARCH_REG_FP);
	return at_offset(frame, ARCH_REG_FP, &saved) && saved == -(int64_t)row_fp(row);
}

/* Not cached, so the rules themselves are compared. Mostly epilogues, where fp's slot is already
 * below sp. */
static bool rules_agree(uint64_t address, Dwarf_Frame *frame)
{
	const struct cfi_rule *fp;
	struct cfi_rules rules;
	struct eh_entry entry;
	uint64_t base;
	int64_t offset;

	if (eh_frame_find(&mapped.module, mapped.module.bias + address, &entry))
		return false;
	if (cfi_decode(&mapped.module, &entry, mapped.module.bias + address, &rules))
		return false;
	if (cfa_is_register(frame, &base, &offset)
		    ? rules.cfa.kind != CFI_VAL_OFFSET || rules.cfa_register != base ||
			      rules.cfa.value != offset
		    : rules.cfa.kind != CFI_EXPRESSION)
		return false;
	fp = &rules.registers[ARCH_REG_FP];
	if (fp->kind == CFI_OFFSET)
		return at_offset(frame, ARCH_REG_FP, &offset) && offset == fp->value;
	return (fp->kind == CFI_SAME || fp->kind == CFI_UNDEFINED) ==
	       is_unsaved(frame, ARCH_REG_FP);
}

/* Whether a row that is not plain had to be so. */
static bool special_agrees(uint32_t row, uint64_t address, Dwarf_Frame *frame, struct tally *tally)
{
	uint64_t base;
	int64_t offset;

	switch (row_kind(row)) {
	case ROW_END:
		tally->end++;
		return ra_undefined(frame);
	case ROW_GENERAL:
		tally->general++;
		return rules_agree(address, frame);
	case ROW_SIGNAL:
		tally->special++;
		return true;
	case ROW_PLT:
	case ROW_DEREF_FP:
	case ROW_DEREF_SP:
		tally->special++;
		return !cfa_is_register(frame, &base, &offset);
	default:
		return false;
	}
}

static bool agrees(Dwarf_CFI *cfi, uint64_t address, struct tally *tally)
{
	uint32_t row = rows_decode(mapped.module.bias + address + 1);
	Dwarf_Frame *frame;
	bool same;

	if (dwarf_cfi_addrframe(cfi, address, &frame)) {
		tally->none++;
		return row_is(row, ROW_FRAME_POINTER) || row_is(row, ROW_END) ||
		       row_is(row, ROW_SIGNAL) || row_is(row, ROW_SCANNED);
	}
	if (row_is_plain(row)) {
		tally->plain++;
		same = plain_agrees(row, frame);
	} else {
		same = special_agrees(row, address, frame, tally);
	}
	free(frame);
	return same;
}

static void check_mapped(const char *name, const char *path)
{
	uint64_t size = mapped.module.end - mapped.module.start, random = 88172645463325252ull;
	struct tally tally = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	Dwarf_CFI *cfi;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	assert_int_equal(unwind_init(&mapped_host), 0);
	for (unsigned i = 0; i < SAMPLES; i++) {
		uint64_t address;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		address = mapped.module.start - mapped.module.bias + (random >> 8) % (size - 1);
		if (!agrees(cfi, address, &tally))
			fail_msg("%s: the row at %#llx differs from libdw's", name,
				 (unsigned long long)address);
	}
	printf("%-16s %u plain, %u special, %u end, %u general, %u without entry\n", name,
	       tally.plain, tally.special, tally.end, tally.general, tally.none);
	assert_true(tally.general * 10 < SAMPLES);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	unmap_file(&mapped);
}

static void check_library(const char *name)
{
	struct wanted_library w = {.name = name};

	if (dl_iterate_phdr(match_library, &w) && map_file(&mapped, w.path))
		check_mapped(name, w.path);
	else
		printf("%-16s not loaded\n", name);
}

static void test_libraries(void **state)
{
	(void)state;
	check_library("libc.so");
	check_library("ld-linux");
	check_library("libcmocka");
	check_library("libdw");
}

/* Large C++ and hand-written assembly, where they are installed. */
static void test_files(void **state)
{
	static const char *const paths[] = {
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (map_file(&mapped, paths[i]))
			check_mapped(strrchr(paths[i], '/') + 1, paths[i]);
		else
			printf("%s: not here\n", paths[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_libraries),
					   cmocka_unit_test(test_files)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("SKIPPED: built without libdw, nothing to compare with");
	return 77;
}
#endif
