#pragma once
/* The part of `collector gather` that prepares a stream for questions (query_prepare), after the
 * stream has ended and while nobody waits for an answer. It prepares one stream after the other, in
 * a worker of the loop. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "collector/ingest/ingest.h"
#include "collector/recording/stream_id.h"

struct gather_ready {
	uv_loop_t *loop;
	const char *data; /* the store's folder */
	uv_work_t work;
	bool working;
	atomic_bool cancelled;
	struct stream_id at_work;
	struct stream_id *waiting;
	uint32_t count, capacity;
};

/* `data` must stay valid until gather_ready_done. */
void gather_ready_init(struct gather_ready *ready, uv_loop_t *loop, const char *data);
void gather_ready_event(struct gather_ready *ready, const struct ingest_event *event);
/* Stops preparing. The first question about an unprepared stream prepares it. Without this call the
 * loop runs until all streams are prepared. */
void gather_ready_cancel(struct gather_ready *ready);
/* The caller calls this after the loop's last turn. */
void gather_ready_done(struct gather_ready *ready);
