#pragma once
/*
 * What a recording says of the process, its modules, threads and stacks, gaps and marks. All of it
 * comes from outside: numbers are checked and bounded, so that a small file can't ask for much
 * memory; definitions that come again (a catch-up) change nothing that events refer to.
 */
#include "collector/recording/info.h"
#include "collector/recording/names.h"
#include "proto/columns.h"
#include "collector/recording/nodes.h"
#include "heapcast.pb-c.h"

#define MODULES_MAX    (1u << 17)
#define THREADS_MAX    (1u << 20)
#define GAPS_MAX       (1u << 20)
#define UNRECORDED_MAX 4096
#define MARKS_MAX      (1u << 20)
#define MARK_BY_MAX    256 /* bytes */
/* Numbers that may be passed over at once, where a damaged place has swallowed their definitions.
 */
#define HOLE_MAX (1u << 16)

/* Of the events that an agent has delivered so far. */
struct delivered_counts {
	uint64_t allocations, frees, bytes;
};

struct definitions {
	struct process_info process;
	struct module_info **modules; /* [number - 1]; NULL: not defined */
	uint32_t module_count, module_capacity;
	struct thread_info **threads; /* as modules */
	uint32_t thread_count, thread_capacity;
	struct nodes nodes;
	struct names names;
	struct gap_info *gaps;
	uint32_t gap_count, gap_capacity;
	struct unrecorded_info *unrecorded;
	uint32_t unrecorded_count, unrecorded_capacity;
	/* Of the agent that goes on with the stream (Batch.incarnation). */
	uint32_t incarnation;
	uint32_t ledger_incarnation; /* of the last ledger */
	bool begun;	    /* a batch that is none of a catch-up has come: we have joined */
	uint64_t last_ns;   /* time of the last batch */
	uint64_t unarrived; /* delivered by agents that are gone, and never came */
	uint64_t
		culled_before; /* by agents that are gone; their successor counts it as delivered */
	uint32_t *module_of_wire; /* from the second incarnation on: [its number - 1] -> number
				     here; 0: not defined */
	uint32_t wire_module_count, wire_module_capacity;
	uint32_t module_recent; /* index of the last one that was found again */
	struct mark_info *marks;
	uint32_t mark_count, mark_capacity;
	struct ledger_info ledger;
	struct delivered_counts delivered; /* as in the last ledger */
	struct figures_info figures, figures_most;
	struct allocator_info allocator;
};

void definitions_init(struct definitions *d);
void definitions_done(struct definitions *d);
/* 0; -EBADMSG with a sentence; -ENOMEM. Checks all before it changes anything that can't be
 * repeated. */
int definitions_add(struct definitions *d, const Heapcast__Batch *batch, struct err_text *err);
/* A gap that no batch tells: what two accounts differ by. 0 or -ENOMEM. */
int definitions_add_gap(struct definitions *d, const struct gap_info *gap);
/* The thread, made if it is not there; NULL: the number is out of bounds, or no memory. */
struct thread_info *definitions_thread(struct definitions *d, uint32_t number);

/* Takes a reading: what it does not tell holds on from the one before. */
void figures_next(struct figures_info *figures, const Heapcast__Figures *reading);
struct allocator_info allocator_reading(const Heapcast__Allocator *reading);

/* Between the files of this. */

/* Is this another agent than the first? */
static inline bool definitions_renewed(const struct definitions *d)
{
	return d->incarnation > 1;
}

/* definitions_modules.c */
/* Another agent: its dictionary begins anew, threads keep their numbers. */
void definitions_renew(struct definitions *d, uint32_t incarnation);
uint32_t definitions_module_of_wire(const struct definitions *d, uint32_t number);
/* 0 or -EBADMSG with a sentence. */
int definitions_check_modules(const struct definitions *d, const Heapcast__Batch *batch,
			      struct err_text *err);
/* 0, -ENOMEM or -EBADMSG. */
int definitions_add_module(struct definitions *d, const Heapcast__Module *module);
void definitions_unload(struct definitions *d, const Heapcast__Unload *unload);
