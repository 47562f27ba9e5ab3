#pragma once
/*
 * Sends the order "snapshot" to all live streams or to some, as questions at control.sock. The
 * functions do not block.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/control/control.h"
#include "collector/control/order.h"
#include "collector/recording/stream_id.h"

struct err_text;

/* connections at a time; fewer than the backlog, so that a stopped collector refuses none */
#define ASKED_AT_ONCE 4

struct snapshot_asking {
	const char *data;
	uint64_t wait_ms;
	const struct stream_id *streams; /* NULL: all */
	size_t stream_count, next;
	struct control_asking connection[ASKED_AT_ONCE];
	bool open[ASKED_AT_ONCE];
	bool begun; /* the question about all streams was sent */
};

/*
 * `data` and `streams` are used until snapshot_asking_done. Returns the same errors as
 * control_ask_begin.
 */
int snapshot_asking_init(struct snapshot_asking *asking, const char *data, uint64_t wait_ms,
			 const struct stream_id *streams, size_t stream_count,
			 struct err_text *err);
void snapshot_asking_done(struct snapshot_asking *asking);
/*
 * Reports the replies since the last call. Returns 1 if all were received, 0 if not yet, or a
 * negative errno.
 */
int snapshot_asking_read(struct snapshot_asking *asking,
			 void (*reply)(void *context, const struct control_reply *reply),
			 void *context, struct err_text *err);
