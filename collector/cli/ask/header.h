#pragma once
/* Prints the lines about the recorded program at the top of report, top and leaks, and the notes at
 * the end. */
#include "collector/answers/answer.h"

struct json;
struct question;

/* Prints the head. What the recording lacks comes first (incomplete.h). */
void header_print(const struct question *q);
/* Is there something to show? If not it says so: that nothing matches the filters, if there are
 * any.
 */
bool matches_print(const struct question *question, uint64_t blocks);
/* Prints the ledger's verdict in one line. */
void ledger_verdict_print(const struct question *q);
/* Prints notes, such as modules without symbols. */
void notes_print(const struct question *q);
/* Prints an empty line and, indented, "Hidden: xmalloc, xrealloc and 3 more (--hide none shows
 * them)"; nothing if nothing is. */
void hidden_print(const struct question *question, unsigned indent);
/* Writes them all as the member "hidden", a list of hidden_answer. */
void hidden_json(struct json *json, const struct question *question);
