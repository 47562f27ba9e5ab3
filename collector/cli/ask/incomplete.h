#pragma once
/* What a recording does not hold (recording/completeness.h), as commands say it: at the beginning
 * of the answer, and nothing where there is nothing to say. */
struct command;
struct completeness;
struct json;

/* The first line of an answer in text. `what` names the recording where there are two, else it is
 * NULL. */
void incomplete_print(const char *what, const struct completeness *completeness);
/* A member of an answer that is an object: the same sentence. */
void incomplete_json(struct json *json, const char *key, const struct completeness *completeness);
/* On standard error, where the answer is in a format without room for it. */
void incomplete_note(const struct command *command, const struct completeness *completeness);
