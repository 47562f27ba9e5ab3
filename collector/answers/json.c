/* The JSON writer (RFC 8259). See json.h. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "collector/answers/json.h"

#include "base/ban.h"

#define DEPTH_MAX (sizeof(((struct json *)NULL)->first) / sizeof(bool))

void json_init(struct json *json, struct buf *out)
{
	*json = (struct json){.out = out};
	json->first[0] = true;
}

static void put_escaped(struct buf *out, uint32_t code, const char *bytes, size_t length)
{
	switch (code) {
	case '"':
		buf_string(out, "\\\"");
		break;
	case '\\':
		buf_string(out, "\\\\");
		break;
	case '\n':
		buf_string(out, "\\n");
		break;
	case '\t':
		buf_string(out, "\\t");
		break;
	default:
		if (!utf8_shows(code)) /* all codes that are not shown are at most U+FFFF */
			buf_printf(out, "\\u%04x", code);
		else
			buf_append(out, bytes, length);
	}
}

static void put_quoted(struct buf *out, const char *text, size_t left)
{
	size_t plain, n;
	uint32_t code;

	buf_byte(out, '"');
	while (left) {
		for (plain = 0; plain < left; plain++) {
			uint8_t byte = (uint8_t)text[plain];

			if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\')
				break;
		}
		buf_append(out, text, plain);
		text += plain;
		left -= plain;
		if (!left)
			break;
		n = utf8_next(text, left, &code);
		if (n)
			put_escaped(out, code, text, n);
		else
			buf_string(out, UTF8_REPLACEMENT);
		text += n ? n : 1;
		left -= n ? n : 1;
	}
	buf_byte(out, '"');
}

/* Writes what comes before a value: a comma, and in an object its key. */
static void begin_value(struct json *json, const char *key)
{
	if (!json->first[json->depth])
		buf_byte(json->out, ',');
	json->first[json->depth] = false;
	if (key) {
		put_quoted(json->out, key, strlen(key));
		buf_byte(json->out, ':');
	}
}

static void open_level(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	buf_byte(json->out, (uint8_t)bracket);
	assert(json->depth + 1 < DEPTH_MAX);
	json->first[++json->depth] = true;
}

void json_object(struct json *json, const char *key)
{
	open_level(json, key, '{');
}

void json_array(struct json *json, const char *key)
{
	open_level(json, key, '[');
}

void json_end(struct json *json, char bracket)
{
	assert(json->depth > 0);
	json->depth--;
	buf_byte(json->out, (uint8_t)bracket);
}

void json_text(struct json *json, const char *key, const char *text, size_t length)
{
	begin_value(json, key);
	put_quoted(json->out, text, length);
}

void json_string(struct json *json, const char *key, const char *value)
{
	if (value) {
		json_text(json, key, value, strlen(value));
	} else {
		begin_value(json, key);
		buf_string(json->out, "null");
	}
}

/* Formatted by hand: printf would take a third of the time of a list of 100,000 streams. */
static void put_decimal(struct buf *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	buf_append(out, digits + at, sizeof(digits) - at);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	put_decimal(json->out, value);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	if (value < 0)
		buf_byte(json->out, '-');
	put_decimal(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Uses the lowest precision, from 15 to 17 digits, that reads back as the same number. JSON has no
 * infinity and no NaN; both become null. */
void json_double(struct json *json, const char *key, double value)
{
	char text[40], *comma;

	begin_value(json, key);
	if (!isfinite(value)) {
		buf_string(json->out, "null");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	comma = strchr(text, ','); /* a locale may use a decimal comma */
	if (comma)
		*comma = '.';
	buf_string(json->out, text);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	buf_string(json->out, value ? "true" : "false");
}
