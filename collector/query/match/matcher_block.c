/* Matches the rows of a block against a filter, column by column. See matcher.h. */
#include <stdlib.h>
#include <string.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"

#include "base/ban.h"

/* Keeps those rows `i` of a set for which the expression holds, and stores their numbers in
 * `room`. */
#define KEEP(rows, room, expression)                                                               \
	do {                                                                                       \
		uint32_t kept_ = 0;                                                                \
                                                                                                   \
		if ((rows)->list) {                                                                \
			for (uint32_t k_ = 0; k_ < (rows)->count; k_++) {                          \
				uint32_t i = (rows)->list[k_];                                     \
                                                                                                   \
				(room)[kept_] = (uint16_t)i;                                       \
				kept_ += (expression) ? 1 : 0;                                     \
			}                                                                          \
		} else {                                                                           \
			for (uint32_t i = (rows)->first, end_ = i + (rows)->count; i < end_;       \
			     i++) {                                                                \
				(room)[kept_] = (uint16_t)i;                                       \
				kept_ += (expression) ? 1 : 0;                                     \
			}                                                                          \
		}                                                                                  \
		*(rows) = (struct row_set){.list = (room), .count = kept_};                        \
	} while (0)

static void keep_range(struct row_set *rows, uint16_t *room, const uint64_t *values,
		       uint64_t zone_min, uint64_t zone_max, uint64_t min, uint64_t max)
{
	if (zone_min < min || zone_max > max)
		KEEP(rows, room, (values[i] >= min) & (values[i] <= max));
}

static void keep_equal(struct row_set *rows, uint16_t *room, const uint32_t *values,
		       uint32_t wanted)
{
	KEEP(rows, room, values[i] == wanted);
}

static void keep_alive(struct row_set *rows, uint16_t *room, const struct row_block *block,
		       uint64_t at_ns)
{
	const uint64_t *birth = block->birth_ns, *death = block->death_ns;

	if (block->max.birth_ns <= at_ns)
		KEEP(rows, room, death[i] > at_ns);
	else
		KEEP(rows, room, (birth[i] <= at_ns) & (death[i] > at_ns));
}

/* Looks up a byte for each number; numbers beyond the last count as 0. */
static void keep_numbers(struct row_set *rows, uint16_t *room, const uint32_t *values,
			 const uint8_t *passes, uint32_t last)
{
	KEEP(rows, room, passes[values[i] <= last ? values[i] : 0]);
}

static void keep_bits(struct row_set *rows, uint16_t *room, const uint8_t *bits, uint64_t first_row)
{
	KEEP(rows, room, row_bit(bits, first_row + i));
}

static void keep_columns(const struct matcher *m, const struct row_block *block,
			 struct row_set *rows, uint16_t *room)
{
	const struct filter *f = m->filter;

	keep_range(rows, room, block->birth_ns, block->min.birth_ns, block->max.birth_ns,
		   f->from_ns, f->to_ns);
	keep_range(rows, room, block->size, block->min.size, block->max.size, f->size_min,
		   f->size_max);
	keep_range(rows, room, block->address, block->min.address, block->max.address,
		   f->address_min, f->address_max);
	if (f->thread)
		keep_equal(rows, room, block->thread, f->thread);
	if (f->backtrace)
		keep_equal(rows, room, block->stack, f->backtrace);
	if (f->deallocation_backtrace)
		keep_equal(rows, room, block->death_stack, f->deallocation_backtrace);
	if (f->alive_at_ns != NO_TIME)
		keep_alive(rows, room, block, f->alive_at_ns);
	if (f->alive_at_2_ns != NO_TIME)
		keep_alive(rows, room, block, f->alive_at_2_ns);
	if (m->moved)
		KEEP(rows, room, block->chain_previous[i] != NO_BLOCK);
	if (m->row_passes)
		keep_bits(rows, room, m->row_passes, block->first_row);
	if (m->thread_passes)
		keep_numbers(rows, room, block->thread, m->thread_passes, m->threads);
	if (m->node_passes)
		keep_numbers(rows, room, block->stack, m->node_passes, m->nodes);
}

static bool lived_so_long(const struct matcher *m, const struct row_block *block, uint32_t i)
{
	uint64_t death = block->death_ns[i] == NO_TIME ? m->end_ns : block->death_ns[i];
	uint64_t lived = death > block->birth_ns[i] ? death - block->birth_ns[i] : 0;

	return lived >= m->filter->lifetime_min_ns && lived <= m->filter->lifetime_max_ns;
}

static bool ended_in_range(const struct filter *f, const struct row_block *block, uint32_t i)
{
	return row_freed(block, i) && block->death_ns[i] >= f->from_ns &&
	       block->death_ns[i] <= f->to_ns;
}

static void keep_lifetime(const struct matcher *m, const struct row_block *block,
			  struct row_set *rows, uint16_t *room)
{
	const struct filter *f = m->filter;

	if (f->lifetime_min_ns || f->lifetime_max_ns != UINT64_MAX)
		KEEP(rows, room, lived_so_long(m, block, i));
	switch (f->lifetime) {
	case LIFETIME_ALL:
		break;
	case LIFETIME_ONLY_LEAKED:
	case LIFETIME_ONLY_WHOLE_GROUP_LEAKED:
		KEEP(rows, room, row_leaked(block, i));
		break;
	case LIFETIME_ONLY_FREED:
		KEEP(rows, room, row_freed(block, i));
		break;
	case LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE:
		KEEP(rows, room, !ended_in_range(f, block, i));
		break;
	case LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE:
		KEEP(rows, room, ended_in_range(f, block, i));
		break;
	case LIFETIME_ONLY_CHAIN_LEAKED:
		keep_bits(rows, room, m->chain_leaks, block->first_row);
		break;
	}
}

static struct row_set select_rows(const struct matcher *matcher, const struct row_block *block,
				  uint32_t first, uint32_t end, uint16_t *room)
{
	struct row_set rows = {.first = first, .count = end - first};

	if (matcher->leaked_only)
		KEEP(&rows, room, row_leaked(block, i));
	if (matcher->hides_survivors)
		KEEP(&rows, room, !row_survivor(block, i));
	if (!matcher->everything) {
		keep_columns(matcher, block, &rows, room);
		keep_lifetime(matcher, block, &rows, room);
	}
	return rows;
}

/* ---- previews ---- */

bool matcher_takes(const struct matcher *m, uint64_t first, uint64_t end)
{
	if (!m->one_in)
		return true;
	for (uint64_t run = first / PREVIEW_ROWS; run * PREVIEW_ROWS < end; run++)
		if (run % m->one_in == 0)
			return true;
	return false;
}

/* Selects run by run, and skips the runs that a preview does not examine. */
static struct row_set select_runs(const struct matcher *m, const struct row_block *block,
				  uint32_t first, uint32_t end, uint16_t *room)
{
	uint32_t count = 0;

	for (uint32_t i = first, next; i < end; i = next) {
		uint64_t row = block->first_row + i;
		struct row_set some;

		next = i + PREVIEW_ROWS - (uint32_t)(row % PREVIEW_ROWS);
		next = next < end ? next : end;
		if (!matcher_takes(m, row, row + 1))
			continue;
		some = select_rows(m, block, i, next, room + count);
		for (uint32_t k = 0; k < some.count; k++)
			room[count + k] = (uint16_t)row_at(&some, k);
		count += some.count;
	}
	return (struct row_set){.list = room, .count = count};
}

struct row_set matcher_select(const struct matcher *matcher, const struct row_block *block,
			      uint32_t first, uint32_t end, uint16_t *room)
{
	return matcher->one_in ? select_runs(matcher, block, first, end, room)
			       : select_rows(matcher, block, first, end, room);
}

const struct row_block *matcher_weigh(const struct matcher *m, const struct row_block *block,
				      const struct row_set *rows, struct weighed_rows **room)
{
	struct weighed_rows *w = *room ? *room : malloc(sizeof(*w));

	*room = w;
	if (!w)
		return NULL;
	w->block = *block;
	w->block.weight = w->weight;
	w->block.weighted = true;
	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t size = block->size[i] ? block->size[i] : 1, weight = row_weight(block, i);

		if (__builtin_mul_overflow(weight > size ? weight : size, (uint64_t)m->one_in,
					   &w->weight[i]))
			w->weight[i] = UINT64_MAX;
	}
	return &w->block;
}

bool matcher_row(const struct matcher *matcher, const struct row_block *block, uint32_t i)
{
	struct row_block one = *block;
	uint16_t room[1];

	memset(&one.min, 0, sizeof(one.min));
	memset(&one.max, 0xff, sizeof(one.max));
	return matcher_select(matcher, &one, i, i + 1, room).count;
}

/* ---- what is counted ---- */

bool value_possible(enum value value, uint64_t at_ns, const struct row_block *zone)
{
	switch (value) {
	case VALUE_LEAKED:
		return zone->max.death_ns == NO_TIME;
	case VALUE_IN_USE:
	case VALUE_PEAK:
		return zone->min.birth_ns <= at_ns && zone->max.death_ns > at_ns;
	case VALUE_ALLOCATED:
	case VALUE_FREED:
		break;
	}
	return true;
}

unsigned value_columns(enum value value)
{
	switch (value) {
	case VALUE_LEAKED:
	case VALUE_FREED:
		return ROWS_END;
	case VALUE_IN_USE:
	case VALUE_PEAK:
		return ROWS_BIRTH | ROWS_DEATH;
	case VALUE_ALLOCATED:
		break;
	}
	return 0;
}

struct row_set value_select(enum value value, uint64_t at_ns, const struct row_block *block,
			    const struct row_set *rows, uint16_t *room)
{
	struct row_set counted = *rows;

	switch (value) {
	case VALUE_LEAKED:
		KEEP(&counted, room, row_leaked(block, i));
		break;
	case VALUE_FREED:
		KEEP(&counted, room, row_freed(block, i));
		break;
	case VALUE_IN_USE:
	case VALUE_PEAK:
		keep_alive(&counted, room, block, at_ns);
		break;
	case VALUE_ALLOCATED:
		break;
	}
	return counted;
}

struct row_bits *row_bits_new(uint64_t rows)
{
	struct row_bits *bits = calloc(1, sizeof(*bits) + rows / 8 + 1);

	if (bits)
		bits->rows = rows;
	return bits;
}
