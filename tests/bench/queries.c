/*
 * What a question costs for each row: processor time and time by the clock, in ns. Each question is
 * measured the second time that it is asked, because names have been looked up and indexes made by
 * then. The rows are those of a recording (its path), or of a generated program of so many
 * allocations. That has 20,000 stacks of which a few are hot. Most of its blocks are short-lived,
 * some live for long, and one in 50 is never freed.
 *
 *	bench-queries [FILE | ALLOCATIONS [QUESTION...]]
 *	taskset -c 0 bench-queries		one thread
 */
#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>

#include "base/error.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"
#include "collector/columns/row_block.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/symbols/symbols.h"
#include "collector/query/survivors.h"
#include "tests/unit/store/builder.h"

#define NODES	    60000
#define LEAVES	    20000
#define ROWS	    4000000
#define LIVE	    200000
#define NODES_BATCH 4000

static uint64_t state = 88172645463325252ull;

static uint64_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* ---- a program ---- */

static void put_nodes(struct builder *b, uint32_t first, uint32_t count)
{
	static uint8_t memory[1 << 20];
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Module module = HEAPCAST__MODULE__INIT, *modules[] = {&module};
	struct stacks_encoder encoder;
	struct builder_ledger ledger;

	batch.stream = builder_bytes(b->id, sizeof(b->id));
	batch.incarnation = 1;
	batch.number = ++b->number;
	if (first == 1) {
		process.pid = 1;
		process.executable = builder_bytes("/bin/generated", 14);
		batch.process = &process;
		module.number = 1;
		module.path = builder_bytes("/bin/generated", 14);
		module.end = UINT64_MAX;
		batch.module = modules;
		batch.n_module = 1;
	}
	stacks_encoder_init(&encoder, memory, sizeof(memory), first);
	for (uint32_t n = first; n < first + count; n++)
		assert(stacks_encoder_put(
			       &encoder,
			       &(struct stack_node){
				       .parent = n > 20 ? n - 1 - random_number() % (n / 2) : n - 1,
				       .module = 1,
				       .offset = 16 + 16 * (random_number() % 8000)}) == 0);
	stacks_encoder_fill(&encoder, &stacks);
	batch.stacks = &stacks;
	builder_ledger(b, &ledger);
	batch.ledger = &ledger.message;
	builder_frame(b, &batch);
}

/* A few stacks have most: the square of an even distribution, twice. */
static uint32_t random_stack(void)
{
	double x = (double)(random_number() % 1000000) / 1e6;

	return (uint32_t)(NODES - LEAVES + x * x * x * x * LEAVES) + 1;
}

/* Blocks wait in a ring for their death: most die soon. */
static void put_events(struct builder *b, uint64_t rows)
{
	uint64_t *live = calloc(LIVE, sizeof(*live)), time = 1000;

	assert(live);
	for (uint64_t i = 0; i < rows; i++) {
		uint64_t dice = random_number() % 100, *slot;
		struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				  .thread = 1 + (uint32_t)(random_number() % 4),
				  .time_ns = time += random_number() % 300,
				  .address = 0x10000 + i * 64,
				  .size = dice < 80 ? 16 + random_number() % 128
						    : 16 + random_number() % 4096,
				  .stack = random_stack()};

		e.weight = e.size;
		slot = &live[dice < 85 ? random_number() % 300 : random_number() % LIVE];
		if (*slot)
			builder_event(b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_FREE,
							 .thread = e.thread,
							 .time_ns = time += random_number() % 100,
							 .address = *slot});
		*slot = dice >= 98 ? 0 : e.address;
		builder_event(b, &e);
	}
	free(live);
}

static struct recording *generate(uint64_t rows)
{
	struct builder b;
	struct recording *recording;
	struct err_text err = {0};

	builder_init(&b, 1);
	for (uint32_t n = 1; n <= NODES; n += NODES_BATCH)
		put_nodes(&b, n, NODES_BATCH);
	put_events(&b, rows);
	builder_end(&b, 0);
	assert(builder_open(&b, b.file.length, &recording, &err) == 0);
	builder_done(&b);
	return recording;
}

/* ---- questions ---- */

struct asked {
	struct view *view;
	struct filter *filter;
	uint64_t end_ns;
};

static void ask_groups(const struct asked *a, enum value value, uint64_t at_ns)
{
	struct groups groups;

	assert(query_groups(a->view, a->filter, GROUP_BY_SITE, value, at_ns, &groups, NULL) == 0);
	groups_done(&groups);
}

static void top(const struct asked *a)
{
	ask_groups(a, VALUE_ALLOCATED, NO_TIME);
}

static void top_leaked(const struct asked *a)
{
	ask_groups(a, VALUE_LEAKED, NO_TIME);
}

static void in_use_middle(const struct asked *a)
{
	ask_groups(a, VALUE_IN_USE, a->end_ns / 2);
}

static void in_use_end(const struct asked *a)
{
	ask_groups(a, VALUE_IN_USE, a->end_ns);
}

static void top_filtered(const struct asked *a)
{
	a->filter->size_min = 64;
	a->filter->from_ns = a->end_ns / 4;
	a->filter->to_ns = a->end_ns / 4 * 3;
	top(a);
}

static void tree(const struct asked *a)
{
	struct tree found;

	assert(query_tree(a->view, a->filter, VALUE_ALLOCATED, NO_TIME, &found, NULL) == 0);
	tree_done(&found);
}

static void tree_in_use(const struct asked *a)
{
	struct tree found;

	assert(query_tree(a->view, a->filter, VALUE_IN_USE, a->end_ns / 2, &found, NULL) == 0);
	tree_done(&found);
}

static void report(const struct asked *a)
{
	struct report found;

	assert(query_report(a->view, a->filter, &found, NULL) == 0);
}

static void histogram(const struct asked *a)
{
	struct histogram found;

	assert(query_histogram(a->view, a->filter, VALUE_ALLOCATED, NO_TIME, &found, NULL) == 0);
	histogram_done(&found);
}

static void leaks(const struct asked *a)
{
	struct survivors found;

	assert(query_survivors(a->view, a->filter, NO_TIME, &found, NULL) == 0);
	survivors_done(&found);
}

static void ask_timeline(const struct asked *a, uint64_t from_ns, uint64_t to_ns)
{
	struct timeline found;

	assert(query_timeline(a->view, a->filter,
			      &(struct timeline_question){
				      .from_ns = from_ns, .to_ns = to_ns, .buckets = 1000},
			      &found, NULL) == 0);
	timeline_done(&found);
}

static void timeline(const struct asked *a)
{
	ask_timeline(a, 0, NO_TIME);
}

static void timeline_tenth(const struct asked *a)
{
	ask_timeline(a, a->end_ns / 3, a->end_ns / 3 + a->end_ns / 10);
}

static void timeline_thousandth(const struct asked *a)
{
	ask_timeline(a, a->end_ns / 3, a->end_ns / 3 + a->end_ns / 1000);
}

static void timeline_filtered(const struct asked *a)
{
	a->filter->size_min = 64;
	timeline(a);
}

static void group_peaks(const struct asked *a)
{
	struct allocation_groups found;

	assert(query_allocation_groups(a->view, a->filter, &found, NULL) == 0);
	allocation_groups_done(&found);
}

static void page_by_size(const struct asked *a)
{
	struct query_page *page;
	uint64_t rows[100];

	assert(query_page_new(a->view, a->filter, PAGE_BY_SIZE, true, &page, NULL) == 0);
	assert(query_page_next(page, rows, 100, NULL) >= 0);
	query_page_free(page);
}

static const struct {
	const char *name;
	void (*ask)(const struct asked *asked);
} questions[] = {
	{"call sites, allocated", top},
	{"call sites, leaked", top_leaked},
	{"call sites, size and time", top_filtered},
	{"call sites, in use in the middle", in_use_middle},
	{"call sites, in use at the end", in_use_end},
	{"flame graph, allocated", tree},
	{"flame graph, in use", tree_in_use},
	{"report", report},
	{"histogram", histogram},
	{"leaks by survival", leaks},
	{"timeline", timeline},
	{"timeline, a tenth", timeline_tenth},
	{"timeline, a thousandth", timeline_thousandth},
	{"timeline, by size", timeline_filtered},
	{"groups with their peaks", group_peaks},
	{"100 largest allocations", page_by_size},
};

struct clocks {
	double wall, cpu;
};

static struct clocks now(void)
{
	struct timespec wall;
	struct rusage usage;

	clock_gettime(CLOCK_MONOTONIC, &wall);
	getrusage(RUSAGE_SELF, &usage);
	return (struct clocks){
		(double)wall.tv_sec * 1e9 + (double)wall.tv_nsec,
		((double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec) * 1e9 +
			((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) * 1e3};
}

static struct clocks ask_once(const struct asked *a, size_t q)
{
	struct clocks before = now(), after;

	filter_init(a->filter);
	questions[q].ask(a);
	after = now();
	return (struct clocks){after.wall - before.wall, after.cpu - before.cpu};
}

static void ask(const struct asked *a, size_t q, double rows)
{
	struct clocks first = ask_once(a, q), best = ask_once(a, q);

	for (int i = 0; i < 2; i++) {
		struct clocks again = ask_once(a, q);

		if (again.cpu < best.cpu)
			best = again;
	}
	printf("%-34s %8.2f ns a row, %8.2f by the clock; 100 million: %7.3f s; first time %8.2f, "
	       "%8.2f by the clock\n",
	       questions[q].name, best.cpu / rows, best.wall / rows, best.wall / rows / 10,
	       first.cpu / rows, first.wall / rows);
}

static bool is_wanted(const char *name, char **argv, int argc)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 3;
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct symbols_options options = {0};
	struct recording *recording = NULL;
	struct symbols *symbols;
	struct filter filter;
	struct asked asked = {.filter = &filter};
	struct err_text err = {0};

	if (*what && !is_number(what)) {
		if (recording_open(what, NULL, NULL, &recording, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
	} else {
		recording = generate(*what ? strtoull(what, NULL, 10) : ROWS);
	}
	assert(symbols_new(&options, &symbols, &err) == 0);
	assert(view_new(recording, symbols, &asked.view, &err) == 0);
	asked.end_ns = recording_end_ns(recording);
	printf("%" PRIu64 " rows, %u stacks\n", recording_rows(recording),
	       recording_nodes(recording));
	for (size_t q = 0; q < sizeof(questions) / sizeof(questions[0]); q++)
		if (is_wanted(questions[q].name, argv, argc))
			ask(&asked, q, (double)recording_rows(recording));
	view_free(asked.view);
	symbols_free(symbols);
	recording_close(recording);
	return 0;
}
