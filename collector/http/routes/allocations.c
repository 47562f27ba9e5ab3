/* /data/ID/allocations: matched allocations with their backtraces, sorted, as one page or all.
 * /data/ID/raw_allocations: the same with backtraces as addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/columns/row_block.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/query/match/chain_walk.h"
#include "collector/query/match/glibc_heap.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define ROWS_AT_ONCE 64
#define ROW_COLUMNS  (ROWS_ALL & ~(ROWS_KIND | ROWS_DEATH_KIND))

struct page {
	struct query_page *scan;
	struct row_cache *rows; /* valid for this step only, because the recording may be refreshed
				   between two steps */
	uint64_t total, left;
	struct glibc_heap heap;
	struct chain_walk chains;
};

static void page_done(void *result)
{
	struct page *page = result;

	query_page_free(page->scan);
}

static bool withdrawn(void *x)
{
	return ((struct exchange *)x)->cancelled;
}

static int allocations_ask(struct asking *a)
{
	struct page *page = a->result;
	const struct recording *recording = a->x->source->recording;
	uint64_t skip = a->values.skip;
	int r = query_page_new(a->view, &a->values.filter, (enum page_order)a->values.key,
			       a->values.order == ORDER_DESCENDING, &page->scan, &a->x->err);

	if (!r)
		r = query_page_total(page->scan, &page->total, &a->x->err);
	if (r < 0)
		return r;
	glibc_heap_init(&page->heap, recording);
	chain_walk_init(&page->chains, recording, withdrawn, a->x);
	page->left = skip < page->total ? a->values.count : 0;
	return page->left && skip ? query_page_skip(page->scan, skip, &a->x->err) : 0;
}

typedef int row_writer(struct asking *a, struct page *page, uint64_t row);

static int write_batch(struct asking *a, struct page *page, row_writer *write)
{
	uint64_t rows[ROWS_AT_ONCE];
	long n = query_page_next(page->scan, rows,
				 page->left < ROWS_AT_ONCE ? page->left : ROWS_AT_ONCE, &a->x->err);
	int r = 0;

	if (n < 0)
		return (int)n;
	for (long i = 0; !r && i < n; i++)
		r = write(a, page, rows[i]);
	page->left = n ? page->left - (uint64_t)n : 0;
	return r;
}

/* Writes the rows of a step. */
static int write_some(struct asking *a, unsigned columns, row_writer *write)
{
	struct page *page = a->result;
	int r = row_cache_new(a->x->source->recording, columns, &page->rows);

	if (r < 0)
		return err_set(&a->x->err, r, "out of memory");
	while (!r && page->left && a->x->out.length < STEP_BYTES)
		r = write_batch(a, page, write);
	row_cache_free(page->rows);
	page->rows = NULL;
	return r ? r : page->left > 0;
}

/* ---- allocations ---- */

static const struct parameter_word orders[] = {
	{"timestamp", PAGE_BY_TIME}, {"address", PAGE_BY_ADDRESS}, {"size", PAGE_BY_SIZE}, {0}};

static const struct route_parameter allocations_parameters[] = {
	REQUEST_PAGE,
	REQUEST("sort_by", PARAMETER_WORD, key, "timestamp, address or size",
		"the order; default timestamp", .words = orders),
	REQUEST_ORDER("default asc"),
	REQUEST_STRIP,
	PASSED_OVER_LOOKS,
	PASSED_OVER_PAGES,
	PASSED_OVER("generate_graphs"),
	{0},
};

struct death {
	uint64_t time_ns; /* NO_TIME: not freed */
	uint32_t thread, stack;
};

#define ANSWER_OF struct death
static const struct answer_field death_fields[] = {
	ROW_AS("timestamp", time_ns, ANSWER_WALL, "since the epoch", ""),
	ROW_THREAD("thread", thread, "number of the thread that freed it; 0: unknown"),
	ROWS_OF_CALL(stack),
	{0},
};
#undef ANSWER_OF
static const struct answer death_answer = {"death", death_fields};

struct allocation {
	uint64_t id, address, birth_ns, size;
	uint64_t weight;      /* 0: the same as its size */
	uint64_t extra_space; /* not recorded; clients expect the member */
	uint32_t thread, stack;
	bool part_known, mapped, in_main_arena;
	bool allocator_known, is_jemalloc;
	struct death death, chain_death;
	uint64_t chain_lifetime_ns; /* NO_TIME: the chain goes on */
	struct chain_place chain;
};

#define ANSWER_OF struct allocation
static const struct answer_field allocation_fields[] = {
	ROW("id", id, "id", "number of the allocation, in the order of allocations, from 0"),
	ROW_AS("address", address, ANSWER_ADDRESS, "address", ""),
	ROW_AS("timestamp", birth_ns, ANSWER_TIMES, "since the epoch",
	       "when the allocator had returned"),
	ROW_THREAD("thread", thread, "number of the thread that allocated it; 0: unknown"),
	ROW("size", size, "bytes", "bytes that the program asked for"),
	ROW("weight", weight, "bytes", "bytes that it stands for, if it was sampled",
	    .when = IF_SET),
	ROW("extra_space", extra_space, "bytes", "always 0, because it is not recorded"),
	ROW("backtrace_id", stack, "id", "id of the backtrace; 0: there is none"),
	ROW("is_mmaped", mapped, NULL, "true: glibc gave it a mapping of its own",
	    WHEN(part_known)),
	ROW("in_main_arena", in_main_arena, NULL,
	    "true: it lies in the main arena of glibc, or has a mapping of its own",
	    WHEN(part_known)),
	ROW("is_jemalloc", is_jemalloc, NULL, "true: it came from libjemalloc",
	    WHEN(allocator_known)),
	ROW_OBJECT("deallocation", death, death_answer,
		   "when and by whom it was freed; absent: it was not", WHEN_TIME(death.time_ns)),
	ROW_OBJECT("chain_deallocation", chain_death, death_answer,
		   "when and by whom the last block of its chain of reallocs was freed",
		   WHEN_TIME(chain_death.time_ns)),
	ROW_BACKTRACE("backtrace", stack, "frames, the outermost first"),
	ROW_AS("chain_lifetime", chain_lifetime_ns, ANSWER_TIME, "duration",
	       "how long its chain of reallocs lived; absent: the chain goes on",
	       .when = IF_NO_MAX),
	ROW("position_in_chain", chain.position, "blocks",
	    "number of blocks before it in its chain of reallocs"),
	ROW("chain_length", chain.length, "blocks",
	    "number of blocks in its chain of reallocs; 1: realloc never touched it"),
	{0},
};
#undef ANSWER_OF
static const struct answer allocation_answer = {"allocation", allocation_fields};

#define ANSWER_OF struct page
static const struct answer_field allocations_fields[] = {
	ROW_NEXT("allocations", allocation_answer, ""),
	ROW("total_count", total, "blocks", "allocations that match"),
	{0},
};
#undef ANSWER_OF
static const struct answer allocations_answer = {"allocations", allocations_fields};

static int find_birth(struct asking *a, struct page *page, uint64_t row, struct allocation *ret)
{
	uint32_t i;
	const struct row_block *block = row_cache_get(page->rows, row, &i, &a->x->err);
	enum heap_part part;

	if (!block)
		return -EIO;
	part = glibc_heap_part(&page->heap, block->address[i], block->size[i]);
	*ret = (struct allocation){
		.id = row,
		.address = block->address[i],
		.birth_ns = block->birth_ns[i],
		.size = block->size[i],
		.weight = block->weight && block->weight[i] > block->size[i] ? block->weight[i] : 0,
		.thread = block->thread[i],
		.stack = block->stack[i],
		.part_known = part != HEAP_PART_UNKNOWN,
		.mapped = part == HEAP_PART_MAPPED,
		.in_main_arena = part != HEAP_PART_OTHER,
		.allocator_known = page->heap.known || page->heap.is_jemalloc,
		.is_jemalloc = page->heap.is_jemalloc,
		.chain_death.time_ns = NO_TIME,
	};
	return 0;
}

static int find_death(struct asking *a, struct page *page, uint64_t row, struct death *ret_death)
{
	uint32_t i;
	const struct row_block *block = row_cache_get(page->rows, row, &i, &a->x->err);

	if (!block)
		return -EIO;
	*ret_death = (struct death){.time_ns = block->end[i] == BLOCK_IN_USE ? NO_TIME
									     : block->death_ns[i],
				    .thread = block->death_thread[i],
				    .stack = block->death_stack[i]};
	return 0;
}

static int find_lifetime(struct asking *a, struct page *page, const struct chain_place *chain,
			 uint64_t *ret_ns)
{
	uint32_t first, last;
	const struct row_block *x = row_cache_get(page->rows, chain->first, &first, &a->x->err);
	const struct row_block *y = row_cache_get(page->rows, chain->last, &last, &a->x->err);

	if (!x || !y)
		return -EIO;
	*ret_ns = y->death_ns[last] != NO_TIME && y->death_ns[last] >= x->birth_ns[first]
			  ? y->death_ns[last] - x->birth_ns[first]
			  : NO_TIME;
	return 0;
}

static int write_allocation(struct asking *a, struct page *page, uint64_t row)
{
	struct allocation told;
	struct chain_place chain;
	int r = chain_walk_find(&page->chains, page->rows, row, &chain, &a->x->err);

	if (!r)
		r = find_birth(a, page, row, &told);
	if (!r)
		r = find_death(a, page, row, &told.death);
	if (!r && chain.last != row)
		r = find_death(a, page, chain.last, &told.chain_death);
	if (!r)
		r = find_lifetime(a, page, &chain, &told.chain_lifetime_ns);
	if (r < 0)
		return r;
	told.chain = chain;
	return json_object_of(&a->json, NULL, &allocation_answer, &told, &a->context);
}

static int allocations_next(struct asking *a)
{
	return write_some(a, ROW_COLUMNS, write_allocation);
}

const struct route allocations_route = {
	.path = "allocations",
	.about = "matched allocations",
	.flags = ROUTE_OF_RECORDING,
	.parameters = allocations_parameters,
	.answer = &allocations_answer,
	ROUTE_ASKS(struct page, allocations_ask, page_done),
	.next = allocations_next,
};

/* ---- their backtraces, as addresses ---- */

struct raw {
	uint32_t stack;
};

#define ANSWER_OF struct raw
static const struct answer_field raw_fields[] = {
	ROW_ADDRESSES("backtrace", stack,
		      "return addresses of 16 hexadecimal digits, the outermost first"),
	{0},
};
#undef ANSWER_OF
static const struct answer raw_allocation_answer = {"raw_allocation", raw_fields};

static int write_raw(struct asking *a, struct page *page, uint64_t row)
{
	uint32_t i;
	const struct row_block *block = row_cache_get(page->rows, row, &i, &a->x->err);

	return block ? json_object_of(&a->json, NULL, &raw_allocation_answer,
				      &(struct raw){.stack = block->stack[i]}, &a->context)
		     : -EIO;
}

static int raw_allocations_next(struct asking *a)
{
	return write_some(a, ROWS_STACK, write_raw);
}

const struct route raw_allocations_route = {
	.path = "raw_allocations",
	.about = "return addresses of matched allocations",
	.flags = ROUTE_OF_RECORDING | ROUTE_ARRAY,
	.parameters = (const struct route_parameter[]){REQUEST_PAGE, {0}},
	.answer = &raw_allocation_answer,
	ROUTE_ASKS(struct page, allocations_ask, page_done),
	.next = raw_allocations_next,
};
