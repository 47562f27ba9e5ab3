#pragma once
/*
 * What a recording says about the process, its modules, threads and stacks, gaps and marks. All of
 * it is untrusted: numbers are checked and bounded, so that a small file cannot demand much memory.
 * Repeated definitions (in a catch-up) change nothing that events refer to.
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
/* How many numbers may be skipped at once, because damage has destroyed their definitions. */
#define HOLE_MAX (1u << 16)

/* Events that an agent has delivered so far. */
struct delivered_counts {
	uint64_t allocations, frees, bytes;
};

struct definitions {
	struct process_info process;
	struct module_info **modules; /* [number - 1]; NULL: undefined */
	uint32_t module_count, module_capacity;
	struct thread_info **threads; /* likewise */
	uint32_t thread_count, thread_capacity;
	struct nodes nodes;
	struct names names;
	struct gap_info *gaps;
	uint32_t gap_count, gap_capacity;
	struct part_info *parts; /* the last catch-up of an incarnation that says any holds */
	uint32_t part_count, part_capacity;
	struct unrecorded_info *unrecorded;
	uint32_t unrecorded_count, unrecorded_capacity;
	/* The agent that continues the stream (Batch.incarnation). */
	uint32_t incarnation;
	uint32_t ledger_incarnation; /* incarnation of the last ledger */
	bool begun;		     /* a batch other than a catch-up has come: the collector has
				      * joined */
	uint64_t last_ns;	     /* time of the last batch */
	uint64_t unarrived;	/* events that earlier agents delivered and that never arrived */
	uint64_t culled_before; /* events that earlier agents culled; the present agent counts them
				 * as delivered */
	uint32_t *module_of_wire; /* from the second incarnation on: [number on the wire - 1] ->
				   * number here; 0: undefined */
	uint32_t wire_module_count, wire_module_capacity;
	uint32_t module_recent; /* index of the module that was found last */
	struct mark_info *marks;
	uint32_t mark_count, mark_capacity;
	struct ledger_info ledger;
	struct delivered_counts delivered; /* as of the last ledger */
	struct figures_info figures, figures_most;
	struct allocator_info allocator;
};

void definitions_init(struct definitions *d);
void definitions_done(struct definitions *d);
/*
 * Takes the definitions of a batch. Returns 0, -EBADMSG with a sentence, or -ENOMEM. It checks
 * everything before it makes a change that cannot be repeated.
 */
int definitions_add(struct definitions *d, const Heapcast__Batch *batch, struct err_text *err);
/*
 * Takes the parts of a catch-up. `expected` is the number of the batch that would come next without
 * it. Returns 0 or -ENOMEM; *ret_events gets the events of parts that begin to be lacking here.
 */
int definitions_add_parts(struct definitions *d, const Heapcast__Batch *batch, uint64_t expected,
			  uint64_t *ret_events);
/* Adds a gap that no batch reports: a difference between two accounts. Returns 0 or -ENOMEM. */
int definitions_add_gap(struct definitions *d, const struct gap_info *gap);
/*
 * Finds the thread, which is created if necessary. Returns 0, -EBADMSG if the number is out of
 * bounds, or -ENOMEM.
 */
int definitions_thread(struct definitions *d, uint32_t number, struct thread_info **ret_thread);

/* Takes a reading. Figures that it does not contain keep their previous values. */
void figures_next(struct figures_info *figures, const Heapcast__Figures *reading);
struct allocator_info allocator_reading(const Heapcast__Allocator *reading);

/* The rest is shared by the files that implement this header. */

/* Tells whether the present agent is not the first. */
static inline bool definitions_renewed(const struct definitions *d)
{
	return d->incarnation > 1;
}

/* Defined in definitions_modules.c. */
/* Switches to a new agent, whose dictionary begins anew. Threads keep their numbers. */
void definitions_renew(struct definitions *d, uint32_t incarnation);
uint32_t definitions_module_of_wire(const struct definitions *d, uint32_t number);
/* Returns 0, or -EBADMSG with a sentence. */
int definitions_check_modules(const struct definitions *d, const Heapcast__Batch *batch,
			      struct err_text *err);
/* Returns 0, -ENOMEM, or -EBADMSG with a sentence. */
int definitions_add_module(struct definitions *d, const Heapcast__Module *module,
			   struct err_text *err);
void definitions_unload(struct definitions *d, const Heapcast__Unload *unload);
