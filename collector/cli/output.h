#pragma once
/* Writing a result to a file that the user named. */
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
/* Handles a failed write. A reader that has enough (`| head`) ends this program without a message,
 * as it ends other tools. */
void output_failed(int error);
/* Returns -EINVAL if `output` (may be NULL) is the same file as `source`: writing the result would
 * destroy what it is made of. */
int output_apart(const char *output, const char *source, struct err_text *err);
/* Writes `out` to `path` ("-": standard output) and says where it is. `force`: whatever file is
 * there is replaced (new_file.h). Returns an exit status. */
int output_write(const struct command *command, const char *path, bool force, struct buf *out);
/* Every answer in JSON is one object, which begins with these members. The version changes where a
 * name or a unit does. */
#define OUTPUT_SCHEMA 1
extern const struct answer output_head_answer;
void output_json_begin(const struct command *command, struct json *json, struct buf *out);
/* Writes JSON, and a newline behind it, to `to`. Returns an exit status. */
int output_json(const struct command *command, FILE *to, struct buf *json);
/* Writes an answer as JSON: its members behind these. */
int output_answer(const struct command *command, FILE *to, const struct answer *answer,
		  const void *object);
