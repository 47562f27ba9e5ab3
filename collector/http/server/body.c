/* Reads a flat JSON object (RFC 8259). See body.h. */
#include "collector/http/server/body.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "collector/http/server/exchange.h"
#include "base/ban.h"

struct body_reader {
	char *at, *end;
	const struct route_parameter *members;
	uint64_t given; /* one bit per member that was given */
};

static int peek(struct body_reader *r)
{
	while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
		r->at++;
	return r->at < r->end ? (unsigned char)*r->at : -1;
}

static bool body_skip(struct body_reader *r, char c)
{
	if (peek(r) != (unsigned char)c)
		return false;
	r->at++;
	return true;
}

static bool read_hex(struct body_reader *r, uint32_t *ret)
{
	uint32_t code = 0;

	for (int i = 0; i < 4; i++, r->at++) {
		const char *digits = "0123456789abcdef", *digit;
		int c = r->at < r->end ? *r->at : 0;

		c = c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c;
		digit = c ? strchr(digits, c) : NULL;
		if (!digit)
			return false;
		code = code << 4 | (uint32_t)(digit - digits);
	}
	*ret = code;
	return true;
}

static size_t body_encode(char out[4], uint32_t code)
{
	size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = length; i-- > 1; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(lead[length] | code);
	return length;
}

/* Parses the characters behind a backslash. Returns the number of bytes written to `out`, or 0 if
 * it is not an escape. */
static size_t read_escape(struct body_reader *r, char out[4])
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known = r->at < r->end && *r->at ? strchr(from, *r->at) : NULL;
	uint32_t code, low;

	if (known) {
		r->at++;
		out[0] = to[known - from];
		return 1;
	}
	if (r->at >= r->end || *r->at++ != 'u' || !read_hex(r, &code))
		return 0;
	if (code >= 0xd800 && code < 0xdc00) {
		if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
			return 0;
		r->at += 2;
		if (!read_hex(r, &low) || low < 0xdc00 || low >= 0xe000)
			return 0;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	return !code || (code >= 0xdc00 && code < 0xe000) ? 0 : body_encode(out, code);
}

/* Parses a string. Returns 0, -EINVAL if it is not a string, or -E2BIG if it is too long. `out` may
 * be the place of the string itself, because the result is never longer. */
static int read_string(struct body_reader *r, char *out, size_t size)
{
	size_t used = 0;

	if (!body_skip(r, '"'))
		return -EINVAL;
	while (r->at < r->end && *r->at != '"') {
		char piece[4];
		uint32_t code;
		size_t length;

		if (*r->at == '\\') {
			r->at++;
			length = read_escape(r, piece);
		} else {
			length = utf8_next(r->at, (size_t)(r->end - r->at), &code);
			length = length && code < 0x20 ? 0 : length;
			memcpy(piece, r->at, length);
			r->at += length;
		}
		if (!length)
			return -EINVAL;
		if (used + length >= size)
			return -E2BIG;
		memcpy(out + used, piece, length);
		used += length;
	}
	if (!body_skip(r, '"'))
		return -EINVAL;
	out[used] = '\0';
	return 0;
}

static int body_read_number(struct body_reader *r, uint64_t *ret)
{
	uint64_t value = 0;
	const char *begin;

	if (peek(r) < '0' || peek(r) > '9')
		return -EINVAL;
	begin = r->at;
	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value))
			return -EINVAL;
	if (value == BODY_NOT_GIVEN || (*begin == '0' && r->at - begin > 1) ||
	    (r->at < r->end && strchr(".eE", *r->at) && *r->at))
		return -EINVAL;
	*ret = value;
	return 0;
}

static const struct route_parameter *body_find(const struct body_reader *r, const char *name)
{
	for (const struct route_parameter *p = r->members; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static int read_value(struct body_reader *r, const struct route_parameter *p, void *at)
{
	char *text;

	if (p->kind == PARAMETER_NUMBER)
		return body_read_number(r, at);
	if (peek(r) != '"')
		return -EINVAL;
	text = r->at + 1;
	memcpy(at, &text, sizeof(text));
	return read_string(r, text, p->most + 1);
}

static int read_member(struct body_reader *r, void *into, char *name, struct err_text *err)
{
	const struct route_parameter *p;
	uint64_t bit;
	int e;

	if (read_string(r, name, BODY_NAME_MAX) < 0 || !body_skip(r, ':')) {
		name[0] = '\0';
		return err_set(err, -EINVAL, "the body is a JSON object, {\"action\": ...}");
	}
	p = body_find(r, name);
	if (!p)
		return err_set(err, -EINVAL, "nothing is called \"%.60s\" here", name);
	bit = 1ull << (p - r->members);
	if (r->given & bit)
		return err_set(err, -EINVAL, "\"%s\" is there twice", name);
	r->given |= bit;
	e = read_value(r, p, (char *)into + p->at);
	if (e == -E2BIG)
		return err_set(err, -EINVAL,
			       "\"%s\" is too long: it has room for %" PRIu64 " bytes", name,
			       p->most);
	if (e < 0)
		return err_set(err, -EINVAL, "\"%s\" takes a %s", name,
			       p->kind == PARAMETER_NUMBER ? "whole number" : "string");
	return 0;
}

int body_read(char *data, size_t length, const struct route_parameter *members, void *into,
	      char *ret_name, struct err_text *err)
{
	struct body_reader r = {.at = data, .end = data + length, .members = members};
	int e = 0;

	ret_name[0] = '\0';
	if (!body_skip(&r, '{'))
		return err_set(err, -EINVAL, "the body is a JSON object, {\"action\": ...}");
	if (!body_skip(&r, '}')) {
		do
			e = read_member(&r, into, ret_name, err);
		while (!e && body_skip(&r, ','));
		if (e < 0)
			return e;
		ret_name[0] = '\0';
		if (!body_skip(&r, '}'))
			return err_set(err, -EINVAL, "the JSON object does not end with a brace");
	}
	return peek(&r) < 0 ? 0 : err_set(err, -EINVAL, "something stands behind the JSON object");
}

int body_read_request(struct exchange *x, void *into)
{
	int r = buf_error(&x->request.body);

	return r ? r
		 : body_read((char *)x->request.body.data, x->request.body.length, x->route.body,
			     into, x->parameter, &x->err);
}
