#pragma once
/*
 * Births and deaths become rows.
 *
 *   batch -> | queue (sorted; newer than the watermark) | run (of the batch) |
 *         -> sorted, merged -> by address -> rows
 *
 * A reallocation is two steps: the old block's death when it was called, the new one's birth when
 * it returned; another thread may get the old address in between. Steps are taken in the order of
 * their times, up to the watermark: nothing older will come.
 *
 * At one address births and deaths alternate. Where the order of the times says otherwise, it is
 * wrong within the clock's error, or something is missing: birth, birth the first block's death is
 * missing: it ends as BLOCK_INFERRED; unless a death by another thread follows within REPAIR_NS,
 * which was then the first one's ("repaired") death, no birth an orphan: born before recording
 * began; unless a birth by another thread follows within REPAIR_NS: it was this one's death
 * ("repaired") A thread's own order is never overruled. An exec ends all that is alive. Where a
 * program records the frees of some blocks only (thinned.h), a death without a birth is nobody's,
 * and no sampled birth is taken for it.
 *
 * Blocks that may have died unseen (gaps with frees) are BLOCK_CENSORED at the end, by this rule:
 * if the frees that were lost, all gaps together, are at least 1 in CENSOR_SHARE of the blocks in
 * use that were born before the last such gap ended, all of these are censored, at the time of the
 * last gap; if fewer, the blocks stay in use, and at most that share of them is wrong.
 */
#include "base/map.h"
#include "collector/columns/rows.h"
#include "collector/recording/info.h"
#include "collector/recording/row_reader.h"
#include "proto/columns.h"
#include "proto/thinning.h"

/* The clock's error: stamps of different threads that are nearer than this, and a tick, may be in
 * the wrong order. */
#define REPAIR_NS    5000
#define CENSOR_SHARE 100
/* Steps that wait for the watermark at most; above, the oldest are taken (an agent that states no
 * watermark). */
#define QUEUE_MAX (1u << 20)
#define DOUBTS	  64

struct step {
	uint64_t time_ns, address;
	uint64_t size; /* births; deaths by a reallocation: the time of the birth; STEP_THINNED: the
			  seed */
	uint64_t weight; /* births; STEP_THINNED: the rest of the law */
	uint32_t thread, stack;
	uint8_t kind, what; /* EventKind, enum step_what */
	uint32_t order;	    /* in its run: sorting keeps it */
};

struct steps {
	struct step *list;
	size_t count, capacity;
	size_t sorted; /* so many of them are in the order of their times */
};

/* A recent birth or death that did not fit, and may yet be explained. */
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
 * Blocks that were judged by the law: what they counted before, and the products of that and of
 * what each counts if it goes on. So bytes_squared / bytes is what stands for a byte in the middle.
 * Nothing but uint64_t.
 */
struct thinned_sums {
	uint64_t bytes, blocks;
	uint64_t bytes_squared, blocks_squared;
};

/* What the program follows; see thinned.h. */
struct pairing_thinned {
	struct thinning law;
	uint64_t opened_ns; /* what was born before, or then, is not in the program's set of sampled
			       blocks */
	uint64_t judged_ns[THINNING_LEVEL_MAX + 1]; /* what was born before, or then, was looked at
						       for this level or a higher one */
	bool told;
	uint64_t survivors;
	struct thinned_sums births; /* judged as they were born */
	struct thinned_info info;
};

struct pairing {
	struct rows *rows;
	struct map live;    /* address -> row */
	struct map moving;  /* thread -> row that its reallocation under way has ended; NO_BLOCK: it
			       was unknown */
	struct steps queue; /* behind those that are sorted the run of the batch at hand */
	struct steps spare;
	uint64_t window_ns;
	struct doubts double_births; /* row: the first block's, ended as inferred */
	struct doubts orphans;
	struct pairing_info info;
	bool forked; /* blocks that nobody was seen to allocate are the parent's */
	uint64_t lost_frees, lost_frees_from_ns, lost_frees_to_ns;
	struct pairing_thinned thinned;
	bool censored;	  /* what is in use from before the gap's end may have died unseen */
	uint64_t last_ns; /* time of the last step taken */
};

void pairing_done(struct pairing *pairing);
/* Puts an event into the run of the batch at hand. 0 or -ENOMEM. */
int pairing_add(struct pairing *pairing, const struct event *event);
/* The program replaced itself at that time: takes its place among the steps of the batch at hand.
 * Add it before the events. */
int pairing_add_exec(struct pairing *pairing, uint64_t time_ns);
/* The program's law of what is followed changed at that time. Before the events, too. */
int pairing_add_thinned(struct pairing *pairing, uint64_t time_ns, const struct thinning *law);
/* The batch is complete: takes all steps before `watermark_ns`. 0, -ENOMEM, -E2BIG. */
int pairing_advance(struct pairing *pairing, uint64_t watermark_ns);
/* Takes all that waits. */
int pairing_flush(struct pairing *pairing);
/* The program replaced itself, and nobody said when: nothing that was alive is any more. Flush
 * first. */
int pairing_exec(struct pairing *pairing, uint64_t time_ns);
/* Frees were lost between two times. */
void pairing_lost(struct pairing *pairing, uint64_t frees, uint64_t from_ns, uint64_t to_ns);
/* Applies the rule of censoring to what is in use now: `censored`, and its count. Rows stay as they
 * are: whoever reads them sees them through pairing_show_censored. May be called again after more
 * has come. 0, or rows can't be read. */
int pairing_censor(struct pairing *pairing, const struct block_limits *limits);
/* Where `censored`: ends of a block that has birth, death and end. */
void pairing_show_censored(const struct pairing *pairing, struct rows_block *block);
