/* See token.h. */
#include "collector/http/token.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/private_file.h"

#include "base/ban.h"

#define BASIC_MAX 1024

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

/* All of both are looked at, whatever differs. */
static bool is_same(const char *token, const char *said)
{
	size_t length = strlen(token), n = strlen(said);
	unsigned differ = length != n;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)said[i] ^ (unsigned char)token[i % length];
	return !differ;
}

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Base64 (RFC 4648) up to the first character that is none. */
static void decode(const char *text, char *out, size_t size)
{
	unsigned bits = 0, have = 0;
	size_t n = 0;

	for (; digit(*text) >= 0 && n + 1 < size; text++) {
		bits = (bits << 6 | (unsigned)digit(*text)) & 0xffff;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		out[n++] = (char)(bits >> have);
	}
	out[n] = '\0';
}

static const char *behind(const char *text, const char *scheme)
{
	size_t length = strlen(scheme);

	if (strncasecmp(text, scheme, length) != 0 || text[length] != ' ')
		return NULL;
	return text + length + strspn(text + length, " ");
}

bool token_is_brought(const char *token, const char *authorization)
{
	const char *said = behind(authorization, "Bearer");
	char pair[BASIC_MAX];

	if (said)
		return is_same(token, said);
	said = behind(authorization, "Basic");
	if (!said)
		return false;
	decode(said, pair, sizeof(pair));
	said = strchr(pair, ':');
	return said && is_same(token, said + 1);
}
