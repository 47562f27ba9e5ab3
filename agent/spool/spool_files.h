#pragma once
/* Names and creates the files of a spool on disk, and finds the files that a dead agent has left.
 * See spool_disk.h. */
#include <stddef.h>
#include <stdint.h>

#include "proto/discovery.h"

#define SPOOL_NAME_MAX 80

enum spool_file { SPOOL_FRAMES, SPOOL_DEFINITIONS };

/* Writes the name of a segment's file to `out`, and returns `out`. */
char *spool_file_name(char out[SPOOL_NAME_MAX], const uint8_t *stream, uint32_t incarnation,
		      uint64_t first, enum spool_file kind);
/* Both create a file and return its descriptor or a negative errno. */
int spool_file_make(int folder, const char *name);
int spool_file_nameless(int folder);
/* Writes all of `data` at `offset`. Returns 0 or a negative errno. */
int spool_file_write(int fd, const void *data, size_t length, uint64_t offset);
/* Locks the folder. Returns the descriptor of the lock, -EBUSY if another agent has it, or another
 * negative errno. */
int spool_files_lock(int folder);
/* A segment of a stream in the folder of a dead agent. */
struct spool_left {
	uint8_t stream[STREAM_ID_SIZE];
	uint32_t incarnation;
	uint64_t first; /* number of its first batch */
};

/* Finds all segments, sorted by stream, incarnation and number. The caller frees the array. Returns
 * their number or a negative errno. */
int spool_files_left(int folder, struct spool_left **ret_left);
/* Returns the size of the segments and recordings in the folder, in bytes. Logs the size of
 * recordings. */
uint64_t spool_files_used(int folder, const char *path);
/* Removes a file. Returns the bytes that it had, or 0 if it is missing or can't be removed. */
uint64_t spool_file_remove(int folder, const char *name);
