#pragma once
/* Writes a recording to disk: the stream's frames, unchanged. The main loop writes; the session
 * owns the sink. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/stream/batch.h"
#include "agent/stream/stream.h"

struct file_sink {
	int fd; /* -1: closed */
	char path[1024];
	uint64_t first,
		/* Numbers of the file's first frame and of the next frame to write. */
		next;
	uint64_t bytes;
	/* Error of the last write, negative. The failed frame is written again later. 0: no
	 * error. */
	int error;
	uint64_t failed_ns; /* CLOCK_MONOTONIC of the first failure in a row; 0: none */
	off_t good;	    /* length of all complete frames */
};

/* Starts a recording in `fd`, a new file (file_name.h), which the sink owns from now on. The
 * recording begins with batch `first`, or with the spool's oldest; unless that is 1, the
 * definitions before it are written first. Returns 0 or a negative errno; then `path` is empty, and
 * the file is closed and empty. */
int file_sink_open(struct file_sink *sink, int fd, const char *path, struct stream *stream,
		   uint64_t first, struct packer *packer, uint8_t *out, size_t out_size);
/* Writes the frames of the spool from `next` on, up to a few MiB. Returns 0 or a negative errno
 * (-ENOSPC...); an incomplete frame is removed. */
int file_sink_pump(struct file_sink *sink, struct stream *stream);
void file_sink_close(struct file_sink *sink);
