/* Finds nodes. See stream_nodes.h. */
#include "agent/stream/stream_nodes.h"

#include "agent/core/run.h"
#include "base/ban.h"

static uint32_t stream_nodes_find_place(struct stream *s, uint64_t pc, uint32_t epoch)
{
	/* A return address may be the first address after its module, so the call before it is
	 * looked up. */
	const struct module_place *in =
		pc < RUN_PSEUDO_LIMIT ? NULL : modules_find(&s->modules, pc - 1, epoch);

	return in ? stacks_place(&s->stacks, in->number, pc - in->bias)
		  : stacks_place(&s->stacks, 0, pc);
}

uint32_t stream_find_node(struct stream *s, uint32_t parent, uint64_t pc, uint32_t epoch,
			  struct stacks_cached *cached)
{
	uint64_t key = stream_cache_key(pc, epoch);
	struct stacks_located *located = stacks_located(&s->stacks, key);
	uint32_t node;

	if (located->key != key || !located->place)
		*located = (struct stacks_located){.key = key,
						   .place = stream_nodes_find_place(s, pc, epoch)};
	node = stacks_below(&s->stacks, parent, (uint32_t)located->place);
	*cached = (struct stacks_cached){.key = key, .parent = parent, .node = node};
	return node;
}

uint32_t stream_find_chain(struct stream *s, uint32_t parent, uint64_t *trail, uint32_t *to,
			   const uint64_t *pcs, uint32_t count, uint32_t epoch)
{
	uint32_t i = count;

	for (; i; i--) {
		uint64_t pc = __atomic_load_n(&pcs[i - 1], __ATOMIC_RELAXED),
			 key = stream_cache_key(pc, epoch);
		const struct stacks_located *located = stacks_located(&s->stacks, key);

		if (located->key != key)
			break;
		parent = stacks_next(&s->stacks, parent, (uint32_t)located->place);
		if (!parent)
			break;
		stacks_cached(s->stacks.cache, s->stacks.cache_shift, trail, key);
		*to++ = parent;
	}
	return i;
}
