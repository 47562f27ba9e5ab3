/* The life of a stream: how it begins, is taken up, is told things, and ends. */
#include "tests/unit/streamer/scripted.h"

#include <errno.h>

static struct stream_settings plain(void)
{
	return (struct stream_settings){.mode = RING_FULL, .agent_id = b.agent_id};
}

static struct target_info self(void)
{
	struct target_info target;

	assert_int_equal(target_read(getpid(), &target), 0);
	return target;
}

/* ---- how it begins ---- */

static void begun(void **state)
{
	const uint8_t parent[STREAM_ID_SIZE] = {1, 2, 3};
	struct target_info target = self();
	struct stream_settings settings = plain();
	uint8_t id[STREAM_ID_SIZE];
	uint64_t before, wall;

	(void)state;
	memcpy(id, s->id, sizeof(id));
	stream_close(s);
	assert_int_equal(script.closed, 1);
	assert_int_equal(s->state, STREAM_FREE);
	assert_null(s->source);

	settings.mode = RING_SAMPLE;
	settings.sample_interval = 4096;
	settings.frees_have_stacks = true;
	settings.parent_stream = parent;
	settings.parent_event = 99;
	settings.runs = true; /* which a parent knows better */
	before = now();
	wall = clock_wall_ns();
	assert_int_equal(stream_prepare(s, &target, &settings), 0);
	assert_int_equal(s->state, STREAM_FREE);
	assert_memory_not_equal(s->id, id, sizeof(id));
	assert_in_range(s->start_ns, before, now());
	assert_in_range(s->start_wall_ns, wall, clock_wall_ns());
	assert_int_equal(s->mode, RING_SAMPLE);
	assert_int_equal(s->resume_mode, RING_SAMPLE);
	assert_int_equal(s->sample_interval, 4096);
	assert_true(s->frees_have_stacks);
	assert_true(s->has_parent);
	assert_memory_equal(s->parent_stream, parent, sizeof(parent));
	assert_int_equal(s->parent_event, 99);
	assert_int_equal(s->ran_before_ns, 0);
	assert_ptr_equal(s->agent_id, b.agent_id);
	assert_int_equal(s->target.pid, getpid());
	assert_int_equal(s->target.pointer_bits, 8 * sizeof(void *));
	before = now();
	stream_begin(s, &script.source, 5);
	assert_int_equal(s->state, STREAM_LIVE);
	assert_int_equal(s->incarnation, 5);
	assert_int_equal(s->spool.disk.incarnation, 5);
	assert_ptr_equal(s->source, &script.source);
	assert_ptr_equal(script.source.thread, s->lane_thread);
	assert_ptr_equal(script.source.threads, &s->threads);
	assert_true(s->process_news);
	assert_in_range(s->closed_ns, before, now());
	assert_true(clock_slept_ns() - s->slept_ns + 10000000 < UINT64_C(60000000000));
	stream_close(s);

	/* Without all that, and of a program that says what it is. */
	settings = plain();
	settings.mode = RING_OFF;
	settings.said = (struct target_said){.machine = 40, .pointer_bits = 32, .page_size = 16384};
	assert_int_equal(stream_prepare(s, &target, &settings), 0);
	assert_int_equal(s->mode, RING_OFF);
	assert_int_equal(s->resume_mode, RING_FULL);
	assert_false(s->has_parent);
	assert_int_equal(s->ran_before_ns, 0);
	assert_int_equal(s->target.page_size, 16384);
	assert_int_equal(s->said.machine, 40);
	stream_begin(s, &script.source, 1);
}

/* How long the program has run, as the kernel says it. */
static void begun_late(void **state)
{
	const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	struct target_info target = self();
	struct stream_settings settings = plain();
	uint64_t boot;

	(void)state;
	settings.runs = true;
	stream_close(s);
	boot = clock_boot_ns();
	target.start_ticks = 7 * ticks + ticks / 4;
	assert_int_equal(stream_prepare(s, &target, &settings), 0);
	assert_in_range(s->ran_before_ns, boot - UINT64_C(7250000000),
			clock_boot_ns() - UINT64_C(7250000000));
	target.start_ticks = (boot / 1000000000 + 1000) * ticks; /* can't be: 0 has a meaning */
	assert_int_equal(stream_prepare(s, &target, &settings), 0);
	assert_int_equal(s->ran_before_ns, 1);
	stream_begin(s, &script.source, 1);
}

/* Nothing of a stream is left in the next one of its place. */
static void begun_again(void **state)
{
	const struct unrecorded unrecorded = {.pid = 7, .events = 3};
	const struct figures figures = {.time_ns = 5};
	const struct target_end end = {0};
	const uint64_t pcs[] = {0x10108, 500001};
	struct run_module module = module_of(1);
	Heapcast__Batch *batch;
	Heapcast__Ledger *l;

	(void)state;
	script_thread(0, NOBODY, "a");
	script_thread(s->lane_count - 1, NOBODY + 1, "b");
	script_load(&module);
	for (unsigned i = 0; i < 20; i++)
		script_stack(i % 2 ? s->lane_count - 1 : 0, 0, 2, pcs);
	script_gap(0, 1, 5);
	script_gap(RUN_NO_LANE, 1, 5);
	script_put(RUN_MARK, 0, 5000)->mark.kind = HEAPCAST__MARK_KIND__MARK_STOP;
	script.totals = (struct capture_totals){3, 4, 5, 6, true};
	script.rest.until_ns = stream_now(s) + UINT64_C(1000000000000);
	stream_put_figures(s, &figures);
	stream_tell_unrecorded(s, &unrecorded);
	s->stacks_cut = 3;
	s->snapshots = 9;
	s->allocator_told = 2;
	s->allocator_took_ns = 8;
	s->earlier_delivered = s->earlier_lost = 7;
	assert_int_equal(
		stream_mark(s, HEAPCAST__MARK_KIND__MARK_SNAPSHOT, 1, UINT64_MAX / 2, NULL, 0, "x"),
		0);
	stream_end(s, &end);
	s->exec_pending = true;
	bench_drain(&b, false);
	assert_int_equal(s->state, STREAM_ENDED);
	assert_true(s->stopped_itself);
	s->exec_pending = true;
	s->renewal_wanted = true;
	s->renewal_rest = 3;
	s->frame_pending = 5;
	s->maps_ready = true;
	s->run.count = 1;
	script_again();
	stream_put_figures(s, &figures);
	stream_tell_unrecorded(s, &unrecorded);
	stream_close(s);

	script_begin(&b);
	assert_int_equal(s->renewal_rest, 0);
	assert_int_equal(s->snapshots, 0);
	assert_int_equal(s->allocator_told, 0);
	assert_int_equal(s->allocator_took_ns, 0);
	assert_int_equal(s->maps_known, STREAM_MAPS_NEW);
	assert_false(s->maps_ready);
	assert_false(s->stopped_itself);
	assert_false(s->exec_pending);
	assert_int_equal(s->named_ns, 0);
	assert_int_equal(s->turn_ns, 0);
	assert_int_equal(s->order_ns, 0);
	assert_int_equal(s->watermark_told, 0);
	assert_int_equal(s->ledger_told, 0);
	assert_int_equal(s->unrecorded_count, 0);
	assert_int_equal(s->unready, false);
	assert_int_equal(s->before, 0);
	assert_null(s->lane_thread[0]);
	assert_null(s->lane_thread[s->lane_count - 1]);
	assert_int_equal(s->lane[0].depth, 0);
	assert_int_equal(s->lane[s->lane_count - 1].depth, 0);
	script_thread(0, NOBODY, "c");
	script_event(0, 1, 16);
	batch = script_batch(&b);
	assert_int_equal(batch->number, 1);
	assert_int_equal(batch->watermark_ns, 0);
	assert_int_equal(batch->n_thread, 1);
	assert_int_equal(batch->thread[0]->number, 1);
	assert_int_equal(batch->n_module, 0);
	assert_int_equal(batch->n_mark, 0);
	assert_int_equal(batch->n_figures, 0);
	assert_int_equal(batch->n_unrecorded, 0);
	assert_int_equal(batch->process->image, 0);
	assert_null(batch->stacks);
	l = batch->ledger;
	assert_int_equal(l->delivered, 1);
	assert_int_equal(l->delivered_allocations, 1);
	assert_int_equal(l->delivered_bytes, 1);
	assert_int_equal(l->lost + l->lost_bytes + l->not_sampled, 0);
	assert_int_equal(l->stacks_cut + l->samples_refused + l->stacks_unknown, 0);
	assert_int_equal(l->namespaces + l->before_recording, 0);
	assert_false(l->not_begun);
	assert_int_equal(l->unrecorded + l->unrecorded_uncounted + l->unrecorded_events, 0);
	assert_int_equal(l->earlier_delivered + l->earlier_lost, 0);
	assert_int_equal(l->produced, 1);
	forget(batch);
}

/* ---- where an earlier agent has stopped ---- */

static struct stream_past past_of_all(void)
{
	return (struct stream_past){
		.id = {9, 8, 7},
		.incarnation = 3,
		.start_ns = now() - 5000000000,
		.start_wall_ns = 41,
		.has_parent = true,
		.parent_stream = {5, 6},
		.parent_event = 42,
		.said = {.machine = 40, .pointer_bits = 32, .page_size = 16384},
		.orders = {.mode = RING_OFF, .resume = RING_SAMPLE, .sample_interval = 43},
		.frees_have_stacks = true,
		.account = {.watermark_ns = 44000,
			    .stacks_cut = 45,
			    .allocations = 30,
			    .frees = 20,
			    .bytes = 46,
			    .lost = {12, 4, 5, 6},
			    .image = 47},
		.events = 51,
		.threads = 48,
		.finished = {.produced = 70, .not_sampled = 2, .delivered = 51, .lost = 12},
		.no_thread = 7,
	};
}

static void resumed(void **state)
{
	const struct stream_past past = past_of_all();
	struct target_info target = self();
	Heapcast__Batch *batch;
	Heapcast__Ledger *l;

	(void)state;
	s->ran_before_ns = s->marked_ns = s->marked_by = 5;
	stream_close(s);
	assert_int_equal(stream_resume(s, &target, &past, b.agent_id, &script.source), 0);
	assert_int_equal(s->state, STREAM_LIVE);
	assert_memory_equal(s->id, past.id, sizeof(past.id));
	assert_int_equal(s->start_ns, past.start_ns);
	assert_int_equal(s->mode, RING_OFF);
	assert_int_equal(s->resume_mode, RING_SAMPLE);
	assert_int_equal(s->sample_interval, 43);
	assert_int_equal(s->marked_ns, 0);
	assert_int_equal(s->marked_by, 0);
	assert_int_equal(s->ran_before_ns, 0);
	assert_int_equal(s->watermark_ns, 44000);
	assert_int_equal(spool_account_at(&s->spool, 0).events, 51);
	assert_int_equal(spool_account_at(&s->spool, 0).time_ns, 44000);
	script.rest.until_ns = 0;
	script_thread(0, NOBODY, "a");
	batch = script_batch(&b);
	assert_memory_equal(batch->stream.data, past.id, sizeof(past.id));
	assert_int_equal(batch->incarnation, 3);
	assert_int_equal(batch->watermark_ns, 44000);
	assert_in_range(batch->time_ns, 5000000000, 5000000000 + UINT64_C(60000000000));
	assert_int_equal(batch->thread[0]->number, 49);
	assert_int_equal(batch->process->start_wall_ns, 41);
	assert_memory_equal(batch->process->parent_stream.data, past.parent_stream, STREAM_ID_SIZE);
	assert_int_equal(batch->process->parent_event, 42);
	assert_int_equal(batch->process->image, 47);
	assert_int_equal(batch->process->page_size, 16384);
	assert_true(batch->process->frees_have_stacks);
	l = batch->ledger;
	assert_int_equal(l->produced, 70 + 7);
	assert_int_equal(l->not_sampled, 2);
	assert_int_equal(l->delivered, 51);
	assert_int_equal(l->delivered_allocations, 30);
	assert_int_equal(l->delivered_frees, 20);
	assert_int_equal(l->delivered_bytes, 46);
	assert_int_equal(l->lost, 12);
	assert_int_equal(l->lost_allocations, 4);
	assert_int_equal(l->lost_frees, 5);
	assert_int_equal(l->lost_bytes, 6);
	assert_int_equal(l->stacks_cut, 45);
	assert_int_equal(l->earlier_delivered, 51);
	assert_int_equal(l->earlier_lost, 12);
	forget(batch);
}

/* ---- what it is told ---- */

static void figures_wait(void **state)
{
	Heapcast__Batch *batch;

	(void)state;
	for (unsigned i = 1; i <= STREAM_FIGURES_MAX + 3; i++) {
		const struct figures figures = {.time_ns = i};

		stream_put_figures(s, &figures);
		assert_int_equal(s->figures_count, i < STREAM_FIGURES_MAX ? i : STREAM_FIGURES_MAX);
	}
	assert_int_equal(s->figures[0].time_ns, 1);
	assert_int_equal(s->figures[STREAM_FIGURES_MAX - 2].time_ns, STREAM_FIGURES_MAX - 1);
	assert_int_equal(s->figures[STREAM_FIGURES_MAX - 1].time_ns, STREAM_FIGURES_MAX + 3);
	batch = script_batch(&b);
	assert_true(batch->n_figures > 0);
	forget(batch);
}

static void unrecorded_processes(void **state)
{
	Heapcast__Batch *batch;

	(void)state;
	for (unsigned i = 1; i <= STREAM_UNRECORDED_MAX + 2; i++) {
		const struct unrecorded u = {.pid = 100 + i,
					     .counted = i % 2,
					     .name = "child",
					     .events = 10 * i,
					     .allocations = 6 * i,
					     .frees = 4 * i,
					     .bytes = 1000 * i};

		stream_tell_unrecorded(s, &u);
	}
	assert_int_equal(s->unrecorded_sum.allocations, 6 * 34 * 35 / 2);
	assert_int_equal(s->unrecorded_sum.frees, 4 * 34 * 35 / 2);
	batch = script_batch(&b);
	assert_int_equal(batch->n_unrecorded, STREAM_UNRECORDED_MAX);
	assert_int_equal(batch->unrecorded[31]->pid, 132);
	assert_int_equal(batch->ledger->unrecorded, 34);
	assert_int_equal(batch->ledger->unrecorded_uncounted, 17);
	assert_int_equal(batch->ledger->unrecorded_events, 10 * 34 * 35 / 2);
	assert_int_equal(batch->ledger->unrecorded_bytes, 1000 * 34 * 35 / 2);
	forget(batch);
}

/* A sleep of the machine is a mark, if it was longer than the clocks differ. */
static void sleeps(void **state)
{
	const uint64_t slept = s->slept_ns;
	Heapcast__Batch *batch;

	(void)state;
	stream_tell_sleep(s, slept + 9999999);
	stream_tell_sleep(s, slept);
	assert_int_equal(s->batch.marks, 0);
	assert_int_equal(s->slept_ns, slept);
	stream_tell_sleep(s, slept + 10000000);
	stream_tell_sleep(s, slept + 10000000);
	assert_int_equal(s->slept_ns, slept + 10000000);
	batch = script_batch(&b);
	assert_int_equal(batch->n_mark, 1);
	assert_int_equal(batch->mark[0]->kind, HEAPCAST__MARK_KIND__MARK_SUSPENDED);
	assert_int_equal(batch->mark[0]->value, 10000000);
	assert_in_range(batch->mark[0]->time_ns, 1, stream_now(s));
	assert_int_equal(batch->mark[0]->thread, 0);
	forget(batch);

	/* If the batch has no room, it is told later. */
	while (stream_put_mark(s, HEAPCAST__MARK_KIND__MARK_NUMBER, 1, 1, NULL))
		;
	stream_tell_sleep(s, slept + 500000000);
	assert_int_equal(s->slept_ns, slept + 10000000);
	script_send(&b);
	stream_tell_sleep(s, slept + 500000000);
	assert_int_equal(s->slept_ns, slept + 500000000);
	assert_int_equal(s->batch.marks, 1);
	assert_int_equal(s->batch.mark[0].value, 490000000);
}

static void ends_once(void **state)
{
	const struct target_end first = {.status = 1}, second = {.status = 2};
	uint64_t end_ns;

	(void)state;
	stream_end(s, &first);
	end_ns = s->end_ns;
	assert_in_range(end_ns, 1, stream_now(s));
	usleep(10);
	stream_end(s, &second);
	assert_int_equal(s->end.status, 1);
	assert_int_equal(s->end_ns, end_ns);
	assert_int_equal(s->state, STREAM_ENDING);
	stream_tell_sleep(s,
			  s->slept_ns + UINT64_C(1000000000)); /* nobody is there to have slept */
	assert_int_equal(s->batch.marks, 0);
	bench_drain(&b, false);
	assert_int_equal(s->state, STREAM_ENDED);
	stream_end(s, &second);
	assert_int_equal(s->state, STREAM_ENDED);
}

/* A program may count less than it has written: the account balances all the same. */
static void ledgers(void **state)
{
	struct stream_ledger l;

	(void)state;
	script_thread(0, NOBODY, "a");
	for (unsigned i = 0; i < 10; i++)
		script_event(0, 1, 16);
	script_gap(RUN_NO_LANE, 1, 3);
	bench_drain(&b, false);
	script.count[0] = (struct capture_counts){.produced = 5, .not_sampled = 1};
	stream_count(s);
	s->delivered.culled = 2;
	l = stream_ledger(s);
	assert_int_equal(l.delivered, 10);
	assert_int_equal(l.culled, 2);
	assert_int_equal(l.not_sampled, 1);
	assert_int_equal(l.lost, 3);
	assert_int_equal(l.produced, 16);
	assert_int_equal(l.pending, 0);
	script.count[0] = (struct capture_counts){.produced = 8 + 4};
	stream_count(s);
	l = stream_ledger(s);
	assert_int_equal(l.produced, 20);
	assert_int_equal(l.pending, 4);
	s->delivered.culled = 0;
}

static void orders(void **state)
{
	(void)state;
	s->mode = RING_SAMPLE;
	s->resume_mode = RING_FULL;
	s->sample_interval = 77;
	stream_obey(s);
	assert_int_equal(script.obeyed, 1);
	assert_int_equal(script.orders.mode, RING_SAMPLE);
	assert_int_equal(script.orders.resume, RING_FULL);
	assert_int_equal(script.orders.sample_interval, 77);
}

/* What the observer reads; culling takes place only where there is memory for it. */
static void settled(void **state)
{
	const struct cull_settings cull = {.time_ns = 1000};
	const struct observer_settings observe = {.figures_ns = 5};

	(void)state;
	stream_settle(s, &observe, 3000);
	assert_int_equal(s->observe.figures_ns, 5);
	assert_int_equal(s->cull.time_ns, 0);
	bench_close(&b);
	memset(&b, 0, sizeof(b));
	script_open_holding(&b, &cull, NULL);
	stream_settle(s, &observe, 3000);
	assert_int_equal(s->cull.time_ns, 3000);
	stream_settle(s, &observe, 0);
	assert_int_equal(s->cull.time_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED(begun),   SCRIPTED(begun_late),   SCRIPTED(begun_again),
		SCRIPTED(resumed), SCRIPTED(figures_wait), SCRIPTED(unrecorded_processes),
		SCRIPTED(sleeps),  SCRIPTED(ends_once),	   SCRIPTED(ledgers),
		SCRIPTED(orders),  SCRIPTED(settled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
