/* Reads a flat JSON object (RFC 8259). See body.h. */
#include "collector/http/server/body.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "base/ban.h"

#define NAME_MAX_BYTES 64

struct body_reader {
	const char *at, *end;
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

/* Reads what follows a backslash. Returns the number of bytes in `out`; 0: not an escape. */
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

/* Returns 0; -EINVAL: not a string; -E2BIG: the string is too long. */
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
	out[used] = '\0';
	return r->at < r->end && *r->at++ == '"' ? 0 : -EINVAL;
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
	if ((*begin == '0' && r->at - begin > 1) ||
	    (r->at < r->end && strchr(".eE", *r->at) && *r->at))
		return -EINVAL;
	*ret = value;
	return 0;
}

static struct body_member *body_find(struct body_member *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static int read_member(struct body_reader *r, struct body_member *table, char *name,
		       struct err_text *err)
{
	struct body_member *m;
	int e;

	if (read_string(r, name, NAME_MAX_BYTES) < 0 || !body_skip(r, ':')) {
		name[0] = '\0';
		return err_set(err, -EINVAL, "the body is a JSON object, {\"action\": ...}");
	}
	m = body_find(table, name);
	if (!m)
		return err_set(err, -EINVAL, "nothing is called \"%.60s\" here", name);
	if (m->given)
		return err_set(err, -EINVAL, "\"%s\" is there twice", name);
	e = m->text ? read_string(r, m->text, m->size) : body_read_number(r, m->number);
	if (e == -E2BIG)
		return err_set(err, -EINVAL, "\"%s\" is too long: it has room for %zu bytes", name,
			       m->size - 1);
	if (e < 0)
		return err_set(err, -EINVAL, "\"%s\" takes a %s", name,
			       m->text ? "string" : "whole number");
	m->given = true;
	return 0;
}

int body_read(const char *data, size_t length, struct body_member *table, char *ret_name,
	      struct err_text *err)
{
	struct body_reader r = {data, data + length};
	int e = 0;

	ret_name[0] = '\0';
	if (!body_skip(&r, '{'))
		return err_set(err, -EINVAL, "the body is a JSON object, {\"action\": ...}");
	if (!body_skip(&r, '}')) {
		do
			e = read_member(&r, table, ret_name, err);
		while (!e && body_skip(&r, ','));
		if (e < 0)
			return e;
		ret_name[0] = '\0';
		if (!body_skip(&r, '}'))
			return err_set(err, -EINVAL, "the JSON object does not end with a brace");
	}
	return peek(&r) < 0 ? 0 : err_set(err, -EINVAL, "something stands behind the JSON object");
}
