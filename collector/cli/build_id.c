/* Converts build ids to and from text. See build_id.h. */
#include "collector/cli/build_id.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ban.h"

const char *build_id_format(char out[BUILD_ID_TEXT], const uint8_t *id, uint32_t length)
{
	out[0] = 0;
	for (uint32_t i = 0; i < length && i < (BUILD_ID_TEXT - 1) / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
	return length ? out : "-";
}

static uint8_t build_id_digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
}

int build_id_parse(const char *text, uint8_t *ret_id, size_t size, uint32_t *ret_length)
{
	size_t length = strlen(text);

	if (!length || length % 2 || length / 2 > size ||
	    strspn(text, "0123456789abcdefABCDEF") != length)
		return -EINVAL;
	for (size_t i = 0; i < length / 2; i++)
		ret_id[i] = (uint8_t)(build_id_digit(text[2 * i]) << 4 |
				      build_id_digit(text[2 * i + 1]));
	*ret_length = (uint32_t)(length / 2);
	return 0;
}
