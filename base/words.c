/* Lines of words. See words.h. */
#include "base/words.h"

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
		} else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
			from = " ";
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
