#pragma once
/* A backtrace as one text. */
#include <sqlite3.h>
#include <stdint.h>

struct sql;

#define STACK_TEXT_MAX (256u << 10) /* bytes; what is further out is left out, as "..." */

/* Its frames, the outermost first, inlined ones included, with `separator` between them: as the
 * answer of a column or function. */
void stack_text_result(struct sql *sql, uint32_t stack, const char *separator,
		       sqlite3_context *out);
