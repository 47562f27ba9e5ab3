#pragma once
/* Names of recordings: a pattern with placeholders. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMING_DEFAULT "heapcast_%e_%t_%p.heapcast"

/* %e: name of the program (bytes that a file name may not have become '_'); %t: seconds since the
 * epoch; %p: pid; %n: the number of recordings of this agent before this one; %%: a percent sign.
 * 0; -ENAMETOOLONG; -EINVAL: another placeholder. */
int naming_expand(char *out, size_t size, const char *pattern, const char *program, uint64_t wall_s,
		  int64_t pid, uint32_t counter);
/* Has it no placeholder, but for percent signs: is it one file's name, whatever is recorded? */
bool naming_is_plain(const char *pattern);
/* Puts a number in front of the last ending of a path, behind `mark`: name.2.heapcast. 0 or
 * -ENAMETOOLONG. */
int naming_number(char *path, size_t size, char mark, uint32_t number);
