#pragma once
/*
 * Reads gperftools' binary profile format: 64-bit words, with one number per stack. The format was
 * made for CPU samples. `google-pprof --raw` writes heap profiles in it, too.
 *
 * 	0  3  0  PERIOD  0		words that follow; version; unused
 * 	NUMBER DEPTH ADDRESS...		of a stack, the innermost frame first
 * 	0  1 0 the end; what was mapped follows, as text. google-pprof leaves out both
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Recognizes the format by its first word, which is 0. */
bool cpu_profile_begins(const uint8_t *data, size_t length);
/* Calls `stack` (may be NULL) for each stack, innermost frame first. A result other than 0 stops
 * the reading, and is returned. Returns 0 and sets `ret_end` to the offset of the text behind the
 * words. Returns -EBADMSG if the profile is damaged or incomplete. */
int cpu_profile_read(const uint8_t *data, size_t length,
		     int (*stack)(void *context, const uint64_t *addresses, uint32_t depth,
				  uint64_t number),
		     void *context, size_t *ret_end);
