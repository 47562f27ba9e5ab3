#pragma once
/*
 * The processor interface of the unwinder. No code outside of arch/ depends on a processor.
 *
 * Each processor has a folder. Its arch_layout.h has the constants and the inline functions of the
 * hot path; its arch.c has the other functions that are declared here. CMake selects the folder;
 * there is no #if.
 *
 * arch_layout.h defines
 *
 *   ARCH_WORD           bytes of a register and of a slot of the stack: 8, 4
 *   ARCH_PC_SHIFT       low bits of a code address that are always 0 (x86-64: 0, AArch64: 2)
 *   ARCH_PC_BITS        of a user address of code; less ARCH_PC_SHIFT at most 47 (row.h)
 *   ARCH_REGISTERS      DWARF registers below this are tracked, the return address included
 *   ARCH_REG_SP, ARCH_REG_FP, ARCH_REG_RA    DWARF numbers
 *   ARCH_REG_PC         the interrupted program counter, for arch_signal_slot only
 *   ARCH_REG_FP2        a second frame pointer, tracked in the upper half of fp (ARM); 0: none
 *   ARCH_KEPT           bit set of the callee-saved registers
 *   ARCH_RED_ZONE       bytes below sp that an interrupted function may use
 *   ARCH_LINK           1: calls leave the return address in a register, ARCH_REG_RA
 *   ARCH_SCAN           1: rows from scanned code are plain ones, as most code has no table; a
 *                       return address is accepted only if a call precedes it
 *   ARCH_TOLD           1: most code has tables (.eh_frame) that are valid at each instruction
 *   ARCH_FRAMED         1: arch_framed and arch_switched are implemented
 *   ARCH_RECORD         1: fp, if used as frame pointer, points to (caller's fp, return address)
 *   ARCH_FP_KEPT        value of struct arch_frame.fp_words for "not saved"
 *   ARCH_TABLE          type of the segment with the processor's own table, for arch_table_row
 *   ARCH_SAVED          number of registers in struct unwind_regs.saved
 *   ARCH_HOT            attributes of a function on the path of an event: always inlined, or left
 *                       to the compiler where code has to be small
 *   arch_load           reads a word of memory
 *   arch_code_address   a return address as found in memory, without authentication or mode bits
 *
 * arch_row.h defines how a plain row is packed (row.h). arch_here.h is separate because the rest is
 * also compiled for the kernel's virtual machine (bpf/walk.h). arch_here.h defines
 *
 *   arch_caller_fp      fp of the caller of the function that contains it
 *   arch_registers_here the registers of the function that contains it (always inline); returns
 *                       its pc
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch_layout.h"

/* The DWARF numbers of the registers in struct unwind_regs.saved, in order; ARCH_SAVED elements. */
extern const uint8_t arch_saved[];

/* True if the code at a return address is the system call that ends a signal handler. Reads at most
 * `length` bytes. *ret_offset is the distance from sp to the base for arch_signal_slot, less than 1
 * << 21. */
bool arch_is_signal_return(const uint8_t *code, size_t length, uint32_t *ret_offset);

/* Returns where the kernel stored a DWARF register of the interrupted code. `sp` is the sp of the
 * signal frame after the handler has returned, plus the offset from arch_is_signal_return. */
uint64_t arch_signal_slot(uint64_t sp, unsigned dwarf_register);

/* True if the DWARF expression is the one that linkers generate for procedure linkage tables. Its
 * constant, below 64, goes to *ret_constant; from it, sp and pc, arch_plt_cfa computes the
 * canonical frame address. */
bool arch_is_plt_expression(const uint8_t *expression, size_t length, unsigned *ret_constant);
uint64_t arch_plt_cfa(uint64_t sp, uint64_t pc, unsigned constant);

/* Readable code: the bytes between `begin` and `end`, which are mapped at `address`. */
struct arch_code {
	const uint8_t *begin;
	const uint8_t *end;
	uint64_t address;
};

/* The contents of a row, in words of ARCH_WORD bytes. */
struct arch_frame {
	bool from_fp;	    /* cfa = fp + cfa_words; otherwise sp + cfa_words */
	bool from_fp2;	    /* the base is the second frame pointer */
	uint32_t cfa_words; /* for scanned code: at most ARCH_FRAME_CFA_MAX */
	/* Distance of the return address below the cfa; 0: it is in its register. Unused for
	 * scanned code on processors where calls push the return address. */
	uint32_t ra_words;
	uint32_t fp_words; /* distance of the caller's fp below the cfa; ARCH_FP_KEPT: it is in its
			    * register */
	uint32_t fp2_words;
	bool outermost; /* the code has set fp to 0, as a first frame does; or (ARCH_SCAN) it ends
			 * the thread next. May be set when nothing else is known */
};
#define ARCH_FRAME_CFA_MAX 0x7fff
#define ARCH_FRAME_FP_MAX  31

struct unwind_module;

/* Reads the processor's own table for the code at `pc` (as for arch_scan). Returns false if the
 * table has no entry. Used before .eh_frame, and only on processors with ARCH_SCAN. */
bool arch_table_row(const struct unwind_module *module, uint64_t pc, bool interrupted,
		    uint32_t *ret_row);

/*
 * Scans the code of a function that has no table. `pc` lies in `code` and is the instruction that
 * will be executed next: a call has returned to it, or the code was `interrupted` there. The work
 * is bounded, and no state is kept. Returns false if the code does not tell for certain, because a
 * wrong answer is worse than none; then only `outermost` is set.
 */
bool arch_scan(const struct arch_code *code, uint64_t pc, bool interrupted,
	       struct arch_frame *ret_frame);

/* A range in which the frame pointer is valid at every call, from `begin` to `end` (one past the
 * last): cfa = fp + 2 words, with the return address and the caller's fp below it. It is not valid
 * for interrupted code. */
struct arch_range {
	uint64_t begin;
	uint64_t end;
};

/* Analyses the function in `code` that continues at `pc` after a call and has its own frame record.
 * Returns false if the range is not known. The range is empty if the frame is valid for this call
 * only. */
bool arch_framed(const struct arch_code *code, uint64_t pc, struct arch_range *ret_range,
		 struct arch_frame *ret_frame);

/* Derives from its code the row of a function that continues at `pc` after a call and returns on
 * another stack. Returns false if the function does not do that. */
bool arch_switched(const struct arch_code *code, uint64_t pc, uint32_t *ret_row);

/* True if the instruction that ends at `code` + `length` may be a call; `length` bytes are
 * readable. Also true if these are too few to tell. A word that only looks like a return address
 * rarely passes this test. */
bool arch_is_behind_call(const uint8_t *code, size_t length);
