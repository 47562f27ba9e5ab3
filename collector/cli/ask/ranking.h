#pragma once
/* The common part of `top` and `leaks`: call sites or backtraces in order of a value. */
#include "collector/query/query.h"

struct command;
struct command_call;

/* What --by says; an exit status. */
int ranking_grouping(const struct command *command, const char *by, enum grouping *ret_grouping);

/* Runs it; an exit status. `frames` of a backtrace are shown under each row. */
int ranking_run(struct command_call *call, enum value default_value, unsigned frames);
/* The same of blocks that were freed before their thread allocated again, most blocks first. */
int ranking_run_temporary(struct command_call *call, unsigned frames);
