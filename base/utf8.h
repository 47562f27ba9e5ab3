#pragma once
/* UTF-8 from outside, one character at a time (RFC 3629: no overlong forms, no surrogates, nothing
 * beyond U+10FFFF). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for what is none */

/* Bytes of the character at `p`, of which `left` (at least 1) are there, and its code; 0 if they
 * are no character. */
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

/* May it be shown as it is? What orders a terminal about may not (C0, DEL, C1), nor what breaks a
 * line or turns the direction of what is around it (Unicode Standard Annex 9: the marks,
 * embeddings, overrides and isolates). */
static inline bool utf8_shows(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c)
		return false;
	return !(code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
		 (code >= 0x2066 && code <= 0x2069));
}
