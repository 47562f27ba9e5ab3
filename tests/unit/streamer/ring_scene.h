#pragma once
/*
 * A ring's source without a stream: the test takes the runs, as a stream would, and keeps their
 * items. Time stands still: it is what the test says. A nanosecond has TICKS stamps, so that the
 * two can't be mistaken for each other.
 */
#include "tests/unit/streamer/harness.h"

#include "agent/core/target.h"
#include "agent/ring/ring_source.h"

#define TICKS	 2
#define START_NS UINT64_C(1000000000)
#define BEGIN_NS UINT64_C(1500000000)
#define US	 UINT64_C(1000)
#define MS	 UINT64_C(1000000)
#define SECOND	 UINT64_C(1000000000)
#define GOT_MOST 4096
#define RUNS_MAX 1000
#define MALLOC	 HEAPCAST__EVENT_KIND__EVENT_MALLOC
#define FREE	 HEAPCAST__EVENT_KIND__EVENT_FREE

static struct ring_scene {
	struct arena arena;
	struct ring_shape shape;
	struct clock clock;
	struct ring_source s;
	struct threads threads;
	struct thread *thread[RING_SLICES_MAX];
	uint64_t now_ns;
	struct run run; /* the last one */
	unsigned runs;	/* of the last round */
	struct run_item got[GOT_MOST];
	unsigned count;
	void (*look)(const struct run_item *item); /* while what it points to is there */
} scene;

/* In place of the processor's. */
uint64_t clock_counter(void)
{
	return scene.now_ns * TICKS;
}

uint32_t clock_counter_kind(void)
{
	return RING_CLOCK_TSC;
}

static inline uint64_t stamp_of(uint64_t ns)
{
	return ns * TICKS;
}

/* A time of the stream. */
static inline uint64_t stream_of(uint64_t ns)
{
	return ns - START_NS;
}

static inline struct ring_header *header(void)
{
	return scene.s.ring->header;
}

static inline void scene_open_shape(struct ring_shape shape, const struct ring_settings *settings)
{
	memset(&scene, 0, sizeof(scene));
	scene.now_ns = BEGIN_NS;
	scene.shape = shape;
	scene.clock = (struct clock){.kind = RING_CLOCK_TSC, .slope = 1.0 / TICKS};
	assert_int_equal(arena_open(&scene.arena, ring_source_bytes(&scene.shape) + (1u << 18)), 0);
	assert_int_equal(threads_init(&scene.threads, &scene.arena, 1024), 0);
	threads_clear(&scene.threads);
	assert_int_equal(ring_source_init(&scene.s, &scene.arena, &scene.shape, &scene.clock), 0);
	/* No lane has such a number: who reads beyond the last one is seen. */
	memset(arena_take(&scene.arena, 64), 0xff, 64);
	memset(scene.s.heap + ring_slice_count(&scene.shape, scene.shape.steps), 0xff, 4);
	scene.s.source.thread = scene.thread;
	scene.s.source.threads = &scene.threads;
	assert_int_equal(ring_source_open(&scene.s, settings, START_NS), 0);
	header()->account.start_ns = START_NS; /* as the stream does */
	/* There is no such slice, and what looks like one is other data. */
	scene.s.ring->slices[scene.s.ring->slice_count] = (struct ring_slice){
		.state = RING_SLICE_OWNED, .owner_tid = 99, .events = 1000000, .thread = 1};
}

static inline void scene_ready(uint32_t clock)
{
	header()->clock = clock;
	header()->pid = (uint32_t)getpid();
	header()->byte_order = RING_ORDER_MARK;
}

static inline int scene_open(void **state)
{
	(void)state;
	scene_open_shape(ring_shape_whole(1 << 20), &(struct ring_settings){.mode = RING_FULL});
	scene_ready(RING_CLOCK_TSC);
	return 0;
}

static inline int scene_close(void **state)
{
	(void)state;
	ring_source_close(&scene.s);
	arena_close(&scene.arena);
	return 0;
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

/* ---- what a stream does ---- */

static inline void scene_begin(const struct run_item *item)
{
	struct thread *t = threads_find(&scene.threads, item->thread.tid);

	assert_null(scene.thread[item->lane]);
	if (item->kind == RUN_RESUME) {
		if (!t || t->number != item->thread.number)
			t = threads_resume(&scene.threads, item->thread.tid, item->thread.number);
		t->counts.delivered += item->thread.delivered;
		t->counts.lost += item->thread.lost;
		t->counts.produced += item->thread.produced;
		t->counts.not_sampled += item->thread.not_sampled;
	} else if (!t || !(item->flags & RUN_CONTINUES)) {
		t = threads_add(&scene.threads, item->thread.tid, item->time_ns);
	}
	assert_non_null(t);
	scene.thread[item->lane] = t;
	t->lanes++;
}

static inline void scene_take_item(const struct run_item *item)
{
	struct thread *t = item->lane == RUN_NO_LANE ? NULL : scene.thread[item->lane];

	if (item->kind == RUN_THREAD || item->kind == RUN_RESUME) {
		scene_begin(item);
		return;
	}
	if (item->lane == RUN_NO_LANE)
		return;
	assert_non_null(t);
	if (item->kind == RUN_EVENT)
		t->counts.delivered++;
	if (item->kind == RUN_GAP)
		t->counts.lost += item->gap.lost.events;
	if (item->kind == RUN_COUNTS) {
		t->counts.produced += item->thread.produced;
		t->counts.not_sampled += item->thread.not_sampled;
	}
	if (item->kind == RUN_ENDED)
		threads_end(&scene.threads, t, item->time_ns);
	if (item->kind == RUN_LEFT) {
		t->lanes--;
		scene.thread[item->lane] = NULL;
	}
}

/* One run. */
static inline void scene_fill(bool final)
{
	struct run *r = &scene.run;

	memset(r, 0, sizeof(*r));
	scene.s.source.ops->fill(&scene.s.source, final, r);
	assert_in_range(r->count, 0, RUN_ITEMS);
	for (; r->taken < r->count; r->taken++) {
		assert_true(scene.count < GOT_MOST);
		scene.got[scene.count++] = r->item[r->taken];
		if (scene.look)
			scene.look(&r->item[r->taken]);
		scene_take_item(&r->item[r->taken]);
	}
}

/* Runs until one is complete. What was got before is forgotten. */
static inline void scene_round(bool final)
{
	scene.count = scene.runs = 0;
	do {
		scene_fill(final);
		assert_true(++scene.runs < RUNS_MAX);
	} while (!scene.run.complete);
}

/* ---- what was got ---- */

/* The `index`th item of a kind, NULL if there are fewer. */
static inline const struct run_item *got(enum run_kind kind, unsigned index)
{
	for (unsigned i = 0; i < scene.count; i++)
		if (scene.got[i].kind == kind && !index--)
			return &scene.got[i];
	return NULL;
}

static inline unsigned got_count(enum run_kind kind)
{
	unsigned count = 0;

	while (got(kind, count))
		count++;
	return count;
}

/* ---- the program ---- */

/* A slice becomes its owner's; `index` is that of the slice. */
static inline struct writer own(uint32_t index, uint32_t tid, uint64_t first, uint64_t claimed_ns)
{
	struct ring_slice *slice = &scene.s.ring->slices[index];

	assert_int_equal(slice->state, RING_SLICE_FREE);
	slice->owner_tid = tid;
	slice->claim_stamp = stamp_of(claimed_ns);
	slice->thread_first = first;
	slice->incarnation = header()->account.incarnation;
	slice->generation++;
	slice->state = RING_SLICE_OWNED;
	return (struct writer){.slice = slice,
			       .data = (uint64_t *)((uint8_t *)header() + slice->data_offset),
			       .words = slice->words};
}

/* The same, and the program says so. */
static inline struct writer claim(uint32_t index, uint32_t tid)
{
	header()->claims++;
	return own(index, tid, 0, scene.now_ns - 100 * MS);
}

/* An event without a stack, of three words. */
static inline void event_at(struct writer *w, uint64_t ns)
{
	writer_event(w, MALLOC, 4096 + 16 * w->slice->events, 8, stamp_of(ns), 0, 0, NULL);
}

static inline void leave(struct writer *w, uint32_t to)
{
	writer_pad(w, 3);
	writer_word(w, RING_MOVE);
	writer_word(w, to);
	writer_word(w, 0);
	writer_publish(w);
	w->slice->state = RING_SLICE_LEFT;
}
