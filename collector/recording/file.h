#pragma once
/*
 * Opens the file of a recording for reading. If the recording is compressed (compressed.h), readers
 * get an unnamed file with the recording's own bytes: it has their length and the time of the last
 * change, so that nothing else needs to know.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct err_text;

/* Opens the file. Returns a descriptor, or a negative errno with a sentence that names `path`. */
int recording_file(const char *path, struct err_text *err);
/* Does the same as stat. The length is that of the recording's own bytes. Returns 0 or -1. */
int recording_file_stat(const char *path, struct stat *ret);
/* Tells by its first bytes whether a file is a recording, compressed or not. */
#define RECORDING_FILE_HEAD 16
bool recording_file_is(const void *head, size_t available);

/*
 * The same in two steps, for those who may not need the bytes: until recording_file_fill, `fd` has
 * only the length and the time.
 */
struct recording_file {
	int fd;
	int compressed; /* the file that `fd` is to be filled from; -1: nothing is missing */
	dev_t device;	/* of the file at the path */
	ino_t inode;
};

#define RECORDING_FILE_NONE ((struct recording_file){.fd = -1, .compressed = -1})

int recording_file_open(const char *path, struct recording_file *ret, struct err_text *err);
int recording_file_fill(struct recording_file *file, const char *path, struct err_text *err);
/* Tells whether a process is writing it. */
bool recording_file_is_written(const struct recording_file *file);
/* Tells whether another file is at the path by now: the recording was compressed or restored. */
bool recording_file_is_replaced(const struct recording_file *file, const char *path);
void recording_file_close(struct recording_file *file);
