#pragma once
/* Prints the lines about the recorded program at the top of report, top and leaks, and the notes at
 * the end. */
#include "collector/answers/answer.h"

struct json;
struct question;

/* Prints the lines at the top. What the recording lacks comes first (incomplete.h). */
void header_print(const struct question *q);
/* Returns whether `blocks` is not 0. If it is 0 and there are filters, says that nothing matches
 * them. */
bool matches_print(const struct question *question, uint64_t blocks);
/* Prints the ledger's verdict in one line. */
void ledger_verdict_print(const struct question *q);
/* Prints notes, such as modules without symbols. */
void notes_print(const struct question *q);
/* Prints an empty line and, indented, "Hidden: xmalloc, xrealloc and 3 more (--hide none shows
 * them)". Prints nothing if no function is hidden. */
void hidden_print(const struct question *question, unsigned indent);
/* Writes the hidden functions as the member "hidden", a list of hidden_answer. */
void hidden_json(struct json *json, const struct question *question);
