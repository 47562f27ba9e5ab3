/* /data/ID/regions, /fragmentation, /fragmentation_timeline, /timeline_maps: how the heap lies in
 * memory, and the kernel's figures. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collector/answers/results.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/query/match/glibc_heap.h"
#include "collector/query/sums/live.h"
#include "collector/recording/figures.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* ---- ranges of memory with blocks in use ---- */

struct regions {
	struct glibc_heap heap;
	struct live_block *blocks;
	size_t count;
	/* Range of the blocks in use in the heap that brk made; end 0: none. */
	uint64_t main_start, main_end;
};

static void regions_done(void *result)
{
	free(((struct regions *)result)->blocks);
}

/* Computes the block's chunk in glibc's heap. Two words precede the block; the first of them also
 * belongs to the chunk before. The size is rounded up to two words, and is at least four. */
static void chunk_of(const struct glibc_heap *heap, const struct live_block *block,
		     uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t unit = 2 * heap->word, size = (block->size + heap->word + unit - 1) / unit * unit;

	if (size < 2 * unit)
		size = 2 * unit;
	*ret_start = block->address;
	*ret_end = block->address + block->size;
	if (heap->known && block->address >= unit) {
		*ret_start = block->address - unit;
		if (*ret_start + size > *ret_end)
			*ret_end = *ret_start + size;
	}
}

static void write_range(struct json *json, uint64_t start, uint64_t end)
{
	json_array(json, NULL);
	json_u64(json, NULL, start);
	json_u64(json, NULL, end);
	json_end(json, ']');
}

static int write_ranges(struct json *json, const struct answer_field *field, const void *object,
			const struct answer_context *context)
{
	const struct regions *regions = object;
	uint64_t start = 0, end = 0;

	(void)context;
	json_array(json, field->name);
	for (size_t i = 0; i < regions->count; i++) {
		uint64_t from, to;

		chunk_of(&regions->heap, &regions->blocks[i], &from, &to);
		if (i && from <= end) {
			end = to > end ? to : end;
			continue;
		}
		if (i)
			write_range(json, start, end);
		start = from;
		end = to;
	}
	if (regions->count)
		write_range(json, start, end);
	json_end(json, ']');
	return 0;
}

static void find_main_heap(struct regions *r)
{
	r->main_start = UINT64_MAX;
	for (size_t i = 0; i < r->count; i++) {
		uint64_t start, end;

		if (glibc_heap_part(&r->heap, r->blocks[i].address, r->blocks[i].size) !=
		    HEAP_PART_MAIN)
			continue;
		chunk_of(&r->heap, &r->blocks[i], &start, &end);
		r->main_start = start < r->main_start ? start : r->main_start;
		r->main_end = end > r->main_end ? end : r->main_end;
	}
}

static int regions_ask(struct asking *a)
{
	struct regions *regions = a->result;
	int r = query_live(a->view, &a->values.filter, a->values.at_ns, &regions->blocks,
			   &regions->count, &a->x->err);

	if (r < 0)
		return r;
	glibc_heap_init(&regions->heap, a->x->source->recording);
	find_main_heap(regions);
	return 0;
}

#define ANSWER_OF struct regions
static const struct answer_field regions_fields[] = {
	ROW_AS("main_heap_start", main_start, ANSWER_ADDRESS, "address",
	       "address of the first block in use of the main heap", .when = IF_NO_MAX),
	ROW_AS("main_heap_end", main_end, ANSWER_ADDRESS, "address",
	       "address of the last block in use of the main heap", .when = IF_SET),
	ROW_WRITTEN("regions", ANSWER_U64, "address", "[from, to] of each range, ascending",
		    write_ranges, .shape = ANSWER_PAIRS),
	{0},
};
#undef ANSWER_OF
static const struct answer regions_answer = {"regions", regions_fields};

const struct route regions_route = {
	.path = "regions",
	.about = "ranges of addresses with blocks in use",
	.flags = ROUTE_OF_RECORDING,
	.parameters = (const struct route_parameter[]){REQUEST_AT, {0}},
	.answer = &regions_answer,
	ROUTE_ASKS(struct regions, regions_ask, regions_done),
};

/* ---- fragmentation ---- */

#define ANSWER_OF struct fragmentation
static const struct answer_field fragmentation_fields[] = {
	ROW_AS("timestamp", at_ns, ANSWER_TIMES, "since the epoch",
	       "the moment that was asked for"),
	ROWS_SAME(fragmentation_answer),
	{0},
};
#undef ANSWER_OF
static const struct answer fragmentation_route_answer = {"fragmentation", fragmentation_fields};

static int fragmentation_ask(struct asking *a)
{
	return query_fragmentation(a->view, &a->values.filter, a->values.at_ns, a->result,
				   &a->x->err);
}

DEFINE_DONE(fragmentation_done)

const struct route fragmentation_route = {
	.path = "fragmentation",
	.about = "how blocks in use lie on pages",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters = (const struct route_parameter[]){REQUEST_AT, {0}},
	.answer = &fragmentation_route_answer,
	ROUTE_ASKS(struct fragmentation, fragmentation_ask, fragmentation_done_result),
};

/* ---- over time ---- */

struct over_time {
	struct figures_history history;
	/* One per reading: bytes in use, and the share of the heap that is not in use. */
	uint64_t *in_use;
	double *fragmented, *allocator_fragmented;
};

static void over_time_done(void *result)
{
	struct over_time *t = result;

	figures_history_done(&t->history);
	free(t->in_use);
	free(t->fragmented);
	free(t->allocator_fragmented);
}

#define ANSWER_OF struct over_time
#define FIGURE(member)                                                                             \
	ROW_COLUMN(#member, history.figures, history.figures_count, member, "bytes", "")
#define ALLOCATOR(member)                                                                          \
	ROW_COLUMN(#member, history.allocator, history.allocator_count, member, "bytes", "")
#define ROW_XS(readings)                                                                           \
	ROW_COLUMN_AS("xs", history.readings, history.readings##_count, time_ns, ANSWER_MS,        \
		      "ms since the epoch", "times of the readings")
static const struct answer_field timeline_maps_fields[] = {
	ROW_XS(figures),   FIGURE(address_space), FIGURE(rss),
	FIGURE(anonymous), FIGURE(dirty),	  FIGURE(clean),
	FIGURE(swap),	   FIGURE(pss),		  {0},
};
static const struct answer timeline_maps_answer = {"timeline_maps", timeline_maps_fields};

static const struct answer_field allocator_fields[] = {
	ROW_XS(allocator),
	ALLOCATOR(arena),
	ALLOCATOR(hblkhd),
	ALLOCATOR(uordblks),
	ALLOCATOR(fordblks),
	ALLOCATOR(keepcost),
	ROW_NUMBERS("fragmentation", allocator_fragmented, history.allocator_count, "part",
		    "fordblks / (arena + hblkhd)"),
	{0},
};
static const struct answer allocator_answer = {"allocator_figures", allocator_fields};

static const struct answer_field fragmentation_timeline_fields[] = {
	ROW_XS(figures),
	ROW_NUMBERS("fragmentation", fragmented, history.figures_count, "part",
		    "1 - in_use / anonymous"),
	ROW_NUMBERS("in_use", in_use, history.figures_count, "bytes",
		    "bytes in use in blocks of the program"),
	FIGURE(rss),
	FIGURE(anonymous),
	ROW_AGAIN("allocator", allocator_answer, "what glibc's mallinfo2 said"),
	{0},
};
#undef FIGURE
#undef ALLOCATOR
#undef ROW_XS
#undef ANSWER_OF
static const struct answer fragmentation_timeline_answer = {"fragmentation_timeline",
							    fragmentation_timeline_fields};

static int timeline_maps_ask(struct asking *a)
{
	struct over_time *t = a->result;

	return figures_over_time(recording_path(a->x->source->recording), &a->values.filter.cancel,
				 &t->history, &a->x->err);
}

const struct route timeline_maps_route = {
	.path = "timeline_maps",
	.about = "memory as the kernel counts it, over time",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.answer = &timeline_maps_answer,
	ROUTE_ASKS(struct over_time, timeline_maps_ask, over_time_done),
};

static int find_in_use(struct asking *a, struct over_time *t)
{
	const struct figures_history *h = &t->history;
	cleanup(cleanup_free) uint64_t *times = calloc(h->figures_count + 1, sizeof(*times));

	if (!times)
		return err_set(&a->x->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < h->figures_count; i++)
		times[i] = h->figures[i].time_ns;
	return query_in_use_at(a->view, &a->values.filter, times, h->figures_count, t->in_use,
			       &a->x->err);
}

/* Returns the share of the heap that is not in use. `heap` is the allocator's own figure if known,
 * else all anonymous memory. */
static double fragmented(uint64_t in_use, uint64_t heap)
{
	return heap && in_use < heap ? 1 - (double)in_use / (double)heap : 0;
}

static int fragmentation_timeline_ask(struct asking *a)
{
	struct over_time *t = a->result;
	const struct figures_history *h = &t->history;
	int r = timeline_maps_ask(a);

	if (r < 0)
		return r;
	t->in_use = calloc(h->figures_count + 1, sizeof(*t->in_use));
	t->fragmented = calloc(h->figures_count + 1, sizeof(*t->fragmented));
	t->allocator_fragmented = calloc(h->allocator_count + 1, sizeof(*t->allocator_fragmented));
	if (!t->in_use || !t->fragmented || !t->allocator_fragmented)
		return err_set(&a->x->err, -ENOMEM, "out of memory");
	r = find_in_use(a, t);
	for (size_t i = 0; i < h->figures_count; i++)
		t->fragmented[i] = fragmented(t->in_use[i], h->figures[i].anonymous);
	for (size_t i = 0; i < h->allocator_count; i++) {
		const struct allocator_info *of = &h->allocator[i];

		t->allocator_fragmented[i] =
			fragmented(of->uordblks + of->hblkhd, of->arena + of->hblkhd);
	}
	return r;
}

const struct route fragmentation_timeline_route = {
	.path = "fragmentation_timeline",
	.about = "memory beside what is in use, over time",
	.flags = ROUTE_OF_RECORDING,
	.answer = &fragmentation_timeline_answer,
	ROUTE_ASKS(struct over_time, fragmentation_timeline_ask, over_time_done),
};
