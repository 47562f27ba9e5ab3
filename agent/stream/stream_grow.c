/*
 * Lets a stream's place grow. A process starts at the smallest level: a ring with a few slices,
 * small tables, a small spool. When one of them is too small, the whole place moves to the next
 * level, if the shared room has the memory. If not, the process continues with what it has, like a
 * process with a small limit: threads wait for slices, the stack table is renewed, and the spool
 * blocks the program. The stream asks again later.
 *
 * The address space for the largest level exists from the start. So arrays stay where they are, and
 * the pages behind them come into use; only the stack table moves. A place grows between two
 * batches, in the drain thread.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/stream/stream.h"
#include "base/ban.h"

#define REFUSED_NS 100000000 /* wait before the stream asks the room again */
/* A table that must be renewed again within this time is too small. */
#define RENEWED_NS    1000000000
#define MODULES_AHEAD 4

size_t stream_cost_young(const struct stream *s)
{
	return s->budget->place[0].cost;
}

size_t stream_cost_grown(const struct stream *s)
{
	return s->budget->place[s->level].cost - s->budget->place[0].cost;
}

/* Releases the whole pages of this memory. */
static void stream_grow_drop(uint8_t *memory, size_t size)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)memory + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)memory + size) & ~(page - 1);

	if (to > from)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

static void add_lanes(struct stream *s, uint32_t count)
{
	for (uint32_t i = s->lane_count; i < count; i++)
		s->lane[i] = stream_lane(s, i);
	s->lane_count = count;
}

static int next_level(struct stream *s)
{
	const struct budget *b = s->budget;
	const struct budget_place *place = &b->place[s->level + 1];
	int r = s->source->ops->grow(s->source, s->level + 1);

	if (r < 0)
		return r;
	s->level++;
	add_lanes(s, budget_lanes(b, s->level + 1));
	s->threads.capacity = place->threads;
	modules_limit(&s->modules, place->modules);
	spool_grow(&s->spool, place->spool);
	stacks_move(&s->stacks, s->stacks_room[s->level & 1], place->stacks);
	stream_grow_drop(s->stacks_room[!(s->level & 1)], b->place[s->level - 1].stacks);
	s->nodes_until = 0;
	batch_shape(&s->batch, place);
	stream_fit_batch(s);
	stream_allow_saved(s);
	return 0;
}

int stream_set_level(struct stream *s, uint32_t level)
{
	struct budget *b = s->budget;
	size_t more = b->place[level].cost - b->place[s->level].cost;
	int r = 0;

	if (level == s->level)
		return 0;
	if (!room_take(&b->room, more, ROOM_MUST))
		return -ENOSPC;
	while (!r && s->level < level)
		r = next_level(s);
	if (r < 0)
		room_give(&b->room, b->place[level].cost - b->place[s->level].cost, ROOM_MUST);
	return r;
}

static enum capture_need need_of(struct stream *s)
{
	enum capture_need need = s->source->ops->need(s->source);

	return s->modules.count + MODULES_AHEAD > s->modules.capacity ||
			       s->modules.text.used > s->modules.text.size / 8 * 7
		       ? CAPTURE_MUST
		       : need;
}

/* Returns true if growth is necessary: otherwise threads would get no lane, or modules no name. */
static bool must(struct stream *s)
{
	return need_of(s) == CAPTURE_MUST;
}

/* Grows by one level. Takes memory for two stack tables, because the old one is needed while the
 * new one is filled. */
static bool stream_grow_grow(struct stream *s)
{
	struct budget *b = s->budget;
	size_t more, both = b->place[s->level].stacks;
	bool grown;

	if (s->level + 1 >= b->levels)
		return false;
	more = b->place[s->level + 1].cost - b->place[s->level].cost;
	if (!room_take(&b->room, more + both, must(s) ? ROOM_MUST : ROOM_GROWING))
		return false;
	grown = next_level(s) == 0;
	room_give(&b->room, both + (grown ? 0 : more), ROOM_GROWING);
	return grown;
}

static bool wishes(struct stream *s)
{
	s->grow_wanted |= s->frame_pending || need_of(s) != CAPTURE_ENOUGH;
	return s->grow_wanted;
}

bool stream_may_grow(const struct stream *s)
{
	return s->level + 1 < s->budget->levels && !(s->refused_ns && s->refused_must);
}

void stream_table_renewed(struct stream *s, bool renewed)
{
	s->grow_wanted |= !renewed || s->turn_ns - s->renewed_ns < RENEWED_NS;
	s->renewed_ns = s->turn_ns;
}

static bool batch_is_clear(const struct stream *s)
{
	const struct batch *b = &s->batch;

	return !b->events.count && !b->gaps && !b->marks && !b->definition_bytes;
}

bool stream_grow_if_due(struct stream *s)
{
	const struct capture_ops *ops = s->source->ops;

	if (s->budget->levels == 1 || !ops->grow || !wishes(s))
		return false;
	/* If growth for speed was refused, growth that prevents a loss is still tried at once. */
	if (s->refused_ns && s->turn_ns - s->refused_ns < REFUSED_NS &&
	    (s->refused_must || !must(s)))
		return false;
	if (!batch_is_clear(s))
		return s->level + 1 < s->budget->levels;
	s->refused_must = must(s);
	s->refused_ns = stream_grow_grow(s) ? 0 : s->turn_ns;
	s->grow_wanted = false;
	ops->grown(s->source, s->refused_ns != 0);
	return false;
}
