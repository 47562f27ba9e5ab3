#pragma once
/*
 * Decoding of untrusted UTF-8, one character at a time (RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, which replaces invalid bytes */

/*
 * Returns the length of the character at `p`, of which `left` bytes (at least 1) are available, and
 * its code point. Returns 0 if the bytes are not a valid character.
 */
static inline size_t utf8_next(const char *p, size_t left, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t first = (uint8_t)p[0];
	size_t length = first < 0x80	? 1
			: first >= 0xf0 ? 4
			: first >= 0xe0 ? 3
			: first >= 0xc0 ? 2
					: 0;
	uint32_t code = length == 1 ? first : first & (0x7fu >> length);

	if (!length || first > 0xf4 || length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if (((uint8_t)p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((uint8_t)p[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return length;
}

/*
 * Tells whether a character is safe to display. Control characters (C0, DEL, C1) would command a
 * terminal. Line separators break a line, and the bidirectional controls of Unicode Standard Annex
 * 9 (marks, embeddings, overrides and isolates) reorder the text around them.
 */
static inline bool utf8_shows(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c)
		return false;
	return !(code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
		 (code >= 0x2066 && code <= 0x2069));
}
