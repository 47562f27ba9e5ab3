#pragma once
/*
 * A stream whose source is the test: it puts items into runs, as a source would, and notes what it
 * is told. Items are given once, in order, as many at a time as a run has room for.
 */
#include "tests/unit/streamer/batch.h"

#define NOBODY 0x7f000000u /* no thread of this process has such a tid */

#define SCRIPT_MAX   4096
#define SCRIPT_LANES 512

static struct scripted {
	struct capture_source source;
	struct run_item item[SCRIPT_MAX];
	unsigned items, given, fills;
	struct run rest;   /* what the last run says beside its items */
	unsigned runs_max; /* items in a run */
	bool filled_finally;
	struct capture_counts count[SCRIPT_LANES]; /* since they were last asked for */
	struct capture_totals totals;
	unsigned turns, away, seals, images, obeyed, closed;
	struct capture_account sealed;
	struct capture_orders orders;
	uint32_t image;
	struct target_info target;
	bool is_filling;
} script;

static inline void script_fill(struct capture_source *source, bool final, struct run *run)
{
	unsigned most = script.runs_max ? script.runs_max : RUN_ITEMS;

	assert_ptr_equal(source, &script.source);
	assert_int_equal(run->count, 0);
	assert_int_equal(run->taken, 0);
	assert_false(run->more);
	assert_false(run->exec);
	script.fills++;
	script.filled_finally = final;
	while (script.given < script.items && run->count < most)
		run->item[run->count++] = script.item[script.given++];
	run->complete = script.given == script.items;
	run->until_ns = script.rest.until_ns;
	run->exec = run->complete && script.rest.exec;
	run->more = run->complete && (script.rest.more || run->exec);
	if (run->complete)
		script.rest.more = script.rest.exec = false;
}

static inline struct capture_counts script_count(struct capture_source *source, uint32_t lane)
{
	struct capture_counts more = script.count[lane];

	assert_ptr_equal(source, &script.source);
	assert_non_null(source->thread[lane]);
	script.count[lane] = (struct capture_counts){0};
	return more;
}

static inline struct capture_totals script_totals(const struct capture_source *source)
{
	assert_ptr_equal(source, &script.source);
	return script.totals;
}

static inline bool script_filling(const struct capture_source *source)
{
	(void)source;
	return __atomic_load_n(&script.is_filling, __ATOMIC_RELAXED);
}

static inline void script_turn(struct capture_source *source, bool away)
{
	(void)source;
	script.turns++;
	script.away += away;
}

static inline void script_seal(struct capture_source *source, const struct capture_account *account)
{
	(void)source;
	script.seals++;
	script.sealed = *account;
}

static inline void script_begin_image(struct capture_source *source, uint32_t image,
				      const struct target_info *target)
{
	(void)source;
	script.images++;
	script.image = image;
	script.target = *target;
}

static inline void script_obey(struct capture_source *source, const struct capture_orders *orders)
{
	(void)source;
	script.obeyed++;
	script.orders = *orders;
}

static inline void script_nothing(struct capture_source *source)
{
	(void)source;
}

static inline uint64_t script_uncounted(const struct capture_source *source)
{
	(void)source;
	return 0;
}

static inline void script_close(struct capture_source *source)
{
	assert_ptr_equal(source, &script.source);
	script.closed++;
}

static const struct capture_ops script_ops = {
	.kind = HEAPCAST__CAPTURE__CAPTURE_EBPF,
	.fill = script_fill,
	.count = script_count,
	.totals = script_totals,
	.filling = script_filling,
	.turn = script_turn,
	.seal = script_seal,
	.begin_image = script_begin_image,
	.obey = script_obey,
	.detach = script_nothing,
	.uncounted = script_uncounted,
	.retire = script_nothing,
	.close = script_close,
};

/* Opens the stream of this process in a bench that is open. */
static inline void script_begin(struct bench *b)
{
	struct stream_settings settings = {.mode = RING_FULL, .agent_id = b->agent_id};
	struct target_info target;

	memset(&script, 0, sizeof(script));
	script.source.ops = &script_ops;
	assert_int_equal(target_read(getpid(), &target), 0);
	assert_int_equal(stream_prepare(&b->stream, &target, &settings), 0);
	stream_begin(&b->stream, &script.source, 1);
}

static inline void script_open_holding(struct bench *b, const struct cull_settings *cull,
				       const struct flight_settings *flight)
{
	bench_open_holding(b, cull, flight);
	stream_close(&b->stream);
	script_begin(b);
}

static inline void script_open(struct bench *b)
{
	script_open_holding(b, NULL, NULL);
}

/* ---- items, which take the next place in the script ---- */

static inline struct run_item *script_put(enum run_kind kind, uint32_t lane, uint64_t time_ns)
{
	struct run_item *item = &script.item[script.items++];

	assert_true(script.items <= SCRIPT_MAX);
	memset(item, 0, sizeof(*item));
	item->kind = (uint8_t)kind;
	item->lane = lane;
	item->time_ns = time_ns;
	return item;
}

/* A tid that no thread of this process has is named as `name` says. */
static inline struct run_item *script_thread(uint32_t lane, uint32_t tid, const char *name)
{
	struct run_item *item = script_put(RUN_THREAD, lane, 1000);

	item->thread.tid = tid;
	snprintf(item->thread.name, sizeof(item->thread.name), "%s", name);
	return item;
}

/* An event without a stack. */
static inline struct run_item *script_event(uint32_t lane, unsigned kind, uint64_t address)
{
	struct run_item *item = script_put(RUN_EVENT, lane, 2000 + 1000 * (uint64_t)script.items);

	item->event = (uint8_t)kind;
	item->class = (uint8_t)event_class(kind);
	item->address = address;
	item->size = address / 16;
	return item;
}

static inline struct run_item *script_stack(uint32_t lane, unsigned keep, unsigned count,
					    const uint64_t *pcs)
{
	struct run_item *item = script_event(lane, 1, 16 * (uint64_t)script.items);

	item->frames = RUN_FRAMES(keep, count);
	item->pcs = pcs;
	return item;
}

static inline struct run_item *script_gap(uint32_t lane, int reason, uint64_t events)
{
	struct run_item *item = script_put(RUN_GAP, lane, 0);

	item->time_ns = 9000 + script.items;
	item->gap.lost = (struct run_losses){events, events + 1, events + 2, events + 3};
	item->gap.reason = reason;
	item->gap.from_ns = 5000 + script.items;
	return item;
}

static inline void script_load(const struct run_module *module)
{
	script_put(RUN_LOAD, RUN_NO_LANE, module->time_ns)->module = module;
}

static inline void script_unload(uint32_t id, uint32_t epoch, uint64_t time_ns)
{
	struct run_item *item = script_put(RUN_UNLOAD, RUN_NO_LANE, time_ns);

	item->unload.id = id;
	item->unload.epoch = epoch;
}

static inline void script_again(void)
{
	script.items = script.given = 0;
}

/* Takes the script, and closes the batch if there is anything to tell. */
static inline void script_send(struct bench *b)
{
	stream_hurry(&b->stream);
	b->stream.closed_ns = 0; /* long ago, too */
	bench_drain(b, false);
}

/* The same; there is something to tell, and this is it, as a collector reads it. */
static inline Heapcast__Batch *script_batch(struct bench *b)
{
	uint64_t number = b->stream.spool.next;
	Heapcast__Batch *batch;

	script_send(b);
	assert_int_equal(b->stream.spool.next, number + 1);
	batch = bench_batch(b, number);
	assert_balanced(batch->ledger);
	return batch;
}

/* The frames of a stack, the innermost first, as the table has them now. Returns how many. */
static inline unsigned script_frames(struct bench *b, uint32_t stack, struct stack_node *out,
				     unsigned most)
{
	unsigned count = 0;

	for (; stack && count < most; stack = out[count++].parent)
		assert_true(stacks_get(&b->stream.stacks, stack, &out[count]));
	return count;
}

/* ---- for programs whose tests have such a stream each ---- */

static struct bench b;
static struct stream *const s = &b.stream;

static inline int script_setup(void **state)
{
	(void)state;
	memset(&b, 0, sizeof(b));
	script_open(&b);
	forget(script_batch(&b)); /* which tells of the process */
	return 0;
}

static inline int script_teardown(void **state)
{
	(void)state;
	bench_close(&b);
	return 0;
}

#define SCRIPTED(name) cmocka_unit_test_setup_teardown(name, script_setup, script_teardown)

static inline enum stream_work turn(void)
{
	return stream_drain(s);
}

/* Fills the spool until the stream stalls. Returns the number of batches. */
static inline uint64_t stall(void)
{
	enum stream_work work = STREAM_IDLE;

	script_thread(0, NOBODY, "a");
	srandom(7);
	for (unsigned i = 0; work != STREAM_STALLED; i++) {
		if (script.given == script.items)
			script_again();
		while (script.items < SCRIPT_MAX) {
			struct run_item *item = script_event(0, 1, (uint64_t)random() << 15);

			item->size = (uint64_t)random() << 20;
		}
		work = turn();
		assert_true(i < 10000);
	}
	return s->spool.next - 1;
}
