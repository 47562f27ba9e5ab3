/* Finds how blocks fill pages, and pages fill regions. See fragmentation.h. */
#include "collector/query/sums/fragmentation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/sums/live.h"
#include "collector/query/match/view.h"
#include "collector/recording/info.h"
#include "collector/recording/maps.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* The page that is being filled, and its region. */
struct filling {
	struct fragmentation *to;
	uint64_t page, bytes; /* page: its address; bytes 0: none yet */
	size_t region;
};

static struct heap_region *region_at(struct filling *f, uint64_t address)
{
	struct fragmentation *to = f->to;

	while (f->region < to->region_count &&
	       to->regions[f->region].address + to->regions[f->region].size <= address)
		f->region++;
	return f->region < to->region_count && to->regions[f->region].address <= address
		       ? &to->regions[f->region]
		       : NULL;
}

static void close_page(struct filling *f)
{
	struct fragmentation *to = f->to;
	uint64_t bytes = f->bytes < to->page_size ? f->bytes : to->page_size;
	uint64_t class = bytes * FRAGMENTATION_CLASSES / to->page_size;
	struct heap_region *region;

	if (!f->bytes)
		return;
	if (class == FRAGMENTATION_CLASSES)
		class --;
	to->pages++;
	to->by_fill[class].pages++;
	to->by_fill[class].bytes += bytes;
	region = region_at(f, f->page);
	if (region) {
		region->pages++;
		region->bytes += bytes;
	}
	f->bytes = 0;
}

/* Counts all pages that the block covers completely, at once. `*from` must begin a page, else
 * nothing happens. */
static void fill_whole(struct filling *f, uint64_t *from, uint64_t end)
{
	struct fragmentation *to = f->to;
	uint64_t count = (end - *from) / to->page_size;
	struct heap_region *region;

	if (!count || *from % to->page_size)
		return;
	close_page(f);
	region = region_at(f, *from);
	to->pages += count;
	to->by_fill[FRAGMENTATION_CLASSES - 1].pages += count;
	to->by_fill[FRAGMENTATION_CLASSES - 1].bytes += count * to->page_size;
	if (region) {
		region->pages += count;
		region->bytes += count * to->page_size;
	}
	*from += count * to->page_size;
}

static void put_bytes(struct filling *f, uint64_t from, uint64_t end)
{
	uint64_t page_size = f->to->page_size;

	while (from < end) {
		uint64_t page = from - from % page_size, to = page + page_size;

		if (f->bytes && page != f->page)
			close_page(f);
		fill_whole(f, &from, end);
		if (from >= end)
			return;
		page = from - from % page_size;
		to = page + page_size < end ? page + page_size : end;
		f->page = page;
		f->bytes += to - from;
		from = to;
	}
}

static void fragmentation_fill(struct fragmentation *to, const struct live_block *blocks,
			       size_t count)
{
	struct filling filling = {.to = to}, places = {.to = to};

	for (size_t i = 0; i < count; i++) {
		uint64_t end;
		struct heap_region *region = region_at(&places, blocks[i].address);

		to->blocks++;
		to->bytes += blocks[i].size;
		if (region)
			region->blocks++;
		if (__builtin_add_overflow(blocks[i].address, blocks[i].size, &end))
			continue;
		put_bytes(&filling, blocks[i].address, end);
	}
	close_page(&filling);
}

/* ---- regions ---- */

static bool may_be_heap(const struct map_region *r)
{
	return !strcmp(r->name, "[heap]") ||
	       (!r->inode && (r->flags & HEAPCAST__MAP_FLAG__MAP_WRITABLE) &&
		!(r->flags & HEAPCAST__MAP_FLAG__MAP_SHARED) &&
		(!r->name[0] || !strncmp(r->name, "[anon", 5)));
}

static int list_regions(struct fragmentation *to, const struct maps_state *state)
{
	to->regions = calloc(state->count + 1, sizeof(*to->regions));
	if (!to->regions)
		return -ENOMEM;
	for (size_t i = 0; i < state->count; i++) {
		const struct map_region *r = &state->region[i];
		struct heap_region *region = &to->regions[to->region_count];

		if (!may_be_heap(r))
			continue;
		*region = (struct heap_region){.address = r->start,
					       .size = r->end - r->start,
					       .resident = r->usage.rss * 1024};
		snprintf(region->name, sizeof(region->name), "%s", r->name);
		to->region_count++;
	}
	return 0;
}

static int fragmentation_read_maps(struct fragmentation *to, const char *path,
				   const struct cancel *cancel, struct err_text *err)
{
	struct maps_state state = {0};
	int r = maps_follow(path, to->at_ns, cancel, &state, NULL, err);

	to->gathered = state.any;
	to->maps_ns = state.time_ns;
	if (!r && list_regions(to, &state) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	maps_state_done(&state);
	return r;
}

static int most_resident_first(const void *a, const void *b)
{
	const struct heap_region *x = a, *y = b;

	if (x->resident != y->resident)
		return x->resident > y->resident ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Drops anonymous regions without a block: they are no heap. */
static void keep_heap(struct fragmentation *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < to->region_count; i++) {
		struct heap_region *region = &to->regions[i];

		if (!region->pages && strcmp(region->name, "[heap]") != 0)
			continue;
		to->resident += region->resident;
		region->page_bytes = region->pages * to->page_size;
		to->regions[kept++] = *region;
	}
	if (kept)
		qsort(to->regions, kept, sizeof(*to->regions), most_resident_first);
	to->region_count = kept < FRAGMENTATION_REGIONS ? kept : FRAGMENTATION_REGIONS;
}

static double fragmentation_part_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void work_out_parts(struct fragmentation *to)
{
	for (unsigned i = 0; i < FRAGMENTATION_CLASSES; i++)
		to->by_fill[i].fill_min = (double)i / FRAGMENTATION_CLASSES;
	to->page_bytes = to->pages * to->page_size;
	to->page_fill = fragmentation_part_of(to->bytes, to->page_bytes);
	to->fragmentation =
		to->bytes < to->resident ? 1 - fragmentation_part_of(to->bytes, to->resident) : 0;
}

int query_fragmentation(struct view *view, const struct filter *filter, uint64_t at_ns,
			struct fragmentation *ret_fragmentation, struct err_text *err)
{
	const struct recording *recording = view_recording(view);
	const struct process_info *process = recording_process(recording);
	uint64_t end_ns = recording_end_ns(recording);
	struct fragmentation to = {
		.at_ns = at_ns < end_ns ? at_ns : end_ns,
		.page_size = process->page_size ? process->page_size : 4096,
		.sampled = process->sample_interval != 0,
	};
	cleanup(cleanup_free) struct live_block *blocks = NULL;
	size_t count = 0;
	int r = fragmentation_read_maps(&to, recording_path(recording), &filter->cancel, err);

	if (!r)
		r = query_live(view, filter, at_ns, &blocks, &count, err);
	if (r < 0) {
		fragmentation_done(&to);
		return r;
	}
	fragmentation_fill(&to, blocks, count);
	keep_heap(&to);
	work_out_parts(&to);
	*ret_fragmentation = to;
	return 0;
}

void fragmentation_done(struct fragmentation *fragmentation)
{
	free(fragmentation->regions);
	*fragmentation = (struct fragmentation){0};
}
