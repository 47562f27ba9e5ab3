/* A place that grows: when it does, what it pays, what it does when the room refuses, and that all
 * it knows stays. */
#include "tests/unit/streamer/harness.h"

#include <errno.h>

#define LIMIT	   (32u << 20)
#define DEPTH	   64
#define REFUSED_NS 100000000 /* until the room is asked again */
#define RENEWED_NS 1000000000
#define SOME_NS	   5000000000

/* The bench's ring, whose need and luck the test decides. */
static struct scene {
	struct bench b;
	struct arena place;
	struct capture_ops ops;
	int (*grow)(struct capture_source *source, uint32_t level);
	enum capture_need need;
	int error; /* of growth */
	unsigned asked, grown, refused;
} scene;

static struct stream *const s = &scene.b.stream;
static struct budget *const budget = &scene.b.budget;
static struct room *const room = &scene.b.budget.room;

static enum capture_need need(struct capture_source *source)
{
	assert_ptr_equal(source, &scene.b.ring.source);
	scene.asked++;
	return scene.need;
}

static int grow(struct capture_source *source, uint32_t level)
{
	if (scene.error && level >= 1 + (uint32_t)(scene.error == -EIO))
		return scene.error;
	return scene.grow(source, level);
}

static void hear(struct capture_source *source, bool refused)
{
	(void)source;
	scene.grown += !refused;
	scene.refused += refused;
}

static void open_place(struct bench *b)
{
	struct err_text err;

	assert_int_equal(budget_divide_elastic(&b->budget, LIMIT, DEPTH + 2, true, false, &err), 0);
	assert_int_equal(arena_open(&b->arena, budget_private(&b->budget) + 65536), 0);
	assert_int_equal(arena_open_sparse(&scene.place, b->budget.virtual), 0);
	assert_int_equal(packer_init(&b->packer, &b->arena, b->budget.message, b->budget.scratch),
			 0);
	b->clock = (struct clock){.kind = RING_CLOCK_MONOTONIC, .slope = 1};
	assert_int_equal(ring_source_init(&b->ring, &scene.place, &b->budget.shape, &b->clock), 0);
	pthread_mutex_init(&b->stream.lock, NULL);
	assert_int_equal(stream_init_place(&b->stream, &scene.place, &b->budget, DEPTH, &b->packer),
			 0);
	assert_true(room_take(&b->budget.room, b->budget.place[0].cost, ROOM_YOUNG));
	bench_begin(b, DEPTH);
}

static int setup(void **state)
{
	(void)state;
	scene = (struct scene){.error = 0};
	open_place(&scene.b);
	scene.ops = *scene.b.ring.source.ops;
	scene.grow = scene.ops.grow;
	scene.ops.need = need;
	scene.ops.grow = grow;
	scene.ops.grown = hear;
	scene.b.ring.source.ops = &scene.ops;
	assert_true(budget->levels > 3);
	s->turn_ns = SOME_NS;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bench_close(&scene.b);
	arena_close(&scene.place);
	return 0;
}

/* What is charged is what it costs, and nothing else; all parts have the level's size. */
static void assert_level(uint32_t level)
{
	const struct budget_place *place = &budget->place[level];

	assert_int_equal(s->level, level);
	assert_int_equal(room->used, place->cost);
	assert_int_equal(room->grown, place->cost - budget->place[0].cost);
	assert_int_equal(stream_cost_young(s), budget->place[0].cost);
	assert_int_equal(stream_cost_grown(s), place->cost - budget->place[0].cost);
	assert_int_equal(s->lane_count, budget_lanes(budget, level + 1));
	assert_int_equal(scene.b.ring.ring->slice_count, s->lane_count);
	assert_int_equal(s->threads.capacity, place->threads);
	assert_int_equal(s->modules.capacity, place->modules);
	assert_int_equal(s->stacks.size, place->stacks);
	assert_ptr_equal(s->stacks.cache, s->stacks_room[level & 1]);
	assert_int_equal(s->batch.size, place->batch);
	assert_int_equal(s->batch.definition_bytes_max, place->definitions);
	assert_true(s->batch.nodes_max <= place->nodes / STACKS_NODE_MAX);
	assert_true(s->batch.nodes_max <= s->stacks.nodes_max / 8);
	for (uint32_t i = 0; i < s->lane_count; i++) {
		assert_ptr_equal(s->lane[i].node,
				 i ? s->lane[i - 1].node + s->lane[i - 1].most : s->path);
		assert_in_range(s->lane[i].most, 1, s->depth_max);
	}
}

static void assert_not_asked(bool expected)
{
	unsigned refused = scene.refused, grown = scene.grown;

	assert_int_equal(stream_grow_if_due(s), expected);
	assert_int_equal(scene.refused, refused);
	assert_int_equal(scene.grown, grown);
}

static void assert_refused(void)
{
	unsigned refused = scene.refused, grown = scene.grown;
	struct room before = *room;
	uint32_t level = s->level;

	assert_false(stream_grow_if_due(s));
	assert_int_equal(scene.refused, refused + 1);
	assert_int_equal(scene.grown, grown);
	assert_int_equal(s->level, level);
	assert_memory_equal(room, &before, sizeof(before));
	assert_false(s->grow_wanted);
}

static void assert_grows(void)
{
	unsigned refused = scene.refused, grown = scene.grown;
	uint32_t level = s->level;

	assert_false(stream_grow_if_due(s));
	assert_int_equal(scene.refused, refused);
	assert_int_equal(scene.grown, grown + 1);
	assert_int_equal(s->level, level + 1);
	assert_false(s->grow_wanted);
}

/* ---- growth ---- */

static void test_levels(void **state)
{
	(void)state;
	assert_level(0);
	assert_not_asked(false); /* nobody wants it */
	scene.need = CAPTURE_MUST;
	for (uint32_t level = 1; level < budget->levels; level++) {
		assert_true(stream_may_grow(s));
		assert_grows();
		assert_level(level);
	}
	assert_false(stream_may_grow(s));
	assert_refused();
	s->turn_ns += REFUSED_NS;
	s->batch.gaps = 1; /* for nothing the batch need not be closed */
	assert_not_asked(false);
	s->batch.gaps = 0;
}

/* Stacks keep their numbers, and the memory of the old table goes back. */
static void test_stacks_stay(void **state)
{
	static const uint8_t zeros[1024];
	uint32_t node[300], parent;

	(void)state;
	scene.need = CAPTURE_MUST;
	for (uint32_t level = 0; level < 3; level++) {
		size_t size = s->stacks.size, page = (size_t)sysconf(_SC_PAGESIZE);
		uint8_t *old = s->stacks_room[level & 1];
		uint32_t nodes;

		parent = 0;
		for (uint32_t i = 0; i < 300; i++) {
			uint32_t at = stacks_child(&s->stacks, parent, 0, 10000 + i);

			if (level)
				assert_int_equal(at, node[i]);
			node[i] = at;
			parent = i % 3 ? parent : at;
		}
		nodes = s->stacks.nodes;
		assert_grows();
		assert_level(level + 1);
		assert_int_equal(s->stacks.nodes, nodes);
		assert_true(stacks_limit(&s->stacks) > nodes);
		for (size_t at = page; at + sizeof(zeros) + page <= (size & ~(page - 1));
		     at += sizeof(zeros))
			assert_memory_equal(old + at, zeros, sizeof(zeros));
	}
	assert_int_equal(stacks_child(&s->stacks, 0, 0, 10000), node[0]);
}

/* In a turn of the drain thread: what the batch has is sent before, and what comes later has the
 * same stacks. */
static void test_turn(void **state)
{
	struct event got[8];
	uint64_t pcs[] = {100003, 100002, 100001};
	struct writer w = writer_claim(&scene.b, 0, 1000);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		scene.need = i == 2 ? CAPTURE_WISHES : CAPTURE_ENOUGH;
		bench_drain(&scene.b, false);
		assert_int_equal(s->level, i >= 2);
		assert_true(s->level == 0 || s->spool.next > 1);
		writer_event(&w, 1, 16 * (i + 1), 8, now(), 0, 3, pcs);
		scene.need = CAPTURE_ENOUGH;
		bench_drain(&scene.b, false);
	}
	assert_level(1);
	bench_drain(&scene.b, true);
	assert_int_equal(bench_events(&scene.b, got, 8), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(got[i].address, 16 * (i + 1));
		assert_int_equal(got[i].stack, got[0].stack);
	}
	assert_true(got[0].stack > 0);
}

/* While a frame waits for the spool, growth makes room for it, and leaves it as it is. */
static void test_frame_waits(void **state)
{
	static const uint8_t filler[4096];
	struct event got[2];
	uint64_t pc = 100000, number;
	struct writer w = writer_claim(&scene.b, 0, 1000);

	(void)state;
	writer_event(&w, 1, 16, 8, now(), 0, 1, &pc);
	usleep(1000);
	bench_drain(&scene.b, false);
	assert_int_equal(s->batch.events.count, 1);
	while (spool_put(&s->spool, filler, sizeof(filler), &s->delivered) == 0)
		;
	while (spool_put(&s->spool, filler, 64, &s->delivered) == 0)
		;
	number = s->spool.next;
	room->used = room->size;
	stream_hurry(s);
	assert_int_equal(stream_drain(s), STREAM_STALLED);
	assert_true(s->frame_pending > 0);
	assert_int_equal(stream_drain(s), STREAM_STALLED);
	assert_int_equal(scene.refused, 1);
	assert_int_equal(s->level, 0);
	assert_int_equal(s->spool.next, number);
	room->used = budget->place[0].cost;
	s->refused_ns = 0;
	assert_int_not_equal(stream_drain(s), STREAM_STALLED);
	assert_level(1);
	assert_int_equal(s->frame_pending, 0);
	assert_int_equal(s->spool.next, number + 1);
	s->spool.first = number;
	assert_int_equal(bench_events(&scene.b, got, 2), 1);
	assert_int_equal(got[0].address, 16);
}

/* The program's threads have all slices: the ring itself says that it must grow. */
static void test_slices(void **state)
{
	static struct event got[200];
	uint32_t young = s->lane_count, claimed = 0;
	struct ring_memory *ring = scene.b.ring.ring;
	uint64_t pc = 100000;

	(void)state;
	scene.ops.need = ring_need;
	while (claimed < young + 2) {
		struct ring_slice *slice = &ring->slices[claimed];
		struct writer w;

		while (claimed >= ring->slice_count) {
			usleep(1000);
			bench_drain(&scene.b, false);
		}
		slice->owner_tid = 1000 + claimed;
		memcpy(slice->owner, &slice->owner_tid, sizeof(slice->owner_tid));
		slice->claim_stamp = now();
		__atomic_store_n(&slice->state, RING_SLICE_OWNED, __ATOMIC_RELEASE);
		ring->header->claims++;
		w = (struct writer){
			.slice = slice,
			.data = (uint64_t *)((uint8_t *)ring->header + slice->data_offset),
			.words = slice->words};
		writer_event(&w, 1, 16 * ++claimed, 8, now(), 0, 1, &pc);
	}
	assert_int_equal(s->level, 1);
	bench_drain(&scene.b, true);
	assert_int_equal(bench_events(&scene.b, got, 200), claimed);
	assert_int_equal(s->threads.last_number, claimed);
}

/* ---- who wants it ---- */

static void test_wishes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) { /* what is in the batch must be sent before */
		s->batch.events.count = i == 0;
		s->batch.gaps = i == 1;
		s->batch.marks = i == 2;
		s->batch.definition_bytes = i == 3;
		scene.need = CAPTURE_ENOUGH;
		assert_not_asked(false);
		scene.need = CAPTURE_WISHES;
		assert_not_asked(true);
		scene.need = CAPTURE_ENOUGH;
		assert_not_asked(true); /* that is not forgotten */
		s->grow_wanted = false;
	}
	s->batch.definition_bytes = 0;
	scene.need = CAPTURE_WISHES;
	assert_grows();
	assert_level(1);
	scene.need = CAPTURE_ENOUGH;
	assert_not_asked(false);
	s->grow_wanted = true;
	assert_grows();
	assert_level(2);
	s->frame_pending = 1;
	assert_grows();
	s->frame_pending = 0;
	assert_level(3);
}

/* Modules must have room for more, and their texts an eighth of theirs. */
static void test_modules(void **state)
{
	struct modules *m = &s->modules;

	(void)state;
	room->growth = 0; /* only what must is granted */
	room->grown = 1;
	m->count = m->capacity - 4;
	m->text.used = m->text.size / 8 * 7;
	assert_not_asked(false);
	m->count++;
	assert_grows();
	m->count = 0;
	assert_not_asked(false);
	m->text.used = m->text.size / 8 * 7;
	assert_not_asked(false);
	m->text.used++;
	assert_grows();
	m->text.used = 0;
	assert_not_asked(false);
	assert_int_equal(s->level, 2);
}

/* A table that is renewed twice within a second is too small, and one that can't be. */
static void test_renewals(void **state)
{
	(void)state;
	stream_table_renewed(s, true); /* the last time was long ago */
	assert_false(s->grow_wanted);
	s->turn_ns += RENEWED_NS;
	stream_table_renewed(s, true);
	assert_false(s->grow_wanted);
	s->turn_ns += RENEWED_NS - 1;
	stream_table_renewed(s, true);
	assert_true(s->grow_wanted);
	s->turn_ns += 1;
	stream_table_renewed(s, true);
	assert_true(s->grow_wanted); /* once it is wanted it stays so */
	assert_grows();
	s->turn_ns += RENEWED_NS;
	stream_table_renewed(s, false);
	assert_true(s->grow_wanted);
}

/* ---- the room ---- */

/* For a moment the old table and the new one are both there. */
static void test_least_room(void **state)
{
	const size_t more = budget->place[1].cost - budget->place[0].cost,
		     both = budget->place[0].stacks;

	(void)state;
	scene.need = CAPTURE_WISHES;
	room->size = room->used + more + both - 1;
	assert_refused();
	s->turn_ns += REFUSED_NS;
	room->size++;
	assert_grows();
	assert_level(1);
}

/* Growth for speed may use a part of the room only; growth that must be, all of it. */
static void test_growth_part(void **state)
{
	(void)state;
	room->growth = room->grown = 1000;
	scene.need = CAPTURE_WISHES;
	assert_refused();
	scene.need = CAPTURE_MUST;
	assert_grows();
	assert_int_equal(s->level, 1);
	assert_int_equal(room->used, budget->place[1].cost);
	assert_int_equal(room->grown, 1000 + stream_cost_grown(s));
}

/* After a refusal it asks again a tenth of a second later, and at once when it must; meanwhile no
 * batch is closed early. */
static void test_refusals(void **state)
{
	(void)state;
	room->used = room->size;
	scene.need = CAPTURE_WISHES;
	assert_refused();
	assert_true(stream_may_grow(s)); /* if it must */
	s->turn_ns += REFUSED_NS - 1;
	assert_not_asked(false);
	s->batch.gaps = 1;
	assert_not_asked(false);
	s->turn_ns++;
	assert_not_asked(true);
	s->batch.gaps = 0;
	assert_refused();
	scene.need = CAPTURE_MUST;
	assert_refused();
	assert_false(stream_may_grow(s));
	s->batch.marks = 1;
	assert_not_asked(false);
	s->turn_ns += REFUSED_NS - 1;
	assert_not_asked(false);
	s->turn_ns++;
	assert_not_asked(true);
	s->batch.marks = 0;
	room->used = budget->place[0].cost;
	assert_grows();
	assert_level(1);
	assert_true(stream_may_grow(s));
	assert_grows(); /* at once: this time nothing was refused */
	assert_level(2);
}

/* Without pages for the ring nothing changes, and nothing is paid. */
static void test_no_pages(void **state)
{
	(void)state;
	scene.need = CAPTURE_MUST;
	scene.error = -ENOMEM;
	assert_refused();
	assert_level(0);
	scene.error = 0;
	s->turn_ns += REFUSED_NS;
	assert_grows();
	assert_level(1);
}

/* ---- at once to a level ---- */

static void test_set_level(void **state)
{
	size_t more = budget->place[2].cost - budget->place[0].cost;

	(void)state;
	room->size = room->used + more - 1;
	assert_int_equal(stream_set_level(s, 0), 0);
	assert_int_equal(stream_set_level(s, 2), -ENOSPC);
	assert_level(0);
	room->size++;
	room->growth = 0;   /* whatever it says about growth */
	scene.error = -EIO; /* beyond the first level */
	assert_int_equal(stream_set_level(s, 2), -EIO);
	assert_level(1);
	scene.error = 0;
	assert_int_equal(stream_set_level(s, 2), 0);
	assert_level(2);
	assert_int_equal(stream_set_level(s, 2), 0);
	assert_level(2);
	assert_int_equal(scene.asked, 0);
}

/* Slots of fixed size, and sources whose lanes do not grow, never do. */
static void test_fixed(void **state)
{
	struct bench fixed = {0};

	(void)state;
	bench_open(&fixed);
	fixed.stream.grow_wanted = true;
	assert_false(stream_grow_if_due(&fixed.stream));
	assert_true(fixed.stream.grow_wanted);
	assert_int_equal(fixed.stream.level, 0);
	assert_false(stream_may_grow(&fixed.stream));
	bench_close(&fixed);
	scene.ops.grow = NULL;
	s->grow_wanted = true;
	s->batch.gaps = 1;
	assert_not_asked(false);
	s->batch.gaps = 0;
	assert_not_asked(false);
	assert_level(0);
	assert_int_equal(scene.asked, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_levels),   TEST(test_stacks_stay), TEST(test_turn),
		TEST(test_slices),   TEST(test_frame_waits), TEST(test_wishes),
		TEST(test_modules),  TEST(test_renewals),    TEST(test_least_room),
		TEST(test_refusals), TEST(test_growth_part), TEST(test_no_pages),
		TEST(test_fixed),    TEST(test_set_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
