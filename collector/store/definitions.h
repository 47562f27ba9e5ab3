#pragma once
/*
 * What a recording says of the process, its modules, threads and stacks, gaps and marks. All of it
 * comes from outside: numbers are checked and bounded, so that a small file can't ask for much
 * memory; definitions that come again (a catch-up) change nothing that events refer to.
 */
#include "collector/store/nodes.h"
#include "collector/store/store.h"
#include "heapcast.pb-c.h"

#define MODULES_MAX (1u << 17)
#define THREADS_MAX (1u << 20)
#define GAPS_MAX    (1u << 20)
#define MARKS_MAX   (1u << 20)
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
	struct gap_info *gaps;
	uint32_t gap_count, gap_capacity;
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
/* A gap that no batch tells: what two accounts differ by. -EBADMSG: too many; -ENOMEM. */
int definitions_add_gap(struct definitions *d, const struct gap_info *gap, struct err_text *err);
/* The thread, made if it is not there; NULL: the number is out of bounds, or no memory. */
struct thread_info *definitions_thread(struct definitions *d, uint32_t number);
