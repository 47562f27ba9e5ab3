#pragma once
/*
 * gperftools' binary form of a profile: 64-bit words, a number a stack. Made for samples of the
 * CPU, and what `google-pprof --raw` makes of a heap profile.
 *
 *	0  3  0  PERIOD  0		words behind it; version; unused
 *	NUMBER DEPTH ADDRESS...		of a stack, the innermost frame first
 *	0  1 0 the end; what was mapped follows, as text. google-pprof leaves both out
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By the first word. */
bool cpu_profile_begins(const uint8_t *data, size_t length);
/* Calls `stack` (may be NULL) for each; not 0 stops, and is returned. 0, and where the text begins;
 * -EBADMSG: it is damaged, or ends within. */
int cpu_profile_read(const uint8_t *data, size_t length,
		     int (*stack)(void *context, const uint64_t *addresses, uint32_t depth,
				  uint64_t number),
		     void *context, size_t *ret_end);
