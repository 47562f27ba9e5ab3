/* The division of the agent's memory. See budget.h. */
#include "agent/streamer/budget.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/streamer/guest.h"
#include "agent/streamer/maps.h"
#include "base/error.h"
#include "base/parse.h"
#include "proto/columns.h"
#include "proto/frame.h"
#include "base/ban.h"

#define KIB	  ((size_t)1 << 10)
#define OWN_BYTES (640 * KIB)
#define OWN_PAGES                                                                                  \
	32 /* mappings of the agent that are written to, those of its libraries among them */
#define SLOT_ROOM	(2048 * KIB) /* a slot for each so much of the limit */
#define MESSAGE_MIN	(64 * KIB)
#define MESSAGE_MAX	(512 * KIB)
#define SCRATCH_BASE	(52 * KIB)
#define SLOT_MIN	(768 * KIB)
#define SLOT_PARTS	(6 * 64) /* what is lost between the parts of a slot */
#define MAPS_MAX	(1024 * KIB)
#define LINKS_MOST	4
#define HOLD_MEMORY_MIN (64 * KIB)
#define SLOT_LARGE	(4096 * KIB) /* from here on the ring has room for a crowd of threads */

static size_t clamp(size_t value, size_t low, size_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Without the product, for which 32 bits are too few from 110 MiB on. */
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

/* What all slots share is taken off the rest; returns what is left for each. */
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
	b->socket_buffer = 32 * KIB; /* the kernel takes twice */
	rest = (size_t)limit - b->own -
	       b->links * (b->link_out + b->link_in + 2 * b->socket_buffer);
	/* Large pages take of what these would have. */
	while ((slot = divide_rest(b, rest)) < SLOT_MIN && !slots && b->slots > 1)
		b->slots--;
	if (slot < SLOT_MIN)
		return err_set(err, -EINVAL,
			       "a memory limit of %s is too little for %u programs at a time",
			       format_size(given, (double)limit), b->slots);
	large = slot >= SLOT_LARGE;
	b->ring = percent(slot, large ? 38 : 28) & ~(page - 1);
	b->tables = percent(slot, large ? 39 : 42) & ~(size_t)4095;
	b->spool = (slot - b->ring - b->tables - b->batch - b->state - SLOT_PARTS - 4096) &
		   ~(size_t)4095;
	return 0;
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

int budget_secure(uint64_t *limit, struct err_text *err)
{
	const uint64_t takes =
		SECURE_MEMORY + (LINKS_MOST + GUESTS_SESSIONS) * (uint64_t)SECURE_LINK_MEMORY;
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

size_t budget_private(const struct budget *b)
{
	return b->links * (b->link_out + b->link_in) + b->message + FRAME_HEADROOM + b->scratch +
	       b->slots * (b->tables + b->batch + b->state + b->spool + b->maps + b->hold +
			   SLOT_PARTS) +
	       4096;
}

int arena_open(struct arena *a, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, size, MADV_NOHUGEPAGE); /* so that what is resident is what was asked for */
	*a = (struct arena){.memory = memory, .size = size};
	return 0;
}

void arena_close(struct arena *a)
{
	if (a->memory)
		munmap(a->memory, a->size);
	*a = (struct arena){0};
}

void *arena_take(struct arena *a, size_t size)
{
	size_t start = (a->used + 63) & ~(size_t)63;

	if (size > a->size || start > a->size - size)
		return NULL;
	a->used = start + size;
	return a->memory + start;
}

struct arena arena_part(struct arena *a, size_t size)
{
	void *memory = arena_take(a, size);

	return (struct arena){.memory = memory, .size = memory ? size : 0};
}
