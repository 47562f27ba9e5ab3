#pragma once
/*
 * Untrusted text, and the lines of words that control sockets exchange. One blank separates two
 * words; free text may come last.
 *
 * Every text from a peer passes through words_clean or words_copy where it arrives, so later code
 * does not check it again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORD_MAX 80 /* with its NUL */

/*
 * Copies the next word to `word`, returns it and moves `at` behind its blank. Returns NULL if no
 * word is left or the word is too long.
 */
const char *words_next(const char **at, char word[WORD_MAX]);
/*
 * Tells whether the next word is `expected`. Moves `at` in either case, unless the word is too
 * long.
 */
bool words_is_next(const char **at, const char *expected);
/* Parses the next word as a decimal number of at most `most`. Returns false on failure. */
bool words_number(const char **at, uint64_t most, uint64_t *ret_number);

/*
 * Copies untrusted text as one line of UTF-8. Tabs and line ends become blanks, other characters
 * that are unsafe to display (utf8.h) become '?', and invalid bytes become U+FFFD. Text that does
 * not fit is cut between characters. Returns the number of bytes written, at most `size` - 1,
 * without the NUL that follows.
 */
size_t words_clean(char *out, size_t size, const void *text, size_t length);
/*
 * Does the same into new memory, cut to `most` bytes. The caller frees it. Returns NULL if memory
 * is short.
 */
char *words_copy(const void *text, size_t length, size_t most);
