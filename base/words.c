/* Lines of words. words.h describes the interface. */
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "base/ban.h"

const char *words_next(const char **at, char word[WORD_MAX])
{
	size_t length = strcspn(*at, " ");

	if (!length || length >= WORD_MAX)
		return NULL;
	memcpy(word, *at, length);
	word[length] = '\0';
	*at += length + ((*at)[length] == ' ');
	return word;
}

bool words_is_next(const char **at, const char *expected)
{
	char word[WORD_MAX];

	return words_next(at, word) && !strcmp(word, expected);
}

bool words_number(const char **at, uint64_t most, uint64_t *ret)
{
	char word[WORD_MAX];

	return words_next(at, word) && strspn(word, "0123456789") == strlen(word) &&
	       parse_u64(word, ret) == 0 && *ret <= most;
}

size_t words_clean(char *out, size_t size, const void *text, size_t length)
{
	const char *p = text;
	size_t used = 0;

	while (length) {
		const char *from = p;
		uint32_t code = 0;
		size_t taken = utf8_next(p, length, &code), put = taken;

		if (!taken) {
			taken = 1;
			from = UTF8_REPLACEMENT;
			put = strlen(UTF8_REPLACEMENT);
		} else if (!utf8_shows(code)) {
			from = code >= '\t' && code <= '\r' ? " " : "?";
			put = 1;
		}
		if (used + put >= size)
			break;
		memcpy(out + used, from, put);
		used += put;
		p += taken;
		length -= taken;
	}
	out[used] = '\0';
	return used;
}

char *words_copy(const void *text, size_t length, size_t most)
{
	size_t size =
		length < most / 3 ? 3 * length + 1 : most + 1; /* a bad byte becomes three bytes */
	char *copy = malloc(size);

	if (copy)
		words_clean(copy, size, text, length);
	return copy;
}
