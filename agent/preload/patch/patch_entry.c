/*
 * Patched functions (patch.h) jump here, with the number of the function in ebp and rbp pushed.
 * This code calls allocators_entered, and keeps all registers that the hook uses.
 *
 * A compiler that sees a function together with its caller may know which registers the function
 * leaves unchanged, and keep values there across the call, against the calling convention (gcc:
 * -fipa-ra, part of -O2). This code therefore restores all registers, except rax if that is a
 * result. The hook itself does not use vector registers; libc may, in work that is done once per
 * thread.
 *
 * 	        +--------------+
 * 	rbp+8   | return       |  a plain frame, as unwinders and hooks expect it
 * 	rbp     | rbp          |
 * 	rbp-8   | rax          |  as it was
 * 	        | rcx ... r11  |
 * 	        +--------------+
 */
#include "agent/preload/allocators/allocators.h"

__asm__(".text\n"
	".p2align 4\n"
	".globl patch_entry\n"
	".hidden patch_entry\n"
	".type patch_entry, @function\n"
	"patch_entry:\n"
	".cfi_startproc\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	push %rax\n"
	".cfi_def_cfa_offset 24\n"
	"	mov %ebp, %eax\n"
	"	lea 8(%rsp), %rbp\n"
	".cfi_def_cfa %rbp, 16\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %r10\n"
	"	push %r11\n"
	"	push %r11\n" /* a multiple of 16 */
	"	mov %eax, %r9d\n"
	"	call allocators_entered\n"
	"	pop %r11\n"
	"	pop %r11\n"
	"	pop %r10\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rdi\n"
	"	pop %rsi\n"
	"	pop %rdx\n"
	"	pop %rcx\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size patch_entry, . - patch_entry\n");
