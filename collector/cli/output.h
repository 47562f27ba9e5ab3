#pragma once
/* Writes a result to a file that the user named. */
#include "collector/answers/weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct answer;
struct buf;
struct command;
struct err_text;
struct json;

/* Reads "bytes" (also for NULL) or "blocks". Returns an exit status. */
int output_weight(const struct command *command, const char *text, enum export_weight *ret_weight);
/* Handles a failed write. If the reader has closed the pipe (`| head`), ends the program without a
 * message, as other tools do. */
void output_failed(int error);
/* Returns -EINVAL if `output` (may be NULL) is the same file as `source`. Writing the result would
 * destroy its source. */
int output_apart(const char *output, const char *source, struct err_text *err);
/* Writes `out` to `path` ("-": standard output), and says where it is. With `force`, replaces any
 * existing file (new_file.h). Returns an exit status. */
int output_write(const struct command *command, const char *path, bool force, struct buf *out);
/* Every JSON answer is an object that begins with these members. The version changes when a name or
 * a unit does. */
#define OUTPUT_SCHEMA 1
extern const struct answer output_head_answer;
void output_json_begin(const struct command *command, struct json *json, struct buf *out);
/* Writes JSON and a newline to `to`. Returns an exit status. */
int output_json(const struct command *command, FILE *to, struct buf *json);
/* Writes an answer as JSON: these members, then its own. */
int output_answer(const struct command *command, FILE *to, const struct answer *answer,
		  const void *object);
