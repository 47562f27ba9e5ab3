#pragma once
/*
 * The stream's way of one event from its source into the columns: capture_event of
 * agent/core/capture.h, for those who put millions a second. Inlined into the reader of the ring,
 * what the reader knows of an event (that it is a malloc, say) is not asked again.
 *
 * What an event asks most is the node of (parent, program counter). The lane's path gives the
 * parent; the cache in the stack table answers, and only what it does not know is looked up:
 * module, place, node (stream_capture.c).
 */
#include <errno.h>

#include "agent/stream/stream.h"
#include "proto/columns_put.h"

#define STREAM_NO_ROOM UINT32_MAX /* no node has this number */

/* What the cache is asked for: addresses have 48 bits, so that the epoch's lower half finds room
 * above. */
static inline uint64_t stream_cache_key(uint64_t pc, uint32_t epoch)
{
	return pc ^ (uint64_t)epoch << 48;
}

/* The node for a program counter below `parent`, past the cache of nodes. */
uint32_t stream_find_node(struct stream *stream, uint32_t parent, uint64_t pc, uint32_t epoch,
			  struct stacks_cached *cached) __attribute__((noinline));
/* The slow end of stream_has_room. */
bool stream_find_room(struct stream *stream, uint32_t frames) __attribute__((cold));
/* Stacks that are deeper than the lane's path, or stand on frames that the lane has never
 * brought. */
uint32_t stream_intern_rarely(struct stream *stream, struct stacks_path *lane, uint32_t keep,
			      uint32_t count, const uint64_t *pcs, uint32_t epoch)
	__attribute__((cold));

/* Room for so many new nodes, in the batch and in the table. */
static inline bool stream_has_room(struct stream *s, uint32_t frames)
{
	const struct stacks *t = &s->stacks;

	return __builtin_expect(t->nodes + frames + 3 <= s->nodes_until &&
					t->places + frames + 3 <= t->places_max,
				1) ||
	       stream_find_room(s, frames);
}

/* The node of an event's stack, or STREAM_NO_ROOM for its new nodes. Does the same thing again when
 * it is offered again. The program counters may lie where the program can write: each is read once.
 * (The event's members come one by one, so that it lives in registers.) */
static inline __attribute__((always_inline)) uint32_t
stream_intern(struct stream *s, struct stacks_path *l, uint32_t keep, uint32_t count,
	      const uint64_t *pcs, uint32_t epoch)
{
	uint32_t *to = l->node + keep, parent = 0;
	struct stacks_cached *const cache = s->stacks.cache;
	const uint32_t shift = s->stacks.cache_shift;
	uint64_t trail;

	if (keep)
		parent = to[-1];
	trail = stacks_trail(parent);
	for (uint32_t i = count; i-- > 0;) {
		uint64_t pc = __atomic_load_n(&pcs[i], __ATOMIC_RELAXED),
			 key = stream_cache_key(pc, epoch);
		struct stacks_cached *cached = stacks_cached(cache, shift, &trail, key);

		if (__builtin_expect(cached->key == key && cached->parent == parent, 1)) {
			parent = cached->node;
		} else {
			if (!stream_has_room(s, i + 1))
				return STREAM_NO_ROOM;
			parent = stream_find_node(s, parent, pc, epoch, cached);
		}
		*to++ = parent;
	}
	l->depth = keep + count;
	return parent;
}

/* The node of an event that has a stack. */
static inline __attribute__((always_inline)) uint32_t
stream_node(struct stream *s, struct stacks_path *l, const struct capture_event *e)
{
	if (__builtin_expect(e->keep > l->depth || e->keep + e->count > l->most, 0))
		return stream_intern_rarely(s, l, e->keep, e->count, e->pcs, e->epoch);
	return stream_intern(s, l, e->keep, e->count, e->pcs, e->epoch);
}

/* All of capture_event but the account. Not where events are held back. */
static inline __attribute__((always_inline)) int capture_event_put(struct stream *s,
								   struct stacks_path *path,
								   uint32_t thread,
								   struct capture_event *e)
{
	uint32_t node = 0;

	if (e->has_stack) {
		node = stream_node(s, path, e);
		if (__builtin_expect(node == STREAM_NO_ROOM, 0))
			return -EAGAIN;
	}
	e->event.thread = thread;
	e->event.stack = stacks_number(&s->stacks, node);
	if (events_encoder_put_inline(&s->batch.events, &e->event) < 0)
		return -EAGAIN;
	if (__builtin_expect(s->stacks.has_cut, 0))
		s->stacks_cut += stacks_is_cut(&s->stacks, node);
	return 0;
}
