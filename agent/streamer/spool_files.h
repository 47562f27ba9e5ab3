#pragma once
/* The files of a spool on disk: their names, making them, and what a dead agent has left of them. See spool_disk.h. */
#include <stddef.h>
#include <stdint.h>

#define SPOOL_NAME_MAX 80

enum spool_file { SPOOL_FRAMES, SPOOL_DEFINITIONS };

char *spool_file_name(char out[SPOOL_NAME_MAX], const uint8_t *stream, uint32_t incarnation, uint64_t first,
		      enum spool_file kind);
/* Its descriptor, or a negative errno. */
int spool_file_make(int folder, const char *name);
int spool_file_nameless(int folder);
/* All of it, at `offset`. 0 or a negative errno. */
int spool_file_write(int fd, const void *data, size_t length, uint64_t offset);
/* The folder's lock: its descriptor; -EBUSY: another agent has it. */
int spool_files_lock(int folder);
/* Makes recordings of what a dead agent has left in `folder`, and says so. Bytes that recordings of this kind take up there. */
uint64_t spool_files_take_up(int folder, const char *path);
