#pragma once
/*
 * What a failed request means. A sender must know whether its rows can be in the table:
 *
 *	-EHOSTUNREACH	nothing was sent: the server can't be reached
 *	-EKEYREJECTED	nothing was sent: the server's certificate is not to be trusted
 *	-ETIMEDOUT	outcome unknown: the connection broke, or the time ran out, after something
 *			was sent; or the server says itself that it does not know
 *	-EAGAIN		the server refused for now: it is busy, full, or without its coordinator
 *	-EACCES		the server refuses who asks: password, rights
 *	-EREMOTEIO	the server refused, and would again: names, syntax
 *
 * Even a refused INSERT into plain MergeTree can have written some of its blocks, if it had more
 * than one. So whoever sends again asks first (clickhouse_batch_find).
 */
#include <stdbool.h>
#include <stddef.h>

/* Room for what is shown of a server's exception. */
#define FAILURE_TEXT 320

/*
 * Finds an exception of ClickHouse at the beginning of a body: "Code: 60, e.displayText() =
 * DB::Exception: ..." (18.16) or "Code: 60. DB::Exception: ...". Returns its code, which is more
 * than 0, or 0 if there is none. Writes its first line to `ret_text`: cut, and safe to show.
 */
int failure_exception(const char *body, size_t length, char ret_text[FAILURE_TEXT]);
/*
 * The same at the end of an answer that began well: servers append an exception that came while
 * they sent.
 */
int failure_appended(const char *body, size_t length, char ret_text[FAILURE_TEXT]);
/* Which of the errors above a code of ClickHouse is. */
int failure_of_code(int code);
/* What a person can do about a code, as the rest of a sentence: "; is ..."; "": nothing is known.
 */
const char *failure_advice(int code);
/* The same about an HTTP status without an exception. */
const char *failure_status_advice(long status);
/* Which of them an HTTP status without an exception is: a proxy between may have answered. */
int failure_of_status(long status);
/* Copies the first line of what a server sent, cut and safe to show. */
void failure_show(const char *from, size_t length, char ret_text[FAILURE_TEXT]);
