#pragma once
/*
 * Recordings for the tests of queries: several modules and a tree of stacks, random allocations
 * from several threads with any number of reallocs, and what a query needs to look at them. Built
 * on the store's builder.
 */
#include "base/error.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/symbols/symbols.h"
#include "tests/unit/store/builder.h"

#define TEST_NODES   60
#define TEST_THREADS 3
#define TEST_LIVE    200

struct test_recording {
	struct recording *recording;
	struct symbols *symbols;
	struct view *view;
};

/* xorshift64*: the same on every machine. */
static inline uint64_t test_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* The first batch: process, two modules, and `count` nodes. */
static inline void test_first_batch(struct builder *b, const struct stack_node *nodes,
				    uint32_t count, const char *module_1, uint64_t bias_1,
				    bool sampled)
{
	static const char executable[] = "/usr/bin/example", path_2[] = "/usr/lib/libother.so.1";
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Module module[2] = {HEAPCAST__MODULE__INIT, HEAPCAST__MODULE__INIT},
			 *modules[] = {&module[0], &module[1]};
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	struct stacks_encoder encoder;
	struct builder_ledger ledger;
	static uint8_t memory[65536];

	batch.stream = builder_bytes(b->id, sizeof(b->id));
	batch.incarnation = 1;
	batch.number = ++b->number;
	process.pid = 4711;
	process.executable = builder_bytes(executable, sizeof(executable) - 1);
	process.start_wall_ns = 1700000000000000000ull;
	process.mode = sampled ? HEAPCAST__MODE__MODE_SAMPLE : HEAPCAST__MODE__MODE_FULL;
	process.sample_interval = sampled ? 4096 : 0;
	batch.process = &process;
	module[0].number = 1;
	module[0].path = builder_bytes(module_1, strlen(module_1));
	module[0].bias = bias_1;
	module[0].end = UINT64_MAX;
	module[1].number = 2;
	module[1].path = builder_bytes(path_2, sizeof(path_2) - 1);
	module[1].end = 0x100000;
	batch.module = modules;
	batch.n_module = 2;
	stacks_encoder_init(&encoder, memory, sizeof(memory), 1);
	for (uint32_t i = 0; i < count; i++)
		assert(stacks_encoder_put(&encoder, &nodes[i]) == 0);
	stacks_encoder_fill(&encoder, &stacks);
	batch.stacks = &stacks;
	builder_ledger(b, &ledger);
	batch.ledger = &ledger.message;
	builder_frame(b, &batch);
}

struct test_block {
	uint64_t address, size;
};

/* Some events were lost: what happened to the blocks that were alive is not known. */
static inline void test_gap(struct builder *b, uint64_t *random, uint64_t time)
{
	Heapcast__Gap gap = HEAPCAST__GAP__INIT;

	gap.thread = 1;
	gap.reason = HEAPCAST__REASON__REASON_SPOOL_FULL;
	gap.frees = gap.events = 1 + test_random(random) % 20;
	gap.from_ns = time - 50;
	gap.to_ns = time;
	b->gap = &gap;
	b->lost += gap.events;
	b->lost_frees += gap.frees;
	builder_close(b, time - 50); /* threads are late, but not by so much */
}

enum test_disorder {
	TEST_IN_ORDER,
	TEST_THREADS_APART, /* threads tell of what they did a little late */
	TEST_GAPS,	    /* and some of it is lost */
	TEST_LYING,	    /* and nothing is, but watermarks promise more than is kept */
};

/* A program of `events` events: it allocates, frees and reallocates; some blocks stay. Times come
 * in steps of 0 to 9 ns. */
static inline void test_random_events_disordered(struct builder *b, uint64_t *random,
						 unsigned events, bool sampled,
						 enum test_disorder disorder)
{
	struct test_block live[TEST_LIVE];
	unsigned count = 0;
	uint64_t time = 100, fresh = 0x10000, late[TEST_THREADS + 1] = {0};

	for (unsigned i = 0; i < events; i++) {
		uint64_t dice = test_random(random) % 100;
		struct event e = {.thread = 1 + (uint32_t)(test_random(random) % TEST_THREADS)};
		unsigned which;

		/* One by one: the members of a list are evaluated in any order. */
		e.time_ns = time += test_random(random) % 10;
		e.stack = (uint32_t)(test_random(random) % (TEST_NODES + 1));
		which = count ? (unsigned)(test_random(random) % count) : 0;

		if (count && (dice < 40 || count == TEST_LIVE)) {
			e.kind = HEAPCAST__EVENT_KIND__EVENT_FREE;
			e.address = live[which].address;
			live[which] = live[--count];
		} else {
			bool again = count && dice < 50;

			e.size = test_random(random) % (dice < 60 ? 20000 : 200);
			e.address = fresh += 0x8000;
			e.kind = again ? HEAPCAST__EVENT_KIND__EVENT_REALLOC
				       : HEAPCAST__EVENT_KIND__EVENT_MALLOC;
			e.old_address = again ? live[which].address : 0;
			if (sampled)
				e.weight = e.size < 4096 ? e.size + test_random(random) % 4096
							 : e.size;
			else
				e.weight = e.size;
			if (!again)
				which = count++;
			live[which] = (struct test_block){e.address, e.size};
		}
		if (disorder != TEST_IN_ORDER) {
			e.time_ns -= test_random(random) % 40;
			if (e.time_ns < late[e.thread])
				e.time_ns = late[e.thread];
			late[e.thread] = e.time_ns;
		}
		builder_event(b, &e);
		if (disorder == TEST_GAPS && test_random(random) % 300 == 0)
			test_gap(b, random, time);
		else if (disorder == TEST_LYING && test_random(random) % 50 == 0)
			builder_close(b, time);
	}
}

static inline void test_random_events(struct builder *b, uint64_t *random, unsigned events,
				      bool sampled)
{
	test_random_events_disordered(b, random, events, sampled, TEST_IN_ORDER);
}

static inline bool test_node_is_there(const struct stack_node *nodes, uint32_t count,
				      const struct stack_node *node)
{
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i].parent == node->parent && nodes[i].module == node->module &&
		    nodes[i].offset == node->offset)
			return true;
	return false;
}

/* All different, so that a node's number here is that on the wire. */
static inline void test_nodes(struct stack_node *nodes, uint64_t *random)
{
	for (uint32_t n = 1; n <= TEST_NODES;
	     n += !test_node_is_there(nodes, n - 1, &nodes[n - 1])) {
		struct stack_node *node = &nodes[n - 1];

		*node = (struct stack_node){0};
		node->parent = n > 3 ? (uint32_t)(test_random(random) % (n - 1)) : 0;
		node->module = 1 + (uint32_t)(test_random(random) % 2);
		node->offset = 0x100 * (1 + test_random(random) % 8);
		if (test_random(random) % 10 == 0)
			*node = (struct stack_node){.parent = node->parent,
						    .offset = test_random(random) % 4};
	}
}

static inline void test_open(struct test_recording *t, struct builder *b)
{
	struct err_text err = {0};
	struct symbols_options options = {0};

	assert(builder_open(b, b->file.length, &t->recording, &err) == 0);
	assert(symbols_new(&options, &t->symbols, &err) == 0);
	assert(view_new(t->recording, t->symbols, &t->view, &err) == 0);
}

static inline void test_disordered_recording(struct test_recording *t, uint64_t seed,
					     unsigned events, bool sampled,
					     enum test_disorder disorder)
{
	struct stack_node nodes[TEST_NODES];
	struct builder b;

	builder_init(&b, (uint8_t)seed);
	test_nodes(nodes, &seed);
	test_first_batch(&b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, sampled);
	test_random_events_disordered(&b, &seed, events, sampled, disorder);
	builder_end(&b, 0);
	test_open(t, &b);
	builder_done(&b);
}

static inline void test_random_recording(struct test_recording *t, uint64_t seed, unsigned events,
					 bool sampled)
{
	test_disordered_recording(t, seed, events, sampled, TEST_IN_ORDER);
}

static inline void test_close(struct test_recording *t)
{
	view_free(t->view);
	symbols_free(t->symbols);
	recording_close(t->recording);
}
