/* See endpoint.h. */
#include "collector/cli/endpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
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

int http_place_read(const struct http_choice *choice, struct http_place *ret, struct err_text *err)
{
	int r;

	*ret = (struct http_place){0};
	if (http_endpoint_parse(choice->http, ret->host, sizeof(ret->host), &ret->port) < 0)
		return err_set(
			err, -EINVAL,
			"--http takes ADDRESS:PORT, for example 127.0.0.1:8080, not '%.100s'",
			choice->http);
	r = choice->token ? token_read(choice->token, ret->token_text, err) : 0;
	ret->token = choice->token ? ret->token_text : NULL;
	return r;
}
