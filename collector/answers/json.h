#pragma once
/* A streaming JSON writer, which takes care of commas and escapes. The caller takes care of 64-bit
 * numbers that JavaScript cannot hold, and writes them as strings as well. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct json {
	struct buf *out;
	unsigned depth;
	bool first[32];
};
void json_init(struct json *json, struct buf *out);
/* `key` NULL: no key (in an array, or at the top level). */
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json, char bracket); /* '}' or ']' */
/* `value` NULL: null. Invalid UTF-8 becomes U+FFFD. */
void json_string(struct json *json, const char *key, const char *value);
/* The same for a text with a length; a NUL does not end it. */
void json_text(struct json *json, const char *key, const char *text, size_t length);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
