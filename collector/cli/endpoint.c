/* See endpoint.h. */
#include "collector/cli/endpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "collector/http/http.h"
#include "base/ban.h"

static int parse_port(const char *text, uint16_t *ret_port)
{
	uint64_t number;

	if (parse_u64(text, &number) < 0 || number > UINT16_MAX)
		return -EINVAL;
	*ret_port = (uint16_t)number;
	return 0;
}

int http_endpoint_parse(const char *text, char *host, unsigned size, uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	bool bracket = text[0] == '[';
	size_t length;

	snprintf(host, size, "%s", HTTP_DEFAULT_ADDRESS);
	*ret_port = HTTP_DEFAULT_PORT;
	if (!colon && !parse_port(text, ret_port))
		return 0;
	if (colon && (bracket ? colon[-1] != ']' : strchr(text, ':') != colon))
		colon = NULL; /* a colon of an IPv6 address */
	if (colon && parse_port(colon + 1, ret_port) < 0)
		return -EINVAL;
	length = colon ? (size_t)(colon - text) : strlen(text);
	if (bracket && (length < 3 || text[length - 1] != ']'))
		return -EINVAL;
	if (bracket) {
		text++;
		length -= 2;
	}
	if (length >= size)
		return -EINVAL;
	if (length)
		snprintf(host, size, "%.*s", (int)length, text);
	return length || colon ? 0 : -EINVAL;
}
