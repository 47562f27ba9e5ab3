#pragma once
/* Makes file names of recordings from a pattern with placeholders. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMING_DEFAULT "heapcast_%e_%t_%p.heapcast"

/* Expands `pattern`. %e: name of the program, in which '_' replaces bytes that a file name must not
 * have; %t: seconds since the epoch; %p: pid; %n: number of recordings that this agent made before
 * this one; %%: a percent sign. Returns 0, -ENAMETOOLONG, or -EINVAL for another placeholder or an
 * empty name. */
int naming_expand(char *out, size_t size, const char *pattern, const char *program, uint64_t wall_s,
		  int64_t pid, uint32_t counter);
/* Returns true if the pattern has no placeholder except %%: all recordings get the same file
 * name. */
bool naming_is_plain(const char *pattern);
/* Inserts `mark` and `number` before the file name's last extension: name.2.heapcast. `size` is the
 * size of the buffer. Returns 0 or -ENAMETOOLONG. */
int naming_number(char *path, size_t size, char mark, uint32_t number);
