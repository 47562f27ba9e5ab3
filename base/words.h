#pragma once
/*
 * Text from outside, and lines of words, as control sockets speak them: words are parted by one
 * blank each, a text may come last.
 *
 * All text that others have sent goes through words_clean (or words_copy) where it comes in, and
 * nothing behind that asks again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORD_MAX 80 /* with its NUL */

/* The next word; `at` goes behind its blank. NULL: there is none, or it is too long. Else
 * `word`. */
const char *words_next(const char **at, char word[WORD_MAX]);
/* Is it this one? `at` goes on in any case. */
bool words_is_next(const char **at, const char *expected);
/* A decimal number up to `most`. */
bool words_number(const char **at, uint64_t most, uint64_t *ret_number);

/* Text from outside as one line of UTF-8: tabs and ends of lines become blanks, what else may not
 * be shown (utf8.h) '?', what is no character U+FFFD, and what does not fit is cut between
 * characters. Returns the bytes written, at most `size` - 1, and a NUL. */
size_t words_clean(char *out, size_t size, const void *text, size_t length);
/* The same in memory of its own, cut to `most` bytes: free it; NULL: no memory. */
char *words_copy(const void *text, size_t length, size_t most);
