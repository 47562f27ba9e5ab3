#pragma once
/* A recording on disk: the stream's frames as they are. Writes from the main loop; owned by its
 * session. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/stream/batch.h"
#include "agent/stream/stream.h"

struct file_sink {
	int fd; /* -1: not open */
	char path[1024];
	uint64_t first,
		next; /* numbers of the frame that it begins with, and that is written next */
	uint64_t bytes;
	int error; /* of the last write, negative; what is missing is tried again. 0: it went well
		    */
	uint64_t failed_ns; /* CLOCK_MONOTONIC: since when it has failed; 0: it has not */
	off_t good;	    /* length of what is written in whole frames */
};

/* Writes to `fd`, a new file (file_name.h), which is taken over. It begins with batch `first`, or
 * the oldest that the spool has; if that is not 1, the definitions before it go first. 0 or a
 * negative errno: then `path` is empty, and so is what was made. */
int file_sink_open(struct file_sink *sink, int fd, const char *path, struct stream *stream,
		   uint64_t first, struct packer *packer, uint8_t *out, size_t out_size);
/* Writes what the spool has beyond `next`. 0 or a negative errno (-ENOSPC...): nothing half-written
 * stays behind. */
int file_sink_pump(struct file_sink *sink, struct stream *stream);
void file_sink_close(struct file_sink *sink);
