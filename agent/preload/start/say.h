#pragma once
/*
 * The only output of the library: a line on standard error when it does not honour a setting of the
 * user. It is written before main, and only by the first process of a tree, so no child of a
 * recorded program writes it, and no process below `agent run`. HEAPCAST_LOG=off suppresses it.
 * Writing it never stops, kills or delays the program.
 */
#include <stddef.h>

/* Writes "heapcast: " and the three strings. A NULL string is skipped. */
void say(const char *first, const char *second, const char *third);
