#pragma once
/* A backtrace as one text. */
#include <sqlite3.h>
#include <stdint.h>

struct sql;

#define STACK_TEXT_MAX (256u << 10) /* bytes; frames further out are replaced by "..." */

/* Sets the result of a column or function to the frames, outermost first, including inlined ones,
 * with `separator` between them. */
void stack_text_result(struct sql *sql, uint32_t stack, const char *separator,
		       sqlite3_context *out);
