/* Sums up blocks by classes of size and lifetime, in one pass. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "proto/culled.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/culled.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/sweep/tally.h"
#include "collector/query/match/view.h"
#include "collector/query/time/peak.h"

#include "base/ban.h"

#define US 1000ull
#define MS (1000 * US)
#define S  (1000 * MS)

/* Upper ends of the lifetime classes. Those from one second on are the ones that users know from
 * earlier tools. */
static const uint64_t lifetime_ends[] = {US,	   10 * US, 100 * US, MS,	10 * MS,
					 100 * MS, S,	    10 * S,   30 * S,	60 * S,
					 120 * S,  300 * S, 600 * S,  3600 * S, UINT64_MAX};

#define LIFETIMES    (sizeof(lifetime_ends) / sizeof(lifetime_ends[0]))
#define SIZES	     65 /* 0; 1; 2, 3; 4 to 7; ... */
#define CLASSES_MOST (LIFETIMES + SIZES)

struct sums {
	struct tally all, leaked;
};

struct counting {
	enum value value;
	uint64_t at_ns;
	uint16_t *room; /* for value_select */
	bool apart;	/* survivors count as alive and leaked only */
	struct sums size[SIZES], lifetime[LIFETIMES];
	struct tally leaked, unknown, total;
};

static unsigned size_class(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

static unsigned lifetime_class(uint64_t lived_ns)
{
	unsigned i = 0;

	while (i + 1 < LIFETIMES && lived_ns >= lifetime_ends[i])
		i++;
	return i;
}

static void count_row(struct counting *c, const struct row_block *block, uint32_t i)
{
	uint64_t birth = block->birth_ns[i], death = block->death_ns[i];
	struct sums *of_size = &c->size[size_class(block->size[i])];

	if (row_leaked(block, i)) {
		tally_add_row(&of_size->leaked, block, i);
		tally_add_row(&c->leaked, block, i);
	}
	if (c->apart && row_survivor(block, i) && !value_is_alive(c->value))
		return;
	tally_add_row(&c->total, block, i);
	tally_add_row(&of_size->all, block, i);
	if (row_leaked(block, i))
		return;
	if (row_freed(block, i)) {
		tally_add_row(&c->lifetime[lifetime_class(death > birth ? death - birth : 0)].all,
			      block, i);
	} else {
		tally_add_row(&c->unknown, block, i);
	}
}

static void histogram_part_free(void *part)
{
	struct counting *c = part;

	free(c->room);
	free(c);
}

static int histogram_part_new(void *context, void **ret_part)
{
	const struct counting *whole = context;
	struct counting *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*ret_part = c;
	c->value = whole->value;
	c->at_ns = whole->at_ns;
	c->apart = whole->apart;
	c->room = malloc(ROWS_PER_BLOCK * sizeof(*c->room));
	return c->room ? 0 : -ENOMEM;
}

static int histogram_part_rows(void *part, const struct row_block *block,
			       const struct row_set *rows)
{
	struct counting *c = part;
	struct row_set counted = value_select(c->value, c->at_ns, block, rows, c->room);

	for (uint32_t k = 0; k < counted.count; k++)
		count_row(c, block, row_at(&counted, k));
	return 0;
}

static int histogram_part_merge(void *context, void *part)
{
	struct counting *whole = context;
	const struct counting *c = part;

	for (unsigned i = 0; i < SIZES; i++) {
		tally_merge(&whole->size[i].all, &c->size[i].all);
		tally_merge(&whole->size[i].leaked, &c->size[i].leaked);
	}
	for (unsigned i = 0; i < LIFETIMES; i++)
		tally_merge(&whole->lifetime[i].all, &c->lifetime[i].all);
	tally_merge(&whole->leaked, &c->leaked);
	tally_merge(&whole->unknown, &c->unknown);
	tally_merge(&whole->total, &c->total);
	return 0;
}

/* The classes of a culled sum lie within the classes of the answer. */
static void count_culled(struct counting *c, const struct culled_row *row)
{
	tally_add_culled(&c->total, row);
	tally_add_culled(&c->size[size_class(row->size_least)].all, row);
	tally_add_culled(&c->lifetime[lifetime_class(culled_lifetime_least(row->lifetime))].all,
			 row);
}

static int histogram_count_rows(struct counting *c, const struct matcher *m, struct err_text *err)
{
	int r = sweep_run(&(struct sweep){.matcher = m,
					  .columns = ROWS_SIZE | ROWS_WEIGHT | ROWS_BIRTH |
						     ROWS_DEATH | ROWS_END,
					  .context = c,
					  .part_new = histogram_part_new,
					  .part_rows = histogram_part_rows,
					  .part_merge = histogram_part_merge,
					  .part_free = histogram_part_free},
			  err);

	if (!r && culled_counts(c->value))
		culled_each(m, row) count_culled(c, row);
	return r;
}

static bool is_empty(const struct tally *tally)
{
	return !tally->blocks && !tally_sampled(tally);
}

/* Lists the classes from the first to the last one that is not empty. */
static void list_sizes(const struct counting *c, struct histogram *out)
{
	unsigned last = SIZES;

	while (last && is_empty(&c->size[last - 1].all))
		last--;
	for (unsigned i = 0; i < last; i++) {
		if (!out->size_count && is_empty(&c->size[i].all))
			continue;
		out->sizes[out->size_count++] = (struct histogram_class){
			.from = i ? 1ull << (i - 1) : 0,
			.to = i == 64 ? UINT64_MAX : (1ull << i) - 1,
			.usage = tally_usage(&c->size[i].all),
			.leaked = tally_usage(&c->size[i].leaked),
		};
	}
}

static void list_lifetimes(const struct counting *c, struct histogram *out)
{
	for (unsigned i = 0; i < LIFETIMES; i++)
		out->lifetimes[out->lifetime_count++] = (struct histogram_class){
			.from = i ? lifetime_ends[i - 1] : 0,
			.to = i + 1 < LIFETIMES ? lifetime_ends[i] - 1 : UINT64_MAX,
			.usage = tally_usage(&c->lifetime[i].all),
		};
}

static int histogram_make(struct counting *c, const struct matcher *m,
			  struct histogram *ret_histogram, struct err_text *err)
{
	struct histogram out = {0};
	int r = histogram_count_rows(c, m, err);

	if (r < 0)
		return r;
	out.sizes = calloc(CLASSES_MOST, sizeof(*out.sizes));
	if (!out.sizes)
		return err_set(err, -ENOMEM, "out of memory");
	out.lifetimes = out.sizes + SIZES;
	list_sizes(c, &out);
	list_lifetimes(c, &out);
	out.total = tally_total(&c->total, m->recording, c->value, c->at_ns);
	out.leaked = tally_usage(&c->leaked);
	if (c->value != VALUE_FREED)
		out.leaked = tally_total(&c->leaked, m->recording, VALUE_LEAKED, NO_TIME);
	out.unknown = tally_usage(&c->unknown);
	*ret_histogram = out;
	return 0;
}

int query_histogram(struct view *view, const struct filter *filter, enum value value,
		    uint64_t at_ns, struct histogram *ret_histogram, struct err_text *err)
{
	cleanup(cleanup_free) struct counting *c = calloc(1, sizeof(*c));
	struct matcher m;
	int r = c ? value_moment(view, value, at_ns, filter, &at_ns, err)
		  : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	c->value = value;
	c->at_ns = at_ns;
	r = matcher_init(&m, view, filter, err);
	if (r < 0)
		return r;
	c->apart = matcher_sees_survivors(&m);
	r = histogram_make(c, &m, ret_histogram, err);
	matcher_done(&m);
	return r;
}

void histogram_done(struct histogram *histogram)
{
	free(histogram->sizes);
	*histogram = (struct histogram){0};
}
