/* From a ring filled by hand to batches as a collector reads them: order, watermark, stacks, gaps,
 * ledger. */
#include "tests/unit/streamer/harness.h"

#include "proto/columns.h"

static uint64_t now(void)
{
	return clock_monotonic_ns();
}

/* All events of the stream's batches, in order, at most `most`. Every ledger must balance. */
static unsigned collect(struct bench *b, struct event *out, unsigned most)
{
	unsigned n = 0;

	for (uint64_t i = b->stream.spool.first; i < b->stream.spool.next; i++) {
		Heapcast__Batch *batch = bench_batch(b, i);
		struct events_decoder d;
		struct err_text err = {{0}};

		assert_balanced(batch->ledger);
		if (batch->events) {
			assert_int_equal(events_decoder_init(&d, batch->events, &err), 0);
			while (n < most && events_decoder_next(&d, &out[n], &err) == 1)
				n++;
			assert_string_equal(err.text, "");
			events_decoder_done(&d);
		}
		heapcast__batch__free_unpacked(batch, NULL);
	}
	return n;
}

static void test_order(void **state)
{
	static struct event got[400];
	struct bench b = {0};
	struct writer w[3];
	uint64_t stamp, pc = 100000;

	(void)state;
	bench_open(&b);
	for (unsigned i = 0; i < 3; i++)
		w[i] = writer_claim(&b, i, 1000 + i);
	stamp = now();
	for (unsigned i = 0; i < 300; i++)
		writer_event(&w[(i * 7 + i / 5) % 3], 1, (i + 1) * 16, 8, stamp + i * 2000, 0, 1,
			     &pc);
	usleep(1000);
	bench_drain(&b, true);
	assert_int_equal(collect(&b, got, 400), 300);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(got[i].address, (i + 1) * 16);
	assert_int_equal(b.stream.state, STREAM_ENDED);
	bench_close(&b);
}

/* A thread in a hook holds back what is younger than its beginning, but for 50 ms only; the
 * watermark stays behind it. */
static void test_entered(void **state)
{
	struct bench b = {0};
	struct writer w, v;
	uint64_t stamp, pc = 100000;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	v = writer_claim(&b, 1, 1001);
	stamp = now();
	writer_event(&w, 1, 16, 8, stamp, 0, 1, &pc);
	writer_event(&w, 1, 32, 8, stamp + 2000, 0, 1, &pc);
	__atomic_store_n(&v.slice->entered, stamp + 1000, __ATOMIC_RELEASE);
	usleep(1000);
	bench_drain(&b, false);
	assert_int_equal(b.stream.batch.events.count, 1);
	assert_int_equal(b.stream.watermark_ns, stamp + 1000 - b.stream.start_ns);
	usleep(60000);
	bench_drain(&b, false);
	assert_int_equal(b.stream.batch.events.count, 2);
	assert_int_equal(b.stream.watermark_ns, stamp + 1000 - b.stream.start_ns);
	__atomic_store_n(&v.slice->entered, 0, __ATOMIC_RELEASE);
	usleep(200);
	bench_drain(&b, false);
	assert_true(b.stream.watermark_ns > stamp + 60000000 - b.stream.start_ns);
	bench_close(&b);
}

/* Of one thread alone all is taken that is published, however young; beside another one, which may
 * have written something before that nobody sees yet, it waits. The watermark waits in both. */
static void test_alone(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t stamp, pc = 100000;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	stamp = now() + 20000000; /* as young as can be, on a slow machine too */
	writer_event(&w, 1, 16, 8, stamp, 0, 1, &pc);
	bench_drain(&b, false);
	assert_int_equal(b.stream.batch.events.count, 1);
	assert_true(b.stream.watermark_ns < stamp - b.stream.start_ns);
	writer_claim(&b, 1, 1001);
	stamp = now() + 20000000;
	writer_event(&w, 1, 32, 8, stamp, 0, 1, &pc);
	bench_drain(&b, false);
	assert_true(b.stream.batch.events.count == 1 || now() > stamp);
	while (now() < stamp + RING_STAMP_SLACK_NS)
		usleep(1000);
	bench_drain(&b, false);
	assert_int_equal(b.stream.batch.events.count, 2);
	bench_close(&b);
}

static void test_dead_owner(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 100000;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 1, &pc);
	w.slice->events++; /* began another one, and died */
	w.slice->events += 3;
	w.slice->lost =
		(struct ring_losses){.events = 3, .allocations = 2, .frees = 1, .bytes = 77};
	writer_die(&w);
	usleep(200);
	bench_drain(&b, false);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
	assert_int_equal(w.slice->head, 0);
	bench_drain(&b, true);
	batch = bench_batch(&b, 1);
	assert_int_equal(batch->n_gap, 2);
	assert_int_equal(batch->gap[0]->reason, HEAPCAST__REASON__REASON_RING_FULL);
	assert_int_equal(batch->gap[0]->events, 3);
	assert_int_equal(batch->gap[0]->from, 2);
	assert_int_equal(batch->gap[0]->to, 4);
	assert_int_equal(batch->gap[0]->bytes, 77);
	assert_int_equal(batch->gap[1]->reason, HEAPCAST__REASON__REASON_WRITER_DIED);
	assert_int_equal(batch->gap[1]->events, 1);
	assert_int_equal(batch->ledger->produced, 5);
	assert_int_equal(batch->ledger->delivered, 1);
	assert_int_equal(batch->ledger->lost, 4);
	assert_int_equal(batch->ledger->pending, 0);
	assert_int_equal(batch->n_thread, 1);
	assert_true(batch->thread[0]->ended_ns > 0);
	assert_int_equal(batch->end->kind, HEAPCAST__END_KIND__END_EXITED);
	assert_int_equal(batch->end->status, 3);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* The thread goes on in another slice: same number, whole stack first. */
static void test_move(void **state)
{
	struct bench b = {0};
	struct writer w, v;
	struct event got[4];
	uint64_t pcs[] = {100003, 100002, 100001};

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 3, pcs);
	v = writer_claim(&b, 5, 1000);
	v.slice->thread_first = 1;
	writer_word(&w, RING_MOVE);
	writer_word(&w, 5);
	writer_word(&w, now());
	writer_publish(&w);
	w.slice->state = RING_SLICE_LEFT;
	writer_event(&v, 1, 32, 8, now(), 0, 3, pcs);
	writer_event(&v, 32, 16, 0, now(), 2, 0, NULL);
	usleep(200);
	bench_drain(&b, true);
	assert_int_equal(collect(&b, got, 4), 3);
	assert_int_equal(got[0].thread, got[1].thread);
	assert_int_equal(got[0].stack, got[1].stack);
	assert_int_equal(got[2].stack, got[0].stack - 1);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
	bench_close(&b);
}

static void announce(struct bench *b, uint32_t id, uint16_t kind, uint32_t epoch, uint64_t start,
		     uint64_t end, const char *path)
{
	struct ring_memory *ring = b->stream.source.ring;
	uint64_t head = ring->header->modules_head;
	struct ring_module m = {.kind = kind,
				.path_length = (uint16_t)strlen(path),
				.id = id,
				.epoch = epoch,
				.stamp = now(),
				.bias = start,
				.start = start,
				.end = end,
				.build_id_length = 2,
				.build_id = {0xab, 0xcd}};

	m.length = (uint32_t)(sizeof(m) + strlen(path) + 7) & ~7u;
	memcpy(ring->modules + head, &m, sizeof(m));
	memcpy(ring->modules + head + sizeof(m), path, strlen(path));
	__atomic_store_n(&ring->header->modules_head, head + m.length, __ATOMIC_RELEASE);
}

static void epoch(struct writer *w, uint64_t number)
{
	writer_word(w, RING_EPOCH);
	writer_word(w, number);
	writer_word(w, now());
}

/* One address, two modules, one after the other. */
static void test_epochs(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 0x500010;
	struct stack_node node[2];
	struct event got[2];

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	announce(&b, 1, RING_MODULE_LOAD, 1, 0x500000, 0x501000, "/lib/first.so");
	epoch(&w, 1);
	writer_event(&w, 1, 16, 8, now(), 0, 1, &pc);
	announce(&b, 1, RING_MODULE_UNLOAD, 2, 0, 0, "");
	announce(&b, 2, RING_MODULE_LOAD, 2, 0x4ff000, 0x501000, "/lib/second.so");
	epoch(&w, 2);
	writer_event(&w, 1, 32, 8, now(), 0, 1, &pc);
	usleep(200);
	bench_drain(&b, true);
	assert_int_equal(collect(&b, got, 2), 2);
	for (unsigned i = 0; i < 2; i++)
		stacks_get(&b.stream.stacks, got[i].stack, &node[i]);
	assert_int_equal(node[0].module, 1);
	assert_int_equal(node[0].offset, 0x10);
	assert_int_equal(node[1].module, 2);
	assert_int_equal(node[1].offset, 0x1010);
	bench_close(&b);
}

/* Many events, small batches; sampled ones carry their weight; every ledger balances and nothing is
 * twice there. */
static void test_many(void **state)
{
	static struct event got[70000];
	struct bench b = {0};
	struct writer w;
	uint64_t stamp, seen = 0;
	unsigned sent = 0, n;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	stamp = now();
	srandom(3);
	for (unsigned round = 0; round < 600; round++) {
		for (unsigned i = 0; i < 80; i++) {
			uint64_t pcs[] = {200000 + (uint64_t)random() % 64,
					  300000 + (uint64_t)random() % 16};

			sent++;
			writer_event(&w, 1, 16 * (uint64_t)sent, 100, stamp + sent * 10, i ? 1 : 0,
				     2, pcs);
		}
		w.slice->not_sampled += 5;
		usleep(100);
		bench_drain(&b, false);
		if (round % 20 == 19) {
			n = collect(&b, got, 70000);
			seen += n;
			spool_ack(&b.stream.spool, b.stream.spool.next - 1,
				  b.stream.spool.next - 1);
			while (b.stream.spool.first < b.stream.spool.next)
				b.stream.spool.first++;
		}
	}
	bench_drain(&b, true);
	seen += collect(&b, got, 70000);
	assert_int_equal(seen, sent);
	assert_int_equal(stream_ledger(&b.stream).not_sampled, 3000);
	assert_int_equal(stream_ledger(&b.stream).pending, 0);
	bench_close(&b);
}

static void test_lost_and_no_slice(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 100000;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 1, &pc);
	w.slice->events += 10;
	w.slice->lost =
		(struct ring_losses){.events = 10, .allocations = 6, .frees = 4, .bytes = 60};
	writer_word(&w, RING_LOST);
	writer_word(&w, now());
	writer_word(&w, 10);
	writer_word(&w, UINT64_C(6) << 32 | 4);
	writer_word(&w, 60);
	writer_event(&w, 1, 32, 8, now(), 0, 1, &pc);
	b.stream.source.ring->header->no_slice =
		(struct ring_losses){.events = 7, .allocations = 7, .bytes = 70};
	usleep(200);
	bench_drain(&b, true);
	batch = bench_batch(&b, 1);
	assert_int_equal(batch->n_gap, 2);
	assert_int_equal(batch->gap[0]->reason, HEAPCAST__REASON__REASON_NO_SLICE);
	assert_int_equal(batch->gap[0]->thread, 0);
	assert_int_equal(batch->gap[1]->from, 2);
	assert_int_equal(batch->gap[1]->to, 11);
	assert_int_equal(batch->ledger->produced, 19);
	assert_int_equal(batch->ledger->lost, 17);
	assert_int_equal(batch->ledger->lost_bytes, 130);
	assert_balanced(batch->ledger);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* Lets the stream take the items that `run` has got since the last call. */
static void take(struct bench *b)
{
	assert_true(stream_take(&b->stream));
	b->stream.run.count = b->stream.run.taken = 0;
}

static struct thread *begin_thread(struct bench *b, uint32_t lane, uint32_t tid)
{
	struct run_item *item = run_put(&b->stream.run, RUN_THREAD, lane, 1000);

	item->thread.tid = tid;
	item->thread.name[0] = 0;
	take(b);
	return b->stream.lane_thread[lane];
}

/* A thread's losses, one told after the other. What a thread was told of goes on in the gap before,
 * if nothing has come between. */
static void lose(struct bench *b, uint32_t lane, const struct run_losses *lost, int reason,
		 uint64_t from_ns, uint64_t to_ns)
{
	run_put_gap(&b->stream.run, lane, lost, reason, from_ns, to_ns);
	if (lane != RUN_NO_LANE)
		run_put_counts(&b->stream.run, lane, lost->events, 0);
	take(b);
}

static void assert_gap(const Heapcast__Gap *gap, const struct thread *t,
		       const struct run_losses *first, const struct run_losses *second)
{
	assert_int_equal(gap->thread, t ? t->number : 0);
	assert_int_equal(gap->events, first->events + second->events);
	assert_int_equal(gap->allocations, first->allocations + second->allocations);
	assert_int_equal(gap->frees, first->frees + second->frees);
	assert_int_equal(gap->bytes, first->bytes + second->bytes);
	if (t)
		assert_int_equal(gap->to, gap->from + gap->events - 1);
}

/* Two gaps that follow each other are one, which has all of both; those of another thread, of
 * another reason, or with an event between are not. */
static void test_merged_gaps(void **state)
{
	const struct run_losses some = {.events = 9, .allocations = 2, .frees = 4, .bytes = 100},
				more = {.events = 13, .allocations = 1, .frees = 8, .bytes = 1000},
				none = {0};
	struct bench b = {0};
	struct thread *t, *u;
	struct run_item *e;
	Heapcast__Batch *batch;
	uint64_t frees = 0;

	(void)state;
	bench_open(&b);
	t = begin_thread(&b, 0, 77);
	u = begin_thread(&b, 1, 78);
	lose(&b, 0, &some, HEAPCAST__REASON__REASON_RING_FULL, 10, 20);
	lose(&b, 0, &more, HEAPCAST__REASON__REASON_RING_FULL, 30, 40);
	lose(&b, 1, &some, HEAPCAST__REASON__REASON_RING_FULL, 50, 60);
	lose(&b, 0, &some, HEAPCAST__REASON__REASON_RING_FULL, 70, 80);
	lose(&b, 0, &more, HEAPCAST__REASON__REASON_DAMAGED, 90, 100);
	e = run_put(&b.stream.run, RUN_EVENT, 0, 110);
	e->event = 1;
	e->class = EVENT_CLASS_ALLOCATION;
	e->address = 16;
	e->size = 8;
	e->frames = 0;
	run_put_counts(&b.stream.run, 0, 1, 0);
	take(&b);
	lose(&b, 0, &more, HEAPCAST__REASON__REASON_DAMAGED, 120, 130);
	lose(&b, RUN_NO_LANE, &some, HEAPCAST__REASON__REASON_DAMAGED, 140, 150); /* of no thread */
	lose(&b, RUN_NO_LANE, &more, HEAPCAST__REASON__REASON_DAMAGED, 160, 170);
	run_put(&b.stream.run, RUN_LEFT, 0, 0);
	run_put(&b.stream.run, RUN_LEFT, 1, 0);
	take(&b);
	bench_drain(&b, true);

	batch = bench_batch(&b, 1);
	assert_int_equal(batch->n_gap, 6);
	assert_gap(batch->gap[0], t, &some, &more);
	assert_gap(batch->gap[1], u, &some, &none);
	assert_gap(batch->gap[2], t, &some, &none);
	assert_gap(batch->gap[3], t, &more, &none);
	assert_gap(batch->gap[4], t, &more, &none);
	assert_gap(batch->gap[5], NULL, &some, &more);
	assert_int_equal(batch->gap[0]->from, 1);
	assert_int_equal(batch->gap[0]->from_ns, 10);
	assert_int_equal(batch->gap[0]->to_ns, 40);
	assert_int_equal(batch->gap[4]->from, batch->gap[3]->to + 2);
	for (size_t i = 0; i < batch->n_gap; i++)
		frees += batch->gap[i]->frees;
	assert_int_equal(batch->ledger->lost_frees, frees);
	assert_int_equal(batch->ledger->lost_allocations,
			 4 * some.allocations + 4 * more.allocations);
	assert_int_equal(batch->ledger->lost_bytes, 4 * some.bytes + 4 * more.bytes);
	assert_int_equal(batch->ledger->lost, 4 * some.events + 4 * more.events);
	assert_balanced(batch->ledger);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* Damage: the account names what could not be read, and the next whole stack is right again. */
static void test_damage(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t pcs[] = {100002, 100001};
	struct event got[4];
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 2, pcs);
	w.slice->events++;
	writer_word(&w, 77); /* no kind */
	writer_word(&w, 0);
	writer_word(&w, 0);
	writer_publish(&w);
	usleep(200);
	bench_drain(&b, false);
	writer_event(&w, 1, 32, 8, now(), 1, 1, pcs);
	writer_die(&w);
	usleep(200);
	bench_drain(&b, true);
	assert_int_equal(collect(&b, got, 4), 2);
	batch = bench_batch(&b, 1);
	assert_int_equal(batch->n_gap, 1);
	assert_int_equal(batch->gap[0]->reason, HEAPCAST__REASON__REASON_DAMAGED);
	assert_int_equal(batch->gap[0]->events, 1);
	assert_int_equal(b.stream.source.records_damaged, 1);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

static void put_record(struct writer *w, uint32_t said, uint32_t count, const uint64_t *pcs)
{
	w->slice->events++;
	writer_word(w, RING_WORD0(1, said, 0, 0, 0, 8));
	writer_word(w, 48);
	writer_word(w, now());
	for (uint32_t i = 0; i < count; i++)
		writer_word(w, pcs[i]);
}

/* What a run of plain records takes lies within what the program has published: a record that ends
 * with the head is taken, one whose count reaches a word beyond it is damaged. */
static void test_count_at_the_head(void **state)
{
	uint64_t pcs[] = {100003, 100002, 100001};
	uint32_t count = sizeof(pcs) / sizeof(pcs[0]);

	(void)state;
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		struct bench b = {0};
		struct event got[4];
		struct writer w;

		bench_open(&b);
		w = writer_claim(&b, 0, 1000);
		writer_event(&w, 1, 16, 8, now(), 0, count, pcs);
		put_record(&w, count + beyond, count, pcs);
		writer_publish(&w);
		writer_die(&w);
		usleep(200);
		bench_drain(&b, true);
		assert_int_equal(collect(&b, got, 4), 2 - beyond);
		assert_int_equal(b.stream.source.records_damaged, beyond);
		bench_close(&b);
	}
}

/* Likewise one that would go on behind the end of the slice's memory. */
static void test_count_at_the_end(void **state)
{
	uint64_t pcs[] = {100003, 100002, 100001};
	uint32_t count = sizeof(pcs) / sizeof(pcs[0]);

	(void)state;
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		struct bench b = {0};
		uint64_t last;
		struct writer w;

		bench_open(&b);
		w = writer_claim(&b, 0, 1000);
		last = w.words - (3 + count) + beyond; /* where it begins */
		writer_event(&w, 1, 16, 8, now(), 0, (uint32_t)(last % 3), pcs);
		while (w.head < last - 3)
			writer_event(&w, 1, 16, 8, now(), 0, 0, pcs);
		usleep(200);
		bench_drain(&b, false);
		writer_event(&w, 1, 16, 8, now(), 0, 0, pcs);
		assert_int_equal(w.head, last);
		put_record(&w, count, count, pcs);
		writer_event(&w, 1, 16, 8, now(), 0, 0, pcs);
		writer_die(&w);
		usleep(200);
		bench_drain(&b, true);
		assert_int_equal(b.stream.source.records_damaged, beyond);
		assert_int_equal(stream_ledger(&b.stream).lost, 2 * beyond);
		bench_close(&b);
	}
}

/* Announces a module by a record of `length` bytes in all, whose path has `path_length`. */
static void announce_sized(struct bench *b, uint32_t id, uint32_t length, uint32_t path_length)
{
	struct ring_memory *ring = b->stream.source.ring;
	uint64_t head = ring->header->modules_head;
	struct ring_module m = {.length = length,
				.kind = RING_MODULE_LOAD,
				.path_length = (uint16_t)path_length,
				.id = id,
				.stamp = now(),
				.start = id * 0x100000,
				.end = id * 0x100000 + 4096};
	uint64_t at = head & (ring->modules_size - 1);
	uint8_t *to = ring->modules + at;

	if (length > ring->modules_size - at) {
		((struct ring_module *)to)->kind = RING_MODULE_PAD;
		head += ring->modules_size - at;
		to = ring->modules;
	}
	memset(to, 'p', length);
	memcpy(to, &m, sizeof(m));
	__atomic_store_n(&ring->header->modules_head, head + length, __ATOMIC_RELEASE);
}

/* An announcement whose path is longer than the rest of it, or than a path may be, is damage; the
 * longest path that there may be is read, whatever follows it. */
static void test_long_announcements(void **state)
{
	const uint32_t head = sizeof(struct ring_module), most = head + MODULE_PATH_MAX + 1 + 7168;
	struct bench b = {0};

	(void)state;
	bench_open(&b);
	announce_sized(&b, 1, most, MODULE_PATH_MAX);
	bench_drain(&b, false);
	announce_sized(&b, 2, head + 8, 8);
	bench_drain(&b, false);
	assert_int_equal(b.stream.source.records_damaged, 0);
	assert_int_equal(b.stream.modules.count, 2);
	announce_sized(&b, 4, head + 8, 9);
	bench_drain(&b, false);
	assert_int_equal(b.stream.source.records_damaged, 1);
	announce_sized(&b, 5, most, MODULE_PATH_MAX + 1);
	bench_drain(&b, false);
	assert_int_equal(b.stream.source.records_damaged, 2);
	assert_int_equal(b.stream.modules.count, 2);
	assert_int_equal(b.stream.source.modules_tail, b.stream.source.ring->header->modules_head);
	bench_close(&b);
}

/* Any number of threads that leave their only slice and are never seen again: their places in the
 * table of threads are given to others, and all is delivered. */
static void test_leavers(void **state)
{
	struct bench b = {0};
	uint64_t sent = 0, pc = 100000;

	(void)state;
	bench_open(&b);
	while (sent < 2 * (uint64_t)b.stream.threads.capacity) {
		struct writer w = writer_claim(&b, 0, 1000 + (uint32_t)sent);

		w.slice->claim_stamp -= 1000000;
		writer_event(&w, 1, 16 * ++sent, 8, w.slice->claim_stamp, 0, 1, &pc);
		__atomic_store_n(&w.slice->state, RING_SLICE_LEFT, __ATOMIC_RELEASE);
		bench_drain(&b, false);
		spool_ack(&b.stream.spool, b.stream.spool.next - 1, b.stream.spool.next - 1);
	}
	bench_drain(&b, true);
	assert_int_equal(b.stream.state, STREAM_ENDED);
	assert_int_equal(stream_ledger(&b.stream).delivered, sent);
	assert_int_equal(stream_ledger(&b.stream).produced, sent);
	threads_each(&b.stream.threads, t) assert_false(t->alive || t->lanes);
	bench_close(&b);
}

/* Anything at all in the ring: it ends, and what it says balances. */
static void test_noise(void **state)
{
	struct bench b = {0};

	(void)state;
	srandom(11);
	bench_open(&b);
	for (unsigned round = 0; round < 300; round++) {
		struct ring_memory *ring = b.stream.source.ring;
		uint8_t *bytes = (uint8_t *)ring->header;

		for (unsigned i = 0; i < 200; i++) {
			size_t at = random() % 3 ? (size_t)random() % 16384
						 : (size_t)random() % ring->size;

			bytes[at] = (uint8_t)random();
		}
		ring->header->byte_order = 0x01020304;
		for (unsigned i = 0; i < ring->slice_count; i++)
			if (random() % 4 == 0)
				ring->slices[i].state = RING_SLICE_OWNED;
		bench_drain(&b, false);
		spool_ack(&b.stream.spool, b.stream.spool.next - 1, b.stream.spool.next - 1);
	}
	bench_drain(&b, true);
	for (uint64_t i = b.stream.spool.first; i < b.stream.spool.next; i++) {
		Heapcast__Batch *batch = bench_batch(&b, i);

		assert_balanced(batch->ledger);
		heapcast__batch__free_unpacked(batch, NULL);
	}
	bench_close(&b);
}

/* With the spool full the drain stops; after an acknowledgement it goes on where it was. */
static void test_back_pressure(void **state)
{
	static struct event got[4096];
	struct bench b = {0};
	struct writer w;
	uint64_t stamp = now(), sent = 0, seen = 0;
	bool stalled = false;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	srandom(5);
	for (unsigned round = 0; round < 4000; round++) {
		for (unsigned i = 0; i < 100 && w.slice->tail + w.words > w.head + 16; i++) {
			uint64_t pcs[] = {200000 + (uint64_t)random() % 50000};

			sent++;
			writer_event(&w, 1, (uint64_t)random() << 4, (uint32_t)random(),
				     stamp + sent, 0, 1, pcs);
		}
		usleep(10);
		stalled |= stream_drain(&b.stream) == STREAM_STALLED;
		if (stalled && round > 3000)
			spool_ack(&b.stream.spool, b.stream.spool.next - 1,
				  b.stream.spool.next - 1);
	}
	assert_true(stalled);
	for (int i = 0; i < 100 && b.stream.state != STREAM_ENDED; i++) {
		bench_drain(&b, true);
		spool_ack(&b.stream.spool, b.stream.spool.next - 1, b.stream.spool.next - 1);
	}
	seen = stream_ledger(&b.stream).delivered;
	assert_int_equal(seen, sent);
	assert_true(collect(&b, got, 4096) > 0);
	bench_close(&b);
}

/* Of a stream in which nothing else happens, a batch that ends below an order's mark is followed by
 * one that ends above it. */
static void test_mark_above_watermark(void **state)
{
	struct bench b = {0};
	struct stream *s = &b.stream;
	uint64_t marked, number;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	s->batch.opened_ns = 1; /* long ago: it is closed at once */
	bench_drain(&b, false);
	number = s->spool.next;
	marked = stream_now(s) + 20000000;
	assert_int_equal(
		stream_mark(s, HEAPCAST__MARK_KIND__MARK_SNAPSHOT, 1, marked, NULL, 0, "a test"),
		0);
	s->batch.opened_ns = 1;
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, number + 1);
	batch = bench_batch(&b, number);
	assert_int_equal(batch->n_mark, 1);
	assert_true(batch->watermark_ns <= marked);
	heapcast__batch__free_unpacked(batch, NULL);

	while (stream_now(s) <= marked + 1000000)
		usleep(1000);
	for (int i = 0; i < 2; i++) { /* the second turn finds nothing to tell */
		s->batch.opened_ns = 1;
		bench_drain(&b, false);
	}
	assert_int_equal(s->spool.next, number + 2);
	batch = bench_batch(&b, number + 1);
	assert_true(batch->watermark_ns > marked);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* A source that is no ring: it has one thread with a number of events. */
struct plain_source {
	struct capture_source source;
	unsigned events, given, obeyed, closed;
	uint64_t counted;
	bool begun, detached;
};

static void plain_fill(struct capture_source *source, bool final, struct run *run)
{
	static const uint64_t pc[2] = {100000, 200000};
	struct plain_source *p = (struct plain_source *)source;
	struct run_item *item;

	(void) final;
	assert_true(!run->count && !run->taken);
	if (!p->begun) {
		item = run_put(run, RUN_THREAD, 0, 1000);
		item->thread.tid = 77;
		memset(item->thread.name, 0, sizeof(item->thread.name));
		p->begun = true;
	}
	for (; run_fits(run, 1) && p->given < p->events; p->given++) {
		item = run_put(run, RUN_EVENT, 0, 2000 + p->given);
		item->event = 1;
		item->class = EVENT_CLASS_ALLOCATION;
		item->address = (p->given + 1) * 16;
		item->size = 8;
		item->pcs = pc;
		item->frames = RUN_FRAMES(0, 2);
		item->epoch = 0;
	}
	run->complete = p->given == p->events;
	run->until_ns = 2000 + p->given;
}

static struct capture_counts plain_count(struct capture_source *source, uint32_t lane)
{
	struct plain_source *p = (struct plain_source *)source;
	struct capture_counts more = {.produced = p->events - p->counted};

	assert_int_equal(lane, 0);
	p->counted = p->events;
	return more;
}

static struct capture_totals plain_totals(const struct capture_source *source)
{
	(void)source;
	return (struct capture_totals){0};
}

static bool plain_filling(const struct capture_source *source)
{
	(void)source;
	return false;
}

static void plain_turn(struct capture_source *source, bool away)
{
	(void)source;
	(void)away;
}

static void plain_begin_image(struct capture_source *source, uint32_t image)
{
	(void)source;
	(void)image;
}

static void plain_obey(struct capture_source *source, const struct capture_orders *orders)
{
	(void)orders;
	((struct plain_source *)source)->obeyed++;
}

static void plain_seal(struct capture_source *source, const struct capture_account *account)
{
	(void)source;
	(void)account;
}

static void plain_detach(struct capture_source *source)
{
	((struct plain_source *)source)->detached = true;
}

static uint64_t plain_uncounted(const struct capture_source *source)
{
	(void)source;
	return 0;
}

static void plain_close(struct capture_source *source)
{
	((struct plain_source *)source)->closed++;
}

static const struct capture_ops plain_ops = {
	.fill = plain_fill,
	.count = plain_count,
	.totals = plain_totals,
	.filling = plain_filling,
	.turn = plain_turn,
	.seal = plain_seal,
	.begin_image = plain_begin_image,
	.obey = plain_obey,
	.detach = plain_detach,
	.uncounted = plain_uncounted,
	.retire = plain_detach,
	.close = plain_close,
};

/* One stream after another from such a source, and then one from a ring again, in the same slot. */
static void test_other_source(void **state)
{
	static struct event got[20000];
	struct plain_source source = {.source.ops = &plain_ops, .events = 20000};
	struct stream_settings settings = {.ring = {.mode = RING_FULL}};
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 100000;

	(void)state;
	bench_open(&b);
	settings.agent_id = b.agent_id;
	for (unsigned round = 1; round <= 2; round++) {
		stream_close(&b.stream);
		source.given = 0;
		source.counted = 0;
		source.begun = false;
		assert_int_equal(
			stream_attach(&b.stream, &b.stream.target, &settings, &source.source), 0);
		assert_null(stream_ring(&b.stream));
		bench_drain(&b, true);
		assert_int_equal(collect(&b, got, 20000), 20000);
		assert_int_equal(got[19999].address, 20000 * 16);
		assert_int_equal(stream_ledger(&b.stream).produced, 20000);
		assert_int_equal(stream_ledger(&b.stream).pending, 0);
		assert_int_equal(b.stream.state, STREAM_ENDED);
		assert_int_equal(source.closed, round - 1);
	}
	stream_close(&b.stream);
	assert_int_equal(source.closed, 2);
	assert_int_equal(stream_open(&b.stream, &b.stream.target, &settings), 0);
	assert_non_null(stream_ring(&b.stream));
	stream_ring(&b.stream)->byte_order = 0x01020304;
	stream_ring(&b.stream)->clock = RING_CLOCK_MONOTONIC;
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 4711, 8, now(), 0, 1, &pc);
	usleep(1000);
	bench_drain(&b, true);
	assert_int_equal(collect(&b, got, 20000), 1);
	assert_int_equal(got[0].address, 4711);
	bench_close(&b);
	assert_int_equal(source.closed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_entered),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_dead_owner),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_count_at_the_head),
		cmocka_unit_test(test_count_at_the_end),
		cmocka_unit_test(test_long_announcements),
		cmocka_unit_test(test_leavers),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_lost_and_no_slice),
		cmocka_unit_test(test_merged_gaps),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_mark_above_watermark),
		cmocka_unit_test(test_other_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
