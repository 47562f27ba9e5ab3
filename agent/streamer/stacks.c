/* The stack table. See stacks.h. */
#include "agent/streamer/stacks.h"

#include <assert.h>
#include <string.h>

#include "base/ban.h"

#define CACHE_SIZE	 (STACKS_CACHE_SLOTS * sizeof(struct stacks_cached))
#define BYTES_PER_ENTRY	 (8 * 3 + 4 * 4) /* three entries of 8 bytes and four slots of 4 */
#define RESERVED_PART	 16

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
	node = place ? intern_node(s, parent, place, s->nodes_max - s->nodes_max / RESERVED_PART) : 0;
	return node ? node : cut(s, parent);
}

bool stacks_is_cut(const struct stacks *s, uint32_t node)
{
	return node && s->node[node].place == s->cut_place;
}

void stacks_get(const struct stacks *s, uint32_t node, struct stack_node *ret)
{
	uint64_t place = s->place[s->node[node].place];

	*ret = (struct stack_node){
		.parent = s->node[node].parent,
		.module = (uint32_t)(place >> 48),
		.offset = place & STACKS_OFFSET_MAX,
	};
}

void stacks_cache_clear(struct stacks *s)
{
	memset(s->cache, 0, CACHE_SIZE);
}
