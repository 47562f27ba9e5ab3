#pragma once
/* Random questions: any filter with any value, some of which leave a few rows. */
#include "tests/unit/query/naive_filter.h"

static inline void naive_set(struct filter *f, const struct naive *n, const char *name,
			     const char *value)
{
	struct err_text err = {0};

	if (filter_set(f, n->t->view, name, value, &err) < 0)
		fail_msg("%s=%s: %s", name, value, err.text);
}

/* X(one in so many times `rarely`, name, what it is of a row so that the row is at the edge, below,
 * unit) */
#define NAIVE_NUMBERS(X)                                                                           \
	X(3, "from", row->birth, end, "ns")                                                        \
	X(3, "to", row->birth, end, "ns")                                                          \
	X(5, "address_min", row->address, high, "")                                                \
	X(5, "address_max", row->address, high, "")                                                \
	X(4, "size_min", row->size, 300, "")                                                       \
	X(4, "size_max", row->size, 5000, "")                                                      \
	X(5, "lifetime_min", lived, end / 20, "ns")                                                \
	X(5, "lifetime_max", lived, end / 3, "ns")                                                 \
	X(6, "backtrace_depth_min", naive_depth(n, row->stack), 6, "")                             \
	X(6, "backtrace_depth_max", naive_depth(n, row->stack), 6, "")                             \
	X(8, "alive_at", row->birth, end, "ns")                                                    \
	X(8, "alive_at_2", row->death, end, "ns")                                                  \
	X(9, "marker", 1, 4, "")                                                                   \
	X(9, "first_size_min", first->size, 300, "")                                               \
	X(9, "first_size_max", first->size, 3000, "")                                              \
	X(9, "last_size_min", last->size, 300, "")                                                 \
	X(9, "last_size_max", last->size, 3000, "")                                                \
	X(9, "chain_length_min", chain->length, 4, "")                                             \
	X(9, "chain_length_max", chain->length, 4, "")                                             \
	X(9, "chain_lifetime_min", chain_lived, end / 20, "ns")                                    \
	X(9, "chain_lifetime_max", chain_lived, end / 3, "ns")                                     \
	X(9, "position_in_chain_min", chain->position, 3, "")                                      \
	X(9, "position_in_chain_max", chain->position, 3, "")

/* Of groups: a sampled one is estimated, and at the edge of a range that is no matter of right and
 * wrong. */
#define NAIVE_GROUP_NUMBERS(X)                                                                     \
	X(9, "group_interval_min", stack->last - stack->first, end / 2, "ns")                      \
	X(9, "group_interval_max", stack->last - stack->first, end, "ns")                          \
	X(9, "group_allocations_min", stack->blocks, 10, "")                                       \
	X(9, "group_allocations_max", stack->blocks, 20, "")                                       \
	X(9, "group_leaked_allocations_min", 50, 60, "%")                                          \
	X(9, "group_leaked_allocations_max", stack->leaked, 4, "")                                 \
	X(9, "group_max_total_usage_first_seen_min", stack->peak_ns, end / 2, "ns")                \
	X(9, "group_max_total_usage_first_seen_max", stack->peak_ns, end, "ns")

static inline void naive_set_number(struct filter *f, const struct naive *n, uint64_t *random,
				    unsigned one_in, const char *name, uint64_t exact,
				    uint64_t below, const char *unit)
{
	char text[40];
	uint64_t number = test_random(random) % (below + !below);

	if (test_random(random) % one_in)
		return;
	if (exact != NO_TIME && test_random(random) % 2)
		number = exact;
	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)number, unit);
	naive_set(f, n, name, text);
}

static inline void naive_set_word(struct filter *f, const struct naive *n, uint64_t *random,
				  unsigned one_in, const char *name, const char *const *words,
				  unsigned count)
{
	if (test_random(random) % one_in == 0)
		naive_set(f, n, name, words[test_random(random) % count]);
}

static inline void naive_random_words(struct filter *f, const struct naive *n, uint64_t *random,
				      unsigned rarely)
{
	static const char *const
		lifetimes[] = {"all",
			       "only_leaked",
			       "only_temporary",
			       "only_whole_group_leaked",
			       "only_chain_leaked",
			       "only_not_deallocated_in_current_range",
			       "only_deallocated_in_current_range"},
		*const answers[] = {"yes", "no"}, *const arenas[] = {"main", "non_main"},
		*const names[] = {"libother", "x300", "x800", "libc.so"},
		*const threads[] = {"1", "2", "3"}, *const thread_names[] = {"work", "main", "r-2"},
		*const sources[] = {"main.c"};

	naive_set_word(f, n, random, rarely * 2, "lifetime", lifetimes, 7);
	naive_set_word(f, n, random, rarely * 6, "freed_at_once", answers, 2);
	naive_set_word(f, n, random, rarely * 9, "function_regex", names, 4);
	naive_set_word(f, n, random, rarely * 9, "negative_function_regex", names, 4);
	naive_set_word(f, n, random, rarely * 60, "source_regex", sources, 1);
	naive_set_word(f, n, random, rarely * 9, "negative_source_regex", sources, 1);
	if (recording_threads(n->t->recording) == PROGRAM_THREADS)
		naive_set_word(f, n, random, rarely * 6, "thread", threads, 3);
	if (!n->program)
		return;
	naive_set_word(f, n, random, rarely * 9, "thread_name", thread_names, 3);
	naive_set_word(f, n, random, rarely * 9, "module", program_modules + 1, 3);
	naive_set_word(f, n, random, rarely * 9, "tag", program_labels, 3);
	naive_set_word(f, n, random, rarely * 9, "mmaped", answers, 2);
	naive_set_word(f, n, random, rarely * 30, "jemalloc", answers, 2);
	naive_set_word(f, n, random, rarely * 9, "arena", arenas, 2);
	if (n->program->mapping_count)
		naive_set_number(f, n, random, rarely * 9, "from_map", NO_TIME,
				 n->program->mapping_count, "");
}

#define NAIVE_COUNT(...)   +1
#define NAIVE_NUMBER_COUNT (0 NAIVE_NUMBERS(NAIVE_COUNT) NAIVE_GROUP_NUMBERS(NAIVE_COUNT))

/* Some of the numbers are those of one row or another: then it is at the edge. `rarely` 0: one of
 * them alone. */
static inline void naive_random_numbers(struct filter *f, const struct naive *n, uint64_t *random,
					unsigned rarely, bool sampled)
{
	unsigned at = 0, only = (unsigned)(test_random(random) % NAIVE_NUMBER_COUNT);
	uint64_t end = n->rows.end_ns + 1,
		 high = test_random(random) % 2 ? PROGRAM_HIGH + 48 * PROGRAM_MEGA : 0x400000,
		 which = test_random(random) % n->rows.count;
	const struct naive_row *row = &n->rows.list[which],
			       *first = &n->rows.list[n->chain[which].first],
			       *last = &n->rows.list[n->chain[which].last];
	const struct naive_chain *chain = &n->chain[which];
	const struct naive_stack *stack = &n->stack[row->stack];
	uint64_t lived = (row->death == NO_TIME ? n->rows.end_ns : row->death) - row->birth,
		 chain_lived =
			 (last->death == NO_TIME ? n->rows.end_ns : last->death) - first->birth;

#define X(one_in, name, exact, below, unit)                                                        \
	if (rarely || at++ == only)                                                                \
		naive_set_number(f, n, random, rarely ? rarely *one_in : 1, name, exact, below,    \
				 unit);
	NAIVE_NUMBERS(X)
	if (!sampled) {
		NAIVE_GROUP_NUMBERS(X)
	}
#undef X
}

/* Free it with filter_done. */
static inline void naive_random_filter(struct filter *f, const struct naive *n, uint64_t *random,
				       bool sampled)
{
	unsigned rarely = (unsigned)(test_random(random) % 8);

	filter_init(f);
	if (test_random(random) % 4 == 0)
		return;
	if (test_random(random) % 3 == 0)
		rarely = 0;
	naive_random_numbers(f, n, random, rarely, sampled);
	if (!rarely)
		return;
	naive_random_words(f, n, random, rarely);
	if (test_random(random) % 8 == 0)
		f->backtrace = 1 + (uint32_t)(test_random(random) % TEST_NODES);
	if (test_random(random) % 8 == 0)
		f->deallocation_backtrace = 1 + (uint32_t)(test_random(random) % TEST_NODES);
	f->before_start = test_random(random) % 100 == 0;
}
