#pragma once
/*
 * The settings in the program's environment: HEAPCAST_NAME and MEMORY_PROFILER_NAME. The library
 * understands none of them but its own: it hands them to the agent as they are, which says what is
 * wrong with them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define SETTINGS_PARTS 64

/* Points at each of them, with its zero. How many; -E2BIG: they are more than RING_SETTINGS_MAX
 * bytes, or SETTINGS_PARTS. */
int settings_list(struct iovec part[SETTINGS_PARTS]);
/* Does this entry of the environment mean this program alone, and not its agent? */
bool settings_of_program(const char *entry);
/* The first setting that says where a recording shall go or what it shall hold, without its
 * prefix; NULL: there is none. */
const char *settings_wanted(void);
/* What programs have in common that one agent can serve, as 16 hexadecimal digits: all settings but
 * the programs' own, in any order, and the file system that the names of files mean. */
#define SETTINGS_DIGITS 16
void settings_digits(char to[SETTINGS_DIGITS + 1]);
