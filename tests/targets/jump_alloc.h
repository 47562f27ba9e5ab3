#pragma once
/* The sizes for which jump_alloc raises SIGUSR1. The first bears the tag of the target's own allocations; the other never is to be had. */
#define SIGNAL_SIZE ((size_t)(90000 / 16 * 16 + 7))
#define HUGE_SIZE   (SIZE_MAX / 2)
/* A block of LENT_SIZE that is freed is given to who asks for AGAIN_SIZE next; or for SIGNAL_AGAIN_SIZE, behind a SIGUSR1. */
#define LENT_SIZE	  ((size_t)((4 << 20) + 7))
#define AGAIN_SIZE	  ((size_t)(16 + 7))
#define SIGNAL_AGAIN_SIZE ((size_t)(92000 / 16 * 16 + 7))
/* realloc to this size raises SIGUSR1 when the old block is freed. */
#define LATE_SIZE ((size_t)(94000 / 16 * 16 + 7))
