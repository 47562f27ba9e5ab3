#pragma once
/*
 * Which part of a program's life a recording is of. One that was joined in mid-life, or left while
 * it lives, has blocks that were not freed while it was watched; whether they ever are nobody
 * knows.
 */
#include <stdbool.h>

#include "collector/recording/info.h"

struct process_info;

/* From its start to its end? (Of one that goes on, and is watched still: so far.) */
bool watched_whole(const struct process_info *process);
/* Nobody watches it any more, and it lives. */
bool watched_left(const struct process_info *process);
/* What its leaked blocks are, in words: "never freed", "not freed while watched". */
const char *watched_unfreed(const struct process_info *process);
