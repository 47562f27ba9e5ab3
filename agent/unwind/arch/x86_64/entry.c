/* Moves a function's first instructions elsewhere. See entry.h; encodings: Intel's manual,
 * volume 2. */
#include "agent/unwind/entry.h"

#include <string.h>

#include "agent/unwind/arch/x86_64/insn.h"
#include "agent/unwind/ban.h"

#define JUMP	  5  /* e9 and a distance of 32 bits */
#define BLOCK	  16 /* compilers fill up functions to a multiple of this */
#define BRANCH_32 6  /* 0f 8x and a distance */

static bool in_two_bytes(const struct insn *insn)
{
	return insn->map == 1;
}

/* Tells whether the instruction is a branch, jump or call that contains its distance. Stores its
 * target. */
static bool leads(const struct insn *insn, uint64_t address, uint64_t *ret_target)
{
	enum insn_flow flow = insn_flow(insn);

	if (flow != FLOW_BRANCH && flow != FLOW_JUMP &&
	    !(flow == FLOW_CALL && insn->opcode == 0xe8))
		return false;
	*ret_target = address + (uint64_t)(int64_t)insn->immediate;
	return true;
}

static bool entry_put(struct entry_move *move, const void *bytes, size_t count)
{
	if (count + JUMP >
	    sizeof(move->moved) -
		    move->moved_length) /* there must be room for the jump back that follows */
		return false;
	memcpy(move->moved + move->moved_length, bytes, count);
	move->moved_length += (uint8_t)count;
	return true;
}

/* Corrects a distance that was put to `moved`; `behind` bytes follow it there. The distance was
 * meant for an instruction that ends at `end`, but in `moved` the instruction ends elsewhere. The
 * new distance is right if moved[0] lies at move->address. */
static bool fix(struct entry_move *move, unsigned behind, int64_t distance, uint64_t end)
{
	uint64_t new_end = move->address + move->moved_length;
	unsigned at = move->moved_length - behind - 4u, i = move->fix[0] != 0;
	int32_t value;

	if (move->fix[i] || __builtin_add_overflow(distance, (int64_t)(end - new_end), &value))
		return false;
	memcpy(move->moved + at, &value, sizeof(value));
	move->fix[i] = (uint8_t)(at + 1);
	return true;
}

/* Moves a branch. Short jumps become long ones. loop and jrcxz have no long form and cannot be
 * moved. */
static bool move_branch(struct entry_move *move, const struct insn *insn, uint64_t end)
{
	uint8_t code[BRANCH_32] = {0x0f, (uint8_t)(0x80 | (insn->opcode & 0xf))};
	bool jump = insn_flow(insn) == FLOW_JUMP;

	if (!jump && !in_two_bytes(insn) && insn->opcode >= 0xe0)
		return false;
	if (jump)
		code[0] = 0xe9;
	return entry_put(move, code, jump ? JUMP : BRANCH_32) && fix(move, 0, insn->immediate, end);
}

/* Recognizes xbegin, which contains the address where a failed transaction continues. */
static bool is_transaction(const struct insn *insn)
{
	return !insn->map && insn->opcode == 0xc7 && insn->mod == 3 && (insn->reg & 7) == 7;
}

static bool move_one(struct entry_move *move, const uint8_t *code, const struct insn *insn,
		     uint64_t end)
{
	switch (insn_flow(insn)) {
	case FLOW_BRANCH:
	case FLOW_JUMP:
		return move_branch(move, insn, end);
	case FLOW_ON:
	case FLOW_RETURN:
	case FLOW_AWAY:
	case FLOW_AWAY_STATIC:
		if (is_transaction(insn) || !entry_put(move, code, (size_t)(insn->next - code)))
			return false;
		return !insn->relative || fix(move, insn->immediate_bytes, insn->displacement, end);
	default:
		return false;
	}
}

static bool ends(const struct insn *insn)
{
	enum insn_flow flow = insn_flow(insn);

	return flow == FLOW_JUMP || flow == FLOW_RETURN || flow == FLOW_AWAY ||
	       flow == FLOW_AWAY_STATIC;
}

/* Returns the number of padding bytes after the function's end at `code`, or 0 if anything else
 * precedes the next block. */
static size_t filling(const uint8_t *code, size_t room, uint64_t address)
{
	size_t want = (size_t)(-address % BLOCK), at = 0;
	struct insn insn;

	while (at < want && want <= room && insn_read(code + at, code + want, &insn) &&
	       insn_is_padding(&insn))
		at = (size_t)(insn.next - code);
	return at == want ? want : 0;
}

static enum entry_fault move_first(const uint8_t *code, size_t size, size_t room,
				   struct entry_move *move)
{
	size_t at = 0;
	struct insn insn;

	while (at < JUMP) {
		if (at >= size)
			return ENTRY_SHORT;
		if (!insn_read(code + at, code + size, &insn))
			return ENTRY_UNREADABLE;
		if (!move_one(move, code + at, &insn, move->address + (size_t)(insn.next - code)))
			return ENTRY_FIXED;
		at = (size_t)(insn.next - code);
		if (ends(&insn) && at < JUMP) {
			if (at != size ||
			    at + filling(code + at, room - at, move->address + at) < JUMP)
				return ENTRY_SHORT;
			at = JUMP;
		}
	}
	if (at > sizeof(move->was))
		return ENTRY_FIXED;
	move->length = (uint8_t)at;
	memcpy(move->was, code, at);
	return ENTRY_FITS;
}

/* Checks that no jump within the function leads to the overwritten bytes. A jump to the first byte
 * is refused as well: in a loop, registers do not hold the arguments of a caller. */
static enum entry_fault check_body(const uint8_t *code, size_t size, uint64_t address,
				   const struct entry_move *move)
{
	struct insn insn;
	uint64_t target;

	for (size_t at = 0; at < size; at = (size_t)(insn.next - code)) {
		if (!insn_read(code + at, code + size, &insn))
			return ENTRY_UNREADABLE;
		if (!leads(&insn, address + (size_t)(insn.next - code), &target))
			continue;
		if (target - move->address < move->length &&
		    !(target == move->address && insn_flow(&insn) == FLOW_CALL))
			return ENTRY_LOOPED;
		if (target == address && insn_flow(&insn) != FLOW_CALL)
			return ENTRY_LOOPED;
	}
	return ENTRY_FITS;
}

enum entry_fault entry_read(const uint8_t *code, size_t size, size_t room, uint64_t address,
			    struct entry_move *ret_move)
{
	struct entry_move move = {.address = address};
	struct insn insn;
	enum entry_fault fault;
	size_t skip = 0;

	if (insn_read(code, code + size, &insn) && insn_flow(&insn) == FLOW_BEGIN)
		skip = (size_t)(insn.next - code);
	move.address += skip;
	fault = move_first(code + skip, size - skip, room - skip, &move);
	if (!fault)
		fault = check_body(code, size, address, &move);
	if (!fault)
		*ret_move = move;
	return fault;
}

bool entry_leads_to(const uint8_t *code, size_t size, uint64_t address, uint64_t target)
{
	struct insn insn;
	uint64_t to;

	for (size_t at = 0; at < size; at = (size_t)(insn.next - code)) {
		if (!insn_read(code + at, code + size, &insn))
			return false;
		if (leads(&insn, address + (size_t)(insn.next - code), &to) && to == target)
			return true;
	}
	return false;
}

/* Tells whether an instruction begins at `at`. Decoding x86 code from a wrong place soon falls into
 * step with the right instructions. If an instruction begins at `at`, decoding from one of several
 * earlier places therefore arrives there; it seldom arrives at a constant inside another
 * instruction. */
static bool begins_at(const uint8_t *code, const uint8_t *end, size_t at)
{
	size_t first = at < ENTRY_BEFORE ? 0 : at - ENTRY_BEFORE, tries = at - first < 16 ? 1 : 16;
	struct insn insn;

	for (size_t start = first; start < first + tries; start++) {
		size_t i = start;

		while (i < at)
			i = insn_read(code + i, end, &insn) ? (size_t)(insn.next - code) : i + 1;
		if (i == at)
			return true;
	}
	return false;
}

void entry_branches(const uint8_t *code, size_t begin, size_t length, uint64_t address,
		    const struct entry_search *search)
{
	for (size_t i = begin; i + BRANCH_32 <= length; i++) {
		bool two = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
		uint64_t target;
		int32_t distance;

		if (!two && (code[i] & 0xfe) != 0xe8)
			continue;
		memcpy(&distance, code + i + 1 + two, sizeof(distance));
		target = address + i + JUMP + two + (uint64_t)(int64_t)distance;
		if (target - search->low < search->high - search->low &&
		    search->wanted(search->context, target) && begins_at(code, code + length, i))
			search->found(search->context, address + i, target);
	}
}
