/* Reads and compares the token. See token.h. */
#include "collector/http/server/token.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/secure/private_file.h"

#include "base/ban.h"

static bool is_word(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return length >= TOKEN_MIN && length <= TOKEN_MAX;
}

int token_read(const char *path, char ret_token[TOKEN_MAX + 1], struct err_text *err)
{
	char text[PRIVATE_FILE_MAX + 2];
	size_t length;
	int r = private_file_read(path, "token file", text, &length, err);

	if (r < 0)
		return r;
	while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		length--;
	if (is_word(text, length)) {
		memcpy(ret_token, text, length);
		ret_token[length] = '\0';
	} else {
		r = err_set(err, -EINVAL,
			    "the token file %.300s does not hold one word of %d to %d characters: "
			    "make one "
			    "with: openssl rand -hex 32",
			    path, TOKEN_MIN, TOKEN_MAX);
	}
	explicit_bzero(text, sizeof(text));
	return r;
}

bool token_is_same(const char *token, const char *said)
{
	size_t length = strlen(token), n = strlen(said);
	unsigned differ = length != n;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)said[i] ^ (unsigned char)token[i % length];
	return !differ;
}

const char *token_brought(const char *authorization)
{
	static const char scheme[] = "Bearer ";

	if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return NULL;
	authorization += strlen(scheme);
	return authorization + strspn(authorization, " ");
}

static int token_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

void token_in_form(const char *body, char ret_token[TOKEN_MAX + 1])
{
	static const char field[] = "token=";
	const char *at = body;
	size_t n = 0;

	while (at && strncmp(at, field, strlen(field)) != 0) {
		at = strchr(at, '&');
		at = at ? at + 1 : NULL;
	}
	for (at = at ? at + strlen(field) : ""; *at && *at != '&' && n < TOKEN_MAX; at++) {
		char c = *at == '+' ? ' ' : *at;

		if (c == '%' && token_digit(at[1]) >= 0 && token_digit(at[2]) >= 0) {
			c = (char)(token_digit(at[1]) << 4 | token_digit(at[2]));
			at += 2;
		}
		if (!strchr(" \t\r\n", c)) /* strchr finds NUL, too */
			ret_token[n++] = c;
	}
	ret_token[n] = '\0';
}
