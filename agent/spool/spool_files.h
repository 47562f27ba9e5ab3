#pragma once
/* The files of a spool on disk: their names, making them, and what a dead agent has left of them.
 * See spool_disk.h. */
#include <stddef.h>
#include <stdint.h>

#include "proto/discovery.h"

#define SPOOL_NAME_MAX 80

enum spool_file { SPOOL_FRAMES, SPOOL_DEFINITIONS };

char *spool_file_name(char out[SPOOL_NAME_MAX], const uint8_t *stream, uint32_t incarnation,
		      uint64_t first, enum spool_file kind);
/* Its descriptor, or a negative errno. */
int spool_file_make(int folder, const char *name);
int spool_file_nameless(int folder);
/* All of it, at `offset`. 0 or a negative errno. */
int spool_file_write(int fd, const void *data, size_t length, uint64_t offset);
/* The folder's lock: its descriptor; -EBUSY: another agent has it. */
int spool_files_lock(int folder);
/* A segment of a stream in the folder of an agent that is gone. */
struct spool_left {
	uint8_t stream[STREAM_ID_SIZE];
	uint32_t incarnation;
	uint64_t first; /* number of its first batch */
};

/* All of them, by stream, incarnation and number; the caller frees. How many, or a negative
 * errno. */
int spool_files_left(int folder, struct spool_left **ret_left);
/* Bytes that files take up there: segments, and recordings, of which the log is told. */
uint64_t spool_files_used(int folder, const char *path);
/* Bytes that it had; 0: it is not there, or can't be removed. */
uint64_t spool_file_remove(int folder, const char *name);
