/*
 * Reads .ARM.exidx, a table that tells for some functions how to leave them (Exception Handling ABI
 * for the Arm Architecture, 5, 6 and 9.3).
 *
 *   .ARM.exidx | function, entry | function, entry | ...   sorted; valid up to the next function
 *   entry      1: no table; bit 31: three bytes of instructions; else their place (.ARM.extab)
 *
 * An entry is for the whole function, and is right at the function's calls. Its instructions
 * restore sp and registers, so they tell where these are.
 */
#include "agent/unwind/row.h"

#include "agent/unwind/arch/arm/insn.h"
#include "agent/unwind/unwind.h"
#include "agent/unwind/ban.h"

#define CANT_UNWIND 1u
#define BYTES_MAX   1024

struct machine {
	const struct unwind_module *module;
	uint64_t word_at; /* of the bytes of instructions: the highest byte of each word comes first
			   */
	unsigned byte;	  /* number of the next byte in that word */
	unsigned words;	  /* words that follow */
	bool error;
	bool finished;
	unsigned base; /* vsp = this register (at first sp) + moved */
	int32_t moved;
	int32_t slot[16];
	uint32_t popped;
};

static uint32_t table_word(struct machine *m, uint64_t address)
{
	if (address < m->module->load_start || address > m->module->load_end - 4 || address & 3) {
		m->error = true;
		return 0;
	}
	return insn_word((const uint8_t *)(uintptr_t)address);
}

/* Decodes an address that is relative to its own position: 31 bits with a sign. */
static uint64_t exidx_place(uint64_t address, uint32_t word)
{
	return address + (uint64_t)(int64_t)((int32_t)(word << 1) >> 1);
}

static uint64_t function_at(struct machine *m, uint64_t index)
{
	uint64_t address = m->module->exidx + 8 * index;

	return exidx_place(address, table_word(m, address)) & ~1ull;
}

/* Returns the second word of the entry for `pc`; m->word_at gets that word's address. */
static uint32_t exidx_find(struct machine *m, uint64_t pc)
{
	uint64_t low = 0, high = m->module->exidx_size / 8;

	while (low < high && !m->error) {
		uint64_t middle = low + (high - low) / 2;

		if (function_at(m, middle) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || m->error)
		return CANT_UNWIND;
	m->word_at = m->module->exidx + 8 * (low - 1) + 4;
	return table_word(m, m->word_at);
}

/* Finds where the bytes begin. */
static bool exidx_begin(struct machine *m, uint32_t entry)
{
	uint32_t word = entry;

	if (entry == CANT_UNWIND || m->error)
		return false;
	if (!(entry >> 31)) {
		m->word_at = exidx_place(m->word_at, entry);
		word = table_word(m, m->word_at);
		if (!(word >>
		      31)) { /* the language's own routine reads it; its data begin as for 1 */
			m->word_at += 4;
			m->words = table_word(m, m->word_at) >> 24;
			m->byte = 1;
			return !m->error;
		}
	}
	m->byte = 1;
	if ((word >> 24 & 15) > 2 || m->error)
		return false;
	if (word >> 24 & 15) {
		m->words = word >> 16 & 0xff;
		m->byte = 2;
	}
	return true;
}

static uint8_t next_byte(struct machine *m)
{
	if (m->byte == 4) {
		if (!m->words) {
			m->finished = true;
			return 0xb0;
		}
		m->words--;
		m->word_at += 4;
		m->byte = 0;
	}
	return (uint8_t)(table_word(m, m->word_at) >> (24 - 8 * m->byte++));
}

static void exidx_pop(struct machine *m, uint32_t mask)
{
	for (unsigned reg = 0; reg < 16; reg++) {
		if (!(mask >> reg & 1))
			continue;
		m->slot[reg] = m->moved;
		m->popped |= 1u << reg;
		m->moved += 4;
	}
	if (mask >> INSN_SP & 1)
		m->error = true;
}

static int32_t read_uleb(struct machine *m)
{
	uint32_t value = 0;

	for (unsigned shift = 0; shift < 28; shift += 7) {
		uint8_t byte = next_byte(m);

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return (int32_t)value;
	}
	m->error = true;
	return 0;
}

static void execute_b(struct machine *m, uint8_t op)
{
	if (op == 0xb0)
		m->finished = true;
	else if (op == 0xb1)
		exidx_pop(m, next_byte(m) & 15);
	else if (op == 0xb2)
		m->moved += 0x204 + (read_uleb(m) << 2);
	else if (op == 0xb3)
		m->moved += 8 * ((next_byte(m) & 15) + 1) + 4;
	else if (op >= 0xb8)
		m->moved += 8 * ((op & 7) + 1) + 4;
	else
		m->error = true;
}

static void set_base(struct machine *m, unsigned reg)
{
	if ((reg != INSN_R7 && reg != INSN_R11) || m->popped)
		m->error = true;
	m->base = reg;
	m->moved = 0;
}

static void exidx_execute(struct machine *m, uint8_t op)
{
	if (op < 0x40)
		m->moved += (op << 2) + 4;
	else if (op < 0x80)
		m->moved -= ((op & 0x3f) << 2) + 4;
	else if (op < 0x90)
		exidx_pop(m, (uint32_t)((op & 15) << 8 | next_byte(m)) << 4);
	else if (op < 0xa0)
		set_base(m, op & 15);
	else if (op < 0xb0)
		exidx_pop(m, ((2u << (op & 7)) - 1) << 4 | (op & 8 ? 1u << INSN_LR : 0));
	else if (op < 0xc0)
		execute_b(m, op);
	else if (op == 0xc8 || op == 0xc9)
		m->moved += 8 * ((next_byte(m) & 15) + 1);
	else if (op >= 0xd0 && op < 0xd8)
		m->moved += 8 * ((op & 7) + 1);
	else
		m->error = true;
	if (m->moved > 1 << 24 || m->moved < -(1 << 24))
		m->error = true;
}

static uint32_t words_of(const struct machine *m, unsigned reg)
{
	return m->popped >> reg & 1 ? (uint32_t)(m->moved - m->slot[reg]) / 4 : 0;
}

bool arch_table_row(const struct unwind_module *module, uint64_t pc, bool interrupted,
		    uint32_t *ret_row)
{
	struct machine m = {.module = module, .base = INSN_SP};
	struct arch_frame frame;

	if (interrupted || !module->exidx || !exidx_begin(&m, exidx_find(&m, pc - 1)))
		return false;
	for (unsigned i = 0; i < BYTES_MAX && !m.finished && !m.error; i++)
		exidx_execute(&m, next_byte(&m));
	if (m.error || !m.finished || m.moved < 0)
		return false;
	frame = (struct arch_frame){
		.from_fp = m.base != INSN_SP,
		.from_fp2 = m.base == INSN_R11,
		.cfa_words = (uint32_t)m.moved / 4,
		.ra_words = words_of(&m, m.popped >> INSN_PC & 1 ? INSN_PC : INSN_LR),
		.fp_words = words_of(&m, INSN_R7),
		.fp2_words = words_of(&m, INSN_R11),
	};
	return frame.ra_words && row_of_frame(&frame, ret_row);
}
