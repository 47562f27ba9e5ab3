#pragma once
/*
 * Reads gperftools' binary form of a profile: 64-bit words, one number a stack. It was made for
 * samples of the CPU, and `google-pprof --raw` also writes heap profiles in it.
 *
 * 	0  3  0  PERIOD  0		words that follow; version; unused
 * 	NUMBER DEPTH ADDRESS...		of a stack, the innermost frame first
 * 	0  1 0 the end; what was mapped follows, as text. google-pprof leaves out both
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Recognizes the format by its first word. */
bool cpu_profile_begins(const uint8_t *data, size_t length);
/* Calls `stack` (may be NULL) for each stack; a result other than 0 stops, and is returned. Returns
 * 0 and where the text begins; -EBADMSG: it is damaged, or incomplete. */
int cpu_profile_read(const uint8_t *data, size_t length,
		     int (*stack)(void *context, const uint64_t *addresses, uint32_t depth,
				  uint64_t number),
		     void *context, size_t *ret_end);
