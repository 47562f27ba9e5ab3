#pragma once
/*
 * The path of one event from its source into the columns: capture_event of agent/core/capture.h,
 * for sources with millions of events a second. Because it is inlined into the ring's reader, the
 * compiler drops the tests of what the reader already knows (that the event is a malloc, say).
 *
 * Most of the work is finding the node of (parent, program counter). The lane's path gives the
 * parent, and the stack table's cache the node. Only for a cache miss, stream_capture.c looks up
 * module, place and node.
 */
#include <errno.h>

#include "agent/stream/stream.h"
#include "proto/columns_put.h"

#define STREAM_NO_ROOM UINT32_MAX /* no node has this number */

/* Returns the cache's key. Addresses have 48 bits, so the lower half of the epoch fits above
 * them. */
static inline uint64_t stream_cache_key(uint64_t pc, uint32_t epoch)
{
	return pc ^ (uint64_t)epoch << 48;
}

/* Returns the node for a program counter below `parent`, after a miss in the cache of nodes. */
uint32_t stream_find_node(struct stream *stream, uint32_t parent, uint64_t pc, uint32_t epoch,
			  struct stacks_cached *cached) __attribute__((noinline));
/* The slow path of stream_has_room. */
bool stream_find_room(struct stream *stream, uint32_t frames) __attribute__((cold));
/* The slow path of stream_intern: for stacks that are deeper than the lane's path, or that keep
 * frames which the lane does not have. */
uint32_t stream_intern_rarely(struct stream *stream, struct stacks_path *lane, uint32_t keep,
			      uint32_t count, const uint64_t *pcs, uint32_t epoch)
	__attribute__((cold));

/* Returns true if batch and table have room for `frames` new nodes. */
static inline bool stream_has_room(struct stream *s, uint32_t frames)
{
	const struct stacks *t = &s->stacks;

	return __builtin_expect(t->nodes + frames + 3 <= s->nodes_until &&
					t->places + frames + 3 <= t->places_max,
				1) ||
	       stream_find_room(s, frames);
}

/* Returns the node of an event's stack, or STREAM_NO_ROOM if there is no room for its new nodes.
 * Calling it again with the same event is safe. The program counters may be in memory that the
 * program can write, so each is read once. (The members of the event are separate arguments, so
 * that they stay in registers.) */
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

/* Returns the node of an event with a stack. */
static inline __attribute__((always_inline)) uint32_t
stream_node(struct stream *s, struct stacks_path *l, const struct capture_event *e)
{
	if (__builtin_expect(e->keep > l->depth || e->keep + e->count > l->most, 0))
		return stream_intern_rarely(s, l, e->keep, e->count, e->pcs, e->epoch);
	return stream_intern(s, l, e->keep, e->count, e->pcs, e->epoch);
}

/* Does what capture_event does, without the counts. Not for streams that hold events back. */
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
