#pragma once
/*
 * Error conventions. A function returns 0 on success, or a negative errno, which callers pass up
 * unchanged. A positive value has a meaning only where the function documents it. If a person will
 * read the reason, the last parameter is a struct err_text. The function that knows what failed, on
 * which object, and what the user can do about it fills in the text. Libraries fill it in and do
 * not log; main prints it once.
 */
#include <stdarg.h>
#include <stddef.h>

struct err_text {
	char text[512]; /* one sentence without a newline; empty if the errno says everything */
};

/*
 * Writes the sentence and returns `error`, so that a failing path reads `return err_set(err,
 * -EINVAL, "...")`. `err` may be NULL. A longer text is cut off.
 */
int err_set(struct err_text *err, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Puts "prefix: " before the sentence in `err`, or before strerror if `err` is empty. Returns
 * `error`.
 */
int err_prefix(struct err_text *err, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Returns the sentence, or strerror of `error` if there is no sentence. The result is valid until
 * `err` is written again.
 */
const char *err_get(const struct err_text *err, int error);
