#pragma once
/* Where to serve HTTP, as people write it. */
#include <stdint.h>

#include "collector/http/token.h"

struct err_text;

/* Options of the commands that serve HTTP, and what is made of them. */
struct http_choice {
	const char *http, *token; /* ADDR:PORT; a file, NULL: one is made */
};
struct http_place {
	char host[256], token_text[TOKEN_MAX + 1];
	const char *token; /* NULL: one is made */
	uint16_t port;
};
#define HTTP_OPTIONS(type, field, help)                                                                          \
	OPTION_TEXT(type, field.http, "http", "ADDR:PORT", help),                                                \
		OPTION_TEXT(type, field.token, "token", "FILE",                                                  \
			    "the token that orders have to bring, and beyond loopback all who ask, is in this file; "   \
			    "default: a new one, printed with the address")

/* -EINVAL, -EPERM... with a sentence. */
int http_place_read(const struct http_choice *choice, struct http_place *ret_place, struct err_text *err);

/* "ADDR:PORT", "ADDR", "[ADDR6]:PORT", ":PORT" or "PORT"; what is missing is the default (http.h),
 * port 0 is any free one. 0 or -EINVAL. `host` has room for `size` bytes. */
int http_endpoint_parse(const char *text, char *host, unsigned size, uint16_t *ret_port);
