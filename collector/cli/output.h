#pragma once
/* Writing a result to a file that the user named. */
#include "collector/answers/weight.h"

struct buf;
struct command;
struct err_text;

/* "bytes" (also for NULL) or "blocks"; an exit status. */
int output_weight(const struct command *command, const char *text, enum export_weight *ret_weight);
/* After a write that failed: a reader that has enough (`| head`) ends us quietly, as it ends other
 * tools. */
void output_failed(int error);
/* -EINVAL where `output` (may be NULL) is the very file `source`: a result over what it is made of
 * would leave nothing to ask. */
int output_apart(const char *output, const char *source, struct err_text *err);
/* Writes `out` to `path` ("-": standard output) and says where it is; an exit status. */
int output_write(const struct command *command, const char *path, struct buf *out);
