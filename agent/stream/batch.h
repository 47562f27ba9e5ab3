#pragma once
/*
 * The batch under construction. Events go directly into columns; definitions, gaps and marks wait
 * in short lists of a fixed size. The packed message must not exceed its size, so each added item
 * is charged at its worst-case length (`definition_bytes`), and batch_take says when to close the
 * batch.
 *
 *   columns (1/2 of the message)  |  stack nodes (3/8)  |  other definitions (1/8)
 *
 * The memory of the columns is used twice: after packing, it holds the compressed frame.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/capture.h"
#include "agent/core/arena.h"
#include "agent/stream/budget.h"
#include "agent/spool/spool.h"
#include "proto/columns.h"

#define BATCH_EVENTS_MAX 32768
#define BATCH_TICK_NS	 RUN_TICK_NS
#define BATCH_GAPS_MAX	 64
/* A Gap at its longest: the thread takes 6 bytes, the reason 2, eight 64-bit numbers 11 each, and
 * the message's own tag and length 2. */
#define GAP_BYTES	  98
#define BATCH_MARKS_MAX	  32
#define BATCH_MODULES_MAX 16
#define BATCH_UNLOADS_MAX 64
#define BATCH_THREADS_MAX 64
#define BATCH_TEXT	  (4u << 10)

struct batch_gap {
	uint32_t thread;
	int reason;
	uint64_t from, to;
	struct run_losses lost;
	uint64_t from_ns, to_ns;
};

struct batch_mark {
	uint64_t time_ns;
	int kind;
	uint32_t thread;
	uint32_t place; /* Mark.place */
	uint64_t value;
	uint32_t text_offset, text_length;
	uint32_t by_offset; /* offset + 1 of a text with its NUL; 0: none */
};

struct batch {
	struct events_encoder events;
	uint8_t *memory; /* columns, then the frame */
	void *state;	 /* the encoder predicts addresses from it */
	size_t size;
	uint32_t nodes_max; /* new nodes of the stack table in one batch */
	size_t definition_bytes, definition_bytes_max;
	struct batch_gap gap[BATCH_GAPS_MAX];
	uint32_t gaps;
	struct batch_mark mark[BATCH_MARKS_MAX];
	uint32_t marks;
	uint8_t text[BATCH_TEXT];
	uint32_t text_length;
	uint64_t opened_ns; /* CLOCK_MONOTONIC of the first item; 0: empty */
};

/* Turns a batch into a frame. The drain thread has a packer; the main loop has a smaller one for
 * catch-ups. */
struct packer {
	uint8_t *message; /* with FRAME_HEADROOM bytes before it */
	size_t message_size;
	struct arena scratch;
	struct frame_encoder *encoder;
};

/* Takes the memory from `arena`. Returns 0 or -ENOMEM. */
int packer_init(struct packer *packer, struct arena *arena, size_t message_size,
		size_t scratch_size);
void packer_done(struct packer *packer);

struct stream;

/* Takes the batch's memory from the slot's arena, for the largest size. Returns 0 or -ENOMEM. */
int batch_init(struct batch *batch, struct arena *arena, const struct budget_place *most);
/* Sets the size. The batch must be clear. A frame that waits in its memory stays there. */
void batch_shape(struct batch *batch, const struct budget_place *place);
void batch_clear(struct batch *batch);
/* Charges `bytes` of the message to the batch. Returns false if there is no room for them. */
bool batch_take(struct batch *batch, size_t bytes);

/*
 * Packs everything new in the stream, with events, gaps, marks and ledger, and compresses it into
 * batch->memory. Afterwards the batch is clear, and the stream's tables know what was packed.
 * `end`: this is the last batch. Returns the frame's length, or a negative errno, which is a bug
 * (the message is longer than planned).
 */
long batch_pack(struct stream *stream, struct packer *packer, bool end);

/* batch_observed.c adds the observer's readings of the process and the allocator's answer, as far
 * as the batch has room. */
bool batch_fits_observed(const struct stream *stream);
void batch_put_observed(struct stream *stream, struct packer *packer, Heapcast__Batch *batch);

/* The progress of a catch-up. All members are zero at its start. */
struct catch_up {
	uint32_t stage; /* process, modules, threads, stacks */
	uint32_t index; /* of the next definition */
	/* The subscriber has never seen this stream, so dropped batches are reported as a gap
	 * before it joined. */
	bool join;
	uint64_t next;		   /* the first batch that the subscriber gets afterwards */
	struct spool_account gone; /* counts at the end of the batch before `next` */
};

/* Begins a catch-up for a subscriber that lacks batches older than the spool's oldest. */
struct catch_up catch_up_begin(const struct spool *spool, bool join);
/* Begins a catch-up for a subscriber that gets the batches behind `number`, because another
 * collector has those up to it. */
struct catch_up catch_up_behind(const struct spool *spool, uint64_t number, bool join);
/* Begins a catch-up for a receiver that has nothing yet and gets the batches from `next` on. */
struct catch_up catch_up_at(uint64_t next, const struct spool_account *gone);
/* Packs the next part of the repeated definitions (Batch.catch_up) as a frame in `out`. Returns its
 * length, 0 at the end, or a negative errno. */
long batch_pack_catch_up(struct stream *stream, struct packer *packer, struct catch_up *catch_up,
			 uint8_t *out, size_t size);
