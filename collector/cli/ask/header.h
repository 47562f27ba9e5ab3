#pragma once
/* The lines about the program that was recorded, at the top of what report, top and leaks show; and
 * the notes at the end. */
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/info.h"

struct json;
struct process_info;
struct question;

/* What the recording does not hold comes first (incomplete.h). */
void header_print(const struct question *q);
/* The largest sample interval that was ever in force, as far as its marks say; 0: none. */
uint64_t header_interval(const struct question *q);
/* The same as an object. */
void header_json(struct json *json, const char *key, const struct question *q);
/* Begins an answer about one recording: an object with what the recording does not hold, if
 * anything, and `process`. */
struct buf;
void header_json_begin(struct json *json, struct buf *out, const struct question *q);
/* The ledger's verdict in one line. */
void ledger_verdict_print(const struct question *q);
/* Modules without symbols and the like. */
void notes_print(const struct question *q);
void notes_json(struct json *json, const char *key, const struct question *q);
/* Prints the JSON that was written, with a newline; an exit status. */
int print_json(const struct question *q, struct buf *out);
