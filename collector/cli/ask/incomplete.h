#pragma once
/* Says what a recording lacks (recording/completeness.h), at the beginning of each answer. Says
 * nothing if the recording is complete. */
struct command;
struct completeness;
struct json;

/* Prints the first line of an answer in text. `what` names the recording if there are two;
 * otherwise it is NULL. */
void incomplete_print(const char *what, const struct completeness *completeness);
/* Writes the same sentence as a member of the answer's object. */
void incomplete_json(struct json *json, const char *key, const struct completeness *completeness);
/* Prints the sentence on standard error, for formats that have no place for it. */
void incomplete_note(const struct command *command, const struct completeness *completeness);
