#pragma once
/*
 * Analyses the start of a function: whether a jump can replace its first instructions, and which
 * code does the same as these at another address. The analysis only reads code. The agent uses it;
 * libheapcast.so writes what the agent tells it.
 *
 * The moved code consists of whole instructions, as many as the jump overwrites. Calls are never
 * moved, so no return address lies in moved code, and a stack walk from a callee meets the
 * function's own frame. Doubtful cases are refused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENTRY_WAS   24
#define ENTRY_MOVED 40
#define ENTRY_FIXES 2

/* All bytes of a function that may be overwritten lie within this distance from its start. */
#define ENTRY_BEGINNING (ENTRY_WAS + 4)

struct entry_move {
	uint64_t address; /* of the jump: the function's start, or after the landing pad instruction
			   * that it starts with */
	uint8_t length;	  /* bytes that the jump replaces: whole instructions */
	uint8_t moved_length;
	uint8_t fix[ENTRY_FIXES]; /* offset + 1 in `moved` of 32-bit distances that are correct for
				   * code at `address`; 0: none */
	uint8_t was[ENTRY_WAS];
	uint8_t moved[ENTRY_MOVED];
};

enum entry_fault {
	ENTRY_FITS,
	ENTRY_UNREADABLE, /* contains an instruction that the decoder does not know */
	ENTRY_SHORT,
	ENTRY_FIXED,  /* one of its first instructions cannot be moved */
	ENTRY_LOOPED, /* the function jumps back to its first instructions */
};

/* Analyses the function at `address`. `code` holds its `size` bytes and then the bytes after it,
 * `room` bytes in all (at least `size`). The jump may overwrite padding after the function. */
enum entry_fault entry_read(const uint8_t *code, size_t size, size_t room, uint64_t address,
			    struct entry_move *ret_move);

/* True if the function calls or jumps to `target`. */
bool entry_leads_to(const uint8_t *code, size_t size, uint64_t address, uint64_t target);

/*
 * Reports branches with a 32-bit distance to wanted addresses. Tests every byte of `code` from
 * `begin` to `length` - ENTRY_BRANCH as a possible start of an instruction, so a text segment can
 * be scanned in pieces. Up to ENTRY_BEFORE bytes before a byte decide whether an instruction starts
 * there; in doubt the function assumes that one does.
 */
#define ENTRY_BRANCH 6
#define ENTRY_BEFORE 64

struct entry_search {
	bool (*wanted)(void *context, uint64_t target);
	void (*found)(void *context, uint64_t from, uint64_t target);
	void *context;
	uint64_t low, high; /* no address outside of [low, high) is wanted */
};

void entry_branches(const uint8_t *code, size_t begin, size_t length, uint64_t address,
		    const struct entry_search *search);
