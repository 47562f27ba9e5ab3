#pragma once
/*
 * Finds the best place for a probe in a function and the instructions by which the function
 * returns, and tells whether it only calls another function. The code is read from a file and not
 * changed. The agent uses it.
 *
 * A *place* is an instruction that every call of the function passes exactly once, while the
 * arguments are in known registers. It is the first instruction near the function's start that the
 * kernel emulates: other instructions are single-stepped, at the cost of a second trap. In doubt
 * the place is the entry. If the instruction is a push, the kernel has to write to the program's
 * stack; a later branch then costs less, and is used if the function's return is not probed.
 *
 * A reader handles one kind of processor, identified by its number in ELF.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACE_ARGUMENTS 6 /* arguments that are tracked in registers */
#define PLACE_PUSHED	2
#define PLACE_EXITS_MAX 24

struct place_function {
	const uint8_t *code; /* all code of the function at `address` */
	size_t size;
	uint64_t address;
};

struct place_probe {
	uint64_t address;
	uint8_t argument[PLACE_ARGUMENTS]; /* DWARF numbers of the registers that hold them */
	uint8_t words; /* words of the stack between sp and the return address, or the caller's
			* sp */
	/* DWARF numbers of the caller's registers that were pushed and may have changed since, from
	 * the word below the return address downwards; 0: no more. */
	uint8_t pushed[PLACE_PUSHED];
	bool link; /* the return address is in the link register */
	bool emulated;
	bool not_null; /* calls with NULL in the argument question.not_null do not pass the place */
	bool looped;   /* a jump leads back to the entry, so a call may pass it more than once */
	bool unsafe;   /* the kernel does not execute this instruction as the processor does */
};

struct place_question {
	unsigned wanted; /* bit set of arguments that must be known */
	int not_null;	 /* number of an argument whose NULL calls are of no interest; negative:
			  * none */
	bool ends; /* only the arguments matter: the return is not probed, so the stack may have
		    * changed */
};

/* Access to other code of the same file, for following jumps. */
struct place_code {
	/* Reads at most `size` bytes. Returns the number of bytes read. */
	size_t (*read)(void *context, uint64_t address, uint8_t *out, size_t size);
	/* Returns the target of a jump through the pointer at `address`; 0: it is not in this
	 * file. */
	uint64_t (*slot)(void *context, uint64_t address);
	/* True if a function begins at `address`, so that no other function continues there. */
	bool (*begins)(void *context, uint64_t address);
	void *context;
};

struct place_hand_on {
	/* True if a wrapper may lead to this function. `pointer`: `address` is that of a pointer to
	 * the function. */
	bool (*is_target)(void *context, uint64_t address, bool pointer);
	void *context;
	/* to detect calls that never return, even if their code lies elsewhere */
	const struct place_code *code;
	bool frees; /* the function has no result; otherwise its result on paths without the call
		     * must be a constant */
};

struct place_reader {
	uint16_t machine; /* EM_X86_64... */
	/* Finds a place; the entry always is one. The caller has to check that no code outside of
	 * the function branches to (entry, address]. */
	void (*find)(const struct place_function *function, const struct place_question *question,
		     struct place_probe *ret_probe);
	/* Finds all instructions by which the function returns, including those of functions in
	 * this file to which it jumps at its end. Returns their number; negative if not all can be
	 * found. */
	int (*exits)(const struct place_code *code, uint64_t address,
		     uint64_t ret_exit[PLACE_EXITS_MAX]);
	/* True if every call of the function either reaches a target or does nothing. */
	bool (*hands_on)(const struct place_function *function,
			 const struct place_hand_on *question);
	/* True if the function, or one that it calls in this file, reaches a target on some path.
	 * False in doubt. */
	bool (*reaches)(const struct place_code *code, uint64_t address,
			const struct place_hand_on *question);
	/* For a stub that only jumps through a pointer, like that of an import: returns the
	 * pointer's address; 0 for other code. */
	uint64_t (*stub)(const uint8_t *code, size_t size, uint64_t address);
};

/* The reader for the build's own processor. Its machine is EM_NONE if the processor has none. */
extern const struct place_reader place_own;

/* Returns the reader for a processor, or NULL if there is none. For processors other than the
 * build's own, only entries are known. */
const struct place_reader *place_reader(uint16_t machine);
