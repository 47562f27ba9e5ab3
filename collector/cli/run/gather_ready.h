#pragma once
/* The part of `collector gather` that prepares questions about a stream (query_prepare) once the
 * stream has ended and while nobody waits for an answer. One stream after the other, in a worker of
 * the loop. */
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

/* `data` is used until gather_ready_done. */
void gather_ready_init(struct gather_ready *ready, uv_loop_t *loop, const char *data);
void gather_ready_event(struct gather_ready *ready, const struct ingest_event *event);
/* Stops: whoever asks first does what is not done yet. Without this call the loop goes on until
 * everything is done. */
void gather_ready_cancel(struct gather_ready *ready);
/* Call it after the loop's last turn. */
void gather_ready_done(struct gather_ready *ready);
