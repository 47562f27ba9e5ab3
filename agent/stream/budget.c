/* Divides the agent's memory. See budget.h. */
#include "agent/stream/budget.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "agent/watch/maps.h"
#include "agent/core/modules.h"
#include "agent/ring/ring_source.h"
#include "agent/core/stacks.h"
#include "agent/core/threads.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/secure/secure.h"
#include "proto/columns.h"
#include "proto/frame.h"
#include "proto/stack_columns.h"
#include "base/ban.h"

#define KIB	  ((size_t)1 << 10)
#define OWN_BYTES (640 * KIB)
/* mappings that the agent and its libraries write to; each has at least a page */
#define OWN_PAGES	32
#define SLOT_ROOM	(2048 * KIB) /* the limit gets one slot for each part of this size */
#define MESSAGE_MIN	(64 * KIB)
#define MESSAGE_MAX	(512 * KIB)
#define SCRATCH_BASE	(52 * KIB)
#define SLOT_MIN	(768 * KIB)
#define SLOT_PARTS	(6 * 64) /* most bytes lost to alignment between the parts of a slot */
#define MAPS_MAX	(1024 * KIB)
#define LINKS_MOST	4
#define HOLD_MEMORY_MIN (64 * KIB)
#define SPOOL_SPARE	(2 * KIB)
/* Typical size of a module's path and segments. */
#define MODULE_BYTES (sizeof(struct module) + sizeof(struct module_place) + 224)
#define STACK_SPARE  28		  /* words of half a slice that no backtrace uses */
#define SLOT_LARGE   (4096 * KIB) /* from this size on, the ring has room for many threads */

static size_t clamp(size_t value, size_t low, size_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Avoids the product `of * share`, which overflows 32 bits from about 106 MiB on. */
static size_t percent(size_t of, unsigned share)
{
	return of / 100 * share + of % 100 * share / 100;
}

size_t budget_own(size_t page)
{
	return OWN_BYTES + OWN_PAGES * page;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t least_limit(size_t page)
{
	return BUDGET_LIMIT_MIN + budget_own(page) - budget_own(4 * KIB);
}

uint64_t budget_least(void)
{
	return least_limit(page_size());
}

/* Sets the sizes of what all slots share, and of the parts of a slot that depend on the message.
 * Returns the bytes that are left for each slot. */
static size_t divide_rest(struct budget *b, size_t rest)
{
	b->message = clamp(rest / b->slots / 10, MESSAGE_MIN, MESSAGE_MAX);
	b->scratch = SCRATCH_BASE + b->message / 2;
	b->batch = frame_bound(b->message);
	b->state = clamp(b->message / 5, EVENTS_STATE_MIN, EVENTS_STATE_BEST);
	return (rest - (b->message + FRAME_HEADROOM + b->scratch)) / b->slots;
}

int budget_divide_paged(struct budget *b, uint64_t limit, uint32_t slots, size_t page,
			struct err_text *err)
{
	char least[32], given[32];
	size_t rest, slot;
	bool large;

	if (limit < least_limit(page))
		return err_set(err, -EINVAL, "a memory limit of %s is too little: the least is %s",
			       format_size(given, (double)limit),
			       format_size(least, (double)least_limit(page)));
	if (limit > SIZE_MAX / 2)
		return err_set(err, -EINVAL,
			       "a memory limit of %s is more than this machine can address",
			       format_size(given, (double)limit));
	*b = (struct budget){.limit = limit, .own = budget_own(page)};
	b->slots = slots ? slots : (uint32_t)clamp((size_t)limit / SLOT_ROOM, 1, BUDGET_SLOTS_MAX);
	b->links = limit - least_limit(page) >= 2 * SLOT_ROOM - BUDGET_LIMIT_MIN ? LINKS_MOST : 2;
	b->link_out = 40 * KIB;
	b->link_in = 16 * KIB;
	b->socket_buffer = 32 * KIB; /* the kernel takes twice as much */
	rest = (size_t)limit - b->own -
	       b->links * (b->link_out + b->link_in + 2 * b->socket_buffer);
	/* Large pages make `own` larger, so the limit may have room for fewer slots. */
	while ((slot = divide_rest(b, rest)) < SLOT_MIN && !slots && b->slots > 1)
		b->slots--;
	if (slot < SLOT_MIN)
		return err_set(err, -EINVAL,
			       "a memory limit of %s is too little for %u programs at a time",
			       format_size(given, (double)limit), b->slots);
	large = slot >= SLOT_LARGE;
	b->ring = percent(slot, large ? 38 : 28) & ~(page - 1);
	b->shape = ring_shape_whole(b->ring);
	b->tables = percent(slot, large ? 39 : 42) & ~(size_t)4095;
	b->source = ring_source_bytes(&b->shape);
	b->spool = (slot - b->ring - b->tables - b->batch - b->state - SLOT_PARTS - 4096) &
		   ~(size_t)4095;
	return 0;
}

/* The needs of a process that has just started. A shell or a compiler driver seldom outgrows
 * them. */
#define YOUNG_RING	  (42 * KIB)
#define YOUNG_STACKS	  (24 * KIB)
#define YOUNG_MODULES	  40
#define YOUNG_THREADS	  16 /* plus one for each slice */
#define YOUNG_COLUMNS	  (5 * KIB)
#define YOUNG_DEFINITIONS 2560
#define NODES_SPARE	  32
#define MESSAGE_SLACK	  (8 * KIB) /* for the process, threads and the account */
#define MESSAGE_LEAST	  (40 * KIB)
#define GROWN_FIRST	  (320 * KIB)
#define GROWN_PERCENT	  30 /* of the room */
#define MODULES_MOST	  1024
#define DEAD_THREADS	  256 /* ended threads whose names are kept for late collectors */
/* The upper bound for partly used pages at the ends of a place's parts. */
#define PART_PAGES 6

static size_t round_up(size_t value, size_t to)
{
	return (value + to - 1) / to * to;
}

/* Returns the bytes that the slices take outside of the ring. */
static size_t lanes_bytes(uint32_t slices, uint32_t depth)
{
	return slices *
	       (sizeof(struct ring_lane) + 2 * sizeof(uint32_t) + sizeof(struct stacks_path) +
		sizeof(struct thread *) + (depth + RUN_SAVED_MAX) * sizeof(uint32_t));
}

static void message_sizes(struct budget_place *p)
{
	p->batch = frame_bound(p->columns + p->nodes + p->definitions + MESSAGE_SLACK);
}

static size_t tables_bytes(const struct budget_place *p, uint32_t slices, uint32_t depth)
{
	return p->modules * MODULE_BYTES + MODULES_PAST * sizeof(struct module_place) +
	       p->threads * sizeof(struct thread) + lanes_bytes(slices, depth);
}

/* Sets the sizes that depend on others. The spool gets the rest of `size` bytes, or the least size
 * if `size` is 0. */
static void complete(struct budget *b, struct budget_place *p, uint32_t level, uint32_t depth,
		     size_t size)
{
	const size_t page = page_size();
	uint32_t slices = ring_slice_count(&b->shape, level + 1);
	size_t others;

	p->threads += slices;
	others = ring_backed(&b->shape, level + 1) + tables_bytes(p, slices, depth) + p->stacks +
		 p->batch + p->state + p->maps + PART_PAGES * page;
	p->spool = size > others ? size - others : 0;
	if (p->spool < p->batch + SPOOL_SPARE)
		p->spool = p->batch + SPOOL_SPARE;
	p->spool = round_up(p->spool, 4 * KIB);
	p->cost = round_up(others + p->spool, page);
}

static void make_young(struct budget *b, uint32_t depth, bool maps)
{
	struct budget_place *p = &b->place[0];

	*p = (struct budget_place){
		.modules = YOUNG_MODULES,
		.threads = YOUNG_THREADS,
		.stacks = (depth < 512 ? 1 : depth / 256) * YOUNG_STACKS,
		.columns = YOUNG_COLUMNS,
		.nodes = (depth + NODES_SPARE) * STACKS_NODE_MAX,
		.definitions = YOUNG_DEFINITIONS,
		.state = EVENTS_STATE_MIN,
	};
	if (maps) {
		p->maps = MAPS_SIZE_MIN;
		p->definitions = MAPS_STEP_MIN + MAPS_BESIDE;
	}
	message_sizes(p);
	complete(b, p, 0, depth, 0);
}

/* Divides a grown place like a fixed slot. */
static void make_grown(struct budget *b, uint32_t level, uint32_t depth, size_t size, bool maps)
{
	size_t message = clamp(size / 10, MESSAGE_LEAST, MESSAGE_MAX);
	struct budget_place *p = &b->place[level];

	*p = (struct budget_place){
		.modules = (uint32_t)clamp((size_t)YOUNG_MODULES << level, 0, MODULES_MOST),
		.threads = (uint32_t)clamp((size_t)YOUNG_THREADS << (2 * level), 0, DEAD_THREADS),
		.columns = message / 2 - 64,
		.nodes = message / 8 * 3,
		.definitions = message / 8,
		.state = clamp(message / 5, EVENTS_STATE_MIN, EVENTS_STATE_BEST),
		.maps = maps ? MAPS_SIZE_MIN : 0, /* the observer uses it while the place grows, so
						     all levels have the same size */
	};
	if (maps && p->definitions < MAPS_STEP_MIN + MAPS_BESIDE)
		p->definitions = MAPS_STEP_MIN + MAPS_BESIDE;
	p->stacks = percent(size, 36);
	p->stacks -= clamp(tables_bytes(p, ring_slice_count(&b->shape, level + 1), depth), 0,
			   p->stacks / 2);
	p->stacks = p->stacks & ~(size_t)4095;
	message_sizes(p);
	complete(b, p, level, depth, size);
}

static void shape_places(struct budget *b, uint32_t depth, bool maps)
{
	const size_t most = percent(b->room.size, GROWN_PERCENT) + GROWN_FIRST / 2;
	size_t size[RING_STEPS_MAX] = {0};

	b->shape = (struct ring_shape){.steps = 1, .size = {YOUNG_RING}};
	for (size_t next = GROWN_FIRST; next <= most && b->shape.steps < RING_STEPS_MAX &&
					next <= SIZE_MAX / 8 / BUDGET_SLOTS_MAX;
	     next *= 2) {
		size[b->shape.steps] = next;
		b->shape.size[b->shape.steps++] = next / 4;
	}
	b->levels = b->shape.steps;
	make_young(b, depth, maps);
	for (uint32_t k = 1; k < b->levels; k++)
		make_grown(b, k, depth, size[k], maps);
}

/* Returns the address space of a place: all parts at their largest, and the stack table twice,
 * because growth moves it to other memory. */
static size_t space_of(const struct budget *b, uint32_t depth)
{
	const struct budget_place *p = &b->place[b->levels - 1];
	uint32_t slices = ring_slice_count(&b->shape, b->levels);

	return round_up(tables_bytes(p, slices, depth) + 2 * p->stacks + p->batch + p->state +
				p->spool + p->maps + 4 * PART_PAGES * page_size() +
				ring_memory_struct_size(&b->shape),
			page_size());
}

int budget_divide_elastic(struct budget *b, uint64_t limit, uint32_t depth, bool links, bool maps,
			  struct err_text *err)
{
	size_t rest, shared;
	int r = budget_divide(b, limit, 1, err);

	if (r < 0)
		return r;
	b->links = links ? b->links : 1;
	rest = (size_t)limit - b->own -
	       b->links * (b->link_out + b->link_in + 2 * b->socket_buffer);
	b->message = clamp(percent(rest, GROWN_PERCENT) / 10 + GROWN_FIRST / 20, MESSAGE_LEAST,
			   MESSAGE_MAX) +
		     MESSAGE_SLACK;
	b->scratch = SCRATCH_BASE + b->message / 2;
	shared = b->message + FRAME_HEADROOM + b->scratch;
	b->room.size = rest - shared;
	shape_places(b, depth, maps);
	b->room.growth = percent(b->room.size, GROWN_PERCENT);
	b->slots = (uint32_t)clamp(b->room.size / (b->place[0].cost + BUDGET_SESSION_BYTES), 1,
				   BUDGET_SLOTS_MAX);
	b->virtual = space_of(b, depth);
	b->ring = b->shape.size[b->levels - 1];
	b->spool = b->place[b->levels - 1].spool;
	b->tables = b->source = b->maps = b->batch = b->state = 0;
	return 0;
}

bool room_take(struct room *room, size_t bytes, enum room_use use)
{
	size_t used = __atomic_add_fetch(&room->used, bytes, __ATOMIC_RELAXED), grown = 0;

	if (use != ROOM_YOUNG)
		grown = __atomic_add_fetch(&room->grown, bytes, __ATOMIC_RELAXED);
	if (used <= room->size && (use == ROOM_MUST || grown <= room->growth || !grown))
		return true;
	room_give(room, bytes, use);
	return false;
}

void room_give(struct room *room, size_t bytes, enum room_use use)
{
	__atomic_sub_fetch(&room->used, bytes, __ATOMIC_RELAXED);
	if (use != ROOM_YOUNG)
		__atomic_sub_fetch(&room->grown, bytes, __ATOMIC_RELAXED);
}

int budget_divide(struct budget *b, uint64_t limit, uint32_t slots, struct err_text *err)
{
	return budget_divide_paged(b, limit, slots, page_size(), err);
}

int budget_divide_holding(struct budget *b, uint64_t limit, uint32_t slots, size_t memory,
			  const char *what, struct err_text *err)
{
	char given[32], least[32];
	size_t needed;
	int r;

	if (memory >= limit)
		return err_set(err, -EINVAL, "%s for %s is all of a memory limit of %s",
			       format_size(given, (double)memory), what,
			       format_size(least, (double)limit));
	r = budget_divide(b, limit - memory, slots, err);
	if (r < 0)
		return err_prefix(err, r,
				  "with %s for %s taken off: ", format_size(given, (double)memory),
				  what);
	b->limit = limit;
	b->hold_message = b->message / 4;
	b->scratch += b->hold_message;
	needed = b->hold_message + b->slots * (size_t)HOLD_MEMORY_MIN;
	if (memory < needed)
		return err_set(err, -EINVAL,
			       "%s is too little for %s: %u programs at a time need %s",
			       format_size(given, (double)memory), what, b->slots,
			       format_size(least, (double)needed));
	b->hold = (memory - b->hold_message) / b->slots & ~(size_t)63;
	return 0;
}

int budget_secure(uint64_t *limit, uint32_t peers, struct err_text *err)
{
	const uint64_t takes = SECURE_MEMORY + (LINKS_MOST + peers) * (uint64_t)SECURE_LINK_MEMORY;
	char given[32], least[32];

	if (*limit < budget_least() + takes)
		return err_set(err, -EINVAL,
			       "a memory limit of %s is too little with TLS: the least is %s",
			       format_size(given, (double)*limit),
			       format_size(least, (double)(budget_least() + takes)));
	*limit -= takes;
	return 0;
}

void budget_maps(struct budget *b)
{
	b->maps = clamp((size_t)b->limit / 128 / b->slots, MAPS_SIZE_MIN, MAPS_MAX) & ~(size_t)4095;
	b->spool -= b->maps;
}

uint32_t budget_frames(const struct budget *b, uint32_t lane)
{
	uint64_t most = b->alike ? UINT32_MAX : ring_slice_words(&b->shape, lane) / 2 - STACK_SPARE;

	return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* Fixed slots are places with a single level. stream_init divides `tables`. */
void budget_fix(struct budget *b)
{
	b->levels = 1;
	b->place[0] = (struct budget_place){
		.columns = b->message / 2 - b->hold_message - 64,
		.nodes = b->message / 8 * 3,
		.definitions = b->message / 8,
		.batch = b->batch,
		.state = b->state,
		.spool = b->spool,
		.maps = b->maps,
	};
}

size_t budget_private(const struct budget *b)
{
	if (b->virtual)
		return b->links * (b->link_out + b->link_in) + b->message + FRAME_HEADROOM +
		       b->scratch + 4096;
	return b->links * (b->link_out + b->link_in) + b->message + FRAME_HEADROOM + b->scratch +
	       b->slots * (b->tables + b->batch + b->state + b->spool + b->maps + b->hold +
			   SLOT_PARTS) +
	       4096;
}
