/*
 * Every answer as it was: of recordings with a bit of everything, each question with filters whose
 * bounds are those of rows, and what the recording itself holds, add up to the numbers in
 * golden.expect. That these are right is what the other tests say; here nothing changes unseen
 * (golden_table.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/query/ask.h"
#include "tests/unit/query/ask_recording.h"
#include "tests/unit/query/asked.h"
#include "tests/unit/query/golden_recordings.h"
#include "tests/unit/query/golden_table.h"

#define FILTERS_MAX 128

/* ---- recordings ---- */

struct golden {
	char name[32];
	char *path; /* a file that we made; NULL: one of the boards' */
	struct test_recording t;
	struct naive n; /* of what we made */
	struct filter filters[FILTERS_MAX];
	size_t filter_count;
	uint64_t end;
};

static void open_file(struct golden *g, const char *path)
{
	assert_int_equal(recording_open(path, NULL, NULL, &g->t.recording, NULL), 0);
	assert_int_equal(symbols_new(&(struct symbols_options){0}, &g->t.symbols, NULL), 0);
	assert_int_equal(view_new(g->t.recording, g->t.symbols, &g->t.view, NULL), 0);
	g->end = recording_end_ns(g->t.recording);
}

static void open_built(struct golden *g, struct builder *b)
{
	g->path = builder_save(b, b->file.length);
	open_file(g, g->path);
	naive_init(&g->n, &g->t, NULL);
}

static void open_program(struct golden *g, unsigned kind)
{
	struct program *p = malloc(sizeof(*p));

	assert_non_null(p);
	program_init(p, 40 + kind, kind, GOLDEN_EVENTS);
	open_built(g, &p->b);
	program_done(p);
	free(p);
}

static void open_random(struct golden *g, unsigned kind)
{
	struct stack_node nodes[TEST_NODES];
	uint64_t seed = 70 + kind;
	struct builder b;

	builder_init(&b, (uint8_t)seed);
	test_nodes(nodes, &seed);
	test_first_batch(&b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, kind % 2);
	test_random_events_disordered(&b, &seed, GOLDEN_EVENTS, kind % 2,
				      (enum test_disorder)(kind / 2));
	if (kind != 7) /* the last one is open */
		builder_end(&b, kind);
	open_built(g, &b);
	builder_done(&b);
}

static void open_named(struct golden *g, unsigned seed)
{
	struct builder b;

	golden_named(&b, 90 + seed, GOLDEN_EVENTS);
	open_built(g, &b);
	builder_done(&b);
}

static void open_thinned(struct golden *g, unsigned sampled)
{
	struct builder b;

	golden_thinned(&b, 30 + sampled, 60);
	open_built(g, &b);
	builder_done(&b);
}

static void open_board(struct golden *g, unsigned number)
{
	static const char *const boards[] = {"amd64", "armhf", "mips64"};
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", BOARDS, boards[number]);
	open_file(g, path);
}

static const struct {
	const char *name;
	void (*open)(struct golden *g, unsigned number);
	unsigned count;
} sorts[] = {{"program", open_program, PROGRAM_KINDS},
	     {"random", open_random, 8},
	     {"named", open_named, 3},
	     {"thinned", open_thinned, 2},
	     {"board", open_board, 3}};

/* ---- filters ---- */

static struct filter *add_filter(struct golden *g)
{
	assert_true(g->filter_count < FILTERS_MAX);
	filter_init(&g->filters[g->filter_count]);
	return &g->filters[g->filter_count++];
}

static void add_text(struct golden *g, const char *name, const char *value)
{
	struct filter *f = add_filter(g);

	if (filter_set(f, g->t.view, name, value, NULL) < 0)
		f->before_start = true; /* no such thread, no such map: nothing is */
}

static void add_number(struct golden *g, const char *name, uint64_t number, const char *unit)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 "%s", number, unit);
	add_text(g, name, text);
}

/* Whatever is less or more by one is on the other side. */
static void add_of_row(struct golden *g, uint64_t which)
{
	const struct naive *n = &g->n;
	const struct naive_row *row = &n->rows.list[which],
			       *first = &n->rows.list[n->chain[which].first],
			       *last = &n->rows.list[n->chain[which].last];
	const struct naive_chain *chain = &n->chain[which];
	const struct naive_stack *stack = &n->stack[row->stack];
	uint64_t end = n->rows.end_ns,
		 lived = (row->death == NO_TIME ? end : row->death) - row->birth,
		 chain_lived = (last->death == NO_TIME ? end : last->death) - first->birth;

	(void)end;
#define X(one_in, name, exact, below, unit)                                                        \
	if ((exact) != NO_TIME)                                                                    \
		add_number(g, name, exact, unit);
	NAIVE_NUMBERS(X)
	NAIVE_GROUP_NUMBERS(X)
#undef X
}

static void add_filters(struct golden *g)
{
	static const char *const texts[][2] = {
		{"lifetime", "only_leaked"},
		{"lifetime", "only_freed"},
		{"lifetime", "only_whole_group_leaked"},
		{"lifetime", "only_chain_leaked"},
		{"lifetime", "only_not_deallocated_in_current_range"},
		{"lifetime", "only_deallocated_in_current_range"},
		{"function_regex", "a"},
		{"negative_function_regex", "libother|parse"},
		{"source_regex", "c+$"},
		{"negative_source_regex", "main"},
		{"module", "libother.so.1"},
		{"thread", "2"},
		{"thread_name", "-1"},
		{"tag", "parse"},
		{"marker", "2"},
		{"from_map", "1"},
		{"temporary", "yes"},
		{"temporary", "no"},
		{"mmaped", "yes"},
		{"arena", "main"},
		{"jemalloc", "no"},
		{"backtraces", "7"},
		{"deallocation_backtraces", "1"},
		{"hide", "auto"},
	};
	struct filter *f = add_filter(g);

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		add_text(g, texts[i][0], texts[i][1]);
	f = add_filter(g);
	f->from_ns = g->end / 3;
	f->to_ns = g->end / 2;
	f->lifetime = LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE;
	f = add_filter(g);
	f->from_ns = g->end / 3;
	f->lifetime = LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE;
	f->size_max = 200;
	if (g->path) {
		add_of_row(g, g->n.rows.count / 3);
		add_of_row(g, g->n.rows.count * 3 / 4);
	}
}

/* ---- what they add up to ---- */

static void ask(struct golden *g, size_t question, size_t filter, uint64_t *d)
{
	const struct ask_question *q = &ask_questions[question];
	int r = q->ask(g->t.view, &g->filters[filter], d);

	if (r == -EINVAL) /* there is no such map */
		ask_digest(d, EINVAL);
	else if (r)
		fail_msg("%s, %s, filter %zu: %s", g->name, q->name, filter, strerror(-r));
}

/* Without a filter in every way; with each filter if the answer is short, else with some. */
static void ask_all(struct golden *g, size_t question)
{
	int (*what)(struct view *, const struct filter *, uint64_t *) = ask_questions[question].ask;
	bool is_short = what == ask_report || what == ask_rows;
	uint64_t sum = 1;
	char line[64];

	snprintf(line, sizeof(line), "%s/%s", g->name, ask_questions[question].name);
	golden_begin(line);
	for (unsigned way = 0; way < 5; way++) {
		ask_about.value = (enum value)(VALUE_ALLOCATED + way);
		ask_about.at_ns = g->end / 6 * (1 + way);
		ask_about.buckets = 1 + 4 * way;
		ask_about.leaked_only = way % 2;
		ask_about.blocks = way / 2 % 2;
		ask(g, question, 0, &sum);
	}
	for (unsigned f = 1; f < g->filter_count; f++) {
		if (!is_short && (question + f) % 7)
			continue;
		ask_about.value = (enum value)(VALUE_ALLOCATED + f % 5);
		ask_about.at_ns = g->end / 7 * (1 + f % 7);
		ask_about.buckets = 1 + f % 30;
		ask_about.leaked_only = f % 3 == 0;
		ask_about.blocks = f % 2;
		ask(g, question, f, &sum);
	}
	golden_end(line, sum);
}

static void check_recorded(const struct golden *g)
{
	uint64_t sum = 1;
	char line[64];

	snprintf(line, sizeof(line), "%s/recorded", g->name);
	golden_begin(line);
	assert_int_equal(ask_recording(g->t.recording, &sum), 0);
	assert_int_equal(ask_recording_file(g->t.recording, g->end / 2, &sum), 0);
	assert_int_equal(ask_recording_file(g->t.recording, NO_TIME, &sum), 0);
	golden_end(line, sum);
}

static void check_one(unsigned sort, unsigned number)
{
	struct golden *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	snprintf(g->name, sizeof(g->name), "%s-%u", sorts[sort].name, number);
	sorts[sort].open(g, number);
	asked_set_sizes(number);
	add_filters(g);
	for (size_t q = 0; q < ASK_QUESTIONS; q++)
		ask_all(g, q);
	check_recorded(g);
	for (size_t i = 0; i < g->filter_count; i++)
		filter_done(&g->filters[i]);
	if (g->path) {
		naive_done(&g->n);
		unlink(g->path);
		free(g->path);
	}
	test_close(&g->t);
	free(g);
}

static void test_answers(void **state)
{
	(void)state;
	for (unsigned s = 0; s < sizeof(sorts) / sizeof(*sorts); s++)
		for (unsigned i = 0; i < sorts[s].count; i++)
			check_one(s, i);
}

int main(int argc, char **argv)
{
	return golden_main(argc, argv, EXPECT "/golden.expect", test_answers);
}
