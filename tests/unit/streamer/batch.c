/* Each member of a stream that a batch tells of: packed, and read again as a collector does. The
 * members have values that differ, so that one in another's place is seen. */
#include <sys/utsname.h>

#include "tests/unit/streamer/batch.h"

static void test_process(void **state)
{
	static const char arguments[] = "one\0\0three";
	const uint8_t agent[STREAM_ID_SIZE] = {1, 2, 3}, parent[STREAM_ID_SIZE] = {9, 8};
	struct bench b = {0};
	struct stream *s = &b.stream;
	struct target_info *t = &s->target;
	Heapcast__Batch *batch;
	Heapcast__Process *p;
	struct utsname host;

	(void)state;
	bench_open(&b);
	uname(&host);
	t->pid = 101;
	t->parent = 102;
	t->uid = 103;
	snprintf(t->executable, sizeof(t->executable), "/bin/program");
	memcpy(t->arguments, arguments, sizeof(arguments));
	t->arguments_length = sizeof(arguments);
	t->architecture = "pdp-11";
	t->pointer_bits = 16;
	t->big_endian = true;
	t->page_size = 105;
	snprintf(t->name, sizeof(t->name), "named");
	s->agent_id = agent;
	s->has_parent = true;
	memcpy(s->parent_stream, parent, sizeof(parent));
	s->parent_event = 106;
	s->start_wall_ns = 107;
	s->ran_before_ns = 108;
	s->image = 109;
	s->frees_have_stacks = true;
	s->mode = HEAPCAST__MODE__MODE_SAMPLE;
	s->sample_interval = 110;
	s->cull.time_ns = 111;
	s->incarnation = 113;
	s->process_news = true;
	batch = packed(&b, false);
	assert_bytes(batch->stream, s->id, sizeof(s->id));
	assert_int_equal(batch->incarnation, 113);
	assert_false(batch->catch_up);
	p = batch->process;
	assert_int_equal(p->pid, 101);
	assert_int_equal(p->parent_pid, 102);
	assert_int_equal(p->uid, 103);
	assert_text(p->executable, "/bin/program");
	assert_int_equal(p->n_argument, 3);
	assert_text(p->argument[0], "one");
	assert_text(p->argument[1], "");
	assert_text(p->argument[2], "three");
	assert_string_equal(p->host, host.nodename);
	assert_string_equal(p->architecture, "pdp-11");
	assert_int_equal(p->pointer_bits, 16);
	assert_true(p->big_endian);
	assert_int_equal(p->page_size, 105);
	assert_int_equal(p->start_wall_ns, 107);
	assert_string_equal(p->agent_version, HEAPCAST_VERSION);
	assert_bytes(p->agent, agent, sizeof(agent));
	assert_text(p->name, target_name(t));
	assert_int_equal(p->ran_before_ns, 108);
	assert_int_equal(p->capture, s->source->ops->kind);
	assert_int_equal(p->mode, HEAPCAST__MODE__MODE_SAMPLE);
	assert_int_equal(p->sample_interval, 110);
	assert_bytes(p->parent_stream, parent, sizeof(parent));
	assert_int_equal(p->parent_event, 106);
	assert_int_equal(p->image, 109);
	assert_true(p->frees_have_stacks);
	assert_int_equal(p->protocol, PROTOCOL_VERSION);
	assert_int_equal(p->cull_ns, 111);
	assert_int_equal(p->flight_ns, 0);
	forget(batch);

	s->cull.time_ns = 0;
	s->flight.window_ns = 112;
	s->mode = HEAPCAST__MODE__MODE_FULL;
	s->has_parent = false;
	t->arguments_length = 0;
	s->process_news = true;
	batch = packed(&b, false);
	assert_int_equal(batch->process->flight_ns, 112);
	assert_int_equal(batch->process->cull_ns, 0);
	assert_int_equal(batch->process->sample_interval, 0);
	assert_int_equal(batch->process->parent_stream.len, 0);
	assert_int_equal(batch->process->n_argument, 0);
	forget(batch);
	s->flight.window_ns = 0;

	batch = packed(&b, false); /* it was told */
	assert_null(batch->process);
	forget(batch);
	bench_close(&b);
}

/* 256 arguments at most, the last one without its end. */
static void test_arguments(void **state)
{
	struct bench b = {0};
	struct target_info *t = &b.stream.target;

	(void)state;
	bench_open(&b);
	for (uint32_t count = 254; count < 260; count++) {
		Heapcast__Batch *batch;

		for (uint32_t i = 0; i < count; i++)
			memcpy(t->arguments + 2 * i, "x", 2);
		t->arguments_length = 2 * count - 1;
		b.stream.process_news = true;
		batch = packed(&b, false);
		assert_int_equal(batch->process->n_argument, count < 256 ? count : 256);
		for (size_t i = 0; i < batch->process->n_argument; i++)
			assert_text(batch->process->argument[i], "x");
		forget(batch);
	}
	bench_close(&b);
}

static void test_modules(void **state)
{
	struct bench b = {0};
	struct modules *m = &b.stream.modules;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	for (uint32_t id = 1; id <= 3; id++) {
		struct run_module module = module_of(id);

		assert_int_equal(modules_add(m, &module), 0);
		if (id == 1)
			forget(packed(&b, false));
	}
	assert_true(modules_remove(m, 1, 1, 51));
	assert_true(modules_remove(m, 3, 1, 53));
	batch = packed(&b, false);
	assert_int_equal(batch->n_module, 2);
	assert_module(batch->module[0], 2);
	assert_module(batch->module[1], 3);
	assert_int_equal(batch->n_unload, 2);
	assert_int_equal(batch->unload[0]->module, 1);
	assert_int_equal(batch->unload[0]->time_ns, 51);
	assert_int_equal(batch->unload[1]->module, 3);
	assert_int_equal(batch->unload[1]->time_ns, 53);
	forget(batch);
	batch = packed(&b, false);
	assert_int_equal(batch->n_module, 0);
	assert_int_equal(batch->n_unload, 0);
	forget(batch);
	bench_close(&b);
}

/* A batch has room for so many ends of modules; the others go into the next. */
static void test_unloads(void **state)
{
	struct bench b = {0};
	struct modules *m = &b.stream.modules;
	uint32_t seen = 0, count = BATCH_UNLOADS_MAX + 3;

	(void)state;
	bench_open(&b);
	if (m->capacity < count)
		count = m->capacity;
	for (uint32_t id = 1; id <= count; id++) {
		struct run_module module = {
			.id = id, .start = 1, .end = 2, .print = id, .path_length = 0};

		assert_int_equal(modules_add(m, &module), 0);
	}
	for (uint32_t id = 1; id <= count; id++)
		assert_true(modules_remove(m, id, 1, id));
	for (unsigned i = 0; i < 3; i++) {
		Heapcast__Batch *batch = packed(&b, false);

		assert_int_equal(batch->n_unload, count - seen < BATCH_UNLOADS_MAX
							  ? count - seen
							  : BATCH_UNLOADS_MAX);
		for (size_t k = 0; k < batch->n_unload; k++)
			assert_int_equal(batch->unload[k]->time_ns, ++seen);
		forget(batch);
	}
	assert_int_equal(seen, count);
	bench_close(&b);
}

static uint64_t number_in(ProtobufCBinaryData column, size_t which)
{
	struct reader r = reader_of(column.data, column.len);

	while (which--)
		reader_varint(&r);
	return reader_varint(&r);
}

static void test_threads(void **state)
{
	struct bench b = {0};
	Heapcast__Batch *batch;
	struct thread *t;
	size_t size;

	(void)state;
	bench_open(&b);
	add_thread(&b, 300, "first");
	t = add_thread(&b, 200, "second");
	threads_end(&b.stream.threads, t, 77);
	for (unsigned holds = 0; holds < 2; holds++) {
		b.stream.cull.time_ns = holds;
		batch = packed(&b, false);
		assert_int_equal(batch->n_thread, holds ? 0 : 2);
		for (size_t i = 0; i < batch->n_thread; i++)
			assert_thread(batch->thread[i], i ? 200 : 300, i ? "second" : "first",
				      i ? 77 : 0);
		for (size_t i = 0; i < 2; i++) {
			uint64_t tid = i ? 200 : 300;

			assert_int_equal(number_in(batch->ledger->thread, i), i + 1);
			assert_int_equal(number_in(batch->ledger->thread_produced, i), tid + 20);
			assert_int_equal(number_in(batch->ledger->thread_delivered, i), tid + 5);
			assert_int_equal(number_in(batch->ledger->thread_lost, i), 5);
			assert_int_equal(number_in(batch->ledger->thread_not_sampled, i), 3);
			if (holds)
				assert_int_equal(number_in(batch->ledger->thread_culled, i), 7);
		}
		assert_int_equal(batch->ledger->thread_culled.len, 2 * holds);
		assert_int_equal(batch->ledger->thread.len, 2);
		forget(batch);
		batch = packed(&b, false);
		assert_int_equal(batch->n_thread, 0);
		assert_int_equal(batch->ledger->thread.len, 0);
		forget(batch);
		threads_each(&b.stream.threads, each) each->counts_news = true;
	}
	b.stream.cull.time_ns = 0;
	size = b.stream.threads.news;
	assert_int_equal(size, 0);
	bench_close(&b);
}

static void test_gaps_and_marks(void **state)
{
	struct bench b = {0};
	struct batch *batch = &b.stream.batch;
	Heapcast__Batch *got;

	(void)state;
	bench_open(&b);
	for (uint32_t i = 0; i < 2; i++)
		batch->gap[batch->gaps++] =
			(struct batch_gap){.thread = 1 + i,
					   .reason = HEAPCAST__REASON__REASON_RING_FULL + (int)i,
					   .from = 3 + i,
					   .to = 5 + i,
					   .lost = {.events = 7 + i,
						    .allocations = 9 + i,
						    .frees = 11 + i,
						    .bytes = 13 + i},
					   .from_ns = 15 + i,
					   .to_ns = 17 + i};
	memcpy(batch->text, "ab\0hello", 8);
	batch->mark[batch->marks++] =
		(struct batch_mark){.time_ns = 1, .kind = 2, .thread = 3, .place = 4, .value = 5};
	batch->mark[batch->marks++] = (struct batch_mark){
		.time_ns = 6, .kind = 1, .text_offset = 3, .text_length = 5, .by_offset = 1};
	got = packed(&b, false);
	assert_int_equal(got->n_gap, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const Heapcast__Gap *g = got->gap[i];

		assert_int_equal(g->thread, 1 + i);
		assert_int_equal(g->reason, HEAPCAST__REASON__REASON_RING_FULL + (int)i);
		assert_int_equal(g->from, 3 + i);
		assert_int_equal(g->to, 5 + i);
		assert_int_equal(g->events, 7 + i);
		assert_int_equal(g->allocations, 9 + i);
		assert_int_equal(g->frees, 11 + i);
		assert_int_equal(g->bytes, 13 + i);
		assert_int_equal(g->from_ns, 15 + i);
		assert_int_equal(g->to_ns, 17 + i);
	}
	assert_int_equal(got->n_mark, 2);
	assert_int_equal(got->mark[0]->time_ns, 1);
	assert_int_equal(got->mark[0]->kind, 2);
	assert_int_equal(got->mark[0]->thread, 3);
	assert_int_equal(got->mark[0]->place, 4);
	assert_int_equal(got->mark[0]->value, 5);
	assert_int_equal(got->mark[0]->text.len, 0);
	assert_string_equal(got->mark[0]->by, "");
	assert_int_equal(got->mark[1]->time_ns, 6);
	assert_text(got->mark[1]->text, "hello");
	assert_string_equal(got->mark[1]->by, "ab");
	forget(got);
	got = packed(&b, false);
	assert_int_equal(got->n_gap, 0);
	assert_int_equal(got->n_mark, 0);
	forget(got);
	bench_close(&b);
}

static void test_ledger(void **state)
{
	const struct unrecorded other[] = {
		{.pid = 7,
		 .counted = true,
		 .name = "full sixteen on",
		 .events = 2,
		 .allocations = 3,
		 .frees = 4,
		 .bytes = 5},
		{.pid = 9, .events = 11, .bytes = 13},
	};
	struct bench b = {0};
	struct stream *s = &b.stream;
	struct stream_ledger l;
	const Heapcast__Ledger *m;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	add_thread(&b, 900, "of all counts");
	s->delivered = (struct spool_account){
		.events = 101, .culled = 102, .allocations = 103, .frees = 104, .bytes = 105};
	s->lost =
		(struct run_losses){.events = 111, .allocations = 112, .frees = 113, .bytes = 114};
	s->stacks_cut = 121;
	s->samples_refused = 122;
	s->before = 123;
	s->unready = true;
	s->stacks_unknown = 124;
	s->namespaces = 125;
	s->earlier_delivered = 126;
	s->earlier_lost = 127;
	s->no_thread = 1000;
	stream_tell_unrecorded(s, &other[0]);
	stream_tell_unrecorded(s, &other[1]);
	l = stream_ledger(s);
	batch = packed(&b, false);
	m = batch->ledger;
	assert_balanced(m);
	assert_int_equal(m->produced, 1000 + 920);
	assert_int_equal(m->produced, l.produced);
	assert_int_equal(s->ledger_told, l.produced);
	assert_int_equal(m->delivered, 101);
	assert_int_equal(m->culled, 102);
	assert_int_equal(m->not_sampled, 3);
	assert_int_equal(m->pending, 1920 - 101 - 102 - 3 - 111);
	assert_int_equal(m->delivered_allocations, 103);
	assert_int_equal(m->delivered_frees, 104);
	assert_int_equal(m->delivered_bytes, 105);
	assert_int_equal(m->lost, 111);
	assert_int_equal(m->lost_allocations, 112);
	assert_int_equal(m->lost_frees, 113);
	assert_int_equal(m->lost_bytes, 114);
	assert_int_equal(m->stacks_cut, 121);
	assert_int_equal(m->samples_refused, 122);
	assert_int_equal(m->before_recording, 123);
	assert_true(m->not_begun);
	assert_int_equal(m->stacks_unknown, 124);
	assert_int_equal(m->namespaces, 125);
	assert_int_equal(m->earlier_delivered, 126);
	assert_int_equal(m->earlier_lost, 127);
	assert_int_equal(m->unrecorded, 2);
	assert_int_equal(m->unrecorded_uncounted, 1);
	assert_int_equal(m->unrecorded_events, 13);
	assert_int_equal(m->unrecorded_bytes, 18);
	assert_int_equal(batch->n_unrecorded, 2);
	assert_int_equal(batch->unrecorded[0]->pid, 7);
	assert_text(batch->unrecorded[0]->name, "full sixteen on");
	assert_true(batch->unrecorded[0]->counted);
	assert_int_equal(batch->unrecorded[0]->events, 2);
	assert_int_equal(batch->unrecorded[0]->allocations, 3);
	assert_int_equal(batch->unrecorded[0]->frees, 4);
	assert_int_equal(batch->unrecorded[0]->bytes, 5);
	assert_int_equal(batch->unrecorded[1]->pid, 9);
	assert_false(batch->unrecorded[1]->counted);
	forget(batch);
	s->image = 1; /* it has begun before */
	batch = packed(&b, false);
	assert_false(batch->ledger->not_begun);
	assert_int_equal(batch->n_unrecorded, 0);
	assert_int_equal(batch->ledger->unrecorded, 2);
	forget(batch);
	bench_close(&b);
}

static void test_end(void **state)
{
	struct bench b = {0};
	struct stream *s = &b.stream;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	batch = packed(&b, false);
	assert_null(batch->end);
	forget(batch);
	s->end_ns = 31;
	s->end = (struct target_end){.rss_peak = 32,
				     .kind = HEAPCAST__END_KIND__END_SIGNALLED,
				     .status = 11,
				     .core_dumped = true,
				     .source = 2,
				     .oom_counter = 1};
	batch = packed(&b, true);
	assert_int_equal(batch->end->time_ns, 31);
	assert_int_equal(batch->end->rss_peak, 32);
	assert_int_equal(batch->end->kind, HEAPCAST__END_KIND__END_SIGNALLED);
	assert_int_equal(batch->end->status, 11);
	assert_true(batch->end->core_dumped);
	assert_int_equal(batch->end->source, 2);
	assert_int_equal(batch->end->oom_counter, 1);
	forget(batch);
	bench_close(&b);
}

/* What a gap is charged is what it takes at its longest. */
static void test_longest_gap(void **state)
{
	Heapcast__Gap gap = HEAPCAST__GAP__INIT, *gaps = &gap;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	size_t without = heapcast__batch__get_packed_size(&batch);

	(void)state;
	gap.thread = UINT32_MAX;
	gap.from = gap.to = gap.allocations = gap.frees = gap.bytes = UINT64_MAX;
	gap.from_ns = gap.to_ns = gap.events = UINT64_MAX;
	gap.reason = HEAPCAST__REASON__REASON_THINNED;
	batch.gap = &gaps;
	batch.n_gap = 1;
	assert_int_equal(heapcast__batch__get_packed_size(&batch) - without, GAP_BYTES);
}

static void test_take(void **state)
{
	struct batch b = {.definition_bytes_max = 100};

	(void)state;
	assert_true(batch_take(&b, 60));
	assert_false(batch_take(&b, 41));
	assert_true(batch_take(&b, 40));
	assert_int_equal(b.definition_bytes, 100);
	assert_false(batch_take(&b, 1));
	assert_true(batch_take(&b, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),	    cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_modules),	    cmocka_unit_test(test_unloads),
		cmocka_unit_test(test_threads),	    cmocka_unit_test(test_gaps_and_marks),
		cmocka_unit_test(test_ledger),	    cmocka_unit_test(test_end),
		cmocka_unit_test(test_longest_gap), cmocka_unit_test(test_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
