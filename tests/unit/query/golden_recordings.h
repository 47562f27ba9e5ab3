#pragma once
/*
 * Recordings with a bit of everything that one can hold, always the same: beside the random
 * programs (program.h) one whose stacks have names, with inlined functions and functions that only
 * pass allocations on, calls of all kinds, readings of its maps, figures and allocator, and an end;
 * and one that was thinned.
 */
#include "proto/thinning.h"
#include "tests/unit/query/program.h"

#define GOLDEN_EVENTS 360
#define GOLDEN_PAGE   12 /* its shift */

/* ---- batches that the builder does not make ---- */

/* Numbers of columns; until the next batch is sent. */
static uint8_t golden_memory[1 << 16];
static size_t golden_used;

static inline ProtobufCBinaryData golden_column(const uint64_t *numbers, size_t count)
{
	uint8_t *from = golden_memory + golden_used, *to = from;

	assert(golden_used + 10 * count <= sizeof(golden_memory));
	for (size_t i = 0; i < count; i++)
		to = varint_put(to, numbers[i]);
	golden_used += (size_t)(to - from);
	return builder_bytes(from, (size_t)(to - from));
}

static inline ProtobufCBinaryData golden_texts(const char *const *texts, size_t count)
{
	uint8_t *from = golden_memory + golden_used, *to = from;

	for (size_t i = 0; i < count; i++) {
		memcpy(to, texts[i], strlen(texts[i]) + 1);
		to += strlen(texts[i]) + 1;
	}
	golden_used += (size_t)(to - from);
	return builder_bytes(from, (size_t)(to - from));
}

/* What came before in time goes first. */
static inline void golden_send(struct builder *b, Heapcast__Batch *batch)
{
	struct builder_ledger ledger;

	builder_close(b, b->last_ns);
	batch->stream = builder_bytes(b->id, sizeof(b->id));
	batch->incarnation = b->incarnation;
	batch->number = ++b->number;
	batch->time_ns = batch->watermark_ns = b->last_ns;
	builder_ledger(b, &ledger);
	batch->ledger = &ledger.message;
	builder_frame(b, batch);
	golden_used = 0;
}

/* ---- names ---- */

/* By the number of a text. */
static const char *const golden_names[] = {
	"main",	     "operator new(unsigned long)",
	"parse",     "render",
	"cache_put", "Cache<int>::put",
	"malloc",    "cache.cc",
	"main.c",    "parse.c",
};
#define GOLDEN_NAMES	 (sizeof(golden_names) / sizeof(*golden_names))
#define GOLDEN_FUNCTIONS 7

static inline uint64_t golden_zigzag(int64_t number)
{
	return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

/* Of each place in the first module, from nobody can name it to two inlined functions. */
static inline void golden_send_names(struct builder *b, uint64_t *random)
{
	uint64_t module[8], offset[8], frames[8], function[24], file[24], line[24];
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Names names = HEAPCAST__NAMES__INIT;
	size_t count = 0;

	for (unsigned i = 0; i < 8; i++) {
		module[i] = 1;
		offset[i] = golden_zigzag(0x100);
		frames[i] = i % 4;
		for (uint64_t k = 0; k < frames[i]; k++, count++) {
			function[count] = 1 + test_random(random) % GOLDEN_FUNCTIONS;
			file[count] = test_random(random) % 4;
			file[count] += file[count] ? GOLDEN_FUNCTIONS : 0;
			line[count] = test_random(random) % 5;
		}
	}
	names.first_text = 1;
	names.texts = golden_texts(golden_names, GOLDEN_NAMES);
	names.module = golden_column(module, 8);
	names.offset = golden_column(offset, 8);
	names.frames = golden_column(frames, 8);
	names.function = golden_column(function, count);
	names.file = golden_column(file, count);
	names.line = golden_column(line, count);
	batch.names = &names;
	golden_send(b, &batch);
}

static inline void golden_send_threads(struct builder *b)
{
	static const char *const of_thread[] = {"main", "worker-1", "worker-2"};
	Heapcast__Thread thread[TEST_THREADS], *threads[TEST_THREADS];
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	for (unsigned i = 0; i < TEST_THREADS; i++) {
		threads[i] = &thread[i];
		heapcast__thread__init(&thread[i]);
		thread[i].number = i + 1;
		thread[i].tid = 4711 + i;
		thread[i].name = builder_bytes(of_thread[i], strlen(of_thread[i]));
		thread[i].started_ns = 10 * i;
		thread[i].ended_ns = i == 2 ? b->last_ns : 0;
	}
	batch.thread = threads;
	batch.n_thread = TEST_THREADS;
	golden_send(b, &batch);
}

/* ---- readings ---- */

#define GOLDEN_REGIONS 6

static const char *const golden_region_names[] = {"[heap]", "/usr/lib/libother.so.1", "[anon:x]"};

/* Their starts, in pages, as differences. */
static inline ProtobufCBinaryData golden_starts(const uint64_t *pages, size_t count)
{
	uint64_t steps[GOLDEN_REGIONS];

	for (size_t i = 0; i < count; i++)
		steps[i] = pages[i] - (i ? pages[i - 1] : 0);
	return golden_column(steps, count);
}

static inline void golden_regions(Heapcast__Maps *m, const uint64_t *pages, size_t count,
				  uint64_t *random)
{
	uint64_t size[GOLDEN_REGIONS], flags[GOLDEN_REGIONS], offset[GOLDEN_REGIONS],
		device[GOLDEN_REGIONS], inode[GOLDEN_REGIONS], name[GOLDEN_REGIONS];

	for (size_t i = 0; i < count; i++) {
		uint64_t room = (i + 1 < count ? pages[i + 1] : pages[i] + 0x100) - pages[i];

		size[i] = 1 + test_random(random) % room;
		flags[i] = test_random(random) % 5 ? 3 : 1;
		name[i] = test_random(random) % 4;
		offset[i] = name[i] == 2 ? test_random(random) % 3 : 0;
		device[i] = name[i] == 2 ? 8 << 20 | 1 : 0;
		inode[i] = name[i] == 2 ? 77 : 0;
	}
	m->start = golden_starts(pages, count);
	m->size = golden_column(size, count);
	m->flags = golden_column(flags, count);
	m->offset = golden_column(offset, count);
	m->device = golden_column(device, count);
	m->inode = golden_column(inode, count);
	m->name = golden_column(name, count);
}

static inline void golden_usage(Heapcast__Maps *m, const uint64_t *pages, size_t count,
				uint64_t *random)
{
	ProtobufCBinaryData *const columns[] = {
		&m->rss,	   &m->pss,	      &m->shared_clean, &m->shared_dirty,
		&m->private_clean, &m->private_dirty, &m->anonymous,	&m->swap};
	uint64_t numbers[GOLDEN_REGIONS];

	m->used = golden_starts(pages, count);
	for (size_t c = 0; c < sizeof(columns) / sizeof(*columns); c++) {
		for (size_t i = 0; i < count; i++)
			numbers[i] = 4 * (test_random(random) % 200);
		*columns[c] = golden_column(numbers, count);
	}
}

/* All regions anew; or only what three of them hold; or one is gone, and has come again
 * elsewhere. */
static inline void golden_send_maps(struct builder *b, unsigned reading, uint64_t *random)
{
	static const uint64_t start[GOLDEN_REGIONS] = {0x10, 0x300, 0x380, 0x800, 0x1000, 0x7f000},
			      total[] = {9000, 800, 700, 60, 50, 40, 30, 20, 10};
	uint64_t again[] = {start[3] + 16 * reading};
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Maps m = HEAPCAST__MAPS__INIT;

	m.time_ns = b->last_ns;
	m.took_us = 5 + reading;
	m.page_shift = GOLDEN_PAGE;
	m.regions = GOLDEN_REGIONS;
	m.whole = reading % 3 == 0;
	m.first_name = 1;
	if (!reading)
		m.names = golden_texts(golden_region_names, 3);
	else
		m.first_name = 4;
	if (m.whole) {
		golden_regions(&m, start, GOLDEN_REGIONS, random);
		golden_usage(&m, start, GOLDEN_REGIONS, random);
	} else if (reading % 3 == 1) {
		golden_usage(&m, start, 3, random);
	} else {
		m.gone = golden_starts(start + 3, 1);
		golden_regions(&m, again, 1, random);
		golden_usage(&m, again, 1, random);
	}
	m.total = golden_column(total, 9);
	batch.maps = &m;
	golden_send(b, &batch);
}

static inline void golden_send_figures(struct builder *b, unsigned reading, uint64_t *random)
{
	Heapcast__Figures f = HEAPCAST__FIGURES__INIT, *figures = &f;
	Heapcast__Allocator a = HEAPCAST__ALLOCATOR__INIT;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	f.time_ns = a.time_ns = b->last_ns;
	f.rss = test_random(random) % 100000;
	f.rss_peak = f.rss + 5;
	f.anonymous = f.rss / 2;
	f.swap = reading;
	f.minor_faults = 10 * reading;
	f.major_faults = reading / 2;
	f.address_space = 200000 + test_random(random) % 100000;
	f.detailed = reading % 2;
	f.pss = f.detailed ? f.rss / 3 : 0;
	f.dirty = f.detailed ? f.rss / 4 : 0;
	f.clean = f.detailed ? f.rss / 5 : 0;
	a.took_ns = 7 + reading;
	a.arena = 100000 + reading;
	a.hblkhd = 5000 * reading;
	a.uordblks = test_random(random) % 100000;
	a.fordblks = 100000 - a.uordblks;
	a.keepcost = 3 + reading;
	a.ordblks = 4 + reading;
	a.hblks = 5 + reading;
	batch.figures = &figures;
	batch.n_figures = 1;
	batch.allocator = reading % 3 ? &a : NULL;
	golden_send(b, &batch);
}

/* ---- the named program ---- */

static inline void golden_send_mark(struct builder *b, Heapcast__MarkKind kind, uint32_t thread,
				    uint64_t value, const char *text)
{
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;

	mark.time_ns = b->last_ns;
	mark.kind = kind;
	mark.thread = thread;
	mark.value = value;
	mark.text = builder_bytes(text, strlen(text));
	b->mark = &mark;
	builder_close(b, b->last_ns);
}

/* A call that is no block's, of each kind. */
static inline void golden_call(struct builder *b, uint64_t time, unsigned n, uint64_t *random)
{
	static const uint8_t kinds[] = {
		HEAPCAST__EVENT_KIND__EVENT_MMAP,	   HEAPCAST__EVENT_KIND__EVENT_MMAP,
		HEAPCAST__EVENT_KIND__EVENT_MUNMAP,	   HEAPCAST__EVENT_KIND__EVENT_MREMAP,
		HEAPCAST__EVENT_KIND__EVENT_SBRK,	   HEAPCAST__EVENT_KIND__EVENT_SBRK_BACK,
		HEAPCAST__EVENT_KIND__EVENT_POOL_ALLOCATE, HEAPCAST__EVENT_KIND__EVENT_POOL_FREE,
		HEAPCAST__EVENT_KIND__EVENT_MALLOPT,
	};
	uint8_t kind = kinds[n % sizeof(kinds)];
	struct event e = {.kind = kind, .thread = 1, .time_ns = time};

	/* One by one: the members of a list are evaluated in any order. */
	e.address = 0x300000 + (test_random(random) % 8 << 16);
	e.size = 0x8000 * (1 + test_random(random) % 4);
	e.stack = 1 + (uint32_t)(test_random(random) % TEST_NODES);
	if (kind == HEAPCAST__EVENT_KIND__EVENT_MREMAP) {
		e.old_address = 0x300000 + (test_random(random) % 8 << 16);
		e.call_time_ns = 1;
	}
	if (kind == HEAPCAST__EVENT_KIND__EVENT_POOL_FREE)
		e.size = 0;
	if (kind == HEAPCAST__EVENT_KIND__EVENT_MMAP ||
	    kind == HEAPCAST__EVENT_KIND__EVENT_MREMAP ||
	    kind == HEAPCAST__EVENT_KIND__EVENT_SBRK ||
	    kind == HEAPCAST__EVENT_KIND__EVENT_POOL_ALLOCATE)
		e.weight = e.size;
	builder_event(b, &e);
}

static inline void golden_block(struct builder *b, uint64_t time, uint64_t *live, unsigned *count,
				uint64_t *random)
{
	static const uint8_t deaths[] = {
		HEAPCAST__EVENT_KIND__EVENT_FREE, HEAPCAST__EVENT_KIND__EVENT_DELETE,
		HEAPCAST__EVENT_KIND__EVENT_DELETE_ARRAY, HEAPCAST__EVENT_KIND__EVENT_REALLOC_FREE};
	struct event e = {.thread = 1 + (uint32_t)(test_random(random) % TEST_THREADS),
			  .time_ns = time};
	unsigned which;

	e.stack = (uint32_t)(test_random(random) % (TEST_NODES + 1));
	which = *count ? (unsigned)(test_random(random) % *count) : 0;
	if (*count && (*count == TEST_LIVE || test_random(random) % 5 < 2)) {
		e.kind = deaths[test_random(random) % sizeof(deaths)];
		e.address = live[which];
		live[which] = live[--*count];
	} else {
		e.kind = (uint8_t)(HEAPCAST__EVENT_KIND__EVENT_MALLOC + test_random(random) % 11);
		e.size = test_random(random) % 8 ? 300 : 200000;
		e.size = test_random(random) % e.size;
		e.weight = e.size;
		e.address = test_random(random) % 2 ? 0x10000 : 0x300000;
		e.address += test_random(random) % 1000 << 8;
		if (e.kind == HEAPCAST__EVENT_KIND__EVENT_REALLOC ||
		    e.kind == HEAPCAST__EVENT_KIND__EVENT_REALLOCARRAY) {
			e.old_address = *count ? live[which] : 0;
			e.call_time_ns = 1;
			*count -= *count > 0;
			live[which] = live[*count];
		}
		live[(*count)++] = e.address;
	}
	builder_event(b, &e);
}

static inline void golden_named(struct builder *b, uint64_t seed, unsigned events)
{
	struct stack_node nodes[TEST_NODES];
	uint64_t live[TEST_LIVE], time = 100, random = seed;
	unsigned count = 0;

	builder_init(b, (uint8_t)seed);
	test_nodes(nodes, &random);
	test_first_batch(b, nodes, TEST_NODES, "/usr/lib/libfirst.so.2", 0x5000, false);
	golden_send_names(b, &random);
	for (unsigned i = 0; i < events; i++) {
		/* Now and then many at a moment; readings lie far apart from calls and near. */
		time += test_random(&random) % 10 ? test_random(&random) % 3
						  : test_random(&random) % 40000000;
		if (i % 12 == 3)
			golden_call(b, time, i / 12, &random);
		else
			golden_block(b, time, live, &count, &random);
		if (i % 15 == 14)
			golden_send_maps(b, i / 15, &random);
		if (i % 25 == 24)
			golden_send_figures(b, i / 25, &random);
		if (i % 40 == 39)
			golden_send_mark(b, HEAPCAST__MARK_KIND__MARK_NUMBER, 1, i / 40, "");
		if (i % 50 == 49)
			golden_send_mark(b, HEAPCAST__MARK_KIND__MARK_LABEL, 1 + i / 50 % 3, 0,
					 program_labels[i / 50 % 3]);
	}
	golden_send_threads(b);
	builder_end(b, 3);
}

/* ---- thinned ---- */

static inline void golden_law(struct builder *b, const struct thinning *law)
{
	uint8_t text[THINNING_BYTES];
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;

	thinning_put(law, text);
	mark.kind = HEAPCAST__MARK_KIND__MARK_THINNED;
	mark.time_ns = b->last_ns;
	mark.text = builder_bytes(text, sizeof(text));
	b->mark = &mark;
	builder_close(b, b->last_ns);
}

static inline void golden_thinned(struct builder *b, uint64_t seed, unsigned blocks)
{
	static const struct thinning laws[] = {
		{.seed = 9, .level = 2, .cut = 7},
		{.seed = 9, .level = 3, .cut = 7, .ahead = 1},
		{.seed = 9, .level = 0, .halvings = 1, .keep = 12},
		{.seed = 9, .level = 1, .halvings = 2, .keep = 12, .openings = 1},
	};
	struct stack_node nodes[TEST_NODES];
	uint64_t random = seed;

	builder_init(b, (uint8_t)seed);
	test_nodes(nodes, &random);
	test_first_batch(b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, seed % 2);
	for (size_t i = 0; i < sizeof(laws) / sizeof(*laws); i++) {
		struct thinning law = laws[i];

		/* Ages do not overlap: the program's times and addresses begin anew. */
		for (unsigned k = 0; k < blocks; k++)
			builder_event(b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
							 .thread = 1 + k % 3,
							 .time_ns = 1000 * i + 10 * k + 1,
							 .address = 0x10000 * (i + 1) + 80 * k,
							 .size = test_random(&random) % 300,
							 .weight = seed % 2 ? 4096 : 0,
							 .stack = 1 + k % TEST_NODES});
		golden_law(b, &law);
		for (unsigned k = 0; k < blocks / 2; k++)
			builder_free(b, 1000 * i + 700 + 10 * k, 1 + k % 3,
				     0x10000 * (i + 1) + 160 * k);
	}
	builder_end(b, 0);
}
