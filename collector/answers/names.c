/* Shortens function names: without template (C++) or generic (Rust) arguments, and in short form.
 * See names.h. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/answers/json.h"
#include "collector/answers/names.h"
#include "collector/symbols/fold_name.h"

#include "base/ban.h"

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Returns the length of an operator's name such as "operator<<" if one begins here, else 0. Only
 * operators with angle brackets count. */
static size_t operator_length(const char *name, const char *at)
{
	static const char *const symbols[] = {"<=>", "<<=", "<<", "<=", "<", "->*",
					      "->",  ">>=", ">>", ">=", ">"};
	static const char word[] = "operator";
	size_t length = sizeof(word) - 1;

	if (strncmp(at, word, length) != 0 || (at > name && is_identifier(at[-1])))
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (!strncmp(at + length, symbols[i], strlen(symbols[i])))
			return length + strlen(symbols[i]);
	return 0;
}

/* Angle brackets after a name, or after "::" in Rust, hold arguments. Other angle brackets hold a
 * type or a word: <T as Trait>::f, <lambda(int)>. */
static bool opens_arguments(const char *out, size_t length, const char *at)
{
	if (!strncmp(at, "<impl ", 6) || !strncmp(at, "<lambda", 7))
		return false;
	return length &&
	       (is_identifier(out[length - 1]) || out[length - 1] == '>' || out[length - 1] == ':');
}

char *without_template_arguments(const char *name)
{
	cleanup(cleanup_free) char *out = malloc(strlen(name) + 1);
	size_t length = 0, depth = 0;

	if (!out)
		return NULL;
	for (const char *p = name; *p; p++) {
		size_t symbol = operator_length(name, p);

		if (symbol) {
			if (!depth)
				memcpy(out + length, p, symbol);
			length += depth ? 0 : symbol;
			p += symbol - 1;
		} else if (*p == '<' && (depth || opens_arguments(out, length, p))) {
			depth++;
			if (length > 2 && out[length - 1] == ':' && out[length - 2] == ':')
				length -= 2;
		} else if (*p == '>' && depth && p[-1] != '-') {
			depth--;
		} else if (!depth) {
			out[length++] = *p;
		}
	}
	if (depth)
		return strdup(name);
	out[length] = 0;
	return take_ptr(out);
}

void json_short_name(struct json *json, const char *key, const char *name)
{
	size_t size = name ? strlen(name) + 1 : 0;
	cleanup(cleanup_free) char *folded = size ? malloc(size) : NULL;

	if (folded && fold_name(folded, size, name) + 1 < size)
		json_string(json, key, folded);
	else if (!key)
		json_string(json, NULL, "");
}

int write_short_name(struct json *json, const struct answer_field *field, const void *object,
		     const struct answer_context *context)
{
	(void)context;
	json_short_name(json, field->name,
			*(const char *const *)((const char *)object + field->at));
	return 0;
}
