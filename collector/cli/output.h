#pragma once
/* Writing a result to a file that the user named. */
#include "collector/export/export.h"

struct buf;
struct command;

/* "bytes" (also for NULL) or "blocks"; an exit status. */
int output_weight(const struct command *command, const char *text, enum export_weight *ret_weight);
/* After a write that failed: a reader that has enough (`| head`) ends us quietly, as it ends other tools. */
void output_failed(int error);
/* Writes `out` to `path` ("-": standard output) and says where it is; an exit status. */
int output_write(const struct command *command, const char *path, struct buf *out);
