#pragma once
/*
 * Composes a recording: a stream as an agent would have sent it (proto/README.md), in batches of
 * columns in LZ4 frames, with a balanced ledger. It serves imports, merged snapshots and stripped
 * recordings.
 *
 *        composer_new(fd, id, &process, &c, &err);
 *        composer_node(c, 0, 0, 4096, &node);
 *        composer_name(c, 0, 4096, &(struct composer_frame){.function = "main"}, 1);
 *        composer_event(c, &(struct event){.kind = EVENT_MALLOC, .thread = 1, .address = 16,
 *                                          .size = 24, .weight = 24, .stack = node});
 *        composer_end(c, NULL, &err);
 *        composer_free(c);
 *
 * Memory holds the current batch (about 2 MiB), the nodes and the texts of names; it does not grow
 * with the number of events.
 *
 * All functions return 0 or a negative errno. An error is sticky: every later call returns it
 * again, and composer_end reports the reason, so a loop over events may check at the end. -EINVAL
 * means an argument that violates the rules below; -E2BIG, more items than a recording can hold.
 */
#include <stdint.h>

#include "collector/recording/stream_id.h"
#include "heapcast.pb-c.h"
#include "proto/columns.h"
#include "proto/culled.h"

struct err_text;
struct composer;

/*
 * Offsets in module 0 from here on are not values of PseudoFrame, so places without an address can
 * be numbered from here.
 */
#define COMPOSER_FIRST_PLACE 4096

/* A function at a place. Functions that it is inlined into follow it. */
struct composer_frame {
	const char *function, *file; /* NULL: unknown */
	uint32_t line;		     /* 0: unknown */
};

/*
 * Returns a message field with this text, which must be valid until the composer function returns.
 */
static inline ProtobufCBinaryData composer_text(const char *text)
{
	return (ProtobufCBinaryData){.len = text ? strlen(text) : 0,
				     .data = (uint8_t *)(uintptr_t)text};
}

/*
 * Makes a composer that writes to `fd` from its current position. The caller keeps `fd`. `process`
 * is copied, and its protocol is filled in.
 */
int composer_new(int fd, const struct stream_id *id, const Heapcast__Process *process,
		 struct composer **ret_composer, struct err_text *err);
/*
 * Sets the unit of times, 1000 ns by default. Must be called before the first event. With 1, times
 * express the order of all events.
 */
int composer_tick(struct composer *composer, uint32_t tick_ns);
void composer_free(struct composer *composer);

/* Adds a module. The function assigns its number; `module->number` is ignored. */
int composer_module(struct composer *composer, const Heapcast__Module *module,
		    uint32_t *ret_number);
/* Interns the node with this parent (0: outermost), module and offset. */
int composer_node(struct composer *composer, uint32_t parent, uint32_t module, uint64_t offset,
		  uint32_t *ret_node);
/*
 * Names a place, innermost function first. With `count` 0 the place has no name, and no symbol file
 * is consulted. At most once per place.
 */
int composer_name(struct composer *composer, uint32_t module, uint64_t offset,
		  const struct composer_frame *frames, unsigned count);
/*
 * Defines a thread with any number from 1 on. May be repeated when its name or end becomes known.
 * An undefined thread has no name.
 */
int composer_thread(struct composer *composer, const Heapcast__Thread *thread);

/*
 * Adds an event. Times must never descend, across events and marks. The stack is a number from
 * composer_node. The function fills in `class`; a weight of 0 means the size.
 */
int composer_event(struct composer *composer, const struct event *event);
int composer_mark(struct composer *composer, const Heapcast__Mark *mark);
/*
 * Adds a sum of blocks. If it has a stack, its events count as produced and culled by its thread.
 */
int composer_culled(struct composer *composer, const struct culled_row *row);
/* Adds a gap, whose events count as produced. */
int composer_gap(struct composer *composer, const Heapcast__Gap *gap);
/* Adds Figures, Maps and Allocator unchanged; each may be NULL. */
int composer_observed(struct composer *composer, const Heapcast__Figures *figures,
		      const Heapcast__Maps *maps, const Heapcast__Allocator *allocator);
/* Sets further totals of the ledger. The last call counts. */
void composer_account(struct composer *composer, uint64_t not_sampled, uint64_t samples_refused,
		      uint64_t stacks_cut);

/*
 * Adds `blocks` blocks of one stack with `bytes` bytes in total, of which nothing else is known:
 * one or two events (with sizes that differ by one) whose weights give both sums, at the time of
 * the last event. With `freed`, also adds their frees.
 */
int composer_blocks(struct composer *composer, uint32_t thread, uint32_t stack, uint64_t blocks,
		    uint64_t bytes, bool freed);
/* Returns an address, for a block of this size, that no other block has. */
uint64_t composer_address(struct composer *composer, uint64_t size);

/* Sets origin.note when it becomes known late. The process is sent again. */
int composer_note(struct composer *composer, const char *note);
/*
 * Writes the last batch. `end` may be NULL if the program's end is unknown, but nothing may follow.
 */
int composer_end(struct composer *composer, const Heapcast__End *end, struct err_text *err);

uint64_t composer_events(const struct composer *composer);
/* Batches that are written, and the latest time. */
uint64_t composer_batches(const struct composer *composer);
uint64_t composer_last_ns(const struct composer *composer);
