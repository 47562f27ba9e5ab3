/* Thunks (thunks.h) of two instructions each. A thunk in C would take seven instructions, a pointer
 * to it, and that pointer's relocation. A caller that uses a function pointer has the function's
 * address in t9 (MIPS ABI supplement, chapter 3). The sixth argument is a5, $9; $3 and $25 are free
 * here. */
#include "agent/preload/allocators/thunks.h"

#include "agent/preload/poison.h"

#define THUNK_BYTES 8

extern const uint8_t thunks_first[] __attribute__((visibility("hidden")));

__asm__(".text\n"
	".align 2\n"
	".globl thunks_first\n"
	".hidden thunks_first\n"
	".type thunks_first, @function\n"
	".set push\n"
	".set noreorder\n"
	"thunks_first:\n"
	".set thunk_number, 0\n"
	".rept 32\n"
	"	b	1f\n"
	"	li	$9, thunk_number\n"
	".set thunk_number, thunk_number + 1\n"
	".endr\n"
	"1:	dsll	$3, $9, 3\n"
	"	dsubu	$25, $25, $3\n" /* thunks_first */
	"	lui	$3, %hi(%neg(%gp_rel(thunks_first)))\n"
	"	daddu	$3, $3, $25\n"
	"	daddiu	$3, $3, %lo(%neg(%gp_rel(thunks_first)))\n"
	"	ld	$25, %got_disp(allocators_call)($3)\n"
	".reloc 1f, R_MIPS_JALR, allocators_call\n" /* becomes a branch, which a walk from a signal
						       handler can follow */
	"1:	jr	$25\n"
	"	nop\n"
	".set pop\n"
	".size thunks_first, . - thunks_first\n");
_Static_assert(THUNKS == 32, "as many as are written above");

uintptr_t thunk(unsigned number)
{
	return (uintptr_t)thunks_first + THUNK_BYTES * number;
}
