#pragma once
/*
 * Temporary files of a connection, for what sorting and grouping cannot hold in memory. They are
 * unnamed files in TMPDIR or /var/tmp, whose total size is bounded. SQLite reaches them through the
 * connection's own VFS, which opens nothing else. So no statement can reach another file of the
 * machine.
 */
#include <stdbool.h>
#include <stdint.h>

struct temp_files;

/* `limit` is the maximum size of all files together. Returns 0 or -ENOMEM. */
int temp_files_new(uint64_t limit, struct temp_files **ret_files);
/* The caller closes the connection first. */
void temp_files_free(struct temp_files *files);
/* Returns the VFS's name, for sqlite3_open_v2. */
const char *temp_files_name(const struct temp_files *files);
/* Tells whether a write failed for lack of space: at the limit, or on the machine (then with the
 * errno). */
bool temp_files_full(const struct temp_files *files, int *ret_error);
