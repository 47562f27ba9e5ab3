#pragma once
/*
 * Makes recordings for tests, as an agent would: batches of columns, framed, with a ledger that
 * balances. Header only, so that each test stays one binary of one source.
 *
 *	builder_init(&b, 1);
 *	builder_malloc(&b, 10, 1, 0x1000, 32);	 time, thread, address, size
 *	builder_free(&b, 20, 1, 0x1000);
 *	builder_end(&b, 0);
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"
#include "proto/columns.h"
#include "proto/frame.h"
#include "proto/stack_columns.h"

#define BUILDER_MEMORY	(8u << 20)
#define BUILDER_THREADS 8
#define BUILDER_STACK	2 /* the node that events carry unless told otherwise */

struct builder {
	struct frame_encoder *frames;
	struct events_encoder events;
	void *memory;
	void *state;
	struct buf file;
	size_t ends[4096]; /* where each frame ended */
	size_t frame_count;
	uint8_t id[STREAM_ID_SIZE];
	uint32_t incarnation;
	uint64_t number;
	uint64_t last_ns;
	uint64_t delivered, lost, lost_frees, lost_allocations;
	uint64_t of_thread[BUILDER_THREADS + 1];
	/* For the next batch only. */
	Heapcast__Gap *gap;
	Heapcast__Part **parts;
	size_t part_count;
	Heapcast__Mark *mark;
	Heapcast__Process *process;
	Heapcast__End *end;
	Heapcast__Culled *culled;
	Heapcast__Thread **threads;
	size_t thread_count;
	Heapcast__Figures **figures;
	size_t figures_count;
	bool catch_up, no_ledger;
	uint64_t delivered_allocations, delivered_frees, delivered_bytes;
	uint64_t before_join, culled_events;
};

static inline void builder_init_tick(struct builder *b, uint8_t name, uint32_t tick_ns)
{
	memset(b, 0, sizeof(*b));
	b->frames = frame_encoder_new();
	b->memory = malloc(BUILDER_MEMORY);
	b->state = malloc(EVENTS_STATE_MIN);
	assert(b->frames && b->memory && b->state);
	events_encoder_init(&b->events, b->memory, BUILDER_MEMORY, b->state, EVENTS_STATE_MIN,
			    EVENTS_MAX_COUNT, tick_ns);
	memset(b->id, name, sizeof(b->id));
	b->incarnation = 1;
}

static inline void builder_init(struct builder *b, uint8_t name)
{
	builder_init_tick(b, name, 1);
}

static inline void builder_done(struct builder *b)
{
	frame_encoder_free(b->frames);
	free(b->memory);
	free(b->state);
	buf_done(&b->file);
}

static inline ProtobufCBinaryData builder_bytes(const void *data, size_t length)
{
	return (ProtobufCBinaryData){.len = length, .data = (uint8_t *)(uintptr_t)data};
}

/* Frames `batch` at the end of the file. */
static inline void builder_frame(struct builder *b, const Heapcast__Batch *batch)
{
	size_t length = heapcast__batch__get_packed_size(batch), bound = frame_bound(length);
	uint8_t *message = malloc(FRAME_HEADROOM + length), *room = buf_reserve(&b->file, bound);
	long n;

	assert(message && room);
	heapcast__batch__pack(batch, message + FRAME_HEADROOM);
	n = frame_encode(b->frames, message + FRAME_HEADROOM, length, room, bound);
	assert(n > 0);
	b->file.length += (size_t)n;
	assert(b->frame_count < sizeof(b->ends) / sizeof(b->ends[0]));
	b->ends[b->frame_count++] = b->file.length;
	free(message);
}

struct builder_ledger {
	Heapcast__Ledger message;
	uint8_t thread[16], produced[BUILDER_THREADS * 10], lost[16];
};

static inline void builder_ledger(const struct builder *b, struct builder_ledger *l)
{
	uint8_t *thread = l->thread, *produced = l->produced, *lost = l->lost;

	heapcast__ledger__init(&l->message);
	l->message.delivered = b->delivered;
	l->message.lost = b->lost;
	l->message.lost_frees = b->lost_frees;
	l->message.lost_allocations = b->lost_allocations;
	l->message.culled = b->culled_events;
	l->message.produced = b->delivered + b->culled_events + b->lost;
	l->message.before_join = b->before_join;
	l->message.delivered_allocations = b->delivered_allocations;
	l->message.delivered_frees = b->delivered_frees;
	l->message.delivered_bytes = b->delivered_bytes;
	for (uint32_t i = 1; i <= BUILDER_THREADS; i++) {
		if (!b->of_thread[i])
			continue;
		thread = varint_put(thread, i);
		produced = varint_put(produced, b->of_thread[i]);
		lost = varint_put(lost, 0);
	}
	l->message.thread = builder_bytes(l->thread, (size_t)(thread - l->thread));
	l->message.thread_produced = builder_bytes(l->produced, (size_t)(produced - l->produced));
	l->message.thread_delivered = l->message.thread_produced;
	l->message.thread_lost = builder_bytes(l->lost, (size_t)(lost - l->lost));
}

/* Closes the batch. Nothing older than `watermark_ns` follows. */
static inline void builder_close(struct builder *b, uint64_t watermark_ns)
{
	static const char executable[] = "/usr/bin/example", path[] = "/usr/lib/libexample.so";
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Module module = HEAPCAST__MODULE__INIT, *modules[] = {&module};
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	Heapcast__Events events;
	struct stacks_encoder encoder;
	struct builder_ledger ledger;
	uint8_t nodes[256];
	bool first = !b->number && b->incarnation == 1;

	batch.stream = builder_bytes(b->id, sizeof(b->id));
	batch.incarnation = b->incarnation;
	batch.number = b->catch_up ? 0 : ++b->number;
	batch.catch_up = b->catch_up;
	batch.next = b->catch_up ? b->number + 1 : 0;
	batch.time_ns = b->last_ns;
	batch.watermark_ns = watermark_ns;
	if (first || b->catch_up) {
		process.pid = 4711;
		process.executable = builder_bytes(executable, sizeof(executable) - 1);
		process.start_wall_ns = 1700000000000000000ull + b->id[0];
		batch.process = &process;
		module.number = 1;
		module.path = builder_bytes(path, sizeof(path) - 1);
		module.end = 0x10000;
		batch.module = modules;
		batch.n_module = 1;
		stacks_encoder_init(&encoder, nodes, sizeof(nodes), 1);
		stacks_encoder_put(&encoder, &(struct stack_node){.module = 1, .offset = 0x100});
		stacks_encoder_put(&encoder,
				   &(struct stack_node){.parent = 1, .module = 1, .offset = 0x200});
		stacks_encoder_fill(&encoder, &stacks);
		batch.stacks = &stacks;
	}
	if (b->process)
		batch.process = b->process;
	if (b->events.count) {
		events_encoder_fill(&b->events, &events);
		batch.events = &events;
	}
	batch.gap = &b->gap;
	batch.n_gap = b->gap != NULL;
	batch.part = b->parts;
	batch.n_part = b->part_count;
	batch.mark = &b->mark;
	batch.n_mark = b->mark != NULL;
	batch.end = b->end;
	batch.culled = b->culled;
	batch.thread = b->threads;
	batch.n_thread = b->thread_count;
	batch.figures = b->figures;
	batch.n_figures = b->figures_count;
	builder_ledger(b, &ledger);
	if (!b->no_ledger)
		batch.ledger = &ledger.message;
	builder_frame(b, &batch);
	events_encoder_clear(&b->events);
	b->gap = NULL;
	b->part_count = 0;
	b->figures_count = 0;
	b->mark = NULL;
	b->process = NULL;
	b->end = NULL;
	b->culled = NULL;
	b->threads = NULL;
	b->thread_count = 0;
	b->catch_up = false;
}

static inline void builder_event(struct builder *b, const struct event *event)
{
	int r = events_encoder_put(&b->events, event);

	if (r == -EAGAIN || r == -ENOSPC) {
		builder_close(b, 0);
		r = events_encoder_put(&b->events, event);
	}
	assert(!r);
	b->delivered++;
	if (event->thread <= BUILDER_THREADS)
		b->of_thread[event->thread]++;
	if (event->time_ns > b->last_ns)
		b->last_ns = event->time_ns;
}

static inline void builder_malloc(struct builder *b, uint64_t time, uint32_t thread,
				  uint64_t address, uint64_t size)
{
	builder_event(b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
					 .thread = thread,
					 .time_ns = time,
					 .address = address,
					 .size = size,
					 .stack = BUILDER_STACK});
}

static inline void builder_free(struct builder *b, uint64_t time, uint32_t thread, uint64_t address)
{
	builder_event(b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_FREE,
					 .thread = thread,
					 .time_ns = time,
					 .address = address,
					 .stack = 1});
}

static inline void builder_realloc(struct builder *b, uint64_t call, uint64_t time, uint32_t thread,
				   uint64_t old, uint64_t address, uint64_t size)
{
	builder_event(b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC,
					 .thread = thread,
					 .time_ns = time,
					 .call_time_ns = time - call,
					 .old_address = old,
					 .address = address,
					 .size = size,
					 .stack = BUILDER_STACK});
}

/* The last batch: the program exited with `status`. */
static inline void builder_end(struct builder *b, uint32_t status)
{
	Heapcast__End end = HEAPCAST__END__INIT;

	end.time_ns = b->last_ns;
	end.kind = HEAPCAST__END_KIND__END_EXITED;
	end.status = status;
	b->end = &end;
	builder_close(b, UINT64_MAX);
}

/* Writes `length` bytes of the file to a new temporary file; free the path after unlink. */
static inline char *builder_save(const struct builder *b, size_t length)
{
	char *path = strdup("/tmp/heapcast-test-XXXXXX");
	int fd = mkstemp(path);

	assert(fd >= 0);
	assert(write(fd, b->file.data, length) == (ssize_t)length);
	close(fd);
	return path;
}

/* Opens what was built. */
static inline int builder_open(const struct builder *b, size_t length,
			       struct recording **ret_recording, struct err_text *err)
{
	char *path = builder_save(b, length);
	int r = recording_open(path, NULL, NULL, ret_recording, err);

	unlink(path);
	free(path);
	return r;
}
