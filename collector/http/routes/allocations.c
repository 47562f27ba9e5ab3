/* /data/ID/allocations: matched allocations with their backtraces, sorted, as one page or all. A
 * step writes some rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "collector/columns/row_block.h"
#include "collector/answers/json.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/values.h"
#include "collector/query/match/chain_walk.h"
#include "collector/query/match/glibc_heap.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define ROWS_AT_ONCE 64
#define STEP_BYTES   (128u << 10)
#define COUNT_ALL    UINT32_MAX
#define ROW_COLUMNS  (ROWS_ALL & ~(ROWS_KIND | ROWS_DEATH_KIND))

struct page {
	struct filter filter;
	struct query_page *scan;
	struct row_cache *rows; /* valid for this step only: the recording may be refreshed between
				   two steps */
	struct json json;
	uint64_t skip, count, total;
	enum page_order order;
	bool descending, begun, strip;
	struct glibc_heap heap;
	struct chain_walk chains;
};

static void allocations_page_free(void *work)
{
	struct page *page = work;

	query_page_free(page->scan);
	filter_done(&page->filter);
	free(page);
}

/* ---- parameters ---- */

static int allocations_read_count(void *context, const struct view *view, const char *name,
				  const char *value, struct err_text *err)
{
	struct page *page = context;
	uint64_t *to = !strcmp(name, "skip") ? &page->skip : &page->count;

	(void)view;
	if (parse_u64(value, to) < 0)
		return err_set(err, -EINVAL, "%s takes a whole number, not \"%.60s\"", name, value);
	return 0;
}

static int read_sort_by(void *context, const struct view *view, const char *name, const char *value,
			struct err_text *err)
{
	static const char *const words[] = {[PAGE_BY_TIME] = "timestamp",
					    [PAGE_BY_ADDRESS] = "address",
					    [PAGE_BY_SIZE] = "size"};
	struct page *page = context;

	(void)view;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(value, words[i])) {
			page->order = (enum page_order)i;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "%s takes timestamp, address or size, not \"%.60s\"", name,
		       value);
}

static int read_order(void *context, const struct view *view, const char *name, const char *value,
		      struct err_text *err)
{
	struct page *page = context;

	(void)view;
	page->descending = !strcmp(value, "dsc") || !strcmp(value, "desc");
	if (!page->descending && strcmp(value, "asc") != 0)
		return err_set(err, -EINVAL, "%s takes asc or dsc, not \"%.60s\"", name, value);
	return 0;
}

static int read_strip(void *context, const struct view *view, const char *name, const char *value,
		      struct err_text *err)
{
	struct page *page = context;

	(void)view;
	return read_switch_value(name, value, &page->strip, err);
}

const struct route_parameter allocations_parameters[] = {
	{"skip", allocations_read_count, "whole number", "leave out so many"},
	{"count", allocations_read_count, "whole number", "give at most so many"},
	{"sort_by", read_sort_by, "timestamp, address or size", "the order; default timestamp"},
	{"order", read_order, "asc or dsc", "default asc"},
	{"strip_template_args", read_strip, "true or false",
	 "functions without template arguments; default false"},
	PASSED_OVER_LOOKS,
	PASSED_OVER_PAGES,
	PASSED_OVER("generate_graphs"),
	{0},
};

/* ---- rows ---- */

struct death {
	uint64_t time_ns;
	uint32_t thread, stack;
};

#define ANSWER_OF struct death
static const struct answer_field death_fields[] = {
	ROW_AS("timestamp", time_ns, ANSWER_WALL, "since the epoch", ""),
	ROW_THREAD("thread", thread, "that freed it; 0: unknown"),
	ROWS_OF_CALL(stack),
	{0},
};
#undef ANSWER_OF
static const struct answer death_answer = {"death", death_fields};

static const struct answer_field allocation_fields[] = {
	BY_HAND("id", ANSWER_U64, "id", "its number in the order of birth, from 0"),
	BY_HAND("address", ANSWER_ADDRESS, "address", ""),
	BY_HAND("timestamp", ANSWER_TIMES, "since the epoch", "when the allocator had returned"),
	BY_HAND("thread", ANSWER_U32, "tid", "that allocated; 0: unknown"),
	BY_HAND("size", ANSWER_U64, "bytes", "that the program asked for"),
	BY_HAND("weight", ANSWER_U64, "bytes", "that it stands for, if it was sampled",
		.when = SOMETIMES),
	BY_HAND("extra_space", ANSWER_U64, "bytes", "not recorded: 0"),
	BY_HAND("backtrace_id", ANSWER_U32, "id", "0: there is none"),
	BY_HAND("is_mmaped", ANSWER_BOOL, NULL, "glibc gave it a mapping of its own",
		.when = SOMETIMES),
	BY_HAND("in_main_arena", ANSWER_BOOL, NULL, "of glibc's, or mapped", .when = SOMETIMES),
	BY_HAND("is_jemalloc", ANSWER_BOOL, NULL, "it came from libjemalloc", .when = SOMETIMES),
	BY_HAND("deallocation", ANSWER_OBJECT, NULL, "absent: not freed", .of = &death_answer,
		.when = SOMETIMES),
	BY_HAND("chain_deallocation", ANSWER_OBJECT, NULL, "of the last block of its reallocs",
		.of = &death_answer, .when = SOMETIMES),
	BY_HAND("backtrace", ANSWER_OBJECT, NULL, "the outermost frame first", .shape = ANSWER_LIST,
		.of = &frame_answer),
	BY_HAND("chain_lifetime", ANSWER_TIME, "duration", "absent: the chain goes on",
		.when = SOMETIMES),
	BY_HAND("position_in_chain", ANSWER_U64, "blocks", "of reallocs before it"),
	BY_HAND("chain_length", ANSWER_U64, "blocks", "1: realloc never touched it"),
	{0},
};
static const struct answer allocation_answer = {"allocation", allocation_fields};

static const struct answer_field allocations_fields[] = {
	BY_HAND("allocations", ANSWER_OBJECT, NULL, "", .shape = ANSWER_LIST,
		.of = &allocation_answer),
	BY_HAND("total_count", ANSWER_U64, "blocks", "that match"),
	{0},
};
const struct answer allocations_answer = {"allocations", allocations_fields};

static int write_death(struct page *page, struct exchange *x, const char *key, uint64_t row)
{
	struct answer_context context = frames_context(x->source->view, &x->err);
	uint32_t i;
	const struct row_block *block = row_cache_get(page->rows, row, &i, &x->err);

	if (!block)
		return -EIO;
	if (block->end[i] == BLOCK_IN_USE || block->death_ns[i] == NO_TIME)
		return 0;
	context.strip = page->strip;
	return json_object_of(&page->json, key, &death_answer,
			      &(struct death){.time_ns = block->death_ns[i],
					      .thread = block->death_thread[i],
					      .stack = block->death_stack[i]},
			      &context);
}

static int write_chain(struct page *page, struct exchange *x, const struct chain_place *chain)
{
	uint32_t first, last;
	const struct row_block *a = row_cache_get(page->rows, chain->first, &first, &x->err);
	const struct row_block *b = row_cache_get(page->rows, chain->last, &last, &x->err);

	if (!a || !b)
		return -EIO;
	if (b->death_ns[last] != NO_TIME && b->death_ns[last] >= a->birth_ns[first])
		json_time(&page->json, "chain_lifetime", b->death_ns[last] - a->birth_ns[first]);
	json_u64(&page->json, "position_in_chain", chain->position);
	json_u64(&page->json, "chain_length", chain->length);
	return 0;
}

/* Writes where the allocator got the block from, if that is known. */
static void write_origin(struct page *page, uint64_t address, uint64_t size)
{
	enum heap_part part = glibc_heap_part(&page->heap, address, size);

	if (part != HEAP_PART_UNKNOWN) {
		json_bool(&page->json, "is_mmaped", part == HEAP_PART_MAPPED);
		json_bool(&page->json, "in_main_arena", part != HEAP_PART_OTHER);
	}
	if (page->heap.known || page->heap.is_jemalloc)
		json_bool(&page->json, "is_jemalloc", page->heap.is_jemalloc);
}

static int write_birth(struct page *page, struct exchange *x, uint64_t row, uint32_t *ret_stack)
{
	struct json *json = &page->json;
	uint32_t i;
	const struct row_block *block = row_cache_get(page->rows, row, &i, &x->err);

	if (!block)
		return -EIO;
	json_u64(json, "id", row);
	json_address(json, "address", block->address[i]);
	json_times(json, "timestamp", x->source->view, block->birth_ns[i]);
	json_u64(json, "thread", thread_tid(x->source->recording, block->thread[i]));
	json_u64(json, "size", block->size[i]);
	if (block->weight && block->weight[i] > block->size[i])
		json_u64(json, "weight", block->weight[i]);
	json_u64(json, "extra_space", 0); /* not recorded; clients rely on the field */
	json_u64(json, "backtrace_id", block->stack[i]);
	write_origin(page, block->address[i], block->size[i]);
	*ret_stack = block->stack[i];
	return 0;
}

static int write_row(struct page *page, struct exchange *x, uint64_t row)
{
	struct json *json = &page->json;
	struct chain_place chain;
	uint32_t stack;
	int r = chain_walk_find(&page->chains, page->rows, row, &chain, &x->err);

	if (r < 0)
		return r;
	json_object(json, NULL);
	r = write_birth(page, x, row, &stack);
	if (!r)
		r = write_death(page, x, "deallocation", row);
	if (!r && chain.last != row)
		r = write_death(page, x, "chain_deallocation", chain.last);
	if (!r)
		r = json_backtrace(json, "backtrace", x->source->view, stack, page->strip, &x->err);
	if (!r)
		r = write_chain(page, x, &chain);
	json_end(json, '}');
	return r;
}

/* ---- steps ---- */

static bool withdrawn(void *x)
{
	return ((struct exchange *)x)->cancelled;
}

static int allocations_begin(struct page *page, struct exchange *x)
{
	int r;

	filter_init(&page->filter);
	page->filter.cancel.asked = &x->cancelled;
	page->filter.progress = &x->progress;
	page->count = COUNT_ALL;
	chain_walk_init(&page->chains, x->source->recording, withdrawn, x);
	r = read_parameters(x, allocations_parameters, page, &page->filter);
	if (!r)
		r = query_page_new(x->source->view, &page->filter, page->order, page->descending,
				   &page->scan, &x->err);
	if (!r)
		r = query_page_total(page->scan, &page->total, &x->err);
	if (r < 0)
		return r;
	glibc_heap_init(&page->heap, x->source->recording);
	json_answer(&page->json, x);
	json_array(&page->json, "allocations");
	page->begun = true;
	return 0;
}

static int skip_rows(struct page *page, struct exchange *x)
{
	uint64_t skip = page->skip;

	page->skip = 0;
	if (skip < page->total)
		return skip ? query_page_skip(page->scan, skip, &x->err) : 0;
	page->count = 0;
	return 0;
}

static int write_rows(struct page *page, struct exchange *x)
{
	while (page->count && x->out.length < STEP_BYTES) {
		uint64_t rows[ROWS_AT_ONCE];
		long n = query_page_next(page->scan, rows,
					 page->count < ROWS_AT_ONCE ? page->count : ROWS_AT_ONCE,
					 &x->err);

		if (n < 0)
			return (int)n;
		if (!n)
			page->count = 0;
		for (long i = 0; i < n; i++) {
			int r = write_row(page, x, rows[i]);

			if (r < 0)
				return r;
		}
		page->count -= (uint64_t)n;
	}
	return 0;
}

static int write_some(struct page *page, struct exchange *x)
{
	int r = row_cache_new(x->source->recording, ROW_COLUMNS, &page->rows);

	if (r < 0)
		return err_set(&x->err, r, "out of memory");
	r = write_rows(page, x);
	row_cache_free(page->rows);
	page->rows = NULL;
	return r;
}

int allocations_step(struct exchange *x)
{
	struct page *page = x->work;
	int r = 0;

	if (!page) {
		page = calloc(1, sizeof(*page));
		if (!page)
			return err_set(&x->err, -ENOMEM, "out of memory");
		x->work = page;
		x->work_free = allocations_page_free;
		r = allocations_begin(page, x);
	}
	if (!r)
		r = skip_rows(page, x);
	if (!r)
		r = write_some(page, x);
	if (r < 0)
		return r;
	if (!page->count) {
		json_end(&page->json, ']');
		json_u64(&page->json, "total_count", page->total);
		json_end(&page->json, '}');
	}
	r = buf_error(&x->out);
	return r ? r : page->count > 0;
}
