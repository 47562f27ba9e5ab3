/* The stack table. See stacks.h. */
#include "agent/streamer/stacks.h"

#include <assert.h>
#include <string.h>

#include "heapcast.pb-c.h"
#include "base/ban.h"

#define CACHE_SIZE	(STACKS_CACHE_SLOTS * sizeof(struct stacks_cached))
#define BYTES_PER_ENTRY (8 * 3 + 4 * 4) /* three entries of 8 bytes and four slots of 4 */
#define RESERVED_PART	16

static_assert(STACKS_CACHE_SLOTS == 1 << 12, "stacks_cached takes 12 bits of the hash");

static uint32_t slot_of(uint64_t key, uint32_t slots)
{
	uint64_t hash = key * UINT64_C(0xff51afd7ed558ccd);

	hash ^= hash >> 32;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)((hash >> 32) * slots >> 32);
}

void stacks_init(struct stacks *s, void *memory, size_t size)
{
	size_t rest = size - CACHE_SIZE, threes = rest / BYTES_PER_ENTRY;
	uint32_t places = (uint32_t)(threes / 2), nodes = (uint32_t)(threes * 3) - places;
	uint8_t *at = memory;

	memset(memory, 0, size);
	*s = (struct stacks){
		.size = size,
		.places_max = places - 1,
		.places_slots = places / 3 * 4,
		.nodes_max = nodes - 1,
		.nodes_slots = nodes / 3 * 4,
	};
	s->cache = (struct stacks_cached *)at;
	s->place = (uint64_t *)(at += CACHE_SIZE);
	s->node = (struct stacks_node *)(at += places * sizeof(*s->place));
	s->place_index = (uint32_t *)(at += nodes * sizeof(*s->node));
	s->node_index = (uint32_t *)(at + s->places_slots * sizeof(uint32_t));
}

static uint32_t intern_place(struct stacks *s, uint64_t place)
{
	uint32_t slot = slot_of(place, s->places_slots);

	while (s->place_index[slot]) {
		if (s->place[s->place_index[slot]] == place)
			return s->place_index[slot];
		if (++slot == s->places_slots)
			slot = 0;
	}
	if (s->places == s->places_max)
		return 0;
	s->place[++s->places] = place;
	s->place_index[slot] = s->places;
	return s->places;
}

/* 0: no room, with `limit` nodes in the table. */
static uint32_t intern_node(struct stacks *s, uint32_t parent, uint32_t place, uint32_t limit)
{
	uint32_t slot = slot_of((uint64_t)parent << 32 | place, s->nodes_slots);

	while (s->node_index[slot]) {
		const struct stacks_node *n = &s->node[s->node_index[slot]];

		if (n->parent == parent && n->place == place)
			return s->node_index[slot];
		if (++slot == s->nodes_slots)
			slot = 0;
	}
	if (s->nodes >= limit)
		return 0;
	s->node[++s->nodes] = (struct stacks_node){.parent = parent, .place = place};
	s->node_index[slot] = s->nodes;
	return s->nodes;
}

static uint32_t nodes_limit(const struct stacks *s)
{
	return s->nodes_max - s->nodes_max / RESERVED_PART;
}

static uint32_t cut(struct stacks *s, uint32_t parent)
{
	uint32_t node;

	if (stacks_is_cut(s, parent))
		return parent;
	node = intern_node(s, parent, s->cut_place, s->nodes_max);
	return node ? node : parent;
}

uint32_t stacks_child(struct stacks *s, uint32_t parent, uint32_t module, uint64_t offset)
{
	uint32_t place, node;

	if (!s->cut_place)
		s->cut_place = intern_place(s, HEAPCAST__PSEUDO_FRAME__FRAME_TABLE_FULL);
	if (stacks_is_cut(s, parent))
		return parent;
	place = intern_place(s, (uint64_t)module << 48 | (offset & STACKS_OFFSET_MAX));
	node = place ? intern_node(s, parent, place, nodes_limit(s)) : 0;
	return node ? node : cut(s, parent);
}

bool stacks_is_cut(const struct stacks *s, uint32_t node)
{
	return node && s->node[node].place == s->cut_place;
}

bool stacks_get(const struct stacks *s, uint32_t number, struct stack_node *ret)
{
	const struct stacks_node *n = &s->node[number > s->base ? number - s->base : 0];
	uint64_t place = s->place[n->place];

	if (number <= s->base) {
		*ret = (struct stack_node){.offset = HEAPCAST__PSEUDO_FRAME__FRAME_FORGOTTEN};
		return false;
	}
	*ret = (struct stack_node){
		.parent = stacks_number(s, n->parent),
		.module = (uint32_t)(place >> 48),
		.offset = place & STACKS_OFFSET_MAX,
	};
	return true;
}

bool stacks_has_room(const struct stacks *s, uint32_t frames)
{
	return nodes_limit(s) - s->nodes >= frames && s->places_max - s->places >= frames &&
	       s->nodes < nodes_limit(s);
}

void stacks_cache_clear(struct stacks *s)
{
	memset(s->cache, 0, CACHE_SIZE);
}

/* Marks the node and its ancestors; how many were not marked before. */
static uint32_t mark(struct stacks *s, uint32_t node)
{
	uint32_t count = 0;

	for (; node && !s->node_index[node]; node = s->node[node].parent, count++)
		s->node_index[node] = 1;
	return count;
}

/* Moves marked nodes to the front; node_index says where each has gone. A parent comes before its children. */
static void move_nodes(struct stacks *s)
{
	uint32_t kept = 0;

	for (uint32_t i = 1; i <= s->nodes; i++) {
		if (!s->node_index[i])
			continue;
		s->node[++kept] =
			(struct stacks_node){s->node_index[s->node[i].parent], s->node[i].place};
		s->node_index[i] = kept;
	}
	s->nodes = kept;
}

/* The same for the places that nodes still name. */
static void move_places(struct stacks *s)
{
	uint32_t kept = 0;

	memset(s->place_index, 0, s->places_slots * sizeof(*s->place_index));
	for (uint32_t i = 1; i <= s->nodes; i++)
		s->place_index[s->node[i].place] = 1;
	for (uint32_t i = 1; i <= s->places; i++) {
		if (!s->place_index[i])
			continue;
		s->place[++kept] = s->place[i];
		s->place_index[i] = kept;
	}
	for (uint32_t i = 1; i <= s->nodes; i++)
		s->node[i].place = s->place_index[s->node[i].place];
	s->places = kept;
	s->cut_place = 0;
}

static void index_again(struct stacks *s)
{
	uint32_t slot;

	memset(s->place_index, 0, s->places_slots * sizeof(*s->place_index));
	memset(s->node_index, 0, s->nodes_slots * sizeof(*s->node_index));
	for (uint32_t i = 1; i <= s->places; i++) {
		for (slot = slot_of(s->place[i], s->places_slots); s->place_index[slot];)
			slot = slot + 1 == s->places_slots ? 0 : slot + 1;
		s->place_index[slot] = i;
	}
	for (uint32_t i = 1; i <= s->nodes; i++) {
		slot = slot_of((uint64_t)s->node[i].parent << 32 | s->node[i].place,
			       s->nodes_slots);
		while (s->node_index[slot])
			slot = slot + 1 == s->nodes_slots ? 0 : slot + 1;
		s->node_index[slot] = i;
	}
}

/* The index of nodes is built again anyway, so it serves as mark and as map in between: it has more slots than there are
 * nodes. */
bool stacks_renew(struct stacks *s, struct stacks_path *path, uint32_t paths)
{
	uint32_t used = s->nodes, held = 0;

	memset(s->node_index, 0, s->nodes_slots * sizeof(*s->node_index));
	for (uint32_t i = 0; i < paths; i++)
		for (uint32_t k = 0; k < path[i].depth; k++)
			held += mark(s, path[i].node[k]);
	if (held > s->nodes_max / 2 || s->base > STACKS_NUMBER_MAX - 2 * s->nodes_max) {
		index_again(s);
		return false;
	}
	move_nodes(s);
	for (uint32_t i = 0; i < paths; i++)
		for (uint32_t k = 0; k < path[i].depth; k++)
			path[i].node[k] = s->node_index[path[i].node[k]];
	move_places(s);
	index_again(s);
	stacks_cache_clear(s);
	s->base += used;
	s->sent = 0;
	s->generations++;
	return true;
}
