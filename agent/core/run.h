#pragma once
/*
 * A run is a bounded list of items that a source of events (capture.h) has found, in order, for the
 * stream to take. A source fills one run after the other.
 *
 *   source --fill--> run: thread 7 begins | malloc | free | gap | malloc | ... --take--> stream
 *
 * The stream takes the items one by one. When its batch is full, the rest waits in the run until
 * the batch is closed; the source is not called before the run is taken completely. So the data
 * that an item points to (program counters, texts, modules) must stay until the source is called
 * again. By then, the stream's threads know everything that the source has reported so far.
 *
 * A *lane* is a sequence of events of one thread with a common stack history (a slice of the ring).
 * Lanes are numbered from 0. The frames that an event keeps are those of the last event with a
 * stack in its lane. All times count from the start of the stream.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/threads.h"

#define RUN_ITEMS   64
#define RUN_NO_LANE UINT32_MAX
/* The stream rounds times down to this. */
#define RUN_TICK_NS 1000
/* Program counters below this are values of PseudoFrame. */
#define RUN_PSEUDO_LIMIT 4096

enum run_kind {
	RUN_EVENT,
	RUN_THREAD, /* a thread begins in this lane */
	RUN_RESUME, /* the same, for a thread that an earlier agent has numbered */
	RUN_COUNTS, /* `produced` and `not_sampled` of the lane's thread have grown */
	RUN_ENDED,  /* the lane's thread has ended */
	RUN_LEFT,   /* the lane ends. It is the lane's last item. */
	RUN_GAP,    /* events are lost; without a lane: events of threads that have no lane */
	RUN_LOAD,   /* a module was loaded */
	RUN_UNLOAD,
	RUN_MARK, /* without a lane: of the whole program */
	RUN_SAVE, /* the stack of the lane's last event has a number from now on */
};

enum run_flags {
	RUN_RESTART = 1,   /* RUN_EVENT: the stack history of the lane ends before this event */
	RUN_WEIGHTED = 2,  /* RUN_EVENT: `weight` is valid; else the event stands for itself */
	RUN_CONTINUES = 4, /* RUN_THREAD: use the living thread with this tid, if there is one */
};

struct run_losses {
	uint64_t events, allocations, frees, bytes;
};

struct run_module {
	uint32_t id; /* the source's own number of the module */
	uint32_t epoch;
	uint64_t time_ns;
	uint64_t bias;
	uint64_t start, end;
	const uint8_t *path;
	uint32_t path_length;
	const uint8_t *build_id;
	uint32_t build_id_length;
	/* Tells apart files without a build id: two files with the same name very likely differ in
	 * it. */
	uint32_t print;
	uint32_t segment_count;
	struct run_segment {
		uint64_t address, size, file_offset, flags;
	} segment[8];
};

/* The first members of an item, as one word that is written and compared at once. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define RUN_HEAD(kind, flags, event, class, lane)                                                  \
	((uint64_t)(kind) | (uint64_t)(flags) << 8 | (uint64_t)(event) << 16 |                     \
	 (uint64_t)(class) << 24 | (uint64_t)(lane) << 32)
#else
#define RUN_HEAD(kind, flags, event, class, lane)                                                  \
	((uint64_t)(kind) << 56 | (uint64_t)(flags) << 48 | (uint64_t)(event) << 40 |              \
	 (uint64_t)(class) << 32 | (uint64_t)(lane))
#endif

/* The numbers of frames that are kept (at most RUN_KEEP_MAX) and new (at most RUN_COUNT_MAX). */
#define RUN_FRAMES(keep, count) ((uint32_t)(count) | (uint32_t)(keep) << 10)
#define RUN_COUNT_MAX		1023
#define RUN_KEEP_MAX		4095
/* An event that keeps RUN_RECALL + number frames and has no new ones has the lane's stack of that
 * number (RUN_SAVE). */
#define RUN_RECALL    2048
#define RUN_SAVED_MAX 32

struct run_item {
	union {
		struct {
			uint8_t kind;  /* enum run_kind */
			uint8_t flags; /* enum run_flags */
			uint8_t event; /* RUN_EVENT: enum EventKind */
			uint8_t class; /* RUN_EVENT: its enum event_class */
			uint32_t lane;
		};
		uint64_t head; /* RUN_HEAD of these */
	};
	uint64_t time_ns;
	union {
		struct {
			uint64_t address;
			uint64_t size; /* undefined for frees that have none (proto/event.h) */
			/* The new frames, the innermost first, above those that are kept of the
			 * last stack in this lane. The program may be able to write to them: read
			 * each once. */
			const uint64_t *pcs;
			uint32_t frames; /* RUN_FRAMES; 0: the event has no stack */
			uint32_t epoch;	 /* of the modules at the time of the stack walk */
			uint64_t old_address, call_time_ns; /* only of a reallocation */
			uint64_t weight;
		};
		struct {
			uint32_t tid;
			/* RUN_RESUME: the thread's number, and what the earlier agent has delivered
			 * and lost of it. */
			uint32_t number;
			uint64_t delivered, lost;
			/* Also RUN_COUNTS: added to the thread's counts, modulo 2^64. */
			uint64_t produced, not_sampled;
			/* RUN_THREAD: as the program reports it; used if the kernel has none. */
			char name[THREAD_NAME_MAX];
		} thread;
		struct {
			struct run_losses lost;
			uint64_t from_ns; /* to time_ns */
			int reason;
		} gap;
		uint32_t save; /* the number, below RUN_SAVED_MAX */
		const struct run_module *module;
		struct {
			uint32_t id, epoch;
		} unload;
		struct {
			const uint8_t *text;
			uint32_t text_length;
			int kind; /* enum MarkKind */
			uint64_t value;
		} mark;
	};
};

struct run {
	uint32_t count, taken;
	/* This run and those before it contain everything that the source had. The next members are
	 * valid only if this is true. */
	bool complete;
	bool more;	   /* more may be available at once */
	bool exec;	   /* the process runs another program, whose events come next */
	uint64_t until_ns; /* no older event follows, as far as the source knows */
	struct run_item item[RUN_ITEMS];
};

/* Returns the part of `head` that all events of a lane with these flags have in common. */
static inline uint64_t run_alike(uint64_t head)
{
	return head & RUN_HEAD(0xff, 0xff, 0, 0, 0xffffffff);
}

static inline uint32_t run_keep(const struct run_item *item)
{
	return item->frames >> 10;
}

static inline uint32_t run_count(const struct run_item *item)
{
	return item->frames & RUN_COUNT_MAX;
}

/* Returns true if `items` more items fit. */
static inline bool run_fits(const struct run *r, uint32_t items)
{
	return r->count + items <= RUN_ITEMS;
}

/* Appends an item. The run must have room for it. The caller sets the members that items of this
 * kind have. */
static inline struct run_item *run_put(struct run *r, enum run_kind kind, uint32_t lane,
				       uint64_t time_ns)
{
	struct run_item *item = &r->item[r->count++];

	item->kind = (uint8_t)kind;
	item->flags = 0;
	item->lane = lane;
	item->time_ns = time_ns;
	return item;
}

/* Appends a gap, unless nothing is lost. */
static inline void run_put_gap(struct run *r, uint32_t lane, const struct run_losses *lost,
			       int reason, uint64_t from_ns, uint64_t to_ns)
{
	struct run_item *item;

	if (!lost->events)
		return;
	item = run_put(r, RUN_GAP, lane, to_ns);
	item->gap.lost = *lost;
	item->gap.reason = reason;
	item->gap.from_ns = from_ns;
}

/* Appends a mark without a text. */
static inline struct run_item *run_put_mark(struct run *r, uint32_t lane, int kind, uint64_t value,
					    uint64_t time_ns)
{
	struct run_item *item = run_put(r, RUN_MARK, lane, time_ns);

	item->mark.kind = kind;
	item->mark.value = value;
	item->mark.text = NULL;
	item->mark.text_length = 0;
	return item;
}

static inline void run_put_counts(struct run *r, uint32_t lane, uint64_t produced,
				  uint64_t not_sampled)
{
	struct run_item *item;

	if (!produced && !not_sampled)
		return;
	item = run_put(r, RUN_COUNTS, lane, 0);
	item->thread.produced = produced;
	item->thread.not_sampled = not_sampled;
}
