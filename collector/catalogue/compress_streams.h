#pragma once
/* Compresses the streams of a store that have ended: `gather --compress-after`. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct err_text;
struct store;

struct compression {
	uint64_t after_ns; /* since the last change; without an end an hour at least */
	bool (*stop)(void *context);
	void *context;
	struct buf tried; /* struct stream_id: those that are left as they are; buf_done frees it */
};

/* Compresses one after the other, until the disk is full. Returns 0, or the error with which the
 * first one could not be compressed, with a sentence. Call it from a worker thread. */
int store_compress(struct store *store, struct compression *compression, struct err_text *err);
