#pragma once
/* Formats a backtrace as one text. */
#include <sqlite3.h>
#include <stdint.h>

struct sql;

#define STACK_TEXT_MAX (256u << 10) /* bytes; "..." replaces the frames further out */

/* Sets the result of a column or a function to the frames, outermost first, inlined ones included,
 * with `separator` between them. */
void stack_text_result(struct sql *sql, uint32_t stack, const char *separator,
		       sqlite3_context *out);
