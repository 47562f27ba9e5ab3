/* Compiled with signed return addresses; DESCEND: what it is called in the program or the
 * library. */
#include "signed.h"

__attribute__((noipa)) void DESCEND(struct descent *descent, unsigned depth)
{
	const uintptr_t *record = __builtin_frame_address(0);
	uintptr_t back = (uintptr_t)__builtin_return_address(0); /* gcc takes the signature off */

	descent->returns[descent->count++] = back;
	descent->signed_count += record[1] != back;
	if (depth)
		DESCEND(descent, depth - 1);
	else
		descent->bottom();
	__asm__ volatile("" : : : "memory");
}
