#pragma once
/*
 * The one thing that the library writes: a line on standard error, when a setting that the user
 * gave is not honoured. Before main, by the first process of a tree only, so by no child of a
 * recorded program and nothing below `agent run`; not with HEAPCAST_LOG=off; and never so that it
 * would stop, kill or hold up the program.
 */
#include <stddef.h>

/* "heapcast: " and the three, one after the other. NULL: nothing. */
void say(const char *first, const char *second, const char *third);
