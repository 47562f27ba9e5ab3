#pragma once
/*
 * What the unwinder must know of a processor: the contract. Nothing outside arch/ knows one.
 *
 * A processor is a folder: arch_layout.h with the constants and the inline functions of the hot
 * path, arch.c with the rest of what is declared here. CMake picks the folder; there is no #if.
 *
 * arch_layout.h defines
 *
 *   ARCH_WORD           bytes of a register and of a slot of the stack: 8, 4
 *   ARCH_PC_SHIFT       low bits of a code address that are always 0 (x86-64: 0, AArch64: 2)
 *   ARCH_PC_BITS        of a user address of code; less ARCH_PC_SHIFT at most 47 (row.h)
 *   ARCH_REGISTERS      DWARF registers below this are followed, the return address included
 *   ARCH_REG_SP, ARCH_REG_FP, ARCH_REG_RA    DWARF numbers
 *   ARCH_REG_PC         of the interrupted program counter, for arch_signal_slot only
 *   ARCH_REG_FP2        a second frame pointer, which is followed in the upper half of fp (ARM); 0:
 *                       none
 *   ARCH_KEPT           bit set of the registers that a function must keep for its caller
 *   ARCH_RED_ZONE       bytes below sp that an interrupted function may use
 *   ARCH_LINK           1: calls leave the return address in a register, ARCH_REG_RA
 *   ARCH_SCAN           1: rows read out of code are plain ones, as most code has no table; every
 *                       return address is believed only if it lies behind a call
 *   ARCH_TOLD           1: most code has tables (.eh_frame) that hold for each of its instructions
 *   ARCH_FRAMED         1: arch_framed and arch_switched are there
 *   ARCH_RECORD         1: fp, if it is one, points to (caller's fp, return address)
 *   ARCH_FP_KEPT        struct arch_frame.fp_words that says "not saved"
 *   ARCH_TABLE          type of the segment with a table of the processor's own, for arch_table_row
 *   ARCH_SAVED          how many registers struct unwind_regs.saved has
 *   ARCH_HOT            how a function is declared that an event takes, in every function that
 *                       calls it: always inlined, or, where code has to be small, as the compiler
 *                       likes
 *   arch_load           a word of memory
 *   arch_code_address   a return address as found in memory, without authentication or mode bits
 *
 * arch_row.h says how a plain row is packed (row.h), and arch_here.h, apart because the rest is
 * also compiled for the kernel's machine (bpf/walk.h), has
 *
 *   arch_caller_fp      fp of the caller of the function it is written in
 *   arch_registers_here the registers of the function it is written in (always inline); gives its
 *   pc
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch_layout.h"

/* The order of struct unwind_regs.saved as DWARF numbers; ARCH_SAVED of them. */
extern const uint8_t arch_saved[];

/* Whether the code at a return address is the system call that ends a signal handler. Reads at most
 * `length` bytes. `ret_offset`: from sp there to what arch_signal_slot wants, less than 1 << 21. */
bool arch_is_signal_return(const uint8_t *code, size_t length, uint32_t *ret_offset);

/* Where the kernel stored a DWARF register of the interrupted code; `sp` is that of the signal
 * frame, after the handler has returned, and `ret_offset` bytes farther. */
uint64_t arch_signal_slot(uint64_t sp, unsigned dwarf_register);

/* Whether the DWARF expression is the one that linkers write for procedure linkage tables; its
 * constant, below 64, goes to `ret_constant` and with it, sp and pc arch_plt_cfa gives the
 * canonical frame address. */
bool arch_is_plt_expression(const uint8_t *expression, size_t length, unsigned *ret_constant);
uint64_t arch_plt_cfa(uint64_t sp, uint64_t pc, unsigned constant);

/* Code that may be read: what lies between `begin` and `end`, which are mapped at `address`. */
struct arch_code {
	const uint8_t *begin;
	const uint8_t *end;
	uint64_t address;
};

/* What a row says, in words of ARCH_WORD bytes. */
struct arch_frame {
	bool from_fp;	    /* cfa = fp + cfa_words; else from sp */
	bool from_fp2;	    /* and that is the second one */
	uint32_t cfa_words; /* of what is scanned: at most ARCH_FRAME_CFA_MAX */
	uint32_t ra_words; /* the return address is so far below the cfa; 0: in the register. Not of
			      what is scanned, on processors where calls push it */
	uint32_t fp_words; /* the caller's fp is so far below the cfa; ARCH_FP_KEPT: in the register
			    */
	uint32_t fp2_words;
	bool outermost; /* all that is known, if nothing else is: the code has set fp to 0, as a
			   first frame does; or (ARCH_SCAN) it ends the thread next */
};
#define ARCH_FRAME_CFA_MAX 0x7fff
#define ARCH_FRAME_FP_MAX  31

struct unwind_module;

/* What a table of the processor's own says of the code at `pc` (as for arch_scan); false: nothing.
 * Asked before .eh_frame, of processors with ARCH_SCAN only. */
bool arch_table_row(const struct unwind_module *module, uint64_t pc, bool interrupted,
		    uint32_t *ret_row);

/*
 * Reads the function's code, where there is no table. `pc` lies in `code` and is the instruction
 * that will be executed next: a call has returned to it, or `interrupted`. Bounded work, no state.
 * False: the code does not tell for certain (a wrong answer is worse than none); only `outermost`
 * is set.
 */
bool arch_scan(const struct arch_code *code, uint64_t pc, bool interrupted,
	       struct arch_frame *ret_frame);

/* The frame pointer holds at every call from `begin` to `end` (one past the last): cfa = fp + 2
 * words, the return address and the caller's fp lie below it. Not where such code is
 * interrupted. */
struct arch_range {
	uint64_t begin;
	uint64_t end;
};

/* Of the function that goes on at `pc`, behind a call, in `code`, with a frame record of its
 * own; false: not known. The range is empty if the frame is only this call's. */
bool arch_framed(const struct arch_code *code, uint64_t pc, struct arch_range *ret_range,
		 struct arch_frame *ret_frame);

/* The row of a function that goes on at `pc`, behind a call, and returns on another stack, by
 * its code; false: it is not known to. */
bool arch_switched(const struct arch_code *code, uint64_t pc, uint32_t *ret_row);

/* Whether the instruction that ends before `code` + `length` may be a call; `length` bytes there
 * can be read. True also if they are too few to tell. What a stack holds at the place of a return
 * address, and is none, is seldom so. */
bool arch_is_behind_call(const uint8_t *code, size_t length);
