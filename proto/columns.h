#pragma once
/*
 * The columns of Batch.events and Batch.stacks: packed varints, written and read in place, without
 * arrays in between. README.md, "Columns", has the arithmetic. The agent encodes into memory that
 * it got at its start; the collector decodes bytes that it does not trust.
 *
 *   kind        | 01 20 01 03      one byte an event
 *   thread      | 01               a run of events of thread 1
 *   thread_run  | 04               as long as this
 *   size        | 18    40 20      only events that have a size (here the 1st, 3rd and 4th)
 *
 * Invariant: a decoder never reads outside a column, and ends well only if every column ends with
 * the last event.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "heapcast.pb-c.h"
#include "proto/addresses.h"
#include "proto/event.h"

struct err_text;

/* What a reader of events may rely on: everybody's limits. README.md, "Limits". */
#define EVENTS_MAX_COUNT   (1u << 20)
#define EVENTS_MAX_SHIFT   12
#define EVENTS_MAX_TICK_NS 1000000000u
#define EVENTS_MEMORY_MIN  4096 /* least memory of an encoder */
#define EVENTS_STATE_MIN   8192 /* least state of an encoder */
#define EVENTS_STATE_BEST                                                                          \
	(16 * sizeof(struct addresses_slot) + 4096 * sizeof(struct addresses_known))
/* memory of an encoder for one event as a rule; more varied ones fill it sooner */
#define EVENTS_BYTES_AN_EVENT 16

struct event {
	uint8_t kind;		/* enum EventKind; never EVENT_NONE */
	enum event_class class; /* what the kind means (proto/event.h); events_encoder_put looks it
				   up itself */
	uint32_t thread;	/* number of the thread, from 1 */
	uint32_t stack;		/* number of the innermost node; 0: no stack */
	uint64_t time_ns;	/* since the start of the stream; rounded down to the tick */
	uint64_t address;	/* 0: the allocation failed, or free(NULL) */
	uint64_t size;		/* bytes asked for; frees: 0 */
	uint64_t old_address;	/* reallocations: the block that was handed in; else 0 */
	uint64_t call_time_ns;	/* reallocations: how long before `time_ns` it was called; else 0 */
	uint64_t weight; /* bytes that this allocation stands for; equals `size` where nothing was
			    sampled; frees: 0 */
};

/* What a kind means, for all 256 values of its byte. */
struct event_traits {
	uint8_t class; /* enum event_class */
	bool sized;    /* event_has_size */
};

extern const struct event_traits event_traits[256];

enum events_column {
	EVENTS_KIND,
	EVENTS_THREAD,
	EVENTS_THREAD_RUN,
	EVENTS_TIME,
	EVENTS_TIME_RUN,
	EVENTS_BIRTH,
	EVENTS_DEATH,
	EVENTS_OLD,
	EVENTS_ADDRESS,
	EVENTS_SIZE,
	EVENTS_STACK,
	EVENTS_CALL_TIME,
	EVENTS_WEIGHT,
	EVENTS_COLUMNS,
};

/* Where a decoder is in a column. */
struct column_cursor {
	const uint8_t *at, *end;
};

/* How addresses are found again; the decoder's own. */
struct events_decoder_state {
	uint32_t births;
	addresses_block *born; /* by number, from 1 */
	struct addresses_slot slot[];
};

struct events_decoder {
	struct column_cursor column[EVENTS_COLUMNS];
	uint32_t bad; /* a bit for each column that ended too early, or held no varint */
	struct events_decoder_state *state;
	struct addresses_slot *slot; /* the thread's */
	const uint8_t *kind;	     /* of all events */
	bool weighted;
	uint64_t base_ns;
	int64_t ticks;
	uint64_t time_ns; /* of the run */
	uint32_t tick_ns;
	uint32_t shift;
	uint32_t slots;
	uint32_t count;
	uint32_t index; /* of the next event */
	uint32_t thread;
	uint32_t thread_left, time_left; /* events of the runs */
};

/* Begins to walk `events`, which must outlive the decoder. 0; -EBADMSG with the reason, or -ENOMEM:
 * then there is nothing to give back. */
int events_decoder_init(struct events_decoder *decoder, const Heapcast__Events *events,
			struct err_text *err);
void events_decoder_done(struct events_decoder *decoder);
/* The next event. 1: in ret_event (which holds nothing of use otherwise); 0: that was all, and
 * every column ended with the last event; -EBADMSG: damaged, the sentence names column and
 * event. */
int events_decoder_next(struct events_decoder *decoder, struct event *ret_event,
			struct err_text *err);
/* All that are left, event `index` to events[index] (NULL: nowhere, they are checked). 0, or
 * -EBADMSG as above. */
int events_decoder_all(struct events_decoder *decoder, struct event *events, struct err_text *err);

struct column {
	uint8_t *data;
	size_t length;
	size_t capacity;
};

/* A block that was born in this batch. */
struct addresses_known {
	addresses_block block;
	uint32_t number;
};

struct events_encoder {
	struct column column[EVENTS_COLUMNS];
	uint8_t *memory; /* of all columns */
	size_t size;
	struct addresses_slot *slot;
	struct addresses_known *known; /* by address, direct-mapped */
	uint32_t slots;		       /* a power of two */
	uint32_t known_shift;	       /* 64 - log2 of their number */
	uint32_t births;
	uint32_t thread;		 /* of the run; 0: none yet */
	uint32_t thread_from, time_from; /* the first event of each run */
	struct addresses_slot *own;	 /* the thread's */
	uint64_t base_tick;
	uint64_t last_tick;
	uint64_t last_tick_ns; /* where it begins; of an empty batch: beyond all times */
	uint32_t tick_ns;
	uint32_t until;	      /* so many events in all are sure to fit before anybody looks again */
	uint32_t shift;	      /* of this batch */
	uint64_t unaligned;   /* bits of an address that it loses */
	uint32_t shift_limit; /* lowest shift that was ever needed */
	uint32_t count;
	uint32_t limit;
};

/* `size` bytes at `memory` (at least EVENTS_MEMORY_MIN) hold the columns, `state_size` at `state`
 * (EVENTS_STATE_MIN; more than EVENTS_STATE_BEST is of no use; aligned as malloc's) what addresses
 * are predicted from; both belong to the caller. `limit` is the highest number of events. Times are
 * kept in units of `tick_ns`. */
void events_encoder_init(struct events_encoder *encoder, void *memory, size_t size, void *state,
			 size_t state_size, uint32_t limit, uint32_t tick_ns);
/* Empty again, for the next batch, with room for each column as the last batch has needed it.
 * Touches the state, and not the memory. */
void events_encoder_clear(struct events_encoder *encoder);
/* Appends. 0; -ENOSPC: full; -EAGAIN: close the batch first, this event does not fit its parameters
 * (an address less aligned than those before, or the first sampled one). After events_encoder_clear
 * neither comes for this event. -EINVAL: the kind names nothing. */
int events_encoder_put(struct events_encoder *encoder, const struct event *event);
/* From here on the batch has weights; what it holds already stands for itself. For who may not
 * close it when the first sampled event comes (-EAGAIN). 0 or -ENOSPC. */
int events_encoder_weigh(struct events_encoder *encoder);
/* Ends the columns and makes `ret_events` speak of them, in place; valid until the clear that must
 * come next. */
void events_encoder_fill(struct events_encoder *encoder, Heapcast__Events *ret_events);

/* A node of the tree of stacks. */
struct stack_node {
	uint32_t parent; /* number of the caller's node; 0: this is an outermost frame */
	uint32_t module; /* number; 0: no module, see enum PseudoFrame */
	uint64_t offset; /* return address - Module.bias */
};

/* Longest encoding of one node. */
#define STACKS_NODE_MAX (5 + 5 + VARINT_MAX)

struct stacks_decoder {
	struct reader parent;
	struct reader module;
	struct reader offset;
	uint64_t last_offset;
	uint32_t next;
};

int stacks_decoder_init(struct stacks_decoder *decoder, const Heapcast__Stacks *stacks,
			struct err_text *err);
/* The next node and its number. 1, 0 or -EBADMSG as above. A parent is always a lower number.
 * Whether parent and module are known is the caller's to check. */
int stacks_decoder_next(struct stacks_decoder *decoder, uint32_t *ret_number,
			struct stack_node *ret_node, struct err_text *err);

struct stacks_encoder {
	struct column parent;
	struct column module;
	struct column offset;
	uint64_t last_offset;
	uint32_t first;
	uint32_t count;
};

/* Nodes `first`, first + 1... into `size` bytes at `memory`, the caller's. */
void stacks_encoder_init(struct stacks_encoder *encoder, void *memory, size_t size, uint32_t first);
/* How many nodes are sure to fit into `size` bytes. */
uint32_t stacks_encoder_room(size_t size);
/* Appends; 0 or -ENOSPC. */
int stacks_encoder_put(struct stacks_encoder *encoder, const struct stack_node *node);
void stacks_encoder_fill(const struct stacks_encoder *encoder, Heapcast__Stacks *ret_stacks);
