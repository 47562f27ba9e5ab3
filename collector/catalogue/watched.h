#pragma once
/*
 * Which part of a program's life a recording covers. If recording began after the start, or was
 * detached before the end, some blocks were not freed while the program was recorded, and it is
 * unknown whether they ever are.
 */
#include <stdbool.h>

#include "collector/recording/info.h"

struct process_info;

/*
 * Tells whether the recording covers the program from start to end, or so far, if it is still being
 * recorded.
 */
bool watched_whole(const struct process_info *process);
/* Tells whether the agent has detached from the program, which is still alive. */
bool watched_left(const struct process_info *process);
/* Returns words for blocks that were not freed: "never freed", "not freed while watched". */
const char *watched_unfreed(const struct process_info *process);
