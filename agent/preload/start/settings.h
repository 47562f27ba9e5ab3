#pragma once
/*
 * The settings in the program's environment: HEAPCAST_NAME and MEMORY_PROFILER_NAME. The library
 * interprets only its own settings. It passes all of them unchanged to the agent, which reports
 * errors in them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define SETTINGS_PARTS 64

/* Points `part` at each setting with its terminating zero. Returns their number, or -E2BIG if they
 * take more than RING_SETTINGS_MAX bytes or SETTINGS_PARTS elements. */
int settings_list(struct iovec part[SETTINGS_PARTS]);
/* Returns true if this entry of the environment concerns only this program, and not its agent. */
bool settings_of_program(const char *entry);
/* Returns the first setting about the place or the contents of a recording, without its prefix, or
 * NULL. */
const char *settings_wanted(void);
/* The properties that programs must share to be served by one agent, as 16 hexadecimal digits:
 * all settings except the programs' own, in any order, and the file system to which file names
 * refer. */
#define SETTINGS_DIGITS 16
void settings_digits(char to[SETTINGS_DIGITS + 1]);
