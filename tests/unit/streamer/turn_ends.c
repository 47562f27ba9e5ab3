/* How an image and a process end, in turns of the drain thread. */
#include "tests/unit/streamer/scripted.h"

#define SLACK_NS    UINT64_C(60000000000) /* no machine is so slow */
#define NO_MORE_IDS 0x7fffffff		  /* no process has such a pid */

/* ---- the end of an image ---- */

static void image_ends(void **state)
{
	struct run_module module = module_of(1);
	const uint64_t pcs[] = {module.start + 8};
	Heapcast__Batch *batch;
	unsigned fills;

	(void)state;
	module.epoch = 1;
	script_thread(0, NOBODY, "a");
	script_load(&module);
	script_stack(0, 0, 1, pcs)->epoch = 1;
	forget(script_batch(&b));
	s->target.pointer_bits = 1; /* of the old image */
	s->said = (struct target_said){
		.machine = 40, .pointer_bits = 32, .page_size = 16384}; /* EM_ARM */
	s->maps_known = STREAM_MAPS_KNOWN;
	s->maps_ready = true;
	script_again();
	script_event(0, 1, 16);
	script.rest.exec = true;
	fills = script.fills;
	assert_int_equal(turn(), STREAM_MORE); /* the source says it at the end of a round */
	assert_int_equal(script.fills, fills + 1);
	assert_int_equal(script.images, 0);
	assert_int_equal(turn(), STREAM_IDLE); /* all that there is was asked for */
	assert_int_equal(script.fills, fills + 2);
	assert_true(script.filled_finally);
	assert_int_equal(script.images, 1);
	assert_int_equal(script.image, 1);
	assert_int_equal(s->image, 1);
	assert_int_equal(script.target.pointer_bits, 32);
	assert_int_equal(s->target.pid, getpid());
	assert_int_equal(s->target.page_size, 16384); /* what the program says holds */
	assert_false(s->exec_pending);
	assert_true(s->process_news);
	assert_false(s->maps_ready);
	assert_int_equal(s->maps_known, STREAM_MAPS_LOST);
	script_again();
	script_stack(0, 0, 1, pcs)->epoch = 1;
	batch = script_batch(&b);
	assert_int_equal(batch->n_mark, 1);
	assert_int_equal(batch->mark[0]->kind, HEAPCAST__MARK_KIND__MARK_EXEC);
	assert_int_equal(batch->mark[0]->value, 1);
	assert_in_range(batch->mark[0]->time_ns, 1, stream_now(s));
	assert_non_null(batch->process);
	assert_int_equal(batch->process->image, 1);
	assert_int_equal(batch->n_unload, 1);
	forget(batch);
	assert_int_equal(s->modules.live_count, 0);
	{ /* the address means nothing any more */
		struct stack_node node;

		assert_true(stacks_get(&s->stacks, s->stacks.base + s->stacks.nodes, &node));
		assert_int_equal(node.module, 0);
		assert_int_equal(node.offset, pcs[0]);
	}
}

/* What the old image has left is taken first, and if the mark has no room, it waits. */
static void image_ends_of_a_full_batch(void **state)
{
	uint64_t next;

	(void)state;
	for (unsigned i = 0; i < BATCH_MARKS_MAX; i++)
		assert_true(stream_put_mark(s, HEAPCAST__MARK_KIND__MARK_NUMBER, i, i, NULL));
	s->exec_pending = true; /* as the main loop says it */
	next = s->spool.next;
	assert_int_equal(turn(), STREAM_MORE);
	assert_true(script.filled_finally);
	assert_int_equal(script.images, 0);
	assert_int_equal(s->spool.next, next + 1);
	assert_true(s->exec_pending);
	assert_int_equal(s->image, 0);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(script.images, 1);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(script.images, 1);
	assert_false(script.filled_finally);
}

/* The process is gone meanwhile: what was known of it stays. */
static void image_of_nobody(void **state)
{
	(void)state;
	s->target.pid = NO_MORE_IDS;
	s->target.pointer_bits = 16;
	s->said = (struct target_said){.machine = 40, .pointer_bits = 32};
	s->exec_pending = true;
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(script.images, 1);
	assert_int_equal(script.target.pid, NO_MORE_IDS);
	assert_int_equal(script.target.pointer_bits, 16);
}

/* ---- the end of the process ---- */

static void process_ends(void **state)
{
	const struct target_end end = {
		.kind = HEAPCAST__END_KIND__END_SIGNALLED, .status = 9, .rss_peak = 77};
	Heapcast__Batch *batch;
	uint64_t next = s->spool.next;

	(void)state;
	script_thread(0, NOBODY, "a");
	script_thread(1, NOBODY + 1, "b");
	script_put(RUN_ENDED, 1, 7000);
	script_event(0, 1, 16);
	script.rest.until_ns = 9000;
	stream_end(s, &end);
	assert_int_equal(s->state, STREAM_ENDING);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_true(script.filled_finally);
	assert_int_equal(s->state, STREAM_ENDED);
	assert_int_equal(s->spool.next, next + 1);
	batch = bench_batch(&b, next);
	assert_int_equal(batch->n_thread, 2);
	assert_int_equal(batch->thread[0]->ended_ns, s->end_ns);
	assert_int_equal(batch->thread[1]->ended_ns, 7000);
	assert_int_equal(batch->end->kind, HEAPCAST__END_KIND__END_SIGNALLED);
	assert_int_equal(batch->end->status, 9);
	assert_int_equal(batch->end->time_ns, s->end_ns);
	assert_int_equal(batch->watermark_ns, s->end_ns / 1000 * 1000);
	forget(batch);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(s->spool.next, next + 1);
}

/* Stamps may be above the end, as the program has written them. */
static void process_ends_before_its_events(void **state)
{
	const struct target_end end = {0};
	Heapcast__Batch *batch;
	uint64_t next = s->spool.next;

	(void)state;
	script.rest.until_ns = stream_now(s) + SLACK_NS;
	stream_end(s, &end);
	assert_int_equal(turn(), STREAM_IDLE);
	batch = bench_batch(&b, next);
	assert_int_equal(batch->watermark_ns, script.rest.until_ns / 1000 * 1000);
	forget(batch);
}

/* More threads end than a batch has room for. */
static void process_ends_with_many_threads(void **state)
{
	const struct target_end end = {0};
	uint64_t next;
	unsigned ended = 0;

	(void)state;
	for (uint32_t i = 0; i < BATCH_THREADS_MAX + 1; i++)
		script_thread(1 + i % 2, NOBODY + i, "some");
	script_send(&b);
	script_again();
	script_send(&b);
	assert_int_equal(s->threads.news, 0);
	next = s->spool.next;
	stream_end(s, &end);
	assert_int_equal(turn(), STREAM_MORE);
	assert_int_equal(s->state, STREAM_ENDING);
	assert_int_equal(s->spool.next, next + 1);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_int_equal(s->state, STREAM_ENDED);
	assert_int_equal(s->spool.next, next + 2);
	for (; next < s->spool.next; next++) {
		Heapcast__Batch *batch = bench_batch(&b, next);

		ended += (unsigned)batch->n_thread;
		assert_int_equal(!batch->end, next + 1 < s->spool.next);
		forget(batch);
	}
	assert_int_equal(ended, BATCH_THREADS_MAX + 1);
}

/* More files go than a batch has room for: all when another image has begun. */
static void process_ends_with_many_modules(void **state)
{
	static struct run_module module[BATCH_UNLOADS_MAX + 1];
	const struct target_end end = {0};
	unsigned gone = 0;
	uint64_t next;

	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		for (uint32_t i = 0; i < BATCH_UNLOADS_MAX + more; i++) {
			module[i] = module_of(1);
			module[i].id = module[i].print = 1 + i;
			script_load(&module[i]);
		}
		script_send(&b);
		script_again();
		script_send(&b);
		assert_int_equal(s->modules.unloads, 0);
		s->exec_pending = true;
		stream_end(s, &end);
		assert_int_equal(turn(), STREAM_MORE); /* of the next image */
		assert_int_equal(s->modules.unloads, BATCH_UNLOADS_MAX + more);
		next = s->spool.next;
		assert_int_equal(turn(), more ? STREAM_MORE : STREAM_IDLE);
		assert_int_equal(s->state, more ? STREAM_ENDING : STREAM_ENDED);
		assert_int_equal(s->spool.next, next + 1);
		if (more)
			assert_int_equal(turn(), STREAM_IDLE);
		assert_int_equal(s->state, STREAM_ENDED);
		for (gone = 0; next < s->spool.next; next++) {
			Heapcast__Batch *batch = bench_batch(&b, next);

			gone += (unsigned)batch->n_unload;
			forget(batch);
		}
		assert_int_equal(gone, BATCH_UNLOADS_MAX + more);
		stream_close(s);
		assert_int_equal(script.closed, 1);
		script_begin(&b);
		script_send(&b);
	}
}

/* The last batch waits, too. */
static void process_ends_stalled(void **state)
{
	const struct target_end end = {0};
	uint64_t last = stall();
	enum stream_work work = STREAM_MORE;
	Heapcast__Batch *batch;

	(void)state;
	stream_end(s, &end);
	assert_int_equal(turn(), STREAM_STALLED);
	assert_int_equal(s->state, STREAM_ENDING);
	script.items = script.given; /* of what was to come there is nothing */
	s->run.count = s->run.taken;
	for (unsigned i = 0; s->state == STREAM_ENDING; i++) {
		spool_ack(&s->spool, s->spool.first, s->spool.first);
		work = turn();
		assert_true(i < 1000);
	}
	last = s->spool.next - 1;
	if (s->frame_pending) {
		assert_int_equal(work, STREAM_STALLED);
		spool_ack(&s->spool, last, last);
		assert_int_equal(turn(), STREAM_IDLE);
		assert_int_equal(s->spool.next, last + 2);
	}
	batch = bench_batch(&b, s->spool.next - 1);
	assert_non_null(batch->end);
	forget(batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED(image_ends),
		SCRIPTED(image_ends_of_a_full_batch),
		SCRIPTED(image_of_nobody),
		SCRIPTED(process_ends),
		SCRIPTED(process_ends_before_its_events),
		SCRIPTED(process_ends_with_many_threads),
		SCRIPTED(process_ends_with_many_modules),
		SCRIPTED(process_ends_stalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
