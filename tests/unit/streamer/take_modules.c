/* What becomes of items of a run: modules, what they mean for addresses, and what a batch has room
 * for. */
#include "tests/unit/streamer/scripted.h"

/* Definitions may take so many bytes: what has none left goes into the next batch. */
static void definitions_of_a_batch(void **state)
{
	struct run_module module = module_of(1), known = module_of(2);
	uint64_t next;

	(void)state;
	module.path = (const uint8_t *)"/some/other/file";
	module.path_length = 16;
	module.segment_count = 3;
	for (unsigned what = 0; what < 8; what++) {
		/* what it takes, and one byte less */
		const size_t takes[] = {GAP_BYTES,	GAP_BYTES,     24, 24, 24, 24,
					128 + 16 + 120, 128 + 16 + 120};

		script_again();
		if (what == 2 || what == 3) { /* loaded before, and not now */
			script_load(&known);
			script_unload(known.id, 1, 5000);
		}
		if (what == 4 || what == 5)
			script_load(&known);
		script_send(&b);
		next = s->spool.next;
		module.id = 100 + what;
		module.print = what;
		s->batch.definition_bytes = s->batch.definition_bytes_max - takes[what] + what % 2;
		script_again();
		if (what < 2)
			script_gap(RUN_NO_LANE, 1, 1);
		else if (what < 4)
			script_load(&known);
		else if (what < 6)
			script_unload(known.id, 1, 6000);
		else
			script_load(&module);
		bench_drain(&b, false);
		assert_int_equal(s->spool.next, next + what % 2);
		assert_int_equal(s->batch.definition_bytes,
				 what % 2 ? takes[what] : s->batch.definition_bytes_max);
		if (what == 2 || what == 3) {
			script_again();
			script_unload(known.id, 1, 7000);
			script_send(&b);
		}
	}
}

static struct run_module module_at(uint32_t id, uint32_t epoch, uint64_t start, uint64_t end)
{
	struct run_module module = module_of(1);

	module.id = module.print = id;
	module.epoch = epoch;
	module.start = start;
	module.end = end;
	module.bias = start - 0x10;
	return module;
}

/* The module of the innermost frame of the next event, and whether its offset is right. */
static uint32_t module_of_pc(uint64_t pc, uint32_t epoch)
{
	static uint64_t pcs[1];
	struct stack_node node;
	struct event got[1];
	uint64_t number = s->spool.next;
	Heapcast__Batch *batch;
	struct events_decoder d;
	struct err_text err = {{0}};

	pcs[0] = pc;
	script_again();
	script_stack(0, 0, 1, pcs)->epoch = epoch;
	forget(script_batch(&b));
	batch = bench_batch(&b, number);
	assert_int_equal(events_decoder_init(&d, batch->events, &err), 0);
	assert_int_equal(events_decoder_next(&d, got, &err), 1);
	events_decoder_done(&d);
	forget(batch);
	assert_int_equal(script_frames(&b, got[0].stack, &node, 1), 1);
	assert_int_equal(node.parent, 0);
	assert_int_equal(node.offset,
			 node.module ? pc - s->modules.entry[node.module - 1].bias : pc);
	return node.module;
}

static void places_of_frames(void **state)
{
	struct run_module low = module_at(1, 0, 0x800, 0x2000),
			  high = module_at(2, 0, 0x100000, 0x200000);

	(void)state;
	script_thread(0, NOBODY, "a");
	script_load(&low);
	script_load(&high);
	bench_drain(&b, false);
	/* Below this are no addresses. */
	assert_int_equal(module_of_pc(RUN_PSEUDO_LIMIT - 1, 0), 0);
	assert_int_equal(module_of_pc(RUN_PSEUDO_LIMIT, 0), 1);
	/* A call at the end of the file returns behind it. */
	assert_int_equal(module_of_pc(0x100000, 0), 0);
	assert_int_equal(module_of_pc(0x100001, 0), 2);
	assert_int_equal(module_of_pc(0x200000, 0), 2);
	assert_int_equal(module_of_pc(0x200001, 0), 0);
}

/* An address means what was there when the stack was walked. */
static void places_change(void **state)
{
	struct run_module first = module_at(1, 2, 0x100000, 0x200000),
			  second = module_at(2, 4, 0x100000, 0x200000);

	(void)state;
	script_thread(0, NOBODY, "a");
	bench_drain(&b, false);
	assert_int_equal(module_of_pc(0x150000, 2), 0);
	script_again();
	script_load(&first);
	bench_drain(&b, false);
	assert_int_equal(module_of_pc(0x150000, 2), 1); /* is not taken for what it was */
	assert_int_equal(module_of_pc(0x150000, 1), 0);
	script_again();
	script_unload(1, 3, 5000);
	bench_drain(&b, false);
	assert_int_equal(module_of_pc(0x150000, 3), 0);
	assert_int_equal(module_of_pc(0x150000, 2), 1);
	script_again();
	script_load(&second);
	bench_drain(&b, false);
	assert_int_equal(module_of_pc(0x150000, 4), 2);
	assert_int_equal(module_of_pc(0x150000, 3), 0);
	assert_int_equal(module_of_pc(0x150000, 2), 1);
	script_again();
	script_unload(2, 4, 6000); /* it was never there */
	bench_drain(&b, false);
	assert_int_equal(module_of_pc(0x150000, 4), 0);
	assert_int_equal(module_of_pc(0x150000, UINT32_MAX), 0);
}

static void modules_of_a_batch(void **state)
{
	static struct run_module module[BATCH_MODULES_MAX + 1];
	const uint64_t first = s->spool.next;
	Heapcast__Batch *batch;

	(void)state;
	for (uint32_t i = 0; i <= BATCH_MODULES_MAX; i++)
		module[i] = module_at(i + 1, 0, 0x100000 * (i + 1), 0x100000 * (i + 2));
	for (uint32_t i = 0; i < BATCH_MODULES_MAX; i++)
		script_load(&module[i]);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first);
	script_again();
	script_load(&module[BATCH_MODULES_MAX]);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first + 1);
	batch = bench_batch(&b, first);
	assert_int_equal(batch->n_module, BATCH_MODULES_MAX);
	forget(batch);
	batch = script_batch(&b);
	assert_int_equal(batch->n_module, 1);
	assert_int_equal(batch->module[0]->number, BATCH_MODULES_MAX + 1);
	assert_int_equal(batch->module[0]->start, 0x100000 * 17);
	forget(batch);
}

/* Files that go are told, 64 in a batch; one that comes back counts as one that may go. */
static void unloads_of_a_batch(void **state)
{
	static struct run_module module[BATCH_UNLOADS_MAX + 1];
	uint64_t first;
	Heapcast__Batch *batch;

	(void)state;
	for (uint32_t i = 0; i <= BATCH_UNLOADS_MAX; i++) {
		module[i] = module_at(i + 1, 0, 0x100000 * (i + 1), 0x100000 * (i + 2));
		script_load(&module[i]);
	}
	script_send(&b);
	first = s->spool.next;
	script_again();
	for (uint32_t i = 0; i < BATCH_UNLOADS_MAX; i++)
		script_unload(i + 1, 1, 5000 + i);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first);
	script_again();
	script_unload(BATCH_UNLOADS_MAX + 1, 1, 6000);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first + 1);
	batch = bench_batch(&b, first);
	assert_int_equal(batch->n_unload, BATCH_UNLOADS_MAX);
	assert_int_equal(batch->unload[63]->module, 64);
	assert_int_equal(batch->unload[63]->time_ns, 5063);
	forget(batch);
	batch = script_batch(&b);
	assert_int_equal(batch->n_unload, 1);
	assert_int_equal(batch->unload[0]->module, 65);
	assert_int_equal(batch->unload[0]->time_ns, 6000);
	forget(batch);

	/* loaded again: told, too */
	first = s->spool.next;
	script_again();
	for (uint32_t i = 0; i <= BATCH_UNLOADS_MAX; i++)
		script_load(&module[i]);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first + 1);
	batch = bench_batch(&b, first);
	assert_int_equal(batch->n_unload, BATCH_UNLOADS_MAX);
	assert_int_equal(batch->unload[0]->time_ns, MODULE_THERE);
	assert_int_equal(batch->n_module, 0);
	forget(batch);
	assert_int_equal(s->modules.count, BATCH_UNLOADS_MAX + 1);
}

/* A table that can't grow counts what it has no room for. */
static void modules_turned_away(void **state)
{
	static struct run_module module[2];
	uint32_t capacity = s->modules.capacity;

	(void)state;
	for (uint32_t i = 0; i < capacity + 3; i++) {
		module[0] = module_at(i + 1, 0, 0x100000 * (i + 1), 0x100000 * (i + 2));
		module[0].path_length = 1;
		module[0].segment_count = 0;
		script_again();
		script_load(&module[0]);
		bench_drain(&b, false);
		spool_ack(&s->spool, s->spool.next - 1, s->spool.next - 1);
	}
	assert_int_equal(s->modules.count, capacity);
	assert_int_equal(s->modules.turned_away, 3);
	module[1] = module_of(1);
	module[1].path_length = MODULE_PATH_MAX + 1; /* makes no sense, and is skipped */
	script_again();
	script_load(&module[1]);
	bench_drain(&b, false);
	assert_int_equal(s->modules.turned_away, 3);
	assert_int_equal(s->run.taken, 1);
	assert_false(s->grow_wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED(definitions_of_a_batch), SCRIPTED(places_of_frames),
		SCRIPTED(places_change),	  SCRIPTED(modules_of_a_batch),
		SCRIPTED(unloads_of_a_batch),	  SCRIPTED(modules_turned_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
