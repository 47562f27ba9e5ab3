#pragma once
/* Prints the lines about the recorded program at the top of report, top and leaks, and the notes at
 * the end. */
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/info.h"

struct json;
struct process_info;
struct question;

/* Prints the head. What the recording lacks comes first (incomplete.h). */
void header_print(const struct question *q);
/* Returns the largest sample interval that was ever in force, as far as marks say; 0: it was not
 * sampled. */
uint64_t header_interval(const struct question *q);
/* Writes the head as an object. */
void header_json(struct json *json, const char *key, const struct question *q);
/* Begins an answer about one recording: an object that has what the recording lacks, if anything,
 * and `process`. */
struct buf;
void header_json_begin(struct json *json, struct buf *out, const struct question *q);
/* Prints the ledger's verdict in one line. */
void ledger_verdict_print(const struct question *q);
/* Prints notes, such as modules without symbols. */
void notes_print(const struct question *q);
void notes_json(struct json *json, const char *key, const struct question *q);
