#pragma once
/* Puts what is due of one stream into a lane. */
#include <stdatomic.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/share/lane.h"

struct symbols;

struct sending {
	struct store *store;
	struct symbols *symbols;
	struct lane *lane;
	uint64_t collector;
	const char *folder; /* for a copy of a recording's beginning */
	uint32_t kept;	    /* the first day that is kept (kept.h); 0: all are */
	uint64_t *version;  /* of the last row of a stream; each row gets a higher one */
	const atomic_bool *stopped;
};

/* Adds rows to the lane, and sends them when they are many. Returns 0, -ECANCELED, an error of the
 * lane (which is in lane->error, too), or another negative errno with a sentence: the stream can't
 * be read. */
int stream_send(const struct sending *sending, const struct stream_summary *stream,
		struct err_text *err);
