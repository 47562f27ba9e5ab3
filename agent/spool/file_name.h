#pragma once
/*
 * Opens a recording's file. Each recording gets a new file of its own, made with O_EXCL and
 * O_NOFOLLOW, mode 0600. If the name is taken, the file gets a number, NAME-2.heapcast, so no
 * recording is overwritten and no two programs share a file. A former recording is replaced only if
 * the user has named this very file. It must be a regular file of the agent's user, contain a
 * recording or nothing, and not be in use by an agent, which would hold a flock on it. The new file
 * is renamed over it. A character device (/dev/null) is opened and written to directly.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err_text;

#define FILE_NAME_MAX 1024

/* The last name that was taken, and its next number. A build that starts thousands of programs then
 * tries each number only once. */
struct file_number {
	char path[FILE_NAME_MAX];
	uint32_t next;
};

/* Opens a new file at `path`. If the name is taken, adds a number to `path` and sets *ret_number,
 * which otherwise is 0. Returns a descriptor, or a negative errno with the reason. */
int file_name_open(char path[FILE_NAME_MAX], bool replace, struct file_number *numbers,
		   uint32_t *ret_number, struct err_text *err);
/* Checks whether the file could be opened, written to and given to `owner` (-1: no new owner).
 * Creates and removes a file beside it. Returns 0, or a negative errno with the reason. */
int file_name_try(const char *path, bool replace, uid_t owner, struct err_text *err);
