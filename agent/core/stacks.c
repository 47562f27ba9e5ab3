/* Implements the stack table. See stacks.h. */
#include "agent/core/stacks.h"

#include <assert.h>
#include <string.h>

#include "base/places.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define CACHE_PART	7
#define CACHE_SLOTS_MIN 256
#define NODES_A_PLACE	8
#define NODES_SMALL	2 /* in a small table, where most nodes have a place of their own */
#define SIZE_SMALL	(64u << 10)
#define BYTES_PER_THREE (8 * 3 + 4 * 4) /* three entries of 8 bytes and four slots of 4 */
#define LINE		16		/* index slots in a cache line: four bits of the hash */

static uint64_t hash_of_node(uint32_t parent, uint32_t place)
{
	return places_hash((uint64_t)parent << 32 | place);
}

static unsigned cache_bits(size_t size)
{
	size_t slots = size / CACHE_PART / sizeof(struct stacks_cached);

	return 63u - (unsigned)__builtin_clzll(slots > CACHE_SLOTS_MIN ? slots : CACHE_SLOTS_MIN);
}

static size_t cache_slots(const struct stacks *s)
{
	return (size_t)1 << (64 - s->cache_shift);
}

/* Returns the size of both caches in bytes. They are adjacent. */
static size_t caches_size(const struct stacks *s)
{
	return cache_slots(s) * sizeof(*s->cache) + cache_slots(s) / 4 * sizeof(*s->located);
}

void stacks_init(struct stacks *s, void *memory, size_t size)
{
	uint8_t *at = memory;
	size_t entries;
	uint32_t places, nodes;

	memset(memory, 0, size);
	*s = (struct stacks){.size = size, .cache_shift = 64 - cache_bits(size)};
	entries = (size - caches_size(s)) / BYTES_PER_THREE * 3;
	places = (uint32_t)(entries / ((size < SIZE_SMALL ? NODES_SMALL : NODES_A_PLACE) + 1));
	nodes = (uint32_t)entries - places;
	s->places_max = places - 1;
	s->places_slots = places / 3 * 4;
	s->nodes_max = nodes - 1;
	s->nodes_slots = nodes / 3 * 4;
	s->node_mask = UINT32_MAX >> __builtin_clz(nodes);
	s->lines_a_node = (uint32_t)(((uint64_t)(s->nodes_slots / LINE) << 32) / nodes);
	s->cache = (struct stacks_cached *)at;
	s->located = (struct stacks_located *)(s->cache + cache_slots(s));
	s->node_index = (uint32_t *)(at += caches_size(s));
	s->place = (uint64_t *)(at += s->nodes_slots * sizeof(*s->node_index));
	s->node = (struct stacks_node *)(at += places * sizeof(*s->place));
	s->place_index = (uint32_t *)(at + nodes * sizeof(*s->node));
	stacks_cache_clear(s);
}

static uint32_t intern_place(struct stacks *s, uint64_t place)
{
	uint32_t slot = places_home(places_hash(place), s->places_slots);

	while (s->place_index[slot]) {
		if (s->place[s->place_index[slot]] == place)
			return s->place_index[slot];
		slot = places_next(slot, s->places_slots);
	}
	if (s->places == s->places_max)
		return 0;
	s->place[++s->places] = place;
	s->place_index[slot] = s->places;
	return s->places;
}

/* Returns the index entry of the node `number`. */
static uint32_t index_entry(const struct stacks *s, uint64_t hash, uint32_t number)
{
	return ((uint32_t)hash & ~s->node_mask) | number;
}

/* Returns true if `entry` is the searched node, or an empty slot. */
static inline bool ends_search(const struct stacks *s, uint32_t entry, uint64_t hash,
			       uint32_t parent, uint32_t place)
{
	const struct stacks_node *n = &s->node[entry & s->node_mask];

	return !entry || (entry == index_entry(s, hash, entry & s->node_mask) &&
			  n->parent == parent && n->place == place);
}

/*
 * Returns the slot of the node, or the empty slot where it belongs. Most nodes lie in their
 * parent's line, which parents with near numbers share. New nodes hang below new nodes, so their
 * line is in the processor's cache. If the line is full, the hash alone decides. (Nodes are never
 * removed one by one, so a line with an empty slot was never full.)
 */
static inline uint32_t *node_slot(const struct stacks *s, uint64_t hash, uint32_t parent,
				  uint32_t place)
{
	uint32_t *line = s->node_index + ((uint64_t)parent * s->lines_a_node >> 32) * LINE;
	uint32_t slot = (uint32_t)(hash >> 60);

	for (unsigned i = 0; i < LINE; i++, slot = (slot + 1) % LINE)
		if (ends_search(s, line[slot], hash, parent, place))
			return &line[slot];
	slot = places_home(hash, s->nodes_slots);
	while (!ends_search(s, s->node_index[slot], hash, parent, place))
		slot = places_next(slot, s->nodes_slots);
	return &s->node_index[slot];
}

/* Returns 0 if the node is new and the table already has `limit` nodes. */
static uint32_t intern_node(struct stacks *s, uint32_t parent, uint32_t place, uint32_t limit)
{
	uint32_t next = parent + 1, *slot;
	uint64_t hash;

	if (next <= s->nodes && s->node[next].parent == parent && s->node[next].place == place)
		return next;
	if (next <= s->nodes) {
		hash = hash_of_node(parent, place);
		slot = node_slot(s, hash, parent, place);
		if (*slot)
			return *slot & s->node_mask;
		if (s->nodes < limit)
			*slot = index_entry(s, hash, s->nodes + 1);
	}
	if (s->nodes >= limit)
		return 0;
	s->node[++s->nodes] = (struct stacks_node){.parent = parent, .place = place};
	return s->nodes;
}

static uint32_t cut(struct stacks *s, uint32_t parent)
{
	uint32_t node;

	if (stacks_is_cut(s, parent))
		return parent;
	node = intern_node(s, parent, s->cut_place, s->nodes_max);
	s->has_cut |= node != 0;
	return node ? node : parent;
}

uint32_t stacks_place(struct stacks *s, uint32_t module, uint64_t offset)
{
	return intern_place(s, (uint64_t)module << 48 | (offset & STACKS_OFFSET_MAX));
}

uint32_t stacks_below(struct stacks *s, uint32_t parent, uint32_t place)
{
	uint32_t node;

	if (!s->cut_place)
		s->cut_place = intern_place(s, HEAPCAST__PSEUDO_FRAME__FRAME_TABLE_FULL);
	if (stacks_is_cut(s, parent))
		return parent;
	node = place ? intern_node(s, parent, place, stacks_limit(s)) : 0;
	return node ? node : cut(s, parent);
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

/* Fills the first cache with bytes 0xff: an empty slot, because no parent has that number. */
void stacks_cache_clear(struct stacks *s)
{
	memset(s->cache, 0xff, cache_slots(s) * sizeof(*s->cache));
	memset(s->located, 0, cache_slots(s) / 4 * sizeof(*s->located));
}

/* Marks the node and its ancestors. Returns how many were not marked before. */
static uint32_t stacks_mark(struct stacks *s, uint32_t node)
{
	uint32_t count = 0;

	for (; node && !s->node_index[node]; node = s->node[node].parent, count++)
		s->node_index[node] = 1;
	return count;
}

/* Moves marked nodes to the front and stores their new index in node_index. A parent comes before
 * its children, so its new index is already known. */
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

/* Moves the places of the remaining nodes to the front in the same way. */
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

static uint32_t free_slot(const uint32_t *index, uint32_t slots, uint64_t hash)
{
	uint32_t slot = places_home(hash, slots);

	while (index[slot])
		slot = places_next(slot, slots);
	return slot;
}

static void index_again(struct stacks *s)
{
	memset(s->place_index, 0, s->places_slots * sizeof(*s->place_index));
	memset(s->node_index, 0, s->nodes_slots * sizeof(*s->node_index));
	for (uint32_t i = 1; i <= s->places; i++)
		s->place_index[free_slot(s->place_index, s->places_slots,
					 places_hash(s->place[i]))] = i;
	for (uint32_t i = 1; i <= s->nodes; i++) {
		const struct stacks_node *n = &s->node[i];
		uint64_t hash = hash_of_node(n->parent, n->place);

		if (n->parent + 1 == i)
			continue;
		*node_slot(s, hash, n->parent, n->place) = index_entry(s, hash, i);
	}
}

static uint32_t mark_path(struct stacks *s, const struct stacks_path *path)
{
	uint32_t held = 0;

	for (uint32_t k = 0; k < path->depth; k++)
		held += stacks_mark(s, path->node[k]);
	return held;
}

static void renumber_path(const struct stacks *s, const struct stacks_path *path)
{
	for (uint32_t k = 0; k < path->depth; k++)
		if (path->node[k])
			path->node[k] = s->node_index[path->node[k]];
}

/* Rebuilds the index of nodes at the end. Until then the index stores marks and new numbers; it has
 * more slots than the table has nodes. */
bool stacks_renew(struct stacks *s, struct stacks_path *path, uint32_t paths,
		  struct stacks_path *more)
{
	uint32_t used = s->nodes, held;

	memset(s->node_index, 0, s->nodes_slots * sizeof(*s->node_index));
	held = mark_path(s, more);
	for (uint32_t i = 0; i < paths; i++)
		held += mark_path(s, &path[i]);
	if (held > s->nodes_max / 2 || s->base > STACKS_NUMBER_MAX - 2 * s->nodes_max) {
		index_again(s);
		return false;
	}
	move_nodes(s);
	for (uint32_t i = 0; i < paths; i++)
		renumber_path(s, &path[i]);
	renumber_path(s, more);
	move_places(s);
	index_again(s);
	stacks_cache_clear(s);
	s->base += used;
	s->sent = 0;
	s->generations++;
	return true;
}

/* Nodes and places keep their numbers, so references to them stay valid. */
void stacks_move(struct stacks *s, void *memory, size_t size)
{
	struct stacks from = *s;

	stacks_init(s, memory, size);
	memcpy(s->place, from.place, (from.places + 1) * sizeof(*s->place));
	memcpy(s->node, from.node, (from.nodes + 1) * sizeof(*s->node));
	s->places = from.places;
	s->nodes = from.nodes;
	s->cut_place = from.cut_place;
	s->has_cut = from.has_cut;
	s->sent = from.sent;
	s->base = from.base;
	s->generations = from.generations;
	index_again(s);
}
