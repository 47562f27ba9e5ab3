#pragma once
/*
 * Temporary files of a connection: where sorting, grouping and the like put what has no room in
 * memory. Files without a name in TMPDIR or /var/tmp, of bounded size together. SQLite gets them by
 * a VFS of the connection's own, which opens nothing else: no statement can reach a file of the
 * machine by it.
 */
#include <stdbool.h>
#include <stdint.h>

struct temp_files;

/* 0 or -ENOMEM. `limit`: bytes of all files together. */
int temp_files_new(uint64_t limit, struct temp_files **ret_files);
/* After the connection was closed. */
void temp_files_free(struct temp_files *files);
/* The VFS's name, for sqlite3_open_v2. */
const char *temp_files_name(const struct temp_files *files);
/* Whether something had no room: because of the limit, or (with the errno) of the machine. */
bool temp_files_full(const struct temp_files *files, int *ret_error);
