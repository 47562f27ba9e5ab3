#pragma once
/*
 * Where a function begins: can a jump stand there in place of its first instructions, and what does
 * the same as those at another place? It reads code and changes none. For the agent; libheapcast.so
 * only writes down what it is told.
 *
 * Moved are whole instructions, as many as the jump takes room. No calls: so no return address ever
 * lies in what was moved, and a stack that is walked from below has the function's own frame. What
 * is in doubt is refused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENTRY_WAS   24
#define ENTRY_MOVED 40
#define ENTRY_FIXES 2

/* All that may be overwritten of a function lies within so many bytes from its beginning. */
#define ENTRY_BEGINNING (ENTRY_WAS + 4)

struct entry_move {
	uint64_t address; /* of the jump: the function's, or behind the landing mark that it begins
			     with */
	uint8_t length;	  /* bytes that it takes the place of: whole instructions */
	uint8_t moved_length;
	uint8_t fix[ENTRY_FIXES]; /* 32-bit distances at moved[fix - 1], right for code at
				     `address`; 0: none */
	uint8_t was[ENTRY_WAS];
	uint8_t moved[ENTRY_MOVED];
};

enum entry_fault {
	ENTRY_FITS,
	ENTRY_UNREADABLE, /* an instruction in it that we do not know */
	ENTRY_SHORT,
	ENTRY_FIXED,  /* one of its first instructions can only be where it is */
	ENTRY_LOOPED, /* it jumps back to them */
};

/* `code` is that of the function at `address`, `size` bytes, and then what lies behind it, `room`
 * bytes in all (at least `size`): filling may be overwritten. */
enum entry_fault entry_read(const uint8_t *code, size_t size, size_t room, uint64_t address,
			    struct entry_move *ret_move);

/* Does the function call, or jump to, `target`? */
bool entry_leads_to(const uint8_t *code, size_t size, uint64_t address, uint64_t target);

/*
 * Tells of branches with a 32-bit distance to addresses that are wanted. Looked at is every byte of
 * `code` from `begin` on as if an instruction began there, up to `length` less ENTRY_BRANCH, so
 * that a text can be read in pieces; what lies at most ENTRY_BEFORE bytes before it tells whether
 * one does. In doubt it does.
 */
#define ENTRY_BRANCH 6
#define ENTRY_BEFORE 64

struct entry_search {
	bool (*wanted)(void *context, uint64_t target);
	void (*found)(void *context, uint64_t from, uint64_t target);
	void *context;
	uint64_t low, high; /* wanted are none outside of [low, high) */
};

void entry_branches(const uint8_t *code, size_t begin, size_t length, uint64_t address,
		    const struct entry_search *search);
