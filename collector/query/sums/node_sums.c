/* Sums up blocks by node. See node_sums.h. */
#include "collector/query/sums/node_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "proto/culled.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/culled.h"

#include "base/ban.h"

#define RUN 64 /* rows that are handled together */

int node_sums_init(struct node_sums *sums, uint32_t nodes, const struct node_sums_what *what)
{
	*sums = (struct node_sums){.nodes = nodes, .what = *what};
	sums->by_node = calloc((size_t)nodes + 1, sizeof(*sums->by_node));
	if (what->only)
		sums->room = malloc(ROWS_PER_BLOCK * sizeof(*sums->room));
	return sums->by_node && (sums->room || !what->only) ? 0 : -ENOMEM;
}

void node_sums_done(struct node_sums *sums)
{
	free(sums->list);
	free(sums->sampled);
	free(sums->by_node);
	free(sums->room);
	*sums = (struct node_sums){0};
}

void node_sums_seal(struct node_sums *sums)
{
	free(take_ptr(sums->by_node));
	free(take_ptr(sums->room));
}

unsigned node_sums_columns(const struct node_sums *sums)
{
	return ROWS_STACK | ROWS_SIZE | ROWS_BIRTH | ROWS_WEIGHT |
	       (sums->what.ends ? ROWS_END : 0) | (sums->what.alive ? ROWS_DEATH : 0) |
	       (sums->what.chains ? ROWS_CHAIN : 0) |
	       (sums->what.only ? value_columns(sums->what.value) : 0);
}

/* Grows the list. realloc would not keep the alignment to cache lines. */
static int node_sums_grow(struct node_sums *sums)
{
	uint32_t capacity = sums->capacity ? 2 * sums->capacity : 64;
	struct node_sum *list = aligned_alloc(NODE_LINE, (size_t)capacity * sizeof(*list));

	if (!list)
		return -ENOMEM;
	if (sums->count)
		memcpy(list, sums->list, sums->count * sizeof(*list));
	free(sums->list);
	sums->list = list;
	sums->capacity = capacity;
	return 0;
}

int node_sums_reserve(struct node_sums *sums, uint32_t count, uint32_t sampled)
{
	while (sums->capacity < count)
		if (node_sums_grow(sums) < 0)
			return -ENOMEM;
	if (array_reserve(&sums->sampled, &sums->sampled_capacity, (uint64_t)sampled + 1,
			  sizeof(*sums->sampled)) < 0)
		return -ENOMEM;
	if (count)
		memset(sums->list, 0, count * sizeof(*sums->list));
	memset(sums->sampled, 0, ((size_t)sampled + 1) * sizeof(*sums->sampled));
	sums->count = count;
	sums->sampled_count = sampled;
	return 0;
}

/* Adds the sums of a node. Returns the index + 1, or 0 without memory. */
static __attribute__((noinline)) uint32_t add_node(struct node_sums *sums, uint32_t node)
{
	if (sums->count == sums->capacity && node_sums_grow(sums) < 0)
		return 0;
	sums->list[sums->count] =
		(struct node_sum){.node = node, .min_size = UINT64_MAX, .first_ns = UINT64_MAX};
	return sums->by_node[node] = ++sums->count;
}

/* Returns the sums of a node, for rows or other nodes; NULL without memory. */
static inline struct node_sum *node_sums_sum_of(struct node_sums *sums, uint32_t node)
{
	uint32_t index;

	if (__builtin_expect(node > sums->nodes, 0))
		node = 0;
	index = sums->by_node[node];
	if (__builtin_expect(!index, 0))
		index = add_node(sums, node);
	return index ? &sums->list[index - 1] : NULL;
}

static struct node_sampled *sampled_of(struct node_sums *sums, struct node_sum *sum)
{
	if (sum->sampled)
		return &sums->sampled[sum->sampled - 1];
	if (array_reserve(&sums->sampled, &sums->sampled_capacity,
			  (uint64_t)sums->sampled_count + 1, sizeof(*sums->sampled)) < 0)
		return NULL;
	memset(&sums->sampled[sums->sampled_count], 0, sizeof(*sums->sampled));
	sum->sampled = ++sums->sampled_count;
	return &sums->sampled[sum->sampled - 1];
}

static inline void node_sums_widen(struct node_sum *sum, uint64_t size, uint64_t birth)
{
	if (size < sum->min_size)
		sum->min_size = size;
	if (size > sum->max_size)
		sum->max_size = size;
	if (birth < sum->first_ns)
		sum->first_ns = birth;
	if (birth > sum->last_ns)
		sum->last_ns = birth;
}

static inline void node_sums_count(struct node_count *to, uint64_t size, uint64_t blocks)
{
	add_most(&to->blocks, blocks);
	add_most(&to->bytes, blocks ? size : 0);
}

static inline unsigned end_of(const struct row_block *block, uint32_t i)
{
	return block->end[i] <= BLOCK_EXEC ? block->end[i] : BLOCK_CENSORED;
}

/* Finds the sums for the rows of a run, and prefetches each while the others are looked up: 20,000
 * stacks do not fit into the processor's nearer caches. */
static int find_sums(struct node_sums *sums, const struct row_block *block,
		     const struct row_set *rows, uint32_t first, uint32_t count, uint32_t *indices)
{
	for (uint32_t k = 0; k < count; k++) {
		const struct node_sum *sum =
			node_sums_sum_of(sums, block->stack[row_at(rows, first + k)]);

		if (!sum)
			return -ENOMEM;
		__builtin_prefetch(sum, 1);
		indices[k] = (uint32_t)(sum - sums->list);
	}
	return 0;
}

/* Adds the rows of a block without weights. This is the hot path: the flags that are constant for a
 * block are constants for the compiler. */
static inline __attribute__((always_inline)) int add_exact(struct node_sums *sums,
							   const struct row_block *block,
							   const struct row_set *rows, bool all,
							   bool ends, bool alive)
{
	const uint64_t at_ns = sums->what.at_ns;
	uint32_t indices[RUN];

	for (uint32_t first = 0; first < rows->count; first += RUN) {
		uint32_t count_here = rows->count - first < RUN ? rows->count - first : RUN;

		if (find_sums(sums, block, rows, first, count_here, indices) < 0)
			return -ENOMEM;
		for (uint32_t k = 0; k < count_here; k++) {
			uint32_t i = all ? rows->first + first + k : rows->list[first + k];
			uint64_t size = block->size[i], birth = block->birth_ns[i];
			struct node_sum *sum = &sums->list[indices[k]];

			node_sums_widen(sum, size, birth);
			node_sums_count(&sum->by_end[ends ? end_of(block, i) : 0], size, 1);
			if (alive)
				node_sums_count(&sum->alive, size,
						(birth <= at_ns) & (block->death_ns[i] > at_ns));
		}
	}
	return 0;
}

/* Returns the end that a survivor is counted under; NODE_ENDS: it is not counted. */
static unsigned survivor_end(const struct node_sums *sums, const struct row_block *block,
			     uint32_t i)
{
	if (sums->what.only)
		return 0;
	if (!sums->what.ends)
		return NODE_ENDS;
	return row_leaked(block, i)  ? NODE_SURVIVING
	       : row_freed(block, i) ? NODE_SURVIVOR_FREED
				     : NODE_ENDS;
}

static bool is_survivor(const struct node_sums *sums, const struct row_block *block, uint32_t i)
{
	return sums->apart && row_survivor(block, i);
}

static int add_weighed(struct node_sums *sums, const struct row_block *block,
		       const struct row_set *rows)
{
	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t size = block->size[i], weight = block->weight[i];
		struct node_sum *sum = node_sums_sum_of(sums, block->stack[i]);
		bool alive = sums->what.alive && row_alive(block, i, sums->what.at_ns);
		bool survivor = is_survivor(sums, block, i);
		unsigned end = survivor		 ? survivor_end(sums, block, i)
			       : sums->what.ends ? end_of(block, i)
						 : 0;
		struct node_sampled *sampled;

		if (!sum)
			return -ENOMEM;
		if (!survivor || sums->what.only)
			node_sums_widen(sum, size, block->birth_ns[i]);
		if (block->exact) {
			uint64_t blocks = row_counts(block, i);

			node_sums_count(&sum->by_end[end], product_most(blocks, size), blocks);
			node_sums_count(&sum->alive, product_most(blocks, size),
					alive ? blocks : 0);
			continue;
		}
		if (!tally_is_sampled(size, weight)) {
			node_sums_count(&sum->by_end[end], size, 1);
			node_sums_count(&sum->alive, size, alive);
			continue;
		}
		sampled = sampled_of(sums, sum);
		if (!sampled)
			return -ENOMEM;
		if (end < NODE_ENDS)
			tally_add_sampled(&sampled->by_end[end], size, weight);
		if (alive)
			tally_add_sampled(&sampled->alive, size, weight);
	}
	return 0;
}

static int node_sums_add_rows(struct node_sums *sums, const struct row_block *block,
			      const struct row_set *rows)
{
	bool alive = sums->what.alive && value_possible(VALUE_IN_USE, sums->what.at_ns, block);

	if (block->weight)
		return add_weighed(sums, block, rows);
	if (!rows->list && sums->what.ends)
		return alive ? add_exact(sums, block, rows, true, true, true)
			     : add_exact(sums, block, rows, true, true, false);
	if (!rows->list)
		return alive ? add_exact(sums, block, rows, true, false, true)
			     : add_exact(sums, block, rows, true, false, false);
	if (sums->what.ends)
		return alive ? add_exact(sums, block, rows, false, true, true)
			     : add_exact(sums, block, rows, false, true, false);
	return alive ? add_exact(sums, block, rows, false, false, true)
		     : add_exact(sums, block, rows, false, false, false);
}

static uint64_t count_reallocated(const struct row_block *block, const struct row_set *rows)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < rows->count; k++)
		n += block->chain_previous[row_at(rows, k)] != NO_BLOCK;
	return n;
}

int node_sums_add(struct node_sums *sums, const struct row_block *block, const struct row_set *rows)
{
	struct row_set counted = *rows;

	if (sums->what.only)
		counted = value_select(sums->what.value, sums->what.at_ns, block, rows, sums->room);
	if (sums->what.chains)
		sums->reallocations += count_reallocated(block, &counted);
	return node_sums_add_rows(sums, block, &counted);
}

/* Adds those blocks of a culled sum that ended in this way. */
static int add_culled(struct node_sums *sums, struct node_sum *sum, const struct culled_row *row,
		      uint64_t blocks, uint64_t bytes, enum block_end end)
{
	struct culled_row part = *row;
	struct tally tally = {0};
	struct node_sampled *sampled;
	unsigned to = sums->what.ends ? end : 0;

	if (!blocks)
		return 0;
	part.blocks = blocks;
	part.bytes = bytes;
	tally_add_culled(&tally, &part);
	if (!tally_sampled(&tally)) {
		add_most(&sum->by_end[to].blocks, tally.blocks);
		add_most(&sum->by_end[to].bytes, tally.bytes);
		return 0;
	}
	sampled = sampled_of(sums, sum);
	if (!sampled)
		return -ENOMEM;
	tally_merge(&sampled->by_end[to], &tally);
	return 0;
}

/* The bytes of reallocated blocks are unknown; no query needs them. */
int node_sums_add_culled(struct node_sums *sums, const struct culled_row *row)
{
	struct node_sum *sum = node_sums_sum_of(sums, row->stack);
	int r;

	if (!sum)
		return -ENOMEM;
	node_sums_widen(sum, row->size_least, row->first_ns);
	node_sums_widen(sum, row->size_most, row->last_ns);
	r = add_culled(sums, sum, row, row->blocks - row->reallocated, row->bytes, BLOCK_FREED);
	return r ? r
		 : add_culled(sums, sum, row, row->reallocated,
			      row->blocks == row->reallocated ? row->bytes : 0, BLOCK_REALLOCATED);
}

static int merge_sampled(struct node_sums *into, struct node_sum *sum,
			 const struct node_sampled *from)
{
	struct node_sampled *to = sampled_of(into, sum);

	if (!to)
		return -ENOMEM;
	tally_merge(&to->alive, &from->alive);
	for (unsigned e = 0; e < NODE_ENDS; e++)
		tally_merge(&to->by_end[e], &from->by_end[e]);
	return 0;
}

int node_sums_merge(struct node_sums *into, const struct node_sums *from)
{
	int r = 0;

	into->reallocations += from->reallocations;
	for (uint32_t i = 0; !r && i < from->count; i++) {
		const struct node_sum *one = &from->list[i];
		struct node_sum *sum = node_sums_sum_of(into, one->node);

		if (!sum)
			return -ENOMEM;
		node_sums_widen(sum, one->min_size, one->first_ns);
		node_sums_widen(sum, one->max_size, one->last_ns);
		node_sums_count(&sum->alive, one->alive.bytes, one->alive.blocks);
		for (unsigned e = 0; e < NODE_ENDS; e++)
			node_sums_count(&sum->by_end[e], one->by_end[e].bytes,
					one->by_end[e].blocks);
		if (one->sampled)
			r = merge_sampled(into, sum, &from->sampled[one->sampled - 1]);
	}
	return r;
}

const struct node_sum *node_sums_get(const struct node_sums *sums, uint32_t node)
{
	return node <= sums->nodes && sums->by_node[node] ? &sums->list[sums->by_node[node] - 1]
							  : NULL;
}

static void add_to(struct tally *tally, const struct node_count *exact, const struct tally *sampled)
{
	add_most(&tally->blocks, exact->blocks);
	add_most(&tally->bytes, exact->bytes);
	if (sampled)
		tally_merge(tally, sampled);
}

struct tally node_sum_ended(const struct node_sums *sums, const struct node_sum *sum, unsigned end)
{
	struct tally tally = {0};

	add_to(&tally, &sum->by_end[end],
	       sum->sampled ? &sums->sampled[sum->sampled - 1].by_end[end] : NULL);
	return tally;
}

static bool end_counts(enum value value, unsigned end)
{
	if (value == VALUE_LEAKED)
		return end == BLOCK_IN_USE || end == NODE_SURVIVING;
	if (value == VALUE_FREED)
		return end == BLOCK_FREED || end == BLOCK_REALLOCATED || end == BLOCK_INFERRED ||
		       end == NODE_SURVIVOR_FREED;
	return end != NODE_SURVIVING && end != NODE_SURVIVOR_FREED;
}

struct tally node_sum_tally(const struct node_sums *sums, const struct node_sum *sum,
			    enum value value)
{
	const struct node_sampled *sampled = sum->sampled ? &sums->sampled[sum->sampled - 1] : NULL;
	struct tally tally = {0};

	if (value == VALUE_IN_USE || value == VALUE_PEAK) {
		add_to(&tally, &sum->alive, sampled ? &sampled->alive : NULL);
		return tally;
	}
	for (unsigned e = 0; e < NODE_ENDS; e++)
		if (end_counts(value, e))
			add_to(&tally, &sum->by_end[e], sampled ? &sampled->by_end[e] : NULL);
	return tally;
}

struct tally node_sums_total(const struct node_sums *sums, enum value value)
{
	struct tally total = {0};

	for (uint32_t i = 0; i < sums->count; i++) {
		struct tally one = node_sum_tally(sums, &sums->list[i], value);

		tally_merge(&total, &one);
	}
	return total;
}

int node_sums_set_alive(struct node_sums *sums, const struct node_sums *alive)
{
	for (uint32_t i = 0; i < alive->count; i++) {
		const struct node_sum *from = &alive->list[i];
		struct node_sum *to = node_sums_sum_of(sums, from->node);

		if (!to || (from->sampled && !sampled_of(sums, to)))
			return -ENOMEM;
		to->alive = from->by_end[0];
		if (from->sampled)
			sums->sampled[to->sampled - 1].alive =
				alive->sampled[from->sampled - 1].by_end[0];
	}
	return 0;
}

/* ---- one sweep ---- */

static int node_sums_part_new(void *context, void **ret_part)
{
	const struct node_sums *whole = context;
	struct node_sums *part = malloc(sizeof(*part));
	int r;

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	r = node_sums_init(part, whole->nodes, &whole->what);
	part->apart = whole->apart;
	return r;
}

static int node_sums_part_rows(void *part, const struct row_block *block,
			       const struct row_set *rows)
{
	return node_sums_add(part, block, rows);
}

static void part_end(void *part)
{
	node_sums_seal(part);
}

static int node_sums_part_merge(void *context, void *part)
{
	return node_sums_merge(context, part);
}

static void node_sums_part_free(void *part)
{
	node_sums_done(part);
	free(part);
}

static bool part_skips(const void *context, const struct row_block *zone)
{
	const struct node_sums_what *what = &((const struct node_sums *)context)->what;

	return what->only && !value_possible(what->value, what->at_ns, zone);
}

int node_sums_of(struct node_sums *sums, const struct matcher *matcher, uint32_t nodes,
		 const struct node_sums_what *what, struct err_text *err)
{
	struct matcher seeing = *matcher;
	int r = node_sums_init(sums, nodes, what);

	seeing.hides_survivors &= what->only && !value_has_survivors(what->value);
	sums->apart = matcher->hides_survivors;
	if (!r)
		r = sweep_run(&(struct sweep){.matcher = &seeing,
					      .columns = node_sums_columns(sums),
					      .context = sums,
					      .skips = part_skips,
					      .part_new = node_sums_part_new,
					      .part_rows = node_sums_part_rows,
					      .part_end = part_end,
					      .part_merge = node_sums_part_merge,
					      .part_free = node_sums_part_free},
			      err);
	else
		err_set(err, r, "out of memory");
	if (!r && !what->rows && (!what->only || culled_counts(what->value)))
		culled_each(matcher, row) r = r ? r : node_sums_add_culled(sums, row);
	if (r < 0)
		node_sums_done(sums);
	return r;
}
