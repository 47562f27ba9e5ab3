#pragma once
/*
 * A recording's file under its name. Every one is a file of its own, new, and ours alone: made with
 * O_EXCL and O_NOFOLLOW, mode 0600. A name that is taken gets a number, NAME-2.heapcast, so that no
 * recording is written over and no two programs share one. Only where a person has named this very
 * file is a former recording replaced: a regular file of ours that holds a recording or nothing,
 * and that no agent writes (it would hold a flock on it), by renaming a new one over it. A
 * character device (/dev/null) is no recording, and is written to as it is.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err_text;

#define FILE_NAME_MAX 1024

/* The name that was taken last, and up to where its numbers are: a build of thousands of programs
 * tries each but once. */
struct file_number {
	char path[FILE_NAME_MAX];
	uint32_t next;
};

/* Opens a new file at `path`, or at one with a number, which `path` then is: `ret_number`, 0 if it
 * is not needed. A descriptor, or a negative errno with the reason. */
int file_name_open(char path[FILE_NAME_MAX], bool replace, struct file_number *numbers,
		   uint32_t *ret_number, struct err_text *err);
/* Could it be opened, written to and given to `owner` (-1: stays ours)? Makes a file beside it, and
 * takes it away again. 0; a negative errno with the reason. */
int file_name_try(const char *path, bool replace, uid_t owner, struct err_text *err);
