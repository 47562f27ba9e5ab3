/*
 * Reading code of another processor, here: at every call site of that processor's libc the scan
 * must say what the tables say that Debian has apart (.debug_frame, in libc6-dbg), or that it does
 * not know. Of code that has a table at run time (.ARM.exidx, .eh_frame) the same is asked of it.
 * (AArch64 has nothing else: there .eh_frame is read by the engine and by readelf.) Nothing of libc
 * is executed; scan.c, exidx.c and the reader of tables are compiled for this machine. The tables
 * are read by readelf: libdw of Debian 12 knows no MIPS.
 *
 * Sysroots are those of deploy/sysroots; without one the test is skipped.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include <gelf.h>

#include "agent/unwind/cfi.h"
#include "agent/unwind/compile.h"
#include "agent/unwind/eh_frame.h"
#include "agent/unwind/row.h"
#include "agent/unwind/unwind.h"
#include "tests/unit/unwind/foreign/sites.h"

struct tally {
	unsigned sites, right, wrong, undecided, untold;
};

static struct unwind_module module;
static struct arch_code code;
static Elf *elf, *debug;
static char skip_reason[256];

/* The expected frames: a row holds up to the next one, or the end of its function. */

#define ROWS_MAX 200000

struct expected {
	uint64_t address, end;
	unsigned base;
	int64_t cfa, ra, fp[2]; /* below the cfa; 0: not saved */
	bool known;
};

static struct expected *rows;
static size_t row_count;

static int64_t *slot_of(struct expected *e, const char *column)
{
	if (!strcmp(column, "ra"))
		return &e->ra;
	if (column[0] != 'r' && column[0] != 'x')
		return NULL;
	if (atoi(column + 1) == ARCH_REG_FP)
		return &e->fp[0];
	return ARCH_REG_FP2 && atoi(column + 1) == ARCH_REG_FP2 ? &e->fp[1] : NULL;
}

static void read_row(const char *line, const char *head, uint64_t end)
{
	struct expected e = {.end = end};
	char column[32], value[32];
	int at, used;

	if (sscanf(line, "%lx %31[a-z0-9]+%ld%n", &e.address, value, &e.cfa, &at) != 3 ||
	    row_count == ROWS_MAX)
		return;
	e.base = strcmp(value, "sp") ? (unsigned)atoi(value + 1) : ARCH_REG_SP;
	e.known = true;
	for (line += at; sscanf(line, "%31s%n", value, &used) == 1; line += used) {
		int64_t *slot;
		int width;

		if (sscanf(head, "%31s%n", column, &width) != 1)
			break;
		head += width;
		slot = slot_of(&e, column);
		if (slot && value[0] == 'c')
			*slot = -atol(value + 1);
		else if (slot && value[0] != 'u' && value[0] != 's')
			e.known = false;
	}
	rows[row_count++] = e;
}

static void read_tables(const char *path)
{
	char command[8300], line[1024], head[1024] = "";
	uint64_t end = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "readelf -wF '%s' 2>&1", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		const char *range = strstr(line, " pc="), *columns = strstr(line, "CFA");

		if (range)
			sscanf(strchr(range, '.') + 2, "%lx", &end);
		else if (columns)
			snprintf(head, sizeof(head), "%s", columns + 3);
		else if (end)
			read_row(line, head, end);
	}
	pclose(pipe);
}

static int by_address(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static bool expect(uint64_t address, struct expected *e)
{
	size_t low = 0, high = row_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= rows[low - 1].end || !rows[low - 1].known)
		return false;
	*e = rows[low - 1];
	return true;
}

static unsigned base_of(const struct arch_frame *f)
{
	if (!f->from_fp)
		return ARCH_REG_SP;
	return f->from_fp2 ? ARCH_REG_FP2 : ARCH_REG_FP;
}

/* Found by x29 (AArch64), which points to where the caller's was saved; the table may count from sp
 * all the same. */
static bool is_by_record(const struct arch_frame *f)
{
	return ARCH_RECORD && f->from_fp && f->cfa_words == f->fp_words;
}

static bool is_right(const struct arch_frame *f, const struct expected *e)
{
	return (is_by_record(f) || (base_of(f) == e->base && f->cfa_words * ARCH_WORD == e->cfa)) &&
	       f->ra_words * ARCH_WORD == e->ra && f->fp_words * ARCH_WORD == e->fp[0] &&
	       f->fp2_words * ARCH_WORD == e->fp[1];
}

/* Behind the load in an epilogue the return address is in both places; and behind the store in a
 * prologue, where gcc may tell of it only some instructions later. */
static bool is_as_good(const struct arch_frame *f, const struct expected *e)
{
	return (!f->ra_words || !e->ra) && base_of(f) == e->base &&
	       f->cfa_words * ARCH_WORD == e->cfa;
}

static void check_site(struct tally *tally, uint64_t address, bool interrupted)
{
	uint64_t at = address + module.bias;
	struct arch_frame frame = {0};
	struct expected e;
	uint32_t row;

	if (!expect(interrupted ? address : address - 1, &e) || (!interrupted && !e.ra))
		return;
	tally->sites++;
	if (!arch_scan(&code, at, interrupted, &frame) ||
	    (frame.ra_words && !row_of_frame(&frame, &row))) {
		tally->undecided++;
		if (getenv("SHOW"))
			printf("undecided %#llx: base %u cfa %lld ra %lld\n",
			       (unsigned long long)address, e.base, (long long)e.cfa,
			       (long long)e.ra);
	} else if (is_right(&frame, &e) || (interrupted && is_as_good(&frame, &e))) {
		tally->right++;
	} else {
		tally->wrong++;
		if (getenv("SHOW"))
			printf("wrong %#llx: base %u cfa %lld ra %lld fp %lld %lld; found %u %u %u "
			       "%u %u\n",
			       (unsigned long long)address, e.base, (long long)e.cfa,
			       (long long)e.ra, (long long)e.fp[0], (long long)e.fp[1],
			       base_of(&frame), frame.cfa_words * ARCH_WORD,
			       frame.ra_words * ARCH_WORD, frame.fp_words * ARCH_WORD,
			       frame.fp2_words * ARCH_WORD);
	}
}

static bool table_row(uint64_t pc, uint32_t *ret_row)
{
	struct cfi_rules rules;
	struct eh_entry entry;

	if (arch_table_row(&module, pc, false, ret_row))
		return true;
	if (eh_frame_find(&module, pc - 1, &entry) || cfi_decode(&module, &entry, pc - 1, &rules))
		return false;
	*ret_row = row_compile(&module, &rules);
	return true;
}

static void check_table(struct tally *tally, uint64_t address, bool interrupted)
{
	struct expected e;
	uint32_t row;

	(void)interrupted;
	if (!expect(address - 1, &e) || !e.ra)
		return;
	tally->sites++;
	if (!table_row(address + module.bias, &row) || !row_is_plain(row))
		tally->untold++;
	else if ((row_type(row) == ROW_SP) == (e.base == ARCH_REG_SP) &&
		 (int64_t)row_cfa(row) == e.cfa && (int64_t)row_ra(row) == e.ra &&
		 row_keeps_fp(row) == (!e.fp[0] || (ARCH_REG_FP2 && !e.fp[1])))
		tally->right++;
	else {
		tally->wrong++;
		if (getenv("SHOW"))
			printf("table wrong %#llx: base %u cfa %lld ra %lld; found %u %llu %llu\n",
			       (unsigned long long)address, e.base, (long long)e.cfa,
			       (long long)e.ra, row_type(row), (unsigned long long)row_cfa(row),
			       (unsigned long long)row_ra(row));
	}
}

static struct tally check_all(const char *what, bool every, unsigned stride,
			      void (*check)(struct tally *, uint64_t, bool))
{
	struct tally tally = {0};
	struct site site = {0};
	unsigned number = 0;

	while (sites_next(&site, debug, &code, module.bias))
		if ((every ? !site.is_slot : site.is_call) && number++ % stride == 0)
			check(&tally, every ? site.address : site.behind, every);
	printf("%s: %u: %.2f %% right, %u wrong, %u undecided, %u without a table\n", what,
	       tally.sites, 100.0 * tally.right / tally.sites, tally.wrong, tally.undecided,
	       tally.untold);
	return tally;
}

/* Files. */

static bool find_libc(char *path, size_t size, const char *root)
{
	return snprintf(path, size, "%s/lib/%s/libc.so.6", root, TRIPLE) > 0 && !access(path, R_OK);
}

static Elf *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
}

static bool find_debug(char *path, size_t size, const char *root)
{
	size_t names, at = 0, length = 0;
	const uint8_t *id = NULL;

	elf_getshdrstrndx(elf, &names);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr header;

		gelf_getshdr(scn, &header);
		if (strcmp(elf_strptr(elf, names, header.sh_name), ".note.gnu.build-id") != 0)
			continue;
		id = (const uint8_t *)elf_getdata(scn, NULL)->d_buf +
		     16; /* behind the note's head and "GNU" */
		length = header.sh_size - 16;
	}
	if (length < 2)
		return false;
	at = (size_t)snprintf(path, size, "%s/usr/lib/debug/.build-id/%02x/", root, id[0]);
	for (size_t i = 1; i < length; i++)
		at += (size_t)snprintf(path + at, size - at, "%02x", id[i]);
	snprintf(path + at, size - at, ".debug");
	return !access(path, R_OK);
}

/* As it would lie in memory. */
static void lay_out(void)
{
	size_t size = 0, count;
	uint8_t *memory;

	assert_int_equal(elf_getphdrnum(elf, &count), 0);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		gelf_getphdr(elf, (int)i, &p);
		if (p.p_type == PT_LOAD && p.p_vaddr + p.p_memsz > size)
			size = p.p_vaddr + p.p_memsz;
	}
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	module = (struct unwind_module){.bias = (uintptr_t)memory,
					.load_start = (uintptr_t)memory,
					.load_end = (uintptr_t)memory + size};
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		gelf_getphdr(elf, (int)i, &p);
		if (p.p_type == ARCH_TABLE) {
			module.exidx = module.bias + p.p_vaddr;
			module.exidx_size = p.p_memsz;
		}
		if (p.p_type == PT_GNU_EH_FRAME) {
			module.eh_frame_hdr = module.bias + p.p_vaddr;
			module.eh_frame_hdr_size = p.p_memsz;
		}
		if (p.p_type != PT_LOAD)
			continue;
		memcpy(memory + p.p_vaddr, elf_rawfile(elf, NULL) + p.p_offset, p.p_filesz);
		if (p.p_flags & PF_X) {
			module.start = module.bias + p.p_vaddr;
			module.end = module.start + p.p_memsz;
		}
	}
	code = (struct arch_code){(const uint8_t *)(uintptr_t)module.start,
				  (const uint8_t *)(uintptr_t)module.end, module.start};
}

static int set_up(void **state)
{
	const char *root = getenv("HEAPCAST_SYSROOTS");
	char base[4096], path[8192];

	(void)state;
	snprintf(base, sizeof(base), "%s/%s", root ? root : SYSROOTS, BOARD);
	elf_version(EV_CURRENT);
	if (!find_libc(path, sizeof(path), base)) {
		snprintf(skip_reason, sizeof(skip_reason), "no sysroot of %s (deploy/sysroots)",
			 BOARD);
		return 0;
	}
	elf = open_elf(path);
	assert_non_null(elf);
	rows = calloc(ROWS_MAX, sizeof(*rows));
	read_tables(path);
	if (!find_debug(path, sizeof(path), base)) {
		snprintf(skip_reason, sizeof(skip_reason), "no libc6-dbg in the sysroot of %s",
			 BOARD);
		return 0;
	}
	debug = open_elf(path);
	assert_non_null(debug);
	read_tables(path);
	qsort(rows, row_count, sizeof(*rows), by_address);
	lay_out();
	return 0;
}

static void test_calls(void **state)
{
	struct tally tally;

	(void)state;
	if (!ARCH_SCAN)
		return;
	tally = check_all("call sites", false, 1, check_site);
	assert_true(tally.sites > 5000);
	assert_true(tally.right >= 0.99 * tally.sites);
	assert_true(tally.wrong <= WRONG_MOST * tally.sites);
}

/* A signal may stop a function anywhere. */
static void test_interrupted(void **state)
{
	struct tally tally;

	(void)state;
	if (!ARCH_SCAN)
		return;
	tally = check_all("instructions", true, 20, check_site);
	assert_true(tally.sites > 5000);
	assert_true(tally.right >= 0.97 * tally.sites);
}

static void test_table(void **state)
{
	struct tally tally;

	(void)state;
	tally = check_all("call sites by table", false, 1, check_table);
	assert_true(tally.right + tally.untold >= 0.99 * tally.sites);
	assert_true(tally.right >= TOLD_LEAST * tally.sites);
}

static void test_pieces(void **state)
{
	(void)state;
	for (const struct piece *p = pieces; p->name; p++) {
		const uint8_t *bytes = (const uint8_t *)p->code;
		const struct arch_code piece = {bytes, bytes + sizeof(p->code), 0x400000};
		struct arch_frame frame;

		printf("%s\n", p->name);
		assert_true(arch_scan(&piece, piece.address + 4 * p->size, false, &frame));
		assert_int_equal(frame.cfa_words, p->frame.cfa_words);
		assert_int_equal(frame.ra_words, p->frame.ra_words);
		assert_int_equal(frame.fp_words, p->frame.fp_words);
		assert_int_equal(frame.from_fp, p->frame.from_fp);
		assert_int_equal(frame.fp2_words, p->frame.fp2_words);
		assert_int_equal(frame.from_fp2, p->frame.from_fp2);
	}
}

/* Any bytes at all: it ends, and reads nothing outside of what it was given. */
static void test_garbage(void **state)
{
	uint8_t *memory = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 88172645463325252ull;
	struct arch_code garbage;
	struct arch_frame frame;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	memory += 4096;
	assert_int_equal(mprotect(memory, 4096, PROT_READ | PROT_WRITE), 0);
	garbage = (struct arch_code){memory, memory + 4096, 0x400000};
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned i = 0; i < 4096; i += 4) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			memcpy(memory + i,
			       random % 3 ? (const void *)&random
					  : (const void *)(code.begin +
							   (random >> 8) % 65536 * 4 % 400000),
			       4);
		}
		for (unsigned i = 0; i < 20; i++)
			arch_scan(&garbage, garbage.address + ((random >> i) % 4096 & ~1ull), i & 1,
				  &frame);
		arch_scan(&garbage, garbage.address + 4094, true, &frame);
		arch_scan(&garbage, garbage.address, round & 1, &frame);
	}
	munmap(memory - 4096, 3 * 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_table),	cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_garbage),
	};

	set_up(NULL);
	if (*skip_reason) {
		printf("SKIPPED: %s\n", skip_reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
