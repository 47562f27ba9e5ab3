#pragma once
/* A streaming JSON writer. It adds commas and escapes. JavaScript cannot hold all 64-bit numbers;
 * where that matters, the caller also writes them as strings. */
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
/* `key` is NULL in an array or at the top level. */
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json, char bracket); /* '}' or ']' */
/* Writes null if `value` is NULL. Invalid UTF-8 becomes U+FFFD. */
void json_string(struct json *json, const char *key, const char *value);
/* Does the same for a text of a given length, which may contain NULs. */
void json_text(struct json *json, const char *key, const char *text, size_t length);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
