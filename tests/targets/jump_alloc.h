#pragma once
/* The size for which jump_alloc raises SIGUSR1. It bears the tag of the target's own allocations.
 */
#define SIGNAL_SIZE ((size_t)(90000 / 16 * 16 + 7))
