/* What becomes of the events of a run, and of their stacks: all that was written is read by a
 * collector. */
#include "tests/unit/streamer/scripted.h"

#define NODES_MAX  (1u << 17)
#define EVENTS_MAX 20000

#define TRUNCATED   HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED
#define DEPTH_LIMIT HEAPCAST__PSEUDO_FRAME__FRAME_DEPTH_LIMIT
#define TABLE_FULL  HEAPCAST__PSEUDO_FRAME__FRAME_TABLE_FULL

/* What a collector knows that has all batches up to now. */
static struct collected {
	struct stack_node node[NODES_MAX];
	struct event event[EVENTS_MAX];
	uint64_t batches;
	uint32_t nodes;
	unsigned events;
} all;

static void collect_stacks(const Heapcast__Batch *batch)
{
	struct stacks_decoder d;
	struct err_text err = {{0}};
	struct stack_node node;
	uint32_t number;

	if (!batch->stacks)
		return;
	assert_int_equal(stacks_decoder_init(&d, batch->stacks, &err), 0);
	while (stacks_decoder_next(&d, &number, &node, &err) == 1) {
		assert_true(number > all.nodes && number < NODES_MAX);
		all.nodes = number;
		all.node[number] = node;
		assert_true(node.parent < number);
	}
	assert_string_equal(err.text, "");
}

static void collect_events(const Heapcast__Batch *batch)
{
	struct events_decoder d;
	struct err_text err = {{0}};

	if (!batch->events)
		return;
	assert_int_equal(events_decoder_init(&d, batch->events, &err), 0);
	while (events_decoder_next(&d, &all.event[all.events], &err) == 1) {
		assert_true(all.event[all.events].stack <= all.nodes);
		assert_true(++all.events < EVENTS_MAX);
	}
	assert_string_equal(err.text, "");
	events_decoder_done(&d);
}

/* Takes the script, and all batches, which must say everything that they refer to. */
static void collect(bool end)
{
	unsigned rounds = 0;

	do {
		stream_hurry(s);
		bench_drain(&b, end);
		for (; all.batches + 1 < s->spool.next; all.batches++) {
			Heapcast__Batch *batch = bench_batch(&b, all.batches + 1);

			assert_balanced(batch->ledger);
			collect_stacks(batch);
			collect_events(batch);
			forget(batch);
		}
		spool_ack(&s->spool, all.batches, all.batches);
	} while ((script.given < script.items || s->run.taken < s->run.count || s->frame_pending ||
		  s->batch.events.count) &&
		 ++rounds < 1000);
	assert_int_equal(script.given, script.items);
	assert_int_equal(s->run.taken, s->run.count);
}

static int setup(void **state)
{
	memset(&all, 0, sizeof(all));
	return script_setup(state);
}

/* The offsets of an event's frames, innermost first. */
static void assert_stack(unsigned event, unsigned count, const uint64_t *pcs)
{
	uint32_t node = all.event[event].stack;

	for (unsigned i = 0; i < count; i++, node = all.node[node].parent) {
		assert_int_not_equal(node, 0);
		assert_int_equal(all.node[node].offset, pcs[i]);
	}
	assert_int_equal(node, 0);
}

#define ASSERT_STACK(event, ...)                                                                   \
	assert_stack(event, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                  \
		     (const uint64_t[]){__VA_ARGS__})

/* ---- events ---- */

/* Events of all kinds, with and without weights, are what they were, and are counted. */
static void put_kinds(unsigned weighted)
{
	for (unsigned kind = 1; kind < EVENT_KIND_LIMIT; kind++) {
		struct run_item *item;

		if (event_class(kind) == EVENT_CLASS_NONE)
			continue;
		item = script_event(0, kind, 0x10000 * kind);
		item->size = 100 + kind;
		item->old_address = 0x200000 + 0x100 * kind;
		item->call_time_ns = item->time_ns - 500;
		item->weight = 5000 + kind;
		item->flags = weighted ? RUN_WEIGHTED : 0;
	}
}

static void assert_kinds(bool weighted)
{
	struct spool_account sum = {0};

	for (unsigned i = 0; i < all.events; i++) {
		const struct event *e = &all.event[i];
		const struct run_item *item = &script.item[1 + i];
		bool moves = event_class(e->kind) == EVENT_CLASS_REALLOCATION;

		assert_int_equal(e->kind, item->event);
		assert_int_equal(e->thread, 1);
		assert_int_equal(e->time_ns, item->time_ns);
		assert_int_equal(e->address, item->address);
		if (event_has_size(e->kind)) {
			assert_int_equal(e->size, item->size);
			assert_int_equal(e->weight, weighted ? item->weight : item->size);
		} else {
			assert_int_equal(e->size, 0);
		}
		if (moves)
			assert_int_equal(e->old_address, item->old_address);
		if (moves)
			assert_int_equal(e->call_time_ns / 1000, item->call_time_ns / 1000);
		sum.events++;
		sum.frees += event_class(e->kind) == EVENT_CLASS_FREE;
		if (!moves && event_class(e->kind) != EVENT_CLASS_ALLOCATION)
			continue;
		sum.allocations++;
		sum.bytes += item->size;
	}
	assert_int_equal(s->delivered.events, sum.events);
	assert_int_equal(s->delivered.allocations, sum.allocations);
	assert_int_equal(s->delivered.frees, sum.frees);
	assert_int_equal(s->delivered.bytes, sum.bytes);
	assert_int_equal(s->lane_thread[0]->counts.delivered, sum.events);
}

static void events_of_all_kinds(void **state)
{
	(void)state;
	script_thread(0, NOBODY, "a");
	put_kinds(false);
	collect(false);
	assert_int_equal(all.events, script.items - 1);
	assert_kinds(false);
}

static void events_with_weights(void **state)
{
	(void)state;
	script_thread(0, NOBODY, "a");
	put_kinds(true);
	collect(false);
	assert_int_equal(all.events, script.items - 1);
	assert_kinds(true);
}

/* Every other one has a weight. */
static void events_mixed(void **state)
{
	uint64_t bytes = 0;

	(void)state;
	script_thread(0, NOBODY, "a");
	for (unsigned i = 0; i < 100; i++) {
		struct run_item *item = script_event(0, 1 + i % 3, 16 * (i + 1));

		item->size = 10 + i;
		bytes += item->size;
		item->flags = i / 7 % 2 ? RUN_WEIGHTED : 0;
		item->weight = 999;
	}
	collect(false);
	assert_int_equal(all.events, 100);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(all.event[i].address, 16 * (i + 1));
		assert_int_equal(all.event[i].weight, i / 7 % 2 ? 999 : 10 + i);
	}
	assert_int_equal(s->delivered.bytes, bytes);
	assert_int_equal(s->delivered.allocations, 100);
}

/* Sizes and addresses that take much room: events wait until the batch was closed, and none is
 * counted twice. */
static void events_of_many_batches(void **state)
{
	uint64_t bytes = 0, before = s->spool.next;
	unsigned frees = 0, calls = 0;

	(void)state;
	script_thread(0, NOBODY, "a");
	srandom(1);
	for (unsigned i = 1; i < SCRIPT_MAX; i++) {
		static const uint8_t kinds[] = {1, 3, 32, 36, 48};
		struct run_item *item = script_event(0, kinds[i % 5], (uint64_t)random() << 15);

		item->size = (uint64_t)random() << 20;
		item->old_address = (uint64_t)random() << 15;
		item->call_time_ns = item->time_ns - 1000 * (unsigned)(random() % 2);
		item->weight = (uint64_t)random() << 30 | 1;
		item->flags = i / 1000 % 2 ? RUN_WEIGHTED : 0;
		bytes += i % 5 < 2 ? item->size : 0;
		frees += i % 5 == 2 || i % 5 == 3;
		calls += i % 5 == 4;
	}
	collect(false);
	assert_true(s->spool.next > before + 5);
	assert_int_equal(all.events, SCRIPT_MAX - 1);
	for (unsigned i = 0; i < all.events; i++)
		assert_int_equal(all.event[i].address, script.item[1 + i].address);
	assert_int_equal(s->delivered.events, SCRIPT_MAX - 1);
	assert_int_equal(s->delivered.frees, frees);
	assert_int_equal(s->delivered.allocations, SCRIPT_MAX - 1 - frees - calls);
	assert_int_equal(s->delivered.bytes, bytes);
	assert_int_equal(s->lane_thread[0]->counts.delivered, SCRIPT_MAX - 1);
}

/* Of two threads in turns. */
static void events_of_threads(void **state)
{
	(void)state;
	script_thread(0, NOBODY, "a");
	script_thread(1, NOBODY + 1, "b");
	script_thread(2, NOBODY + 1, "b")->flags = RUN_CONTINUES;
	for (unsigned i = 0; i < 300; i++)
		script_event(i / 2 % 3, 1, 16 * (i + 1));
	script_put((enum run_kind)99, 0, 0); /* no kind that there is */
	script_event(0, 1, 16);
	script.runs_max = 1;
	collect(false);
	assert_int_equal(all.events, 301);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(all.event[i].thread, i / 2 % 3 ? 2 : 1);
	assert_int_equal(s->lane_thread[0]->counts.delivered, 101);
	assert_int_equal(s->lane_thread[1]->counts.delivered, 200);
}

/* ---- stacks ---- */

static void stacks_share_frames(void **state)
{
	static const uint64_t pcs[] = {500003, 500002, 500001}, more[] = {500004};

	(void)state;
	script_thread(0, NOBODY, "a");
	script_thread(1, NOBODY + 1, "b");
	script_stack(0, 0, 3, pcs);
	script_stack(1, 0, 1, more); /* of another thread */
	script_stack(0, 2, 1, more);
	script_stack(0, 2, 0, NULL);
	script_event(0, 32, 16); /* without a stack, and the thread's last one holds */
	script_stack(0, 1, 0, NULL);
	script_stack(1, 1, 2, pcs);
	script_stack(0, 1, 1, more);
	collect(false);
	ASSERT_STACK(0, 500003, 500002, 500001);
	ASSERT_STACK(1, 500004);
	ASSERT_STACK(2, 500004, 500002, 500001);
	ASSERT_STACK(3, 500002, 500001);
	assert_int_equal(all.event[4].stack, 0);
	ASSERT_STACK(5, 500001);
	ASSERT_STACK(6, 500003, 500002, 500004);
	ASSERT_STACK(7, 500004, 500001);
	assert_int_equal(all.nodes, 8); /* each once */
}

/* What a lane keeps that it does not have is missing. */
static void stacks_begin_again(void **state)
{
	static const uint64_t pcs[] = {500003, 500002, 500001};

	(void)state;
	script_thread(0, NOBODY, "a");
	script_stack(0, 0, 3, pcs);
	script_stack(0, 1, 0, NULL)->flags = RUN_RESTART;
	script_stack(0, 2, 1, pcs);
	script_stack(0, 3, 0, NULL);
	script_stack(0, 4, 1, pcs + 1);
	script_stack(0, 0, 2, pcs);
	script_event(0, 1, 16)->flags = RUN_RESTART;
	script_stack(0, 1, 1, pcs);
	collect(false);
	ASSERT_STACK(1, TRUNCATED);
	ASSERT_STACK(2, 500003, TRUNCATED);
	ASSERT_STACK(3, 500003, TRUNCATED);
	ASSERT_STACK(4, 500002, TRUNCATED);
	ASSERT_STACK(5, 500003, 500002);
	ASSERT_STACK(7, 500003, TRUNCATED);
}

/* Of stacks that are deeper than a lane the inner frames go. */
static void stacks_are_cut(void **state)
{
	static uint64_t pcs[400], expected[400];
	unsigned most = s->lane[0].most;

	(void)state;
	assert_in_range(most, 10, 300);
	for (unsigned i = 0; i < 400; i++)
		pcs[i] = 600000 + i;
	script_thread(0, NOBODY, "a");
	script_stack(0, 0, most, pcs);
	script_stack(0, 0, most + 1, pcs);
	script_stack(0, most, 0, NULL);
	script_stack(0, most, 1, pcs + 300);
	script_stack(0, most - 1, 1, pcs + 300);
	script_stack(0, most + 5, 3, pcs);
	script_stack(0, most - 2, 4, pcs + 301);
	script_stack(0, 0, most + 90, pcs);
	collect(false);
	assert_stack(0, most, pcs);
	memcpy(expected, pcs, sizeof(pcs));
	expected[0] = DEPTH_LIMIT;
	assert_stack(1, most + 1, expected);
	assert_stack(2, most, expected + 1);
	assert_stack(3, most + 1, expected);
	expected[1] = pcs[300];
	assert_stack(4, most, expected + 1);
	assert_stack(5, most + 1, expected);
	expected[1] = pcs[303];
	expected[2] = pcs[304];
	assert_stack(6, most + 1, expected);
	memcpy(expected, pcs, sizeof(pcs));
	expected[89] = DEPTH_LIMIT;
	assert_stack(7, most + 1, expected + 89);
	assert_int_equal(s->stacks_cut, 0); /* the program's limit is not the agent's */
}

/* More new frames than a batch has room for, and than the table has. */
static void stacks_of_many_batches(void **state)
{
	static uint64_t pcs[SCRIPT_MAX][8];
	const uint64_t before = s->spool.next;

	(void)state;
	srandom(2);
	script_thread(0, NOBODY, "a");
	for (unsigned i = 0; i < 4000; i++) {
		for (unsigned k = 0; k < 8; k++)
			pcs[i][k] = 4096 + (uint64_t)random() % 512;
		script_stack(0, i ? i % 3 : 0, 8, pcs[i]);
	}
	for (unsigned i = 0; i < 20; i++) /* again, of which nothing is new */
		script_stack(0, 0, 8, pcs[3999]);
	collect(false);
	assert_true(s->spool.next > before + 8);
	assert_int_equal(all.events, 4020);
	for (unsigned i = 0; i < 4020; i++) {
		unsigned at = i < 4000 ? i : 3999;
		uint32_t node = all.event[i].stack;

		for (unsigned k = 0; k < 8; k++, node = all.node[node].parent)
			assert_int_equal(all.node[node].offset, pcs[at][k]);
		assert_true(i >= 4000 || !(i % 3) == !node);
	}
	assert_int_equal(s->stacks_cut, 0);
	assert_true(s->stacks.generations > 0);
}

/* Deep stacks, of which each lane keeps its own: more than half of the table. */
static void put_different(unsigned count, unsigned lanes, unsigned depth)
{
	static uint64_t pcs[SCRIPT_MAX][64];

	srandom(4);
	stacks_init(&s->stacks, s->stacks.cache, 32768); /* a small table */
	stream_fit_batch(s);
	for (unsigned i = 0; i < lanes; i++)
		script_thread(i, NOBODY + i, "some");
	for (unsigned i = 0; i < count; i++) {
		for (unsigned k = 0; k < depth; k++)
			pcs[i][k] = 4096 + (uint64_t)random() % 256;
		script_stack(i % lanes, 0, depth, pcs[i])->address = 16 * (i + 1);
	}
}

/* What is cut is counted, and nothing else is. */
static void assert_cut(unsigned count)
{
	unsigned cut = 0;

	assert_int_equal(all.events, count);
	for (unsigned i = 0; i < count; i++) {
		uint64_t inner = all.node[all.event[i].stack].offset;
		const struct run_item *item = script.item + script.items - count;

		item += all.event[i].address / 16 - 1;
		cut += inner == TABLE_FULL;
		assert_true(inner == TABLE_FULL || inner == item->pcs[0]);
	}
	assert_in_range(cut, 1, count - 1);
	assert_int_equal(s->stacks_cut, cut);
}

static void stacks_without_room(void **state)
{
	Heapcast__Batch *batch;

	(void)state;
	put_different(400, s->lane_count, 60);
	collect(false);
	assert_cut(400);
	script_again();
	script_event(0, 1, 16);
	batch = script_batch(&b);
	assert_int_equal(batch->ledger->stacks_cut, s->stacks_cut);
	forget(batch);
}

/* ---- held events ---- */

static int setup_culling(void **state)
{
	static const struct cull_settings cull = {.time_ns = UINT64_C(3600000000000)};

	(void)state;
	memset(&all, 0, sizeof(all));
	memset(&b, 0, sizeof(b));
	script_open_holding(&b, &cull, NULL);
	return 0;
}

static void held_events(void **state)
{
	static const uint64_t pcs[] = {500003, 500002, 500001};
	const unsigned kinds = 1; /* births are all sent at the end */

	(void)state;
	script_thread(0, NOBODY, "a");
	script_thread(1, NOBODY + 1, "b");
	script_stack(0, 0, 3, pcs)->size = 8;
	script_stack(0, 2, 0, NULL)->flags = RUN_WEIGHTED;
	script.item[script.items - 1].weight = 4711;
	script_stack(1, 0, 1, pcs + 2);
	script_event(0, kinds, 0x10000);
	script_stack(0, 1, 1, pcs);
	script_stack(0, 1, 0, NULL)->flags = RUN_RESTART;
	script_event(0, 13, 0x20000)->old_address = 0x30000;
	bench_drain(&b, false);
	assert_int_equal(s->delivered.events, 0);
	assert_true(s->cull.held > 0);
	collect(true);
	assert_int_equal(all.events, 7);
	ASSERT_STACK(0, 500003, 500002, 500001);
	assert_int_equal(all.event[0].size, 8);
	ASSERT_STACK(1, 500002, 500001);
	assert_int_equal(all.event[1].weight, 4711);
	ASSERT_STACK(2, 500001);
	assert_int_equal(all.event[2].thread, 2);
	assert_int_equal(all.event[3].stack, 0);
	ASSERT_STACK(4, 500003, 500001);
	ASSERT_STACK(5, TRUNCATED);
	assert_int_equal(all.event[6].kind, 13);
	assert_int_equal(all.event[6].old_address, 0x30000);
	assert_int_equal(s->stacks_cut, 0);
}

/* What comes after a mark of its thread has no time before it, though times are rounded down. */
static void held_events_behind_marks(void **state)
{
	const uint64_t times[] = {10500, 10499, 9500, 9499, 10300};
	const uint64_t expected[] = {10000, 11000, 11000, 9000, 10000};

	(void)state;
	script_thread(0, NOBODY, "a");
	script_thread(1, NOBODY + 1, "b");
	script_put(RUN_MARK, 0, 10500)->mark.kind = HEAPCAST__MARK_KIND__MARK_NUMBER;
	for (unsigned i = 0; i < 5; i++)
		script_event(i == 4, 1, 16 * (i + 1))->time_ns = times[i];
	collect(true);
	assert_int_equal(all.events, 5);
	for (unsigned i = 0; i < 5; i++) {
		unsigned index = (unsigned)(all.event[i].address / 16) - 1;

		assert_int_equal(all.event[i].time_ns, expected[index]);
	}
}

/* Held events whose stacks the table has no room for. */
static void held_without_room(void **state)
{
	(void)state;
	put_different(400, s->lane_count, 60);
	collect(true);
	assert_cut(400);
}

#define TEST(name)	   cmocka_unit_test_setup_teardown(name, setup, script_teardown)
#define TEST_CULLING(name) cmocka_unit_test_setup_teardown(name, setup_culling, script_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_of_all_kinds),
		TEST(events_with_weights),
		TEST(events_mixed),
		TEST(events_of_many_batches),
		TEST(events_of_threads),
		TEST(stacks_share_frames),
		TEST(stacks_begin_again),
		TEST(stacks_are_cut),
		TEST(stacks_of_many_batches),
		TEST(stacks_without_room),
		TEST_CULLING(held_events),
		TEST_CULLING(held_events_behind_marks),
		TEST_CULLING(held_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
