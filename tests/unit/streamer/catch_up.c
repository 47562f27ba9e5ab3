/* What the observer has read, and all definitions again for a late subscriber: packed, and read
 * again as a collector does. */
#include "tests/unit/streamer/batch.h"

static uint32_t answer(const struct capture_source *source, uint32_t after,
		       struct capture_allocator *ret)
{
	(void)source;
	ret->time_ns = 1;
	ret->took_ns = 2;
	for (uint64_t i = 0; i < RING_ALLOCATOR_FIGURES; i++)
		ret->figure[i] = 100 + i;
	return after == 5 ? 0 : 5;
}

static struct figures figures_of(uint64_t n)
{
	return (struct figures){.time_ns = n + 1,
				.rss = n + 2,
				.rss_peak = n + 3,
				.pss = n + 4,
				.anonymous = n + 5,
				.swap = n + 6,
				.address_space = n + 7,
				.dirty = n + 8,
				.clean = n + 9,
				.minor_faults = n + 10,
				.major_faults = n + 11,
				.detailed = n & 1};
}

static void assert_figures(const Heapcast__Figures *m, uint64_t n)
{
	assert_int_equal(m->time_ns, n + 1);
	assert_int_equal(m->rss, n + 2);
	assert_int_equal(m->rss_peak, n + 3);
	assert_int_equal(m->pss, n + 4);
	assert_int_equal(m->anonymous, n + 5);
	assert_int_equal(m->swap, n + 6);
	assert_int_equal(m->address_space, n + 7);
	assert_int_equal(m->dirty, n + 8);
	assert_int_equal(m->clean, n + 9);
	assert_int_equal(m->minor_faults, n + 10);
	assert_int_equal(m->major_faults, n + 11);
	assert_int_equal(m->detailed, n & 1);
}

static void test_observed(void **state)
{
	struct bench b = {0};
	struct stream *s = &b.stream;
	const struct capture_ops *usual;
	struct capture_ops ops;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	usual = s->source->ops;
	ops = *usual;
	ops.answer = answer;
	s->source->ops = &ops;
	for (uint64_t i = 0; i < STREAM_FIGURES_MAX + 2; i++) {
		struct figures f = figures_of(20 * i + i % 2);

		stream_put_figures(s, &f);
	}
	batch = packed(&b, false);
	assert_int_equal(batch->n_figures, STREAM_FIGURES_MAX);
	for (uint64_t i = 0; i < STREAM_FIGURES_MAX - 1; i++)
		assert_figures(batch->figures[i], 20 * i + i % 2);
	/* too many replace the last one */
	assert_figures(batch->figures[STREAM_FIGURES_MAX - 1],
		       20 * (STREAM_FIGURES_MAX + 1) + (STREAM_FIGURES_MAX + 1) % 2);
	assert_int_equal(batch->allocator->time_ns, 1);
	assert_int_equal(batch->allocator->took_ns, 2);
	assert_int_equal(batch->allocator->arena, 100);
	assert_int_equal(batch->allocator->ordblks, 101);
	assert_int_equal(batch->allocator->smblks, 102);
	assert_int_equal(batch->allocator->hblks, 103);
	assert_int_equal(batch->allocator->hblkhd, 104);
	assert_int_equal(batch->allocator->fsmblks, 106);
	assert_int_equal(batch->allocator->uordblks, 107);
	assert_int_equal(batch->allocator->fordblks, 108);
	assert_int_equal(batch->allocator->keepcost, 109);
	assert_int_equal(s->allocator_told, 5);
	assert_int_equal(s->allocator_took_ns, 2);
	forget(batch);
	batch = packed(&b, false);
	assert_int_equal(batch->n_figures, 0);
	assert_null(batch->allocator);
	forget(batch);

	/* What does not fit waits for the next batch, which has nothing else. */
	s->allocator_told = 0;
	s->figures[s->figures_count++] = figures_of(60);
	assert_true(batch_fits_observed(s));
	assert_true(batch_take(&s->batch, s->batch.definition_bytes_max));
	assert_false(batch_fits_observed(s));
	batch = packed(&b, false);
	assert_int_equal(batch->n_figures, 0);
	assert_null(batch->allocator);
	forget(batch);
	batch = packed(&b, false);
	assert_int_equal(batch->n_figures, 1);
	assert_figures(batch->figures[0], 60);
	assert_non_null(batch->allocator);
	forget(batch);
	s->source->ops = usual;
	bench_close(&b);
}

/* Everything again, for who has missed it: each definition once, and what was lost meanwhile. */
static void test_catch_up(void **state)
{
	const struct spool_account gone = {.events = 50,
					   .culled = 51,
					   .allocations = 52,
					   .frees = 53,
					   .bytes = 54,
					   .time_ns = 7 * BATCH_TICK_NS + 3};
	static uint8_t out[TEST_LIMIT];
	struct bench b = {0};
	struct stream *s = &b.stream;
	uint32_t modules = 0, threads = 0;

	(void)state;
	bench_open(&b);
	for (uint32_t id = 1; id <= 3; id++) {
		struct run_module module = module_of(id);

		assert_int_equal(modules_add(&s->modules, &module), 0);
	}
	for (uint32_t id = 4; id <= BATCH_MODULES_MAX + 4; id++) {
		struct run_module module = {.id = id, .start = 1, .end = 2, .print = id};

		assert_int_equal(modules_add(&s->modules, &module), 0);
	}
	assert_true(modules_remove(&s->modules, 2, 1, 52));
	for (uint32_t tid = 1; tid <= 5; tid++)
		add_thread(&b, tid, "one");
	threads_end(&s->threads, &s->threads.entry[1], 99);
	s->threads.entry[2].number = 0; /* a free entry */
	s->no_thread = 1000;
	forget(packed(&b, false));
	for (unsigned join = 0; join < 2; join++) {
		struct catch_up c =
			join ? catch_up_at(17, &gone) : (struct catch_up){.next = 17, .gone = gone};
		unsigned parts = 0;
		long length;

		modules = threads = 0;
		while ((length = batch_pack_catch_up(s, &b.packer, &c, out, sizeof(out))) != 0) {
			Heapcast__Batch *batch = unpack(&b, out, length);

			assert_true(batch->catch_up);
			assert_int_equal(batch->next, 17);
			assert_int_equal(batch->watermark_ns, 7 * BATCH_TICK_NS);
			assert_int_equal(batch->process != NULL, parts == 0);
			assert_int_equal(batch->ledger != NULL, parts == 0);
			if (batch->ledger) {
				const Heapcast__Ledger *l = batch->ledger;

				assert_balanced(l);
				assert_int_equal(l->delivered, 50);
				assert_int_equal(l->culled, 51);
				assert_int_equal(l->delivered_allocations, 52);
				assert_int_equal(l->delivered_frees, 53);
				assert_int_equal(l->delivered_bytes, 54);
				assert_int_equal(l->before_join, join ? 50 : 0);
			}
			assert_int_equal(batch->n_gap, join && !parts);
			if (batch->n_gap) {
				const Heapcast__Gap *g = batch->gap[0];

				assert_int_equal(g->reason, HEAPCAST__REASON__REASON_JOINED_LATE);
				assert_int_equal(g->events, 50);
				assert_int_equal(g->allocations, 52);
				assert_int_equal(g->frees, 53);
				assert_int_equal(g->bytes, 54);
				assert_int_equal(g->from_ns, 0);
				assert_int_equal(g->to_ns, 7 * BATCH_TICK_NS);
			}
			assert_true(batch->n_module <= BATCH_MODULES_MAX);
			for (size_t i = 0; i < batch->n_module; i++) {
				if (++modules <= 3)
					assert_module(batch->module[i], modules);
				assert_int_equal(batch->module[i]->number, modules);
			}
			assert_int_equal(batch->n_unload, modules && modules <= BATCH_MODULES_MAX &&
								  batch->n_module);
			if (batch->n_unload) {
				assert_int_equal(batch->unload[0]->module, 2);
				assert_int_equal(batch->unload[0]->time_ns, 52);
			}
			for (size_t i = 0; i < batch->n_thread; i++) {
				uint32_t tid = ++threads < 3 ? threads : threads + 1;

				assert_int_equal(batch->thread[i]->number, tid);
				assert_thread(batch->thread[i], tid, "one", tid == 2 ? 99 : 0);
			}
			parts++;
			forget(batch);
		}
		assert_int_equal(modules, BATCH_MODULES_MAX + 4);
		assert_int_equal(threads, 4);
		assert_int_equal(batch_pack_catch_up(s, &b.packer, &c, out, sizeof(out)), 0);
	}
	bench_close(&b);
}

/* Nothing is gone, so nothing is said of it. */
static void test_nothing_gone(void **state)
{
	const struct spool_account none = {.events = 0};
	static uint8_t out[TEST_LIMIT];
	struct bench b = {0};
	struct catch_up c = catch_up_at(1, &none);
	Heapcast__Batch *batch;
	uint8_t small[8];

	(void)state;
	bench_open(&b);
	batch = unpack(&b, out, batch_pack_catch_up(&b.stream, &b.packer, &c, out, sizeof(out)));
	assert_int_equal(batch->n_gap, 0);
	assert_int_equal(batch->ledger->before_join, 0);
	forget(batch);
	c = catch_up_at(1, &none);
	assert_true(batch_pack_catch_up(&b.stream, &b.packer, &c, small, sizeof(small)) < 0);
	b.packer.message_size = 8; /* a message is longer than planned */
	assert_int_equal(batch_pack(&b.stream, &b.packer, false), -EMSGSIZE);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_observed),
		cmocka_unit_test(test_catch_up),
		cmocka_unit_test(test_nothing_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
