#pragma once
/*
 * Temporary files of a connection, for what sorting, grouping and the like cannot hold in memory.
 * They are nameless files in TMPDIR or /var/tmp, of bounded total size. SQLite reaches them through
 * a VFS of the connection's own, which opens nothing else. So no statement can reach another file
 * of the machine.
 */
#include <stdbool.h>
#include <stdint.h>

struct temp_files;

/* `limit`: bytes of all files together. Returns 0 or -ENOMEM. */
int temp_files_new(uint64_t limit, struct temp_files **ret_files);
/* Must be called after the connection was closed. */
void temp_files_free(struct temp_files *files);
/* The VFS's name, for sqlite3_open_v2. */
const char *temp_files_name(const struct temp_files *files);
/* Whether a write failed for lack of room: at the limit, or (with the errno) on the machine. */
bool temp_files_full(const struct temp_files *files, int *ret_error);
