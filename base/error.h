#pragma once
/*
 * Errors: 0 is success, negative is an errno passed up unchanged, positive belongs to the one
 * function that documents it. Where a person will read the reason, the last parameter is a struct
 * err_text, filled by whoever knows what was being done, to what, and what to do about it.
 * Libraries fill it and do not log; main prints it once.
 */
#include <stdarg.h>
#include <stddef.h>

struct err_text {
	char text[512]; /* one sentence without a newline; empty: nobody had more to say than the
			   errno */
};

/* Writes the sentence and returns `error`, so that a failing line reads `return err_set(err,
 * -EINVAL, "...")`. `err` may be NULL. A longer text is cut. */
int err_set(struct err_text *err, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before a sentence that is already there. */
int err_prefix(struct err_text *err, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The sentence, or strerror of a negative errno where there is none. Valid until `err` is written
 * again. */
const char *err_get(const struct err_text *err, int error);
