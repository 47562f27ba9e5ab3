#pragma once
/* What `top` and `leaks` share: call sites or backtraces in order of a value. */
#include "collector/query/query.h"

struct command;
struct command_call;

/* Reads --by. Returns an exit status. */
int ranking_grouping(const struct command *command, const char *by, enum grouping *ret_grouping);

/* Runs the command and returns an exit status. Shows `frames` frames of the backtrace under each
 * row. */
int ranking_run(struct command_call *call, enum value default_value, unsigned frames);
/* The same for temporary blocks (freed before their thread allocated again), most blocks first. */
int ranking_run_temporary(struct command_call *call, unsigned frames);
