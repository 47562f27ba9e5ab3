#pragma once
/*
 * Where in a function a probe is best placed, by which instructions the function ends, and whether
 * it does nothing but call another one. It reads code that lies in a file and changes none; for the
 * agent.
 *
 * A *place* is an instruction that every call of the function comes by exactly once, while what was
 * passed is still in known registers. Of the instructions at a function's beginning it is the first
 * one that the kernel emulates: others it steps through, at the cost of a second trap. In doubt it
 * is the entry. If that is a push, which the kernel has to write to the program's stack, and nobody
 * wants the function's return, a branch further on costs less.
 *
 * A reader knows one kind of processor, by the number that ELF gives it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACE_ARGUMENTS 6 /* that registers are followed for */
#define PLACE_PUSHED	2
#define PLACE_EXITS_MAX 24

struct place_function {
	const uint8_t *code; /* of the function at `address`, all of it */
	size_t size;
	uint64_t address;
};

struct place_probe {
	uint64_t address;
	uint8_t argument[PLACE_ARGUMENTS]; /* DWARF numbers of the registers that hold them */
	uint8_t words; /* of the stack between sp and the return address, or sp as the caller had it
			*/
	/* DWARF numbers of registers of the caller's that lie in the words below the return
	 * address, from there down, and not in themselves any more; 0: no more of them. */
	uint8_t pushed[PLACE_PUSHED];
	bool link; /* the return address is in the link register */
	bool emulated;
	bool not_null; /* calls with NULL in the argument of that name in the question do not come
			  by */
	bool looped;   /* a jump leads back to the entry: calls may come by more often */
	bool unsafe; /* the kernel does not carry out the instruction there as the processor does */
};

struct place_question {
	unsigned wanted; /* arguments that are to be known, a bit each */
	int not_null; /* the number of an argument that is of no interest if it is NULL; negative:
			 none */
	bool ends; /* what is passed is all: the return is not probed, so the stack may have changed
		    */
};

/* Code of the same file, for following jumps. */
struct place_code {
	/* Reads at most `size` bytes: how many there are. */
	size_t (*read)(void *context, uint64_t address, uint8_t *out, size_t size);
	/* Where in this file a jump through the pointer at an address leads; 0: elsewhere. */
	uint64_t (*slot)(void *context, uint64_t address);
	/* A function begins there: no other one goes on into it. */
	bool (*begins)(void *context, uint64_t address);
	void *context;
};

struct place_hand_on {
	/* Is this a function that may be handed on to? `pointer`: the address is that of a pointer
	 * to it. */
	bool (*is_target)(void *context, uint64_t address, bool pointer);
	void *context;
	const struct place_code
		*code; /* to see what does not return where code of it lies elsewhere */
	bool frees;    /* it has no result; else what it gives where it has not called must be a
			  constant */
};

struct place_reader {
	uint16_t machine; /* EM_X86_64... */
	/* Always finds one. It is for the caller to see to it that no code from outside leads to
	 * (entry, address]. */
	void (*find)(const struct place_function *function, const struct place_question *question,
		     struct place_probe *ret_probe);
	/* All instructions by which the function returns, those of functions of this file that it
	 * ends by jumping to among them: how many; negative: they can't all be found. */
	int (*exits)(const struct place_code *code, uint64_t address,
		     uint64_t ret_exit[PLACE_EXITS_MAX]);
	/* Does every call of it come to a target, or else do nothing? */
	bool (*hands_on)(const struct place_function *function,
			 const struct place_hand_on *question);
	/* Is there a path on which it, or what it calls in this file, comes to a target? In doubt
	 * not. */
	bool (*reaches)(const struct place_code *code, uint64_t address,
			const struct place_hand_on *question);
	/* Of a few instructions that do nothing but jump through a pointer, as an import's: its
	 * address; 0: they are not such. */
	uint64_t (*stub)(const uint8_t *code, size_t size, uint64_t address);
};

/* The reader of the build's own processor, if it has one: else its machine is EM_NONE. */
extern const struct place_reader place_own;

/* NULL: there is none. Of other processors than the build's own only entries are known. */
const struct place_reader *place_reader(uint16_t machine);
