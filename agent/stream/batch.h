#pragma once
/*
 * The batch under construction: events go straight into columns; definitions, gaps and marks wait
 * in short fixed lists. What bounds it is the length of the packed message, so everything that is
 * added is paid for at its worst-case length (`definition_bytes`), and batch_has_room says when to
 * close.
 *
 *   columns (1/2 of the message)  |  nodes of stacks (3/8)  |  other definitions (1/8)
 *
 * The columns' memory serves twice: once they are packed, the compressed frame is made there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/capture.h"
#include "agent/core/budget.h"
#include "agent/spool/spool.h"
#include "proto/columns.h"

#define BATCH_EVENTS_MAX  32768
#define BATCH_TICK_NS	  1000
#define BATCH_GAPS_MAX	  64
#define BATCH_MARKS_MAX	  32
#define BATCH_MODULES_MAX 16
#define BATCH_UNLOADS_MAX 64
#define BATCH_THREADS_MAX 64
#define BATCH_TEXT	  (4u << 10)

struct batch_gap {
	uint32_t thread;
	int reason;
	uint64_t from, to;
	struct capture_losses lost;
	uint64_t from_ns, to_ns;
};

struct batch_mark {
	uint64_t time_ns;
	int kind;
	uint32_t thread;
	uint32_t place; /* Mark.place */
	uint64_t value;
	uint32_t text_offset, text_length;
	uint32_t by_offset; /* + 1, of a text with its NUL; 0: none */
};

struct batch {
	struct events_encoder events;
	uint8_t *memory; /* columns, then the frame */
	void *state;	 /* what addresses are predicted from */
	size_t size;
	uint32_t nodes_max; /* new nodes of the stack table in one batch */
	size_t definition_bytes, definition_bytes_max;
	struct batch_gap gap[BATCH_GAPS_MAX];
	uint32_t gaps;
	struct batch_mark mark[BATCH_MARKS_MAX];
	uint32_t marks;
	uint8_t text[BATCH_TEXT];
	uint32_t text_length;
	uint64_t opened_ns; /* CLOCK_MONOTONIC when the first thing came in; 0: empty */
};

/* What is needed to turn a batch into a frame; one for the drain thread, a smaller one for the main
 * loop's catch-ups. */
struct packer {
	uint8_t *message; /* FRAME_HEADROOM bytes before it are there as well */
	size_t message_size;
	struct arena scratch;
	struct frame_encoder *encoder;
};

int packer_init(struct packer *packer, struct arena *arena, size_t message_size,
		size_t scratch_size);
void packer_done(struct packer *packer);

struct stream;

/* Takes the batch's part of a slot, as large as it may ever be. 0 or -ENOMEM. */
int batch_init(struct batch *batch, struct arena *arena, const struct budget_place *most);
/* From here on it is that large. It is clear, and no frame lies in it. */
void batch_shape(struct batch *batch, const struct budget_place *place);
void batch_clear(struct batch *batch);
/* Room for something that takes so many bytes in the message. Noted as taken if it is. */
bool batch_take(struct batch *batch, size_t bytes);

/*
 * Packs all that is new in the stream, with events, gaps, marks, ledger, and compresses it into
 * batch->memory; the batch is clear afterwards and the stream's tables know what was sent. `end`:
 * the last one. The frame's length; negative: an errno, which would be a fault of ours (a message
 * longer than planned).
 */
long batch_pack(struct stream *stream, struct packer *packer, bool end);

/* batch_observed.c: adds what the observer has seen of the process, and what its allocator has
 * said, as far as the batch has room. */
bool batch_fits_observed(const struct stream *stream);
void batch_put_observed(struct stream *stream, struct packer *packer, Heapcast__Batch *batch);

/* How far a catch-up has come. All zero: at its start. */
struct catch_up {
	uint32_t stage; /* process, modules, threads, stacks */
	uint32_t index; /* of the next definition */
	bool join;	/* the subscriber has never seen this stream: what is gone is told as a gap
			   before it joined */
	uint64_t next;	/* the first batch that it will get */
	struct spool_account gone; /* as of the batch before that one */
};

/* For a subscriber that is behind the oldest batch in the spool. */
struct catch_up catch_up_begin(const struct spool *spool, bool join);
/* For somebody who has nothing yet and will get batches from `next` on. */
struct catch_up catch_up_at(uint64_t next, const struct spool_account *gone);
/* Packs definitions again (Batch.catch_up), one part of them. The frame goes to `out`. Its length;
 * 0: that was all. */
long batch_pack_catch_up(struct stream *stream, struct packer *packer, struct catch_up *catch_up,
			 uint8_t *out, size_t size);
