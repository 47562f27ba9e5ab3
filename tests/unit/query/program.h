#pragma once
/*
 * A random program, and what a collector must make of it: a model that is too simple to be wrong, a
 * table of addresses that is told everything in the order in which it happened, row by row. The
 * same goes to a builder as the program's agent would send it: cut into batches, threads late and
 * apart from each other up to the watermark, some events lost with a gap that says how many, some
 * blocks culled to sums, with marks, mappings of the program's own and an exec.
 */
#include "proto/columns.h"
#include "proto/culled.h"
#include "proto/stack_columns.h"
#include "tests/unit/query/naive.h"
#include "collector/columns/row_block.h"

#define PROGRAM_THREADS	 3
#define PROGRAM_SLOTS	 48
#define PROGRAM_MARKS	 64
#define PROGRAM_REGIONS	 4
#define PROGRAM_MAPPINGS 64
#define PROGRAM_CULLED	 256
#define PROGRAM_PENDING	 1024

#define PROGRAM_LOW 0x200000ull /* addresses of brk's area */
/* others, a megabyte each; four of them are a region that the program may map */
#define PROGRAM_HIGH 0x7e0000000000ull
#define PROGRAM_MEGA 0x100000ull
/* ns between events where some are lost: longer than the clock may err (pairing.h), so that nothing
 * is mended that was no error of the clock */
#define PROGRAM_QUIET 6000

enum program_kind {
	PROGRAM_LOSSES = 1,
	PROGRAM_CULLS = 2,
	PROGRAM_EXECS = 4,
	PROGRAM_KINDS = 8,
};

struct program_mark {
	uint64_t time_ns, value;
	uint32_t thread;
	const char *text; /* NULL: a number */
};

struct program_mapping {
	uint64_t address, size, mapped_ns, unmapped_ns;
};

struct program {
	struct builder b;
	struct stack_node nodes[TEST_NODES];
	uint64_t random, now_ns;
	unsigned kind;
	/* The model: rows as a collector should have them, and by address which of them is alive as
	 * far as one can tell. */
	struct naive_row *rows;
	size_t count;
	int64_t known[PROGRAM_SLOTS]; /* row; -1: none */
	bool alive[PROGRAM_SLOTS];    /* in truth */
	uint64_t orphans, failed, inferred, stored;
	uint64_t lost_frees, lost_from_ns, lost_to_ns;
	struct program_mark marks[PROGRAM_MARKS];
	struct program_mapping mappings[PROGRAM_MAPPINGS];
	struct culled_row culled[PROGRAM_CULLED];
	uint32_t mark_count, mapping_count, culled_count, culled_sent,
		region[PROGRAM_REGIONS]; /* mapping + 1; 0: unmapped */
	/* On the way: each thread's events that are not delivered yet. */
	struct event pending[PROGRAM_THREADS + 1][PROGRAM_PENDING];
	unsigned first[PROGRAM_THREADS + 1], end[PROGRAM_THREADS + 1];
	Heapcast__Gap gap;
	unsigned losing; /* events that are going to be lost */
};

static const char *const program_thread_names[] = {"", "main", "worker-1", "worker-2"};
static const char *const program_modules[] = {"", "/usr/bin/example", "/usr/lib/libother.so.1",
					      "/usr/lib/libc.so.6"};
static const char *const program_labels[] = {"", "parse", "render"};

static inline uint64_t program_pick(struct program *p, uint64_t below)
{
	return test_random(&p->random) % below;
}

static inline uint64_t program_address(unsigned slot)
{
	if (slot % 3 == 0)
		return PROGRAM_LOW + slot * 0x2000;
	/* The chunks that glibc maps begin a page. */
	return PROGRAM_HIGH + slot * PROGRAM_MEGA + (slot % 3 == 1 ? 16 : 2048);
}

static inline uint64_t program_size(struct program *p, unsigned slot)
{
	uint64_t dice = program_pick(p, 20);

	if (dice == 0)
		return 0;
	return program_pick(p, dice < 16 ? 300 : slot % 3 ? 400000 : 8000);
}

/* ---- to the builder ---- */

static inline void program_first_batch(struct program *p)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Module module[3], *modules[3];
	Heapcast__Thread thread[PROGRAM_THREADS], *threads[PROGRAM_THREADS];
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	struct stacks_encoder encoder;
	struct builder_ledger ledger;
	static uint8_t memory[65536];

	batch.stream = builder_bytes(p->b.id, sizeof(p->b.id));
	batch.incarnation = 1;
	batch.number = ++p->b.number;
	process.pid = 4711;
	process.executable = builder_bytes(program_modules[1], strlen(program_modules[1]));
	process.start_wall_ns = 1700000000000000000ull;
	batch.process = &process;
	for (unsigned i = 0; i < 3; i++) {
		heapcast__module__init(&module[i]);
		module[i].number = i + 1;
		module[i].path =
			builder_bytes(program_modules[i + 1], strlen(program_modules[i + 1]));
		module[i].start = i ? 0x7f0000000000ull + i * PROGRAM_MEGA : 0x10000;
		module[i].end = module[i].start + 0xf0000;
		modules[i] = &module[i];
	}
	for (unsigned i = 0; i < PROGRAM_THREADS; i++) {
		heapcast__thread__init(&thread[i]);
		thread[i].number = i + 1;
		thread[i].name = builder_bytes(program_thread_names[i + 1],
					       strlen(program_thread_names[i + 1]));
		threads[i] = &thread[i];
	}
	batch.module = modules;
	batch.n_module = 3;
	batch.thread = threads;
	batch.n_thread = PROGRAM_THREADS;
	stacks_encoder_init(&encoder, memory, sizeof(memory), 1);
	for (uint32_t i = 0; i < TEST_NODES; i++)
		assert(stacks_encoder_put(&encoder, &p->nodes[i]) == 0);
	stacks_encoder_fill(&encoder, &stacks);
	batch.stacks = &stacks;
	builder_ledger(&p->b, &ledger);
	batch.ledger = &ledger.message;
	builder_frame(&p->b, &batch);
}

static inline void program_deliver(struct program *p, uint32_t thread, unsigned count)
{
	for (; count && p->first[thread] < p->end[thread]; count--)
		builder_event(&p->b, &p->pending[thread][p->first[thread]++ % PROGRAM_PENDING]);
}

/* Nothing that is not delivered yet began before. */
static inline uint64_t program_watermark(const struct program *p)
{
	uint64_t least = p->now_ns + 1;

	for (uint32_t t = 1; t <= PROGRAM_THREADS; t++) {
		const struct event *e = &p->pending[t][p->first[t] % PROGRAM_PENDING];

		if (p->first[t] < p->end[t] && e->time_ns - e->call_time_ns < least)
			least = e->time_ns - e->call_time_ns;
	}
	return least;
}

/* With the gap, if something was lost, and what was culled since. */
static inline void program_close(struct program *p)
{
	static uint8_t memory[PROGRAM_CULLED * CULLED_ROW_MAX];
	struct culled_encoder encoder;
	Heapcast__Culled culled;

	culled_encoder_init(&encoder, memory, PROGRAM_CULLED, 0);
	for (; p->culled_sent < p->culled_count; p->culled_sent++)
		assert(culled_encoder_put(&encoder, &p->culled[p->culled_sent]) == 0);
	culled_encoder_fill(&encoder, &culled);
	if (encoder.count)
		p->b.culled = &culled;
	p->b.culled_events += encoder.allocations + encoder.frees;
	if (p->gap.events) {
		p->gap.thread = 1;
		p->gap.reason = HEAPCAST__REASON__REASON_SPOOL_FULL;
		p->b.gap = &p->gap;
		p->b.lost += p->gap.events;
		p->b.lost_frees += p->gap.frees;
		p->b.lost_allocations += p->gap.allocations;
		p->lost_frees += p->gap.events - p->gap.allocations;
		if (p->gap.events > p->gap.allocations && p->gap.to_ns >= p->lost_to_ns) {
			p->lost_to_ns = p->gap.to_ns;
			p->lost_from_ns = p->gap.from_ns;
		}
	}
	p->b.last_ns = p->now_ns; /* what was lost before now, too, lies before the end */
	builder_close(&p->b, program_watermark(p));
	heapcast__gap__init(&p->gap);
}

static inline void program_send(struct program *p, const struct event *e)
{
	p->stored++;
	p->pending[e->thread][p->end[e->thread]++ % PROGRAM_PENDING] = *e;
	/* A thread seldom has so much on the way. */
	for (uint32_t t = 1; t <= PROGRAM_THREADS; t++)
		if (program_pick(p, 4) == 0 || p->end[t] - p->first[t] > PROGRAM_PENDING - 2)
			program_deliver(p, t, 1 + (unsigned)program_pick(p, 8));
	if (program_pick(p, 16) == 0)
		program_close(p);
}

static inline void program_send_all(struct program *p)
{
	for (uint32_t t = 1; t <= PROGRAM_THREADS; t++)
		program_deliver(p, t, PROGRAM_PENDING);
	program_close(p);
}

/* ---- the model ---- */

static inline void program_birth(struct program *p, const struct event *e, unsigned slot,
				 int64_t previous)
{
	struct naive_row *row = &p->rows[p->count],
			 *before = p->known[slot] >= 0 ? &p->rows[p->known[slot]] : NULL;

	if (before) {
		before->end = BLOCK_INFERRED;
		before->death = e->time_ns;
		p->inferred++;
	}
	*row = (struct naive_row){.address = e->address,
				  .size = e->size,
				  .weight = e->size,
				  .birth = e->time_ns,
				  .death = NO_TIME,
				  .stack = e->stack,
				  .thread = e->thread,
				  .previous = previous < 0 ? NO_BLOCK : (uint64_t)previous,
				  .next = NO_BLOCK,
				  .end = BLOCK_IN_USE};
	if (previous >= 0)
		p->rows[previous].next = p->count;
	p->known[slot] = (int64_t)p->count++;
}

/* The row that died; -1: none is known. */
static inline int64_t program_death(struct program *p, const struct event *e, unsigned slot,
				    uint8_t end)
{
	int64_t row = p->known[slot];

	p->known[slot] = -1;
	if (row < 0) {
		p->orphans++;
		return -1;
	}
	p->rows[row].death = e->time_ns;
	p->rows[row].death_stack = e->stack;
	p->rows[row].end = end;
	return row;
}

/* The frees that were lost may have been of any block that was in use: unless they were few, nobody
 * knows of these blocks' end. */
static inline void program_censor(struct program *p)
{
	uint64_t candidates = 0;

	for (size_t i = 0; i < p->count; i++)
		candidates += p->rows[i].end == BLOCK_IN_USE && p->rows[i].birth <= p->lost_to_ns;
	if (!p->lost_frees || p->lost_frees * 100 < candidates)
		return;
	for (size_t i = 0; i < p->count; i++) {
		struct naive_row *row = &p->rows[i];

		if (row->end != BLOCK_IN_USE || row->birth > p->lost_to_ns)
			continue;
		row->end = BLOCK_CENSORED;
		row->death = p->lost_from_ns > row->birth ? p->lost_from_ns : row->birth;
	}
}

/* ---- what happens ---- */

static inline void program_lose(struct program *p, const struct event *e)
{
	if (!p->gap.events)
		p->gap.from_ns = e->time_ns;
	p->gap.to_ns = e->time_ns;
	p->gap.events++;
	p->gap.frees += e->kind == HEAPCAST__EVENT_KIND__EVENT_FREE;
	p->gap.allocations += e->kind == HEAPCAST__EVENT_KIND__EVENT_MALLOC;
	p->gap.bytes += e->kind == HEAPCAST__EVENT_KIND__EVENT_MALLOC ? e->size : 0;
}

static inline unsigned program_free_slot(struct program *p)
{
	unsigned slot = (unsigned)program_pick(p, PROGRAM_SLOTS);

	while (p->alive[slot])
		slot = (slot + 1) % PROGRAM_SLOTS;
	return slot;
}

static inline void program_realloc(struct program *p, struct event *e, unsigned slot, bool lost)
{
	unsigned to = program_pick(p, 2) ? slot : program_free_slot(p);
	int64_t row;

	e->kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC;
	e->old_address = e->address;
	e->address = program_pick(p, 20) ? program_address(to) : 0;
	e->size = program_size(p, to);
	e->weight = e->size;
	if (!e->address) {
		p->failed += !lost;
		return;
	}
	p->alive[slot] = false;
	p->alive[to] = true;
	if (lost)
		return;
	row = program_death(p, e, slot, BLOCK_REALLOCATED);
	program_birth(p, e, to, row);
}

static inline void program_block(struct program *p, struct event *e)
{
	unsigned slot = (unsigned)program_pick(p, PROGRAM_SLOTS), live = 0;
	bool lost;

	for (unsigned i = 0; i < PROGRAM_SLOTS; i++)
		live += p->alive[i];
	if (live >= PROGRAM_SLOTS / 2)
		while (!p->alive[slot])
			slot = (slot + 1) % PROGRAM_SLOTS;
	if ((p->kind & PROGRAM_LOSSES) && !p->losing && program_pick(p, 60) == 0)
		p->losing = 1 + (unsigned)program_pick(p, 12);
	lost = p->losing > 0;
	p->losing -= lost;
	e->address = program_address(slot);
	if (!p->alive[slot]) {
		e->kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC;
		e->call_time_ns = 0;
		e->size = program_size(p, slot);
		e->weight = e->size;
		p->alive[slot] = true;
		if (!lost)
			program_birth(p, e, slot, -1);
	} else if (program_pick(p, 3)) {
		e->kind = HEAPCAST__EVENT_KIND__EVENT_FREE;
		e->call_time_ns = 0;
		p->alive[slot] = false;
		if (!lost)
			program_death(p, e, slot, BLOCK_FREED);
	} else {
		program_realloc(p, e, slot, lost);
	}
	if (lost)
		program_lose(p, e);
	else
		program_send(p, e);
}

/* A block that lived so short that the agent told only of a sum; some of these sums are of
 * several. */
static inline void program_cull(struct program *p, const struct event *e)
{
	struct culled_row *row = &p->culled[p->culled_count];
	uint64_t size = program_pick(p, 2000), first = e->time_ns / CULLED_TICK_NS * CULLED_TICK_NS;

	if (p->culled_count == PROGRAM_CULLED)
		return;
	p->culled_count++;
	*row = (struct culled_row){.thread = e->thread,
				   .stack = e->stack,
				   .size_least = size,
				   .size_most = size,
				   .first_ns = first,
				   .last_ns = first};
	row->lifetime = culled_lifetime(program_pick(p, 20000));
	row->blocks = 1 + program_pick(p, 3);
	row->bytes = row->blocks * size;
}

static inline void program_map(struct program *p, struct event *e)
{
	unsigned r = (unsigned)program_pick(p, PROGRAM_REGIONS);
	struct program_mapping *m = &p->mappings[p->mapping_count];

	if (p->mapping_count == PROGRAM_MAPPINGS)
		return;
	/* They are listed in the order in which they came: that of time. */
	program_send_all(p);
	e->address = PROGRAM_HIGH + 4 * r * PROGRAM_MEGA;
	e->size = e->weight = 4 * PROGRAM_MEGA;
	e->call_time_ns = 0;
	if (p->region[r]) {
		e->kind = HEAPCAST__EVENT_KIND__EVENT_MUNMAP;
		p->mappings[p->region[r] - 1].unmapped_ns = e->time_ns;
		p->region[r] = 0;
	} else {
		e->kind = HEAPCAST__EVENT_KIND__EVENT_MMAP;
		*m = (struct program_mapping){e->address, e->size, e->time_ns, NO_TIME};
		p->region[r] = ++p->mapping_count;
	}
	program_send(p, e);
	program_send_all(p);
}

static inline void program_send_mark(struct program *p, Heapcast__Mark *mark)
{
	p->b.mark = mark;
	program_close(p);
}

static inline void program_mark(struct program *p, const struct event *e)
{
	struct program_mark *m = &p->marks[p->mark_count];
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;

	if (p->mark_count == PROGRAM_MARKS)
		return;
	p->mark_count++;
	*m = (struct program_mark){
		.time_ns = e->time_ns, .value = program_pick(p, 4), .thread = e->thread};
	if (program_pick(p, 2))
		m->text = program_labels[program_pick(p, 3)];
	mark.time_ns = m->time_ns;
	mark.thread = m->thread;
	mark.kind = m->text ? HEAPCAST__MARK_KIND__MARK_LABEL : HEAPCAST__MARK_KIND__MARK_NUMBER;
	mark.value = m->text ? 0 : m->value;
	if (m->text)
		mark.text = builder_bytes(m->text, strlen(m->text));
	program_send_mark(p, &mark);
}

/* Another program: nothing of what was there is left, and what was lost concerns it no more. */
static inline void program_exec(struct program *p, const struct event *e)
{
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;

	program_send_all(p);
	mark.kind = HEAPCAST__MARK_KIND__MARK_EXEC;
	mark.time_ns = e->time_ns;
	program_send_mark(p, &mark);
	for (unsigned i = 0; i < PROGRAM_SLOTS; i++) {
		if (p->known[i] >= 0) {
			p->rows[p->known[i]].end = BLOCK_EXEC;
			p->rows[p->known[i]].death = e->time_ns;
		}
		p->known[i] = -1;
		p->alive[i] = false;
	}
	for (unsigned r = 0; r < PROGRAM_REGIONS; r++) {
		if (p->region[r])
			p->mappings[p->region[r] - 1].unmapped_ns = e->time_ns;
		p->region[r] = 0;
	}
	p->lost_frees = p->lost_to_ns = 0;
	p->losing = 0;
}

static inline void program_step(struct program *p)
{
	uint64_t dice = program_pick(p, 400), step = 2 + program_pick(p, 40);
	struct event e = {.thread = 1 + (uint32_t)program_pick(p, PROGRAM_THREADS)};

	e.stack = (uint32_t)program_pick(p, TEST_NODES + 1);
	if (p->kind & PROGRAM_LOSSES)
		step = PROGRAM_QUIET + program_pick(p, 4000);
	else if (program_pick(p, 50) == 0)
		step = program_pick(p, 4000000); /* it rests */
	p->now_ns += step += 2;
	e.time_ns = p->now_ns;
	e.call_time_ns = program_pick(p, step < 100 ? step - 1 : 100);
	if (dice < 6)
		program_mark(p, &e);
	else if (dice < 10)
		program_map(p, &e);
	else if (dice == 10 && (p->kind & PROGRAM_EXECS))
		program_exec(p, &e);
	else if (dice < 60 && (p->kind & PROGRAM_CULLS))
		program_cull(p, &e);
	else
		program_block(p, &e);
}

/* `kind`: of enum program_kind, added up. The last frame of the builder's file ends it. */
static inline void program_init(struct program *p, uint64_t seed, unsigned kind, unsigned steps)
{
	memset(p, 0, sizeof(*p));
	p->random = seed * 7919 + 1;
	p->kind = kind;
	p->now_ns = 1000;
	p->rows = calloc(steps + 1, sizeof(*p->rows));
	assert(p->rows);
	memset(p->known, 0xff, sizeof(p->known));
	heapcast__gap__init(&p->gap);
	builder_init(&p->b, 1 + (uint8_t)(seed % 100));
	test_nodes(p->nodes, &p->random);
	program_first_batch(p);
	for (unsigned i = 0; i < steps; i++)
		program_step(p);
	program_send_all(p);
	builder_end(&p->b, 0);
	program_censor(p);
}

static inline void program_done(struct program *p)
{
	free(p->rows);
	builder_done(&p->b);
}
