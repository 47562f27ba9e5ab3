#pragma once
/*
 * The columns of Batch.events: packed varints, encoded and decoded in place without intermediate
 * arrays. README.md, "Columns", specifies them. The agent encodes into memory that it reserved at
 * start; the collector decodes untrusted bytes.
 *
 *   kind        | 01 20 01 03      one byte per event
 *   thread      | 01               a run of events of thread 1
 *   thread_run  | 04               the length of that run
 *   size        | 18    40 20      only events that have a size (here the 1st, 3rd and 4th)
 *
 * Invariant: a decoder never reads outside a column. It succeeds only if every column ends with the
 * last event.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "heapcast.pb-c.h"
#include "proto/addresses.h"
#include "proto/column.h"
#include "proto/event.h"

struct err_text;

/* Limits that every reader of events may rely on: README.md, "Limits". */
#define EVENTS_MAX_COUNT   (1u << 20)
#define EVENTS_MAX_SHIFT   12
#define EVENTS_MAX_TICK_NS 1000000000u
#define EVENTS_MEMORY_MIN  4096 /* least memory of an encoder */
#define EVENTS_STATE_MIN   8192 /* least state of an encoder */
/* typical memory of an encoder per event; varied events need more */
#define EVENTS_STATE_BEST                                                                          \
	(16 * sizeof(struct addresses_slot) + 4096 * sizeof(struct addresses_known))
#define EVENTS_BYTES_AN_EVENT 16

struct event {
	uint8_t kind;		/* enum EventKind; never EVENT_NONE */
	enum event_class class; /* what the kind means (proto/event.h); events_encoder_put derives
				 * it from `kind` */
	uint32_t thread;	/* number of the thread, from 1 */
	uint32_t stack;		/* number of the innermost node; 0: no stack */
	uint64_t time_ns;	/* since the start of the stream; rounded down to the tick */
	uint64_t address;	/* 0: the allocation failed, or free(NULL) */
	uint64_t size;		/* requested bytes; heap frees: 0 */
	uint64_t old_address;	/* reallocations: the block that was passed in; else 0 */
	uint64_t call_time_ns;	/* reallocations: time between the call and `time_ns`; else 0 */
	uint64_t weight; /* bytes that this allocation represents; equals `size` without sampling;
			  * frees: 0 */
};

/* The properties of a kind, for all 256 values of its byte. */
struct event_traits {
	uint8_t class; /* enum event_class */
	bool sized;    /* event_has_size */
	bool plain;    /* an address, and at most one size: no free with a size, and no call */
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

/* A decoder's position in a column. */
struct column_cursor {
	const uint8_t *at, *end;
};

/* The decoder's state of address prediction. */
struct events_decoder_state {
	uint32_t births;
	addresses_block *born; /* by birth number, from 1 */
	struct addresses_slot slot[];
};

struct events_decoder {
	struct column_cursor column[EVENTS_COLUMNS];
	uint32_t bad; /* one bit per column that ended early or held an invalid varint */
	struct events_decoder_state *state;
	struct addresses_slot *slot; /* of the current thread */
	const uint8_t *kind;	     /* of all events */
	bool weighted;
	uint64_t base_ns;
	int64_t ticks;
	uint64_t time_ns; /* time of the current run */
	uint32_t tick_ns;
	uint32_t shift;
	uint32_t slots;
	uint32_t count;
	uint32_t index; /* of the next event */
	uint32_t thread;
	uint32_t thread_left, time_left; /* events left in the current runs */
};

/*
 * Prepares to decode `events`, which must outlive the decoder. Returns 0, or -EBADMSG with a
 * sentence, or -ENOMEM. After an error the decoder owns nothing.
 */
int events_decoder_init(struct events_decoder *decoder, const Heapcast__Events *events,
			struct err_text *err);
void events_decoder_done(struct events_decoder *decoder);
/*
 * Decodes the next event. Returns 1 with the event in ret_event, 0 if no event is left and every
 * column ended with the last one, or -EBADMSG, with a sentence that names the column and the event.
 * ret_event is undefined unless the function returns 1.
 */
int events_decoder_next(struct events_decoder *decoder, struct event *ret_event,
			struct err_text *err);
/*
 * Decodes all remaining events: event `index` goes to events[index]. With NULL the events are only
 * checked. Returns 0, or -EBADMSG as above.
 */
int events_decoder_all(struct events_decoder *decoder, struct event *events, struct err_text *err);

/* A block that was born in this batch. */
struct addresses_known {
	addresses_block block;
	uint32_t number;
};

struct events_encoder {
	struct column column[EVENTS_COLUMNS];
	uint8_t *memory; /* the memory of all columns */
	size_t size;
	struct addresses_slot *slot;
	struct addresses_known *known; /* direct-mapped by address */
	uint32_t slots;		       /* a power of two */
	uint32_t known_shift;	       /* 64 - log2 of the number of entries */
	uint32_t births;
	uint32_t thread;		 /* thread of the current run; 0: no run yet */
	uint32_t thread_from, time_from; /* index of the first event of each current run */
	struct addresses_slot *own;	 /* the slot of the current thread */
	uint64_t base_tick;
	uint64_t last_tick;
	uint64_t last_tick_ns; /* start of that tick; later than all times in an empty batch */
	uint32_t tick_ns;
	uint32_t until;	      /* the event count up to which everything fits without another
			       * check */
	uint32_t shift;	      /* of this batch */
	uint64_t unaligned;   /* address bits that the shift would lose */
	uint32_t shift_limit; /* lowest shift that was ever needed */
	uint32_t count;
	uint32_t limit;
};

/*
 * `memory` (`size` bytes, at least EVENTS_MEMORY_MIN) holds the columns. `state` holds the address
 * prediction; it has `state_size` bytes, at least EVENTS_STATE_MIN, aligned as by malloc, and more
 * than EVENTS_STATE_BEST is not used. The caller owns both. `limit` is the highest number of events
 * per batch. Times are kept in units of `tick_ns`.
 */
void events_encoder_init(struct events_encoder *encoder, void *memory, size_t size, void *state,
			 size_t state_size, uint32_t limit, uint32_t tick_ns);
/*
 * Empties the encoder for the next batch. Divides the memory among the columns as the last batch
 * needed it. Touches the state but not the memory.
 */
void events_encoder_clear(struct events_encoder *encoder);
/*
 * Appends an event. Returns 0; -ENOSPC if the batch is full; -EAGAIN if the event does not fit the
 * batch's parameters (its address is less aligned than all before, or it is the first sampled one);
 * or -EINVAL if the kind is unknown. After -ENOSPC or -EAGAIN the caller closes the batch and calls
 * events_encoder_clear; the event then fits.
 */
int events_encoder_put(struct events_encoder *encoder, const struct event *event);
/*
 * Gives weights to the batch from here on; the events in it so far represent themselves. This is
 * for a caller that cannot close the batch when the first sampled event arrives (-EAGAIN). Returns
 * 0 or -ENOSPC.
 */
int events_encoder_weigh(struct events_encoder *encoder);
/*
 * Finishes the columns and makes `ret_events` refer to them in place. The result is valid until
 * events_encoder_clear, which must be the next call.
 */
void events_encoder_fill(struct events_encoder *encoder, Heapcast__Events *ret_events);
