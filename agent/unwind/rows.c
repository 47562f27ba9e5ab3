/* The row caches. See rows.h. */
#include "agent/unwind/rows.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "agent/unwind/cfi.h"
#include "agent/unwind/compile.h"
#include "agent/unwind/framed.h"
#include "agent/unwind/jit.h"
#include "memory.h"
#include "agent/unwind/ban.h"

#define LINE_ENTRIES  8
#define L2_BITS_FIRST 10
#define L2_BITS_LAST  13
#define ENTRY_CODE    128 /* bytes of code at an entry point */

struct line {
	uint64_t entries[LINE_ENTRIES];
} __attribute__((aligned(64)));

/* All of these are accessed through __atomic builtins. A table and its size are one word, so that
 * they always match. The pointer is page-aligned, and its low bits hold the base-2 logarithm of the
 * number of lines. */
static uintptr_t l2_table;
static uint32_t l2_inserts;
static bool l2_growing;

uint64_t rows_state_word = 1u << 16;

const struct unwind_host *unwind_host;

const struct unwind_module unwind_module_unknown;

static bool some_unreadable; /* a module was seen whose code may not be read */

#define STATE_NEVER UINT64_MAX /* equals no state, so the next capture checks again */

void rows_state_changed(struct unwind_thread *thread, uint64_t state)
{
	thread->count = 0;
	thread->emitted = 0;
	saved_drop(thread);
	if (thread->state != STATE_NEVER) /* otherwise nothing was written since the last time */
		memset(thread->l1, 0, (thread->l1_mask + 1) * sizeof(thread->l1[0]));
	thread->state = rows_is_suspended(state) ? STATE_NEVER : state;
	memset(thread->regions, 0, sizeof(thread->regions));
}

void unwind_suspend_cache(void)
{
	__atomic_fetch_add(&rows_state_word, 1, __ATOMIC_ACQ_REL);
}

void unwind_resume_cache(void)
{
	__atomic_fetch_sub(&rows_state_word, 1, __ATOMIC_ACQ_REL);
}

static struct line *table_lines(uintptr_t table)
{
	return (struct line *)(table & ~(uintptr_t)0xfff);
}

static unsigned table_bits(uintptr_t table)
{
	return table & 0xfff;
}

void unwind_modules_changed(void)
{
	uintptr_t table = __atomic_load_n(&l2_table, __ATOMIC_ACQUIRE);

	/* The caches are suspended, so that no decoder restores an entry being cleared. Pages that
	 * were never written are only read, and so do not become resident. */
	unwind_suspend_cache();
	for (size_t i = 0; table && i < (size_t)LINE_ENTRIES << table_bits(table); i++) {
		uint64_t *entry = &table_lines(table)[i / LINE_ENTRIES].entries[i % LINE_ENTRIES];

		if (__atomic_load_n(entry, __ATOMIC_RELAXED))
			__atomic_store_n(entry, 0, __ATOMIC_RELAXED);
	}
	if (ARCH_FRAMED)
		framed_clear();
	__atomic_fetch_add(&rows_state_word, (1u << 16) - 1,
			   __ATOMIC_ACQ_REL); /* next generation, and resume */
}

static struct line *rows_line_of(uintptr_t table, uint64_t key)
{
	uint64_t high = key >> KEY_LOW_BITS;

	return &table_lines(
		table)[(key ^ high ^ high >> KEY_LOW_BITS) & ((1u << table_bits(table)) - 1)];
}

static bool l2_find(uint64_t key, uint32_t *ret_row)
{
	uintptr_t table = __atomic_load_n(&l2_table, __ATOMIC_ACQUIRE);
	struct line *line;

	if (!table)
		return false;
	line = rows_line_of(table, key);
	for (unsigned i = 0; i < LINE_ENTRIES; i++) {
		uint64_t entry = __atomic_load_n(&line->entries[i], __ATOMIC_RELAXED);

		if (entry && entry_is(entry, key)) {
			*ret_row = entry_row(entry);
			return true;
		}
	}
	return false;
}

/* Allocates the first table, or a larger one. The rows of the smaller table are not copied; they
 * are decoded again. */
static void l2_grow(uintptr_t table)
{
	unsigned bits = table ? L2_BITS_LAST : L2_BITS_FIRST;
	void *memory;

	if (__atomic_exchange_n(&l2_growing, true, __ATOMIC_ACQUIRE))
		return;
	if (__atomic_load_n(&l2_table, __ATOMIC_RELAXED) == table) {
		memory = unwind_host->pages(unwind_host->context, sizeof(struct line) << bits);
		if (memory)
			__atomic_store_n(&l2_table, (uintptr_t)memory | bits, __ATOMIC_RELEASE);
		__atomic_store_n(&l2_inserts, 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&l2_growing, false, __ATOMIC_RELEASE);
}

static void l2_insert(uint64_t key, uint32_t row)
{
	uintptr_t table = __atomic_load_n(&l2_table, __ATOMIC_ACQUIRE);
	struct line *line;
	unsigned place;
	uint32_t inserts = __atomic_add_fetch(&l2_inserts, 1, __ATOMIC_RELAXED);

	if (unwind_host->pages &&
	    (!table || (table_bits(table) < L2_BITS_LAST &&
			inserts > (uint32_t)(LINE_ENTRIES << table_bits(table)) / 4 * 3))) {
		l2_grow(table);
		table = __atomic_load_n(&l2_table, __ATOMIC_ACQUIRE);
	}
	if (!table)
		return;
	line = rows_line_of(table, key);
	for (place = 0; place < LINE_ENTRIES; place++)
		if (!__atomic_load_n(&line->entries[place], __ATOMIC_RELAXED))
			break;
	/* Two threads may use the same place, or a full line may lose an entry. Both are harmless
	 * in a cache. */
	if (place == LINE_ENTRIES)
		place = inserts % LINE_ENTRIES;
	__atomic_store_n(&line->entries[place], entry_of(key, row), __ATOMIC_RELAXED);
}

static bool signal_return_at(const struct unwind_module *module, uint64_t address,
			     uint32_t *ret_row)
{
	uint64_t length = module->end - address;
	const uint8_t *code;
	uint32_t offset;

	if (address < module->start || address >= module->end)
		return false;
	code = module_code(module, address, &length);
	if (!code || !arch_is_signal_return(code, length, &offset))
		return false;
	*ret_row = row_special(ROW_SIGNAL, offset);
	return true;
}

const struct unwind_module *rows_module(uint64_t pc, struct unwind_module *space)
{
	const struct unwind_module *module = unwind_host->find_module(unwind_host->context, pc);

	if (module)
		return module;
	return jit_find(pc, space) ? space : NULL;
}

static bool is_by_hand(const struct unwind_module *module, uint64_t pc)
{
	uint64_t before = pc - module->start < 16 ? pc - module->start : 16;
	const uint8_t *code = module_code(module, pc - before, &before);

	return code && !arch_is_behind_call(code, before);
}

bool rows_readable(uint64_t pc)
{
	struct unwind_module space;
	const struct unwind_module *module;

	if (!__atomic_load_n(&some_unreadable, __ATOMIC_RELAXED))
		return true;
	module = rows_module(pc - 1, &space);
	return module && !(module->unreadable & UNWIND_CODE_UNREADABLE);
}

static uint32_t row_of_code(const struct arch_frame *frame, bool interrupted)
{
	uint32_t row;

	if (!frame->ra_words && interrupted && !frame->from_fp && frame->fp_words == ARCH_FP_KEPT)
		return row_special(ROW_LINK, frame->cfa_words);
	if (frame->ra_words && row_of_frame(frame, &row))
		return row;
	return row_special(ROW_FRAME_POINTER, RECORD_IN_MODULE);
}

uint32_t rows_scan(const struct unwind_module *module, uint64_t pc, bool interrupted)
{
	struct arch_code code;
	uint32_t record = RECORD_IN_MODULE;
	struct arch_frame frame;
	uint32_t row;

	if (pc < module->start || pc >= module->end)
		return row_special(ROW_FRAME_POINTER, record);
	/* The code was generated at run time and its table is malformed: only the table says where
	 * the function begins, so the code is not scanned. */
	if (ARCH_FRAMED && module->entry)
		return row_special(ROW_FRAME_POINTER, record);
	if (!ARCH_SCAN && !interrupted && is_by_hand(module, pc))
		return row_special(ROW_FRAME_POINTER, record | RECORD_BY_HAND);
	if (ARCH_FRAMED && !interrupted && framed_find(module, pc, &row))
		return row;
	if (!module_code_around(module, pc, &code))
		return row_special(ROW_FRAME_POINTER, record);
	if (arch_scan(&code, pc, interrupted, &frame))
		return ARCH_SCAN ? row_of_code(&frame, interrupted) : row_scanned(&frame);
	if (ARCH_FRAMED && !interrupted && arch_switched(&code, pc, &row))
		return row;
	if (ARCH_SCAN && frame.outermost)
		return row_special(ROW_END, END_CERTAIN);
	return row_special(ROW_FRAME_POINTER, record | (frame.outermost ? RECORD_FIRST : 0));
}

/* True just after the module's entry point, which the kernel starts and which has no caller. ld.so
 * has no table for that code, and a program's constructors run below it. */
static bool is_entered_at(const struct unwind_module *module, uint64_t pc)
{
	const ElfW(Ehdr) *head = (const void *)module_bytes(module, 0, sizeof(*head));

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) || !head->e_entry)
		return false;
	return pc - (module->bias + arch_code_address(head->e_entry)) < ENTRY_CODE;
}

/* Returns the row of code without a table. Interrupted code is instead scanned at its own
 * instruction, at each step (special.c). */
static uint32_t row_of_untold(const struct unwind_module *module, uint64_t pc, bool interrupted)
{
	return interrupted ? row_special(ROW_FRAME_POINTER, RECORD_IN_MODULE)
			   : rows_scan(module, pc, false);
}

/* Returns the row if no entry contains pc - 1. If a function begins exactly at a return address, no
 * call precedes it: code has put the address there (makecontext), and the stack ends. (Interrupted
 * code may be the last instruction before that function.) Otherwise the scanned code, or the frame
 * pointer, decides. */
static uint32_t row_without_entry(const struct unwind_module *module, uint64_t pc, bool interrupted)
{
	struct eh_entry entry;

	if (is_entered_at(module, pc))
		return row_special(ROW_END, END_CERTAIN);
	if (!interrupted && !eh_frame_find(module, pc, &entry) && entry.start == pc)
		return row_special(ROW_END, END_BY_HAND);
	return row_of_untold(module, pc, interrupted);
}

/* Recognizes a return address that no call precedes, which ends the stack. If a function begins
 * there, code has put its address on the stack, and the stack is complete; otherwise the word is
 * not a return address. (A stack may also end after a call: the address that makecontext leaves
 * follows another function's last call.) */
static bool is_no_return(const struct unwind_module *module, uint64_t pc, uint32_t *ret_row)
{
	struct eh_entry entry;

	if (row_is(rows_scan(module, pc, false), ROW_END)) {
		*ret_row = row_special(ROW_END, END_CERTAIN);
		return true;
	}
	if (!is_by_hand(module, pc))
		return false;
	*ret_row = !eh_frame_find(module, pc, &entry) && entry.start == pc
			   ? row_special(ROW_END, END_BY_HAND)
			   : row_special(ROW_BAD, 0);
	return true;
}

/* Returns the row of code in a module with few tables or none. `pc` is a return address, or one
 * past the address of the interrupted instruction. */
static uint32_t decode_code(const struct unwind_module *module, uint64_t pc, bool interrupted)
{
	uint64_t at = pc - (interrupted ? 1u << ARCH_PC_SHIFT : 0);
	uint32_t row, told = row_special(ROW_FRAME_POINTER, RECORD_IN_MODULE);
	struct cfi_rules rules;
	struct eh_entry entry;

	if (is_entered_at(module, at))
		return row_special(ROW_END, END_CERTAIN);
	if (!interrupted && is_no_return(module, pc, &row))
		return row;
	if (ARCH_SCAN && arch_table_row(module, at, interrupted, &row))
		return row;
	if (!eh_frame_find(module, pc - 1, &entry) && !cfi_decode(module, &entry, pc - 1, &rules)) {
		told = row_compile(module, &rules);
		if (!row_is(told, ROW_GENERAL))
			return told;
	}
	row = rows_scan(module, at, interrupted);
	return row_is(row, ROW_FRAME_POINTER) ? told : row;
}

/* Decodes a row. Runs once per program counter, so it is optimized for size. */
static __attribute__((cold)) uint32_t decode(uint64_t pc, bool interrupted)
{
	const struct unwind_module *module;
	struct unwind_module space;
	struct cfi_rules rules;
	struct eh_entry entry;
	uint32_t row;

	if (pc < 1u << 16 || pc >> ARCH_PC_BITS || !unwind_host)
		return row_special(ROW_BAD, 0);
	module = rows_module(pc - 1, &space);
	if (!module)
		return row_special(ROW_FRAME_POINTER, 0);
	if (module == &unwind_module_unknown)
		return row_special(ROW_BAD, BAD_FOR_NOW);
	if (module->unreadable)
		__atomic_store_n(&some_unreadable, true, __ATOMIC_RELAXED);
	if (signal_return_at(module, pc, &row))
		return row;
	if (ARCH_SCAN)
		return decode_code(module, pc, interrupted);
	if (eh_frame_find(module, pc - 1, &entry))
		return row_without_entry(module, pc, interrupted);
	/* The restorer itself was interrupted. Its entry starts one byte early, for unwinders that
	 * look up pc - 1. */
	if (entry.signal)
		return signal_return_at(module, entry.start, &row) ||
				       signal_return_at(module, entry.start + 1, &row)
			       ? row
			       : row_special(ROW_GENERAL, 0);
	if (cfi_decode(module, &entry, pc - 1, &rules))
		return row_of_untold(module, pc, interrupted);
	return row_compile(module, &rules);
}

uint32_t rows_decode(uint64_t pc)
{
	return decode(pc, false);
}

uint32_t rows_interrupted(struct unwind_thread *thread, uint64_t pc)
{
	uint32_t row = decode(pc + (1u << ARCH_PC_SHIFT), true);

	thread->unknown |= row == row_special(ROW_BAD, BAD_FOR_NOW);
	return row;
}

uint32_t rows_miss(struct unwind_thread *thread, uint64_t pc)
{
	uint64_t key = key_of(pc), state = thread->state;
	uint32_t row;

	thread->counters.rows_missed++;
	if (state == STATE_NEVER || pc >> ARCH_PC_BITS) {
		thread->counters.rows_decoded++;
		return rows_decode(pc);
	}
	if (!l2_find(key, &row)) {
		thread->counters.rows_decoded++;
		row = rows_decode(pc);
		if (row == row_special(ROW_BAD, BAD_FOR_NOW)) {
			thread->unknown = true;
			return row;
		}
		if (rows_state() != state ||
		    (thread->seeks && row == row_special(ROW_FRAME_POINTER, 0)))
			return row;
		if (!thread->seeks)
			l2_insert(key, row);
	}
	if (++thread->l1_misses > 2 * (thread->l1_mask + 1) &&
	    thread->l1_mask + 1 < 1u << L1_BITS_MAX) {
		thread->l1_misses = 0;
		thread->l1_mask = thread->l1_mask * 4 + 3;
	}
	thread->l1[key_place(key) & thread->l1_mask] = entry_of(key, row);
	return row;
}
