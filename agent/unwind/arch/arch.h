#pragma once
/*
 * What the unwinder must know of a processor: the contract. Nothing outside arch/ knows one.
 *
 * A processor is a folder: arch_layout.h with the constants and the inline functions of the hot
 * path, arch.c with the rest of what is declared here. CMake picks the folder; there is no #if.
 *
 * arch_layout.h defines
 *
 *   ARCH_PC_SHIFT       low bits of a code address that are always 0 (x86-64: 0, AArch64: 2)
 *   ARCH_PC_BITS        of a user address of code; less ARCH_PC_SHIFT at most 47 (row.h)
 *   ARCH_REGISTERS      DWARF registers below this are followed, the return address included
 *   ARCH_REG_SP, ARCH_REG_FP, ARCH_REG_RA    DWARF numbers
 *   ARCH_KEPT           bit set of the registers that a function must keep for its caller
 *   ARCH_RED_ZONE       bytes below sp that an interrupted function may use
 *   ARCH_RA_OFFSET      from the canonical frame address to the return address in a plain row
 *   ARCH_FP_KEPT        a plain row's fp slot that says "not saved"; it must be readable
 *   ARCH_SAVED          how many registers struct unwind_regs.saved has
 *   arch_code_address   a return address as found in memory, without authentication or mode bits
 *   arch_registers_here the registers of the function it is written in (always inline)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch_layout.h"

/* The order of struct unwind_regs.saved as DWARF numbers; ARCH_SAVED of them. */
extern const uint8_t arch_saved[];

/* Whether the code at a return address is the system call that ends a signal handler. Reads at most
 * `length` bytes. */
bool arch_is_signal_return(const uint8_t *code, size_t length);

/* Where the kernel stored a DWARF register of the interrupted code; `sp` is that of the signal
 * frame, after the handler has returned. */
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

/* A frame of a function that no table tells of: what a row says, in words of 8 bytes. */
struct arch_frame {
	bool from_fp;	    /* cfa = fp + 8 * cfa_words; else from sp */
	uint32_t cfa_words; /* at most ARCH_FRAME_CFA_MAX */
	uint32_t
		fp_words; /* the caller's fp is at cfa - 8 * fp_words; ARCH_FP_KEPT: in the register */
	bool outermost; /* all that is known, if nothing else is: the code has set fp to 0, as a first frame does */
};
#define ARCH_FRAME_CFA_MAX 0x7fff
#define ARCH_FRAME_FP_MAX  31

/*
 * Reads the function's code, where there is no table. `pc` lies in `code` and is the instruction that will be executed next: a
 * call has returned to it, or `interrupted`. Bounded work, no state. False: the code does not tell
 * for certain (a wrong answer is worse than none); only `outermost` is set.
 */
bool arch_scan(const struct arch_code *code, uint64_t pc, bool interrupted,
	       struct arch_frame *ret_frame);

/* Whether the instruction that ends before `code` + `length` may be a call; `length` bytes there can be read. True also if
 * they are too few to tell. What a stack holds at the place of a return address, and is none, is seldom so. */
bool arch_is_behind_call(const uint8_t *code, size_t length);
