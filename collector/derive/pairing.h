#pragma once
/*
 * Pairs births and deaths into rows.
 *
 *   batch -> | queue (sorted; newer than the watermark) | run (of the batch) |
 *         -> sorted, merged -> by address -> rows
 *
 * A reallocation is two steps: the death of the old block at the time of the call, and the birth of
 * the new block at the time of the return. Another thread may get the old address in between. Steps
 * are taken in the order of their times, up to the watermark; no older step will arrive.
 *
 * At one address, births and deaths alternate. Where the times contradict this, their order is
 * wrong within the clock's error, or an event is missing:
 *
 *   birth, birth     The death of the first block is missing: it ends as BLOCK_INFERRED. If a death
 *                    by another thread follows within REPAIR_NS, that was its death ("repaired").
 *   death, no birth  An orphan: the block was born before recording began. If a birth by another
 *                    thread follows within REPAIR_NS, the death is that block's ("repaired").
 *
 * The order of events within a thread is never changed. An exec ends all live blocks. If a program
 * records the frees of only some blocks (thinned.h), a death without a birth belongs to no row, and
 * no sampled birth is matched with it.
 *
 * Blocks that may have died unseen, in gaps with frees, end as BLOCK_CENSORED by this rule:
 * Consider the blocks in use that were born before the end of the last such gap. If the frees lost
 * in all gaps together are at least 1 in CENSOR_SHARE of these blocks, all of them are censored, at
 * the time of the last gap. If fewer were lost, the blocks stay in use, and at most that share of
 * them is wrong.
 */
#include "base/map.h"
#include "collector/columns/rows.h"
#include "collector/recording/info.h"
#include "collector/recording/row_reader.h"
#include "proto/columns.h"
#include "proto/thinning.h"

/*
 * The clock's error: timestamps of different threads that differ by less than this plus a tick may
 * be in the wrong order.
 */
#define REPAIR_NS    5000
#define CENSOR_SHARE 100
/*
 * Maximum number of steps that wait for the watermark. Beyond it the oldest are taken, because an
 * agent may state no watermark.
 */
#define QUEUE_MAX (1u << 20)
#define DOUBTS	  64

struct step {
	uint64_t time_ns, address;
	uint64_t size;	 /* births; deaths by reallocation: time of the birth; STEP_THINNED: seed */
	uint64_t weight; /* births; STEP_THINNED: the rest of the law */
	uint32_t thread, stack;
	uint8_t kind, what; /* EventKind, enum step_what */
	uint32_t order;	    /* position in its run, which makes sorting stable */
};

struct steps {
	struct step *list;
	size_t count, capacity;
	size_t sorted; /* this many are sorted by time */
};

/* A recent birth or death that did not fit and may still be explained. */
struct doubt {
	uint64_t address, time_ns;
	uint32_t thread, stack, row;
	uint8_t kind;
};

struct doubts {
	struct doubt ring[DOUBTS];
	unsigned next;
	uint64_t latest_ns;
};

/*
 * Sums over blocks that were judged by the law of thinning: their previous weights, and the
 * products of the previous weight and the weight if the block continues. bytes_squared / bytes is
 * therefore the mean weight per byte. All members are uint64_t.
 */
struct thinned_sums {
	uint64_t bytes, blocks;
	uint64_t bytes_squared, blocks_squared;
};

/* Which blocks the program follows; see thinned.h. */
struct pairing_thinned {
	struct thinning law;
	uint64_t opened_ns; /* blocks born at or before this time are not in the program's set of
			     * sampled blocks */
	uint64_t judged_ns[THINNING_LEVEL_MAX + 1]; /* blocks born at or before this time were
						     * judged for this level or a higher one */
	bool told;
	uint64_t survivors;
	struct thinned_sums births; /* blocks judged at birth */
	struct thinned_info info;
};

struct pairing {
	struct rows *rows;
	struct map live;    /* address -> row */
	struct map moving;  /* thread -> row that its pending reallocation has ended, or NO_BLOCK */
	struct steps queue; /* the sorted steps, then the run of the current batch */
	struct steps spare;
	uint32_t *latest; /* by thread: the row of its last birth, plus 1; 0: none */
	uint32_t latest_capacity;
	uint64_t window_ns;
	struct doubts double_births; /* row: that of the first block, which ended as inferred */
	struct doubts orphans;
	struct pairing_info info;
	bool forked; /* blocks without a recorded birth belong to the parent process */
	uint64_t lost_frees, lost_frees_from_ns, lost_frees_to_ns;
	struct pairing_thinned thinned;
	bool censored;	  /* blocks in use from before the gap's end may have died unseen */
	uint64_t last_ns; /* time of the last step taken */
};

void pairing_done(struct pairing *pairing);
/* Adds an event to the run of the current batch. Returns 0 or -ENOMEM. */
int pairing_add(struct pairing *pairing, const struct event *event);
/*
 * Adds an exec of the program to the run of the current batch. Must be called before the batch's
 * events are added.
 */
int pairing_add_exec(struct pairing *pairing, uint64_t time_ns);
/* Adds a change of the law of thinning. Must be called before the batch's events are added. */
int pairing_add_thinned(struct pairing *pairing, uint64_t time_ns, const struct thinning *law);
/*
 * Ends the batch: takes all steps before `watermark_ns`. Returns 0, -ENOMEM or an error of the
 * rows' file.
 */
int pairing_advance(struct pairing *pairing, uint64_t watermark_ns);
/* Takes all waiting steps. */
int pairing_flush(struct pairing *pairing);
/*
 * Handles an exec whose time is unknown: ends all live blocks. The caller calls pairing_flush
 * first.
 */
int pairing_exec(struct pairing *pairing, uint64_t time_ns);
/* Records that up to `frees` frees were lost between two times. */
void pairing_lost(struct pairing *pairing, uint64_t frees, uint64_t from_ns, uint64_t to_ns);
/*
 * Applies the rule of censoring to the blocks in use: sets `censored` and its count. Rows stay
 * unchanged; readers apply pairing_show_censored. May be called again when more events have
 * arrived. Returns 0, or an error if rows cannot be read.
 */
int pairing_censor(struct pairing *pairing, const struct block_limits *limits);
/* If `censored`: changes the ends in a block, which must have birth, death and end columns. */
void pairing_show_censored(const struct pairing *pairing, struct rows_block *block);
