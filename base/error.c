/* Error messages for people. error.h describes the conventions. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err_text *err, int error, const char *format, ...)
{
	va_list args;

	if (!err)
		return error;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return error;
}

int err_prefix(struct err_text *err, int error, const char *format, ...)
{
	struct err_text prefix, tail;
	va_list args;

	if (!err)
		return error;
	tail = *err;
	va_start(args, format);
	vsnprintf(prefix.text, sizeof(prefix.text), format, args);
	va_end(args);
	snprintf(err->text, sizeof(err->text), "%s: %s", prefix.text,
		 tail.text[0] ? tail.text : strerror(-error));
	return error;
}

const char *err_get(const struct err_text *err, int error)
{
	return err && err->text[0] ? err->text : strerror(error < 0 ? -error : error);
}
