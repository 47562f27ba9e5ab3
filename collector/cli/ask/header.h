#pragma once
/* Prints the lines about the recorded program at the top of report, top and leaks, and the notes at
 * the end. */
struct question;

/* Prints the head. What the recording lacks comes first (incomplete.h). */
void header_print(const struct question *q);
/* Prints the ledger's verdict in one line. */
void ledger_verdict_print(const struct question *q);
/* Prints notes, such as modules without symbols. */
void notes_print(const struct question *q);
