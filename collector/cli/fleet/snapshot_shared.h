#pragma once
/* collector snapshot --store: snapshots of all collectors that share a data base. Each takes the
 * command's arguments, and returns an exit status. */
#include "collector/cli/command.h"

int snapshot_shared_list(struct command_call *call, const char *url);
int snapshot_shared_show(struct command_call *call, const char *url);
int snapshot_shared_diff(struct command_call *call, const char *url);
