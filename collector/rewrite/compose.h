#pragma once
/*
 * Makes a recording: a stream as an agent would have sent it (proto/README.md), batch by batch of
 * columns in LZ4 frames, with a ledger that balances. For whoever has events of his own to tell:
 * imports, merged snapshots, recordings with something left out.
 *
 *	composer_new(fd, id, &process, &c, &err);
 *	composer_node(c, 0, 0, 4096, &node);
 *	composer_name(c, 0, 4096, &(struct composer_frame){.function = "main"}, 1);
 *	composer_event(c, &(struct event){.kind = EVENT_MALLOC, .thread = 1, .address = 16, .size =
 *	24, .weight = 24, .stack = node}); composer_end(c, NULL, &err); composer_free(c);
 *
 * Memory: a batch at hand (some 2 MiB), the nodes and the texts of names; nothing that grows with
 * the events.
 *
 * All functions return 0 or a negative errno. A failure lasts: every later call returns it again,
 * and composer_end tells why, so that a loop over events may leave the checking to the end. -EINVAL
 * is an argument against the rules below; -E2BIG: a recording does not hold that many.
 */
#include <stdint.h>

#include "collector/recording/stream_id.h"
#include "heapcast.pb-c.h"
#include "proto/columns.h"
#include "proto/culled.h"

struct err_text;
struct composer;

/* Offsets in module 0 from here on are no PseudoFrame: places that have no address may be numbered
 * from it. */
#define COMPOSER_FIRST_PLACE 4096

/* A function at a place; those that it is inlined into follow it. */
struct composer_frame {
	const char *function, *file; /* NULL: not known */
	uint32_t line;		     /* 0: not known */
};

/* Text of a message's field; it is read before the call returns. */
static inline ProtobufCBinaryData composer_text(const char *text)
{
	return (ProtobufCBinaryData){.len = text ? strlen(text) : 0,
				     .data = (uint8_t *)(uintptr_t)text};
}

/* Writes to `fd`, which stays the caller's, from where that stands. `process` is copied; protocol
 * is filled in. */
int composer_new(int fd, const struct stream_id *id, const Heapcast__Process *process,
		 struct composer **ret_composer, struct err_text *err);
/* The unit of times, 1000 ns unless set; before the first event. With 1 the order of all events is
 * in their times. */
int composer_tick(struct composer *composer, uint32_t tick_ns);
void composer_free(struct composer *composer);

/* The next module; its number is given here, what `module` has there does not count. */
int composer_module(struct composer *composer, const Heapcast__Module *module,
		    uint32_t *ret_number);
int composer_unload(struct composer *composer, uint32_t module, uint64_t time_ns);
/* The node of this parent (0: outermost), module and offset: the same in, the same out. */
int composer_node(struct composer *composer, uint32_t parent, uint32_t module, uint64_t offset,
		  uint32_t *ret_node);
/* What is at a place, innermost first. `count` 0: nobody can name it, and no symbol file is to be
 * asked. Once for a place. */
int composer_name(struct composer *composer, uint32_t module, uint64_t offset,
		  const struct composer_frame *frames, unsigned count);
/* A thread's number may be any from 1 on; again, when its name or end becomes known. Without one a
 * thread has no name. */
int composer_thread(struct composer *composer, const Heapcast__Thread *thread);

/* Times never descend, in events and marks together. The stack is a number of composer_node;
 * `class` is filled in; a weight of 0 is the size. */
int composer_event(struct composer *composer, const struct event *event);
int composer_mark(struct composer *composer, const Heapcast__Mark *mark);
/* Blocks that are told in a sum; those of a stack that is given are counted as produced and culled
 * by its thread. */
int composer_culled(struct composer *composer, const struct culled_row *row);
/* What was lost; counts as produced. */
int composer_gap(struct composer *composer, const Heapcast__Gap *gap);
/* Figures, Maps and Allocator as they are (any of them may be NULL). */
int composer_observed(struct composer *composer, const Heapcast__Figures *figures,
		      const Heapcast__Maps *maps, const Heapcast__Allocator *allocator);
/* What the ledger says besides; these are totals, and the last word holds. */
void composer_account(struct composer *composer, uint64_t not_sampled, uint64_t samples_refused,
		      uint64_t stacks_cut);

/* `blocks` blocks of one stack with `bytes` bytes in all, of which only that is known: one or two
 * events (of sizes that differ by one) that stand for them by their weight, so that both sums come
 * out, at the time of the last event. `freed`: and their ends. */
int composer_blocks(struct composer *composer, uint32_t thread, uint32_t stack, uint64_t blocks,
		    uint64_t bytes, bool freed);
/* An address for a block of this size that no other block has. */
uint64_t composer_address(struct composer *composer, uint64_t size);

/* What origin.note is to be, known only now: the process is told again. */
int composer_note(struct composer *composer, const char *note);
/* The last batch. `end` may be NULL: nothing is known of it, but nothing follows. */
int composer_end(struct composer *composer, const Heapcast__End *end, struct err_text *err);

uint64_t composer_events(const struct composer *composer);
