#pragma once
/*
 * Every filter, the slow way: what is asked of a row is looked up among all rows. A question is
 * prepared once (naive_ask) and then answered by n->match, by row, and n->culled_match, by sum of
 * culled blocks.
 */
#include "collector/columns/row_block.h"
#include "collector/query/sweep/culled.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "tests/unit/query/program.h"
#include "proto/stack_columns.h"
#include "proto/culled.h"

struct naive_chain {
	uint64_t first, last, length, position;
};

struct naive_stack {
	uint64_t first, last, blocks, leaked, peak_ns;
	bool any, ended;
};

struct naive {
	struct naive_rows rows;
	struct test_recording *t;
	const struct program *program;		  /* NULL: no marks, mappings, names */
	struct culled_row culled[PROGRAM_CULLED]; /* those of the program, of the same key in one
						     (recording.h) */
	uint32_t culled_count;
	struct naive_chain *chain; /* by row */
	bool *at_once;		   /* by row */
	struct naive_stack stack[TEST_NODES + 1];
	const struct filter *filter;
	bool *match;
	enum culled_fit culled_match[PROGRAM_CULLED];
};

/* ---- what is known without a question ---- */

static inline struct naive_chain naive_chain_of(const struct naive_rows *n, size_t row)
{
	struct naive_chain c = {.first = row, .last = row, .length = 1};

	for (; n->list[c.first].previous != NO_BLOCK; c.length++, c.position++)
		c.first = n->list[c.first].previous;
	for (; n->list[c.last].next != NO_BLOCK; c.length++)
		c.last = n->list[c.last].next;
	return c;
}

/* Its thread's next row tells. */
static inline bool naive_freed_at_once(const struct naive_rows *n, const struct naive_row *r)
{
	const struct naive_row *next = r + 1, *end = n->list + n->count;

	while (next < end && next->thread != r->thread)
		next++;
	if (r->end != BLOCK_FREED && r->end != BLOCK_REALLOCATED)
		return false;
	if (next == end || next->birth != r->death)
		return next == end || next->birth > r->death;
	return r->at_once || next->address == r->address || (uint64_t)(next - n->list) == r->next;
}

/* The first moment at which most of the stack's bytes were in use. */
static inline uint64_t naive_stack_peak(const struct naive_rows *n, uint32_t stack, uint64_t first)
{
	uint64_t best = 0, best_ns = first;

	for (size_t i = 0; i < n->count; i++) {
		uint64_t at = n->list[i].birth, bytes = 0;

		if (n->list[i].stack != stack)
			continue;
		for (size_t k = 0; k < n->count; k++)
			if (n->list[k].stack == stack && naive_alive(&n->list[k], at))
				bytes += n->list[k].weight > n->list[k].size ? n->list[k].weight
									     : n->list[k].size;
		if (bytes > best || (bytes == best && at < best_ns)) {
			best = bytes;
			best_ns = at;
		}
	}
	return best_ns;
}

static inline void naive_widen(struct naive_stack *s, uint64_t first, uint64_t last)
{
	s->first = !s->any || first < s->first ? first : s->first;
	s->last = !s->any || last > s->last ? last : s->last;
	s->any = true;
}

static inline void naive_stacks(struct naive *n)
{
	for (size_t i = 0; i < n->rows.count; i++) {
		const struct naive_row *r = &n->rows.list[i];
		struct naive_stack *s = &n->stack[r->stack];

		naive_widen(s, r->birth, r->birth);
		s->blocks++;
		s->leaked += r->end == BLOCK_IN_USE;
		s->ended |= r->end != BLOCK_IN_USE;
	}
	for (uint32_t s = 0; s <= TEST_NODES; s++)
		n->stack[s].peak_ns = naive_stack_peak(&n->rows, s, n->stack[s].first);
	for (uint32_t i = 0; i < n->culled_count; i++) {
		struct naive_stack *s = &n->stack[n->culled[i].stack];

		if (!s->blocks)
			s->peak_ns = !s->any || n->culled[i].first_ns < s->peak_ns
					     ? n->culled[i].first_ns
					     : s->peak_ns;
		naive_widen(s, n->culled[i].first_ns, n->culled[i].last_ns);
		s->ended = true;
	}
	for (uint32_t i = 0; i < n->culled_count; i++)
		n->stack[n->culled[i].stack].blocks += n->culled[i].blocks;
}

static inline unsigned naive_bits(uint64_t size)
{
	unsigned bits = 0;

	for (; size; size /= 2)
		bits++;
	return bits;
}

/* Sums of one thread, stack and class of lifetimes, of sizes with the same highest bit, are one. */
static inline void naive_add_culled(struct naive *n, const struct culled_row *c)
{
	uint32_t i = 0;

	while (i < n->culled_count &&
	       (n->culled[i].thread != c->thread || n->culled[i].stack != c->stack ||
		n->culled[i].lifetime != c->lifetime ||
		naive_bits(n->culled[i].size_least) != naive_bits(c->size_least)))
		i++;
	if (i == n->culled_count) {
		n->culled[n->culled_count++] = *c;
		return;
	}
	n->culled[i].blocks += c->blocks;
	n->culled[i].bytes += c->bytes;
	n->culled[i].last_ns = c->last_ns; /* they come in the order of time */
	if (c->size_least < n->culled[i].size_least)
		n->culled[i].size_least = c->size_least;
	if (c->size_most > n->culled[i].size_most)
		n->culled[i].size_most = c->size_most;
}

/* What the program knows, if there is one; else what the store made of it. */
static inline void naive_init(struct naive *n, struct test_recording *t,
			      const struct program *program)
{
	*n = (struct naive){.t = t, .program = program};
	if (program) {
		n->rows = (struct naive_rows){program->rows, program->count,
					      recording_end_ns(t->recording)};
		for (uint32_t i = 0; i < program->culled_count; i++)
			naive_add_culled(n, &program->culled[i]);
	} else {
		naive_rows_init(&n->rows, t->recording);
	}
	n->chain = calloc(n->rows.count + 1, sizeof(*n->chain));
	n->at_once = calloc(n->rows.count + 1, sizeof(*n->at_once));
	n->match = calloc(n->rows.count + 1, sizeof(*n->match));
	assert(n->chain && n->at_once && n->match);
	for (size_t i = 0; i < n->rows.count; i++) {
		n->chain[i] = naive_chain_of(&n->rows, i);
		n->at_once[i] = naive_freed_at_once(&n->rows, &n->rows.list[i]);
	}
	naive_stacks(n);
}

static inline void naive_done(struct naive *n)
{
	if (!n->program)
		free(n->rows.list);
	free(n->chain);
	free(n->at_once);
	free(n->match);
}

/* ---- stacks ---- */

static inline const struct stack_node *naive_node(const struct naive *n, uint32_t node)
{
	return recording_node(n->t->recording, node);
}

static inline uint32_t naive_depth(const struct naive *n, uint32_t node)
{
	return node ? 1 + naive_depth(n, naive_node(n, node)->parent) : 0;
}

static inline bool naive_has_name(const struct naive *n, uint32_t node, const char *part)
{
	do {
		if (strstr(view_frame_name(n->t->view, node, 0), part))
			return true;
		node = node ? naive_node(n, node)->parent : 0;
	} while (node);
	return false;
}

static inline bool naive_has_module(const struct naive *n, uint32_t node, const char *name)
{
	for (; node; node = naive_node(n, node)->parent) {
		const struct module_info *m =
			recording_module(n->t->recording, naive_node(n, node)->module);

		if (m && (!strcmp(m->path, name) || !strcmp(module_basename(m->path), name)))
			return true;
	}
	return false;
}

static inline double naive_share(const struct filter_share *share, uint64_t of)
{
	return share->percent ? share->number * (double)of / 100 : share->number;
}

static inline bool naive_group_fits(const struct naive_stack *s, const struct filter *f)
{
	uint64_t interval = s->last - s->first;
	double leaked = (double)s->leaked;

	return interval >= f->group_interval_min_ns && interval <= f->group_interval_max_ns &&
	       s->blocks >= f->group_allocations_min && s->blocks <= f->group_allocations_max &&
	       leaked >= naive_share(&f->group_leaked_min, s->blocks) &&
	       (f->group_leaked_max.number < 0 ||
		leaked <= naive_share(&f->group_leaked_max, s->blocks)) &&
	       s->peak_ns >= f->group_peak_min_ns && s->peak_ns <= f->group_peak_max_ns;
}

/* No file names a source here. Expressions are plain pieces of text. */
static inline bool naive_stack_fits(const struct naive *n, uint32_t stack, const struct filter *f)
{
	uint32_t depth = naive_depth(n, stack);

	return depth >= f->depth_min && depth <= f->depth_max &&
	       (!f->backtrace || stack == f->backtrace) &&
	       (!f->function_regex || naive_has_name(n, stack, f->function_regex)) &&
	       (!f->negative_function_regex ||
		!naive_has_name(n, stack, f->negative_function_regex)) &&
	       !f->source_regex && (!f->module || naive_has_module(n, stack, f->module)) &&
	       (f->lifetime != LIFETIME_ONLY_WHOLE_GROUP_LEAKED || !n->stack[stack].ended) &&
	       naive_group_fits(&n->stack[stack], f);
}

/* ---- rows ---- */

static inline bool naive_lifetime_fits(const struct naive *n, size_t row, const struct filter *f)
{
	const struct naive_row *r = &n->rows.list[row];
	bool in_range = naive_freed(r) && r->death >= f->from_ns && r->death <= f->to_ns;

	switch (f->lifetime) {
	case LIFETIME_ALL:
		return true;
	case LIFETIME_ONLY_LEAKED:
	case LIFETIME_ONLY_WHOLE_GROUP_LEAKED:
		return r->end == BLOCK_IN_USE;
	case LIFETIME_ONLY_FREED:
		return naive_freed(r);
	case LIFETIME_ONLY_CHAIN_LEAKED:
		return n->rows.list[n->chain[row].last].end == BLOCK_IN_USE;
	case LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE:
		return !in_range;
	case LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE:
		return in_range;
	}
	return false;
}

static inline bool naive_chain_fits(const struct naive *n, size_t row, const struct filter *f)
{
	const struct naive_chain *c = &n->chain[row];
	const struct naive_row *first = &n->rows.list[c->first], *last = &n->rows.list[c->last];
	uint64_t end = last->death == NO_TIME ? n->rows.end_ns : last->death,
		 lived = end - first->birth;

	return first->size >= f->first_size_min && first->size <= f->first_size_max &&
	       last->size >= f->last_size_min && last->size <= f->last_size_max &&
	       c->length >= f->chain_length_min && c->length <= f->chain_length_max &&
	       c->position >= f->position_min && c->position <= f->position_max &&
	       lived >= f->chain_lifetime_min_ns && lived <= f->chain_lifetime_max_ns;
}

static inline const struct program_mark *naive_mark(const struct naive *n, bool label,
						    uint32_t thread, uint64_t at)
{
	const struct program_mark *last = NULL;

	for (uint32_t i = 0; n->program && i < n->program->mark_count; i++) {
		const struct program_mark *m = &n->program->marks[i];

		if (!m->text != label && m->time_ns <= at && (!label || m->thread == thread))
			last = m;
	}
	return last;
}

/* Blocks that were born in a mapping, from when the one that lay there before went. */
static inline bool naive_in_map(const struct naive *n, const struct naive_row *r, uint64_t number)
{
	const struct program_mapping *m = &n->program->mappings[number];
	uint64_t from = 0;

	for (uint64_t i = 0; i < number; i++)
		if (n->program->mappings[i].address == m->address &&
		    n->program->mappings[i].unmapped_ns > from)
			from = n->program->mappings[i].unmapped_ns;
	return r->address >= m->address && r->address < m->address + m->size && r->birth >= from &&
	       r->birth <= m->unmapped_ns;
}

static inline bool naive_is(enum filter_answer wanted, bool yes)
{
	return wanted == ANSWER_ANY || (wanted == ANSWER_YES) == yes;
}

/* Where a program of program.h has its blocks from: brk's area, or else a page's beginning for
 * large ones. */
static inline bool naive_origin_fits(const struct naive *n, const struct naive_row *r,
				     const struct filter *f)
{
	const struct program_mark *mark = naive_mark(n, false, 0, r->birth),
				  *label = naive_mark(n, true, r->thread, r->birth);
	bool main = r->address < PROGRAM_HIGH,
	     mapped = !main && r->address % 4096 == 16 && r->size + 24 > 131072;

	return (f->marker == NO_MARKER || (mark ? mark->value : 0) == f->marker) &&
	       (!f->tag || (label && !strcmp(label->text, f->tag))) &&
	       (f->from_map == NO_MARKER || naive_in_map(n, r, f->from_map)) &&
	       naive_is(f->jemalloc, false) && naive_is(f->mmaped, mapped) &&
	       naive_is(f->main_arena, main || mapped);
}

static inline bool naive_thread_fits(const struct naive *n, uint32_t thread, const struct filter *f)
{
	return (!f->thread || thread == f->thread) &&
	       (!f->thread_name ||
		strstr(n->program ? program_thread_names[thread] : "", f->thread_name));
}

static inline bool naive_fits(const struct naive *n, size_t row, const struct filter *f)
{
	const struct naive_row *r = &n->rows.list[row];
	uint64_t lived = (r->death == NO_TIME ? n->rows.end_ns : r->death) - r->birth;

	return !f->before_start && r->birth >= f->from_ns && r->birth <= f->to_ns &&
	       r->size >= f->size_min && r->size <= f->size_max && r->address >= f->address_min &&
	       r->address <= f->address_max && lived >= f->lifetime_min_ns &&
	       lived <= f->lifetime_max_ns &&
	       (!f->deallocation_backtrace || r->death_stack == f->deallocation_backtrace) &&
	       (f->alive_at_ns == NO_TIME || naive_alive(r, f->alive_at_ns)) &&
	       (f->alive_at_2_ns == NO_TIME || naive_alive(r, f->alive_at_2_ns)) &&
	       naive_is(f->freed_at_once, n->at_once[row]) && naive_thread_fits(n, r->thread, f) &&
	       naive_lifetime_fits(n, row, f) && naive_chain_fits(n, row, f) &&
	       naive_stack_fits(n, r->stack, f) && naive_origin_fits(n, r, f);
}

/* ---- sums of culled blocks: for certain, surely not, or nobody can tell ---- */

static inline enum culled_fit naive_both(enum culled_fit a, enum culled_fit b)
{
	if (a == CULLED_NO || b == CULLED_NO)
		return CULLED_NO;
	return a == CULLED_YES ? b : CULLED_UNKNOWN;
}

static inline enum culled_fit naive_within(uint64_t low, uint64_t high, uint64_t min, uint64_t max)
{
	return high < min || low > max	   ? CULLED_NO
	       : low >= min && high <= max ? CULLED_YES
					   : CULLED_UNKNOWN;
}

static inline enum culled_fit naive_culled_alive(const struct culled_row *c, uint64_t at)
{
	if (at == NO_TIME)
		return CULLED_YES;
	return at < c->first_ns || at > c->last_ns + CULLED_TICK_NS - 1 +
						   culled_lifetime_most(c->lifetime)
		       ? CULLED_NO
		       : CULLED_UNKNOWN;
}

static inline enum culled_fit naive_culled_lifetime(const struct filter *f)
{
	bool whole = !f->from_ns && f->to_ns == UINT64_MAX;

	switch (f->lifetime) {
	case LIFETIME_ALL:
	case LIFETIME_ONLY_FREED:
		return CULLED_YES;
	case LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE:
		return whole ? CULLED_YES : CULLED_UNKNOWN;
	case LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE:
		return whole ? CULLED_NO : CULLED_UNKNOWN;
	case LIFETIME_ONLY_CHAIN_LEAKED:
		return CULLED_UNKNOWN;
	default:
		return CULLED_NO;
	}
}

static inline bool naive_asks_rows(const struct filter *f)
{
	struct filter none;

	filter_init(&none);
	return f->address_min || f->address_max != UINT64_MAX || f->deallocation_backtrace ||
	       f->tag || f->freed_at_once || f->mmaped || f->jemalloc || f->main_arena ||
	       f->marker != NO_MARKER || f->from_map != NO_MARKER || f->first_size_min ||
	       f->first_size_max != none.first_size_max || f->last_size_min ||
	       f->last_size_max != none.last_size_max || f->chain_lifetime_min_ns ||
	       f->chain_lifetime_max_ns != none.chain_lifetime_max_ns || f->chain_length_min ||
	       f->chain_length_max != none.chain_length_max || f->position_min ||
	       f->position_max != none.position_max;
}

static inline enum culled_fit naive_culled_fits(const struct naive *n, const struct culled_row *c,
						const struct filter *f)
{
	enum culled_fit fit = naive_both(naive_culled_lifetime(f),
					 naive_asks_rows(f) ? CULLED_UNKNOWN : CULLED_YES);

	if (f->before_start || !naive_thread_fits(n, c->thread, f) ||
	    !naive_stack_fits(n, c->stack, f))
		return CULLED_NO;
	fit = naive_both(fit, naive_within(c->first_ns, c->last_ns + CULLED_TICK_NS - 1, f->from_ns,
					   f->to_ns));
	fit = naive_both(fit, naive_within(c->size_least, c->size_most, f->size_min, f->size_max));
	fit = naive_both(fit, naive_within(culled_lifetime_least(c->lifetime),
					   culled_lifetime_most(c->lifetime), f->lifetime_min_ns,
					   f->lifetime_max_ns));
	fit = naive_both(fit, naive_culled_alive(c, f->alive_at_ns));
	return naive_both(fit, naive_culled_alive(c, f->alive_at_2_ns));
}

/* ---- a question ---- */

static inline void naive_ask(struct naive *n, const struct filter *f)
{
	n->filter = f;
	for (size_t i = 0; i < n->rows.count; i++)
		n->match[i] = naive_fits(n, i, f);
	for (uint32_t i = 0; i < n->culled_count; i++)
		n->culled_match[i] = naive_culled_fits(n, &n->culled[i], f);
}

static inline bool naive_counts(const struct naive_row *r, enum value value, uint64_t at)
{
	switch (value) {
	case VALUE_ALLOCATED:
		return true;
	case VALUE_LEAKED:
		return r->end == BLOCK_IN_USE;
	case VALUE_FREED:
		return naive_freed(r);
	default:
		return naive_alive(r, at);
	}
}

#define NAIVE_ALL UINT32_MAX

/* Over what matches n->filter, of one stack or of all. */
static inline struct usage naive_sum(const struct naive *n, enum value value, uint64_t at,
				     uint32_t stack)
{
	double blocks = 0, bytes = 0;

	for (size_t i = 0; i < n->rows.count; i++) {
		const struct naive_row *r = &n->rows.list[i];
		double s = r->size ? (double)r->size : 1,
		       w = r->weight > r->size ? (double)r->weight : s;

		if ((stack != NAIVE_ALL && r->stack != stack) || !n->match[i] ||
		    !naive_counts(r, value, at))
			continue;
		blocks += w / s;
		bytes += r->size ? w : 0;
	}
	for (uint32_t i = 0;
	     i < n->culled_count && (value == VALUE_ALLOCATED || value == VALUE_FREED); i++) {
		const struct culled_row *c = &n->culled[i];

		if ((stack != NAIVE_ALL && c->stack != stack) || n->culled_match[i] != CULLED_YES)
			continue;
		blocks += (double)c->blocks;
		bytes += (double)c->bytes;
	}
	return (struct usage){.blocks = (uint64_t)(blocks + 0.5), .bytes = (uint64_t)(bytes + 0.5)};
}
