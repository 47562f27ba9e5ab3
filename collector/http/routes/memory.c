/* How the heap lies in memory, and what the kernel counted: /data/ID/regions, /fragmentation,
 * /fragmentation_timeline, /timeline_maps. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/answers/results.h"
#include "collector/answers/json.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/query/match/glibc_heap.h"
#include "collector/query/sums/live.h"
#include "collector/recording/figures.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* ---- ranges of memory with blocks in use ---- */

const struct route_parameter regions_parameters[] = {WHAT_AT, {0}};

/* The block's chunk in glibc's heap: two words lie in front, the first of which is also the last
 * word of the chunk before. The size is rounded up to two words, and at least four. */
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

static const struct answer_field regions_fields[] = {
	BY_HAND("main_heap_start", ANSWER_ADDRESS, "address", "of its first block in use",
		.when = SOMETIMES),
	BY_HAND("main_heap_end", ANSWER_ADDRESS, "address", "of its last block in use",
		.when = SOMETIMES),
	BY_HAND("regions", ANSWER_U64, "address", "[from, to] of each, ascending",
		.shape = ANSWER_PAIRS),
	{0},
};
const struct answer regions_answer = {"regions", regions_fields};

static void write_range(struct json *json, uint64_t start, uint64_t end)
{
	json_array(json, NULL);
	json_u64(json, NULL, start);
	json_u64(json, NULL, end);
	json_end(json, ']');
}

static void write_ranges(struct json *json, const struct glibc_heap *heap,
			 const struct live_block *blocks, size_t count)
{
	uint64_t start = 0, end = 0;

	json_array(json, "regions");
	for (size_t i = 0; i < count; i++) {
		uint64_t from, to;

		chunk_of(heap, &blocks[i], &from, &to);
		if (i && from <= end) {
			end = to > end ? to : end;
			continue;
		}
		if (i)
			write_range(json, start, end);
		start = from;
		end = to;
	}
	if (count)
		write_range(json, start, end);
	json_end(json, ']');
}

/* Writes where the part of the heap lies that brk made, as far as blocks in use show it. */
static void write_main_heap(struct json *json, const struct glibc_heap *heap,
			    const struct live_block *blocks, size_t count)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t start, end;

		if (glibc_heap_part(heap, blocks[i].address, blocks[i].size) != HEAP_PART_MAIN)
			continue;
		chunk_of(heap, &blocks[i], &start, &end);
		first = start < first ? start : first;
		last = end > last ? end : last;
	}
	if (last) {
		json_address(json, "main_heap_start", first);
		json_address(json, "main_heap_end", last);
	}
}

int regions_step(struct exchange *x)
{
	cleanup(cleanup_free) struct live_block *blocks = NULL;
	cleanup(what_done) struct what what;
	struct glibc_heap heap;
	struct json json;
	size_t count = 0;
	int r = what_read(x, regions_parameters, &what);

	if (!r)
		r = query_live(x->source->view, &what.filter, what.at_ns, &blocks, &count, &x->err);
	if (r < 0)
		return r;
	glibc_heap_init(&heap, x->source->recording);
	json_answer(&json, x);
	write_main_heap(&json, &heap, blocks, count);
	write_ranges(&json, &heap, blocks, count);
	json_end(&json, '}');
	return buf_error(&x->out);
}

/* ---- fragmentation ---- */

const struct route_parameter fragmentation_parameters[] = {WHAT_AT, {0}};

static const struct answer_field fragmentation_fields[] = {
	BY_HAND("timestamp", ANSWER_TIMES, "since the epoch", "the moment"),
	ROWS_BY_HAND(fragmentation_answer),
	{0},
};
const struct answer fragmentation_route_answer = {"fragmentation", fragmentation_fields};

int fragmentation_step(struct exchange *x)
{
	cleanup(fragmentation_done) struct fragmentation fragmentation = {0};
	cleanup(what_done) struct what what;
	struct json json;
	int r = what_read(x, fragmentation_parameters, &what);

	if (!r)
		r = query_fragmentation(x->source->view, &what.filter, what.at_ns, &fragmentation,
					&x->err);
	if (r < 0)
		return r;
	json_answer(&json, x);
	json_times(&json, "timestamp", x->source->view, fragmentation.at_ns);
	json_fragmentation(&json, &fragmentation);
	json_end(&json, '}');
	return buf_error(&x->out);
}

/* ---- over time ---- */

static int read_history(struct exchange *x, struct figures_history *ret_history)
{
	int r = no_parameters(x);

	return r ? r
		 : figures_over_time(recording_path(x->source->recording),
				     &(struct cancel){.asked = &x->cancelled}, ret_history,
				     &x->err);
}

static uint64_t ms_at(const struct exchange *x, uint64_t ns)
{
	return (recording_process(x->source->recording)->start_wall_ns + ns) / 1000000;
}

static void write_xs(struct json *json, const struct exchange *x, const struct figures_history *h)
{
	json_array(json, "xs");
	for (size_t i = 0; i < h->figures_count; i++)
		json_u64(json, NULL, ms_at(x, h->figures[i].time_ns));
	json_end(json, ']');
}

#define ROW_XS                                                                                     \
	BY_HAND("xs", ANSWER_U64, "ms since the epoch", "of the readings", .shape = ANSWER_LIST)

#define ANSWER_OF	     struct figures_history
#define FIGURE(member, text) ROW_COLUMN(#member, figures, figures_count, member, "bytes", text)
#define ALLOCATOR(member)    ROW_COLUMN(#member, allocator, allocator_count, member, "bytes", "")
static const struct answer_field timeline_maps_fields[] = {
	ROW_XS,
	FIGURE(address_space, ""),
	FIGURE(rss, ""),
	FIGURE(anonymous, ""),
	FIGURE(dirty, ""),
	FIGURE(clean, ""),
	FIGURE(swap, ""),
	FIGURE(pss, ""),
	{0},
};
const struct answer timeline_maps_answer = {"timeline_maps", timeline_maps_fields};

static const struct answer_field allocator_fields[] = {
	ROW_XS,
	ALLOCATOR(arena),
	ALLOCATOR(hblkhd),
	ALLOCATOR(uordblks),
	ALLOCATOR(fordblks),
	ALLOCATOR(keepcost),
	BY_HAND("fragmentation", ANSWER_DOUBLE, "part", "fordblks / (arena + hblkhd)",
		.shape = ANSWER_LIST),
	{0},
};
static const struct answer allocator_answer = {"allocator_figures", allocator_fields};

static const struct answer_field fragmentation_timeline_fields[] = {
	ROW_XS,
	BY_HAND("fragmentation", ANSWER_DOUBLE, "part", "1 - in_use / anonymous",
		.shape = ANSWER_LIST),
	BY_HAND("in_use", ANSWER_U64, "bytes", "of the program's blocks", .shape = ANSWER_LIST),
	FIGURE(rss, ""),
	FIGURE(anonymous, ""),
	BY_HAND("allocator", ANSWER_OBJECT, NULL, "what glibc's mallinfo2 said",
		.of = &allocator_answer),
	{0},
};
#undef FIGURE
#undef ALLOCATOR
#undef ANSWER_OF
const struct answer fragmentation_timeline_answer = {"fragmentation_timeline",
						     fragmentation_timeline_fields};

int timeline_maps_step(struct exchange *x)
{
	cleanup(figures_history_done) struct figures_history h = {0};
	struct json json;
	int r = read_history(x, &h);

	if (r < 0)
		return r;
	json_answer(&json, x);
	write_xs(&json, x, &h);
	json_members(&json, &timeline_maps_answer, &h, NULL);
	json_end(&json, '}');
	return buf_error(&x->out);
}

/* Returns how many bytes were in use at each reading. The caller frees it. */
static int in_use_at(struct exchange *x, const struct figures_history *h, uint64_t **ret_bytes)
{
	cleanup(cleanup_free) uint64_t *times = calloc(h->figures_count + 1, sizeof(*times));
	cleanup(cleanup_free) uint64_t *bytes = calloc(h->figures_count + 1, sizeof(*bytes));
	struct filter filter;
	int r;

	if (!times || !bytes)
		return err_set(&x->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < h->figures_count; i++)
		times[i] = h->figures[i].time_ns;
	filter_init(&filter);
	filter.cancel.asked = &x->cancelled;
	r = query_in_use_at(x->source->view, &filter, times, h->figures_count, bytes, &x->err);
	filter_done(&filter);
	if (!r)
		*ret_bytes = take_ptr(bytes);
	return r;
}

/* How much memory the heap has from the system: what the allocator said, else all anonymous memory.
 */
static double fragmented(uint64_t in_use, uint64_t heap)
{
	return heap && in_use < heap ? 1 - (double)in_use / (double)heap : 0;
}

int fragmentation_timeline_step(struct exchange *x)
{
	cleanup(figures_history_done) struct figures_history h = {0};
	cleanup(cleanup_free) uint64_t *in_use = NULL;
	struct json json;
	int r = read_history(x, &h);

	if (!r)
		r = in_use_at(x, &h, &in_use);
	if (r < 0)
		return r;
	json_answer(&json, x);
	write_xs(&json, x, &h);
	json_array(&json, "fragmentation");
	for (size_t i = 0; i < h.figures_count; i++)
		json_double(&json, NULL, fragmented(in_use[i], h.figures[i].anonymous));
	json_end(&json, ']');
	json_array(&json, "in_use");
	for (size_t i = 0; i < h.figures_count; i++)
		json_u64(&json, NULL, in_use[i]);
	json_end(&json, ']');
	json_members(&json, &fragmentation_timeline_answer, &h, NULL);
	json_object(&json, "allocator");
	json_array(&json, "xs");
	for (size_t i = 0; i < h.allocator_count; i++)
		json_u64(&json, NULL, ms_at(x, h.allocator[i].time_ns));
	json_end(&json, ']');
	json_members(&json, &allocator_answer, &h, NULL);
	json_array(&json, "fragmentation");
	for (size_t i = 0; i < h.allocator_count; i++)
		json_double(&json, NULL,
			    fragmented(h.allocator[i].uordblks + h.allocator[i].hblkhd,
				       h.allocator[i].arena + h.allocator[i].hblkhd));
	json_end(&json, ']');
	json_end(&json, '}');
	json_end(&json, '}');
	return buf_error(&x->out);
}
