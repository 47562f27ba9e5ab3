#pragma once
/*
 * State shared by the files that implement compose.h: the current batch (compose.c) and the
 * functions that fill it (compose_put.c).
 */
#include <errno.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/intern.h"
#include "collector/rewrite/compose.h"
#include "collector/recording/nodes.h"
#include "collector/recording/stream_id.h"
#include "proto/columns.h"
#include "proto/names.h"

#define COMPOSER_CULLED_ROWS   4096
#define COMPOSER_FIRST_ADDRESS (1u << 20) /* the first of the invented addresses */

struct composed_thread {
	uint64_t delivered, culled, lost;
	bool defined, news;
};

struct composer {
	int fd, error;
	struct err_text why;
	struct stream_id id;
	Heapcast__Process *process;
	bool process_sent;
	uint64_t start_wall_ns;
	struct frame_encoder *frames;
	struct events_encoder events;
	struct culled_encoder culled;
	void *events_memory, *events_state, *culled_memory;
	struct buf fields, message, frame;
	struct nodes nodes;
	uint32_t nodes_sent, modules;
	struct intern texts;
	struct names_encoder names;
	uint64_t names_bytes;		 /* part of NAMES_BYTES_MAX that is used, counted as a
					    reader does */
	struct composed_thread *threads; /* [number - 1] */
	uint32_t thread_count, thread_capacity;
	uint32_t *news; /* numbers of threads whose counts have changed since the last batch */
	uint32_t news_count, news_capacity;
	uint64_t number, last_ns, address;
	Heapcast__Ledger ledger; /* totals; columns are added when a batch is closed */
	bool ended;
};

/* Records a sticky error and returns it. */
int composer_fail(struct composer *composer, int error, const char *what);
static inline int composer_no_memory(struct composer *composer)
{
	return composer_fail(composer, -ENOMEM, "composing a recording");
}

static inline int composer_refuse(struct composer *composer, const char *what)
{
	return composer_fail(composer, -EINVAL, what);
}

static inline int composer_too_many(struct composer *composer, const char *what)
{
	return composer_fail(composer, -E2BIG, what);
}

/* Called before an item is added: closes the batch if it is full. */
int composer_room(struct composer *composer);
int composer_close_batch(struct composer *composer, const Heapcast__End *end);
/* Appends a field to the next batch. */
int composer_field(struct composer *composer, unsigned field, const ProtobufCMessage *message);
/* Fails if times descend. */
int composer_ascend(struct composer *composer, uint64_t time_ns);
