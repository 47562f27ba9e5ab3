#pragma once
/* The size for which jump_alloc raises SIGUSR1. It bears the tag of the target's own allocations.
 */
#define SIGNAL_SIZE ((size_t)(90000 / 16 * 16 + 7))
/* A block of LENT_SIZE that is freed is given to who asks for AGAIN_SIZE next. */
#define LENT_SIZE  ((size_t)((4 << 20) + 7))
#define AGAIN_SIZE ((size_t)(16 + 7))
