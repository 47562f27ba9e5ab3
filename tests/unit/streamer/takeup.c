/* A ring whose agent is gone, and the next one: same threads, same numbers, an exact gap; and rings
 * that are none. */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "agent/core/threads.h"

#define BOTH_READ 3 /* events of each thread that the first agent has sent */

/* A descriptor of the ring that nobody else has, as /proc/PID/map_files gives one. */
static int open_again(const struct bench *b)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->stream.source.ring->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* The agent is killed: what it had in memory is gone. */
static int kill_agent(struct bench *b)
{
	int fd = open_again(b);

	assert_int_equal(ring_memory_lock(fd), -EWOULDBLOCK); /* it lives */
	stream_close(&b->stream);
	assert_int_equal(ring_memory_lock(fd), 0);
	return fd;
}

static int take_up(struct bench *b, int fd)
{
	struct target_info target;

	assert_int_equal(target_read(getpid(), &target), 0);
	return stream_take_up(&b->stream, &target, fd, (const uint8_t[RING_MARK_SIZE]){0},
			      b->agent_id);
}

/* The writer's view of the ring that another agent has mapped. */
static void writer_again(struct bench *b, struct writer *w, uint32_t index)
{
	struct ring_memory *ring = b->stream.source.ring;
	struct ring_slice *slice = ring->slices;

	while (slice->words < RING_FIRST_WORDS)
		slice++;
	w->slice = slice + index;
	w->data = (uint64_t *)((uint8_t *)ring->header + w->slice->data_offset);
}

static void writer_cut(struct writer *w, uint32_t incarnation)
{
	const struct ring_losses *lost = &w->slice->lost;

	writer_pad(w, 8);
	writer_word(w, RING_CUT);
	writer_word(w, incarnation);
	writer_word(w, now());
	writer_word(w, w->slice->events);
	writer_word(w, lost->events);
	writer_word(w, lost->allocations);
	writer_word(w, lost->frees);
	writer_word(w, lost->bytes);
	writer_publish(w);
}

/* So many mallocs, the first with its stack in full. */
static void write_events(struct writer *w, unsigned count, uint64_t address)
{
	uint64_t pcs[] = {100003, 100002, 100001};

	for (unsigned i = 0; i < count; i++)
		writer_event(w, HEAPCAST__EVENT_KIND__EVENT_MALLOC, address + i * 16, 8, now(),
			     i ? 3 : 0, i ? 0 : 3, pcs);
}

/* Reads what there is, and closes the batch. */
static void settle_batch(struct bench *b)
{
	usleep(1000);
	bench_drain(b, false);
	b->stream.batch.opened_ns = 1;
	bench_drain(b, false);
}

static Heapcast__Batch *last_batch(struct bench *b)
{
	return bench_batch(b, b->stream.spool.next - 1);
}

static const Heapcast__Gap *gap_of(const Heapcast__Batch *batch, uint32_t thread)
{
	for (size_t i = 0; i < batch->n_gap; i++)
		if (batch->gap[i]->thread == thread)
			return batch->gap[i];
	fail_msg("no gap of thread %u", thread);
	return NULL;
}

static void begin(struct bench *b, struct writer *w, unsigned threads)
{
	bench_open(b);
	for (unsigned i = 0; i < threads; i++) {
		w[i] = writer_claim(b, i, 1000 + i);
		w[i].slice->incarnation = 1;
		write_events(&w[i], BOTH_READ, 4096 * (i + 1));
	}
	settle_batch(b);
	assert_int_equal(b->stream.delivered.events, BOTH_READ * threads);
}

static void test_goes_on(void **state)
{
	struct bench b = {0};
	struct writer w[2];
	uint8_t id[STREAM_ID_SIZE];
	uint64_t start_ns;
	uint32_t control;
	Heapcast__Batch *batch;
	const Heapcast__Gap *gap;
	int fd;

	(void)state;
	begin(&b, w, 2);
	memcpy(id, b.stream.id, sizeof(id));
	start_ns = b.stream.start_ns;
	write_events(&w[0], 4, 64); /* nobody reads these */
	w[0].slice->events += 2;
	w[0].slice->lost = (struct ring_losses){.events = 2, .frees = 2};
	fd = kill_agent(&b);
	assert_int_equal(take_up(&b, fd), 0);
	assert_memory_equal(b.stream.id, id, sizeof(id));
	assert_int_equal(b.stream.start_ns, start_ns);
	assert_int_equal(b.stream.incarnation, 2);
	assert_int_equal(b.stream.source.ring->header->account.incarnation, 2);
	control = b.stream.source.ring->header->control;
	assert_int_equal(control, 2);
	writer_again(&b, &w[0], 0);
	writer_again(&b, &w[1], 1);
	write_events(&w[0], 1, 128); /* it has not seen the new one yet */
	writer_cut(&w[0], 2);
	write_events(&w[0], 2, 256);
	settle_batch(&b);
	batch = last_batch(&b);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->incarnation, 2);
	assert_int_equal(batch->number, 1);
	assert_non_null(batch->process);
	assert_int_equal(batch->events->count, 2);
	assert_int_equal(batch->n_thread, 2);
	assert_int_equal(batch->thread[0]->number + batch->thread[1]->number, 3);
	assert_int_equal(batch->thread[0]->earlier_delivered, BOTH_READ);
	assert_int_equal(batch->n_gap, 1); /* of the other one nothing is missing */
	gap = gap_of(batch, 1);
	assert_int_equal(gap->reason, HEAPCAST__REASON__REASON_AGENT_GONE);
	assert_int_equal(gap->from, BOTH_READ + 1);
	assert_int_equal(gap->to, BOTH_READ + 4 + 2 + 1);
	assert_int_equal(gap->events, 7);
	assert_int_equal(gap->allocations, 5);
	assert_int_equal(gap->bytes, 5 * 8);
	assert_int_equal(batch->ledger->produced, 2 * BOTH_READ + 7 + 2);
	assert_int_equal(batch->ledger->delivered, 2 * BOTH_READ + 2);
	assert_int_equal(batch->ledger->earlier_delivered, 2 * BOTH_READ);
	assert_int_equal(batch->ledger->lost, 7);
	assert_int_equal(batch->ledger->pending, 0);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* A thread that does nothing has its events pending, until it goes on or ends. Twice killed. */
static void test_asleep(void **state)
{
	struct bench b = {0};
	struct writer w[2];
	Heapcast__Batch *batch;

	(void)state;
	begin(&b, w, 2);
	write_events(&w[0], 4, 64);
	write_events(&w[1], 6, 64);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(take_up(&b, kill_agent(&b)), 0);
		settle_batch(&b);
	}
	batch = last_batch(&b);
	assert_int_equal(batch->incarnation, 3);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->pending, 10);
	assert_int_equal(batch->n_gap, 0);
	heapcast__batch__free_unpacked(batch, NULL);
	writer_again(&b, &w[0], 0);
	writer_again(&b, &w[1], 1);
	writer_cut(&w[0], 2); /* was meant for the one before */
	writer_cut(&w[0], 3);
	writer_die(&w[1]);
	settle_batch(&b);
	batch = last_batch(&b);
	assert_int_equal(gap_of(batch, 1)->events, 4);
	assert_int_equal(gap_of(batch, 2)->events, 6);
	assert_int_equal(batch->ledger->lost, 10);
	assert_int_equal(batch->ledger->pending, 0);
	assert_int_equal(w[1].slice->state, RING_SLICE_FREE);
	heapcast__batch__free_unpacked(batch, NULL);

	/* The dead one is in the sums that the next agent finds. */
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	assert_int_equal(b.stream.delivered.events, 2 * BOTH_READ);
	assert_int_equal(b.stream.lost.events, 10);
	assert_int_equal(b.stream.threads.retired.produced, BOTH_READ + 6);
	bench_close(&b);
}

/* Killed between the sum and the freed slice: the thread is counted once. */
static void test_counted_once(void **state)
{
	struct bench b = {0};
	struct writer w[2];
	struct ring_slice kept;
	int fd;

	(void)state;
	begin(&b, w, 2);
	kept = *w[1].slice;
	writer_die(&w[1]);
	settle_batch(&b);
	assert_int_equal(w[1].slice->state, RING_SLICE_FREE);
	*w[1].slice = kept;
	fd = kill_agent(&b);
	assert_int_equal(take_up(&b, fd), 0);
	settle_batch(&b);
	assert_int_equal(b.stream.delivered.events, 2 * BOTH_READ);
	assert_int_equal(stream_ledger(&b.stream).produced, 2 * BOTH_READ);
	bench_close(&b);
}

/* What the agent before has told as lost stays lost, and what it has delivered delivered: of each
 * thread, and of all. */
static void test_losses(void **state)
{
	const uint64_t told = 2;
	struct bench b = {0};
	struct writer w[1];
	Heapcast__Batch *batch;

	(void)state;
	begin(&b, w, 1);
	w[0].slice->events += told;
	writer_pad(&w[0], 5);
	writer_word(&w[0], RING_LOST);
	writer_word(&w[0], now());
	writer_word(&w[0], told);
	writer_word(&w[0], told); /* frees */
	writer_word(&w[0], 0);
	writer_publish(&w[0]);
	settle_batch(&b);
	assert_int_equal(b.stream.lost.events, told);
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	settle_batch(&b);
	batch = last_batch(&b);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->earlier_delivered, BOTH_READ);
	assert_int_equal(batch->ledger->delivered, BOTH_READ);
	assert_int_equal(batch->ledger->lost, told);
	assert_int_equal(batch->thread[0]->earlier_delivered, BOTH_READ);
	heapcast__batch__free_unpacked(batch, NULL);
	assert_int_equal(stream_ledger(&b.stream).pending, 0);
	bench_close(&b);
}

/* A slice of which more was delivered and lost than its thread has begun is none. */
static void test_more_than_begun(void **state)
{
	(void)state;
	for (uint64_t beyond = 0; beyond < 2; beyond++) {
		struct bench b = {0};
		struct writer w[1];

		begin(&b, w, 1);
		write_events(&w[0], 4, 64);
		assert_int_equal(w[0].slice->thread_delivered, BOTH_READ);
		w[0].slice->thread_lost = w[0].slice->events - BOTH_READ + beyond;
		assert_int_equal(take_up(&b, kill_agent(&b)), beyond ? -EBADMSG : 0);
		bench_close(&b);
	}
}

/* Threads without a slice lost something while nobody looked: since the agent before had looked
 * last, and no longer. */
static void test_no_slice(void **state)
{
	struct bench b = {0};
	struct writer w[1];
	Heapcast__Batch *batch;
	const Heapcast__Gap *gap;
	uint64_t known_ns;

	(void)state;
	begin(&b, w, 1);
	b.stream.source.ring->header->no_slice =
		(struct ring_losses){.events = 3, .allocations = 3};
	settle_batch(&b);
	usleep(20000);
	write_events(&w[0], 1, 64);
	settle_batch(&b);
	known_ns = b.stream.source.ring->header->account.watermark_ns;
	assert_true(known_ns > 0);
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	b.stream.source.ring->header->no_slice =
		(struct ring_losses){.events = 10, .allocations = 10};
	settle_batch(&b);
	batch = last_batch(&b);
	gap = gap_of(batch, 0);
	assert_int_equal(gap->reason, HEAPCAST__REASON__REASON_NO_SLICE);
	assert_int_equal(gap->events, 7);
	assert_true(gap->from_ns + BATCH_TICK_NS >= known_ns && gap->from_ns <= known_ns);
	assert_true(gap->to_ns >= gap->from_ns && gap->to_ns <= stream_now(&b.stream));
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->lost, 10);
	assert_int_equal(batch->ledger->produced, BOTH_READ + 1 + 10);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* A thread on its way to a larger slice has two; it is one thread, and has one gap. */
static void test_moved(void **state)
{
	struct bench b = {0};
	struct writer w[1], v;
	Heapcast__Batch *batch;

	(void)state;
	begin(&b, w, 1);
	write_events(&w[0], 2, 64);
	v = writer_claim(&b, 5, 1000);
	v.slice->incarnation = 1;
	v.slice->thread_first = w[0].slice->events;
	writer_word(&w[0], RING_MOVE);
	writer_word(&w[0], 5);
	writer_word(&w[0], now());
	writer_publish(&w[0]);
	w[0].slice->state = RING_SLICE_LEFT;
	write_events(&v, 4, 512);
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	writer_again(&b, &v, 5);
	writer_cut(&v, 2);
	write_events(&v, 1, 1024);
	settle_batch(&b);
	batch = last_batch(&b);
	assert_int_equal(batch->n_thread, 1);
	assert_int_equal(batch->thread[0]->number, 1);
	assert_int_equal(b.stream.lost.events, 6);
	assert_int_equal(batch->ledger->produced, BOTH_READ + 2 + 4 + 1);
	assert_int_equal(batch->ledger->pending, 0);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* Files that anybody can make. */
static void test_no_rings(void **state)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct bench b = {0};
	size_t size;
	int fd;

	(void)state;
	bench_open(&b);
	size = b.stream.source.ring->size;
	stream_close(&b.stream);
	assert_int_equal(take_up(&b, open("/dev/null", O_RDWR)), -EBADMSG);
	fd = memfd_create("heapcast-ring", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(take_up(&b, dup(fd)), -EBADMSG); /* it could shrink below us */
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	assert_int_equal(take_up(&b, dup(fd)), -EBADMSG); /* empty */
	close(fd);
	fd = memfd_create("heapcast-ring", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, (off_t)size - 4096), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	assert_int_equal(take_up(&b, fd), -ERANGE);
	assert_int_equal(b.stream.state, STREAM_FREE);
	bench_close(&b);
}

/* The ring of another process, which a fork child has as well; and one that was let go. */
static void test_not_meant(void **state)
{
	struct bench b = {0};
	int fd, again;

	(void)state;
	bench_open(&b);
	b.stream.source.ring->header->account.start_ticks++;
	fd = kill_agent(&b);
	again = dup(fd);
	assert_int_equal(take_up(&b, fd), -ESRCH);
	assert_int_equal(b.stream.state, STREAM_FREE);
	close(again);
	bench_close(&b);

	bench_open(&b);
	b.stream.source.ring->header->detached = 1;
	assert_int_equal(take_up(&b, kill_agent(&b)), -ESTALE);
	bench_close(&b);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Each word of the header and of the slices in use, damaged in some way: refused, or a stream that
 * balances and ends. */
static void test_damaged(void **state)
{
	const size_t slice_words = sizeof(struct ring_slice) / 8;
	size_t words = sizeof(struct ring_header) / 8 + 2 * slice_words;
	uint64_t seed = 88172645463325252u;
	struct target_end end = {.kind = HEAPCAST__END_KIND__END_EXITED};
	struct bench b = {0};
	struct writer w[2];
	unsigned taken = 0, refused = 0;

	(void)state;
	for (size_t at = 0; at < words; at++) {
		uint64_t values[] = {next_random(&seed), UINT64_MAX, 1 + next_random(&seed) % 64};
		uint64_t *to;

		begin(&b, w, 2);
		write_events(&w[0], 4, 64);
		to = at < sizeof(struct ring_header) / 8
			     ? (uint64_t *)b.stream.source.ring->header + at
			     : (uint64_t *)w[0].slice + (at - sizeof(struct ring_header) / 8);
		*to = values[next_random(&seed) % 3];
		if (take_up(&b, kill_agent(&b)) < 0) {
			assert_int_equal(b.stream.state, STREAM_FREE);
			bench_close(&b);
			refused++;
			continue;
		}
		taken++;
		settle_batch(&b);
		stream_end(&b.stream, &end);
		bench_drain(&b, true);
		assert_int_equal(b.stream.state, STREAM_ENDED);
		for (uint64_t n = b.stream.spool.first; n < b.stream.spool.next; n++) {
			Heapcast__Batch *batch = bench_batch(&b, n);

			assert_balanced(batch->ledger);
			heapcast__batch__free_unpacked(batch, NULL);
		}
		bench_close(&b);
	}
	assert_true(taken > words / 2);
	assert_true(refused > words / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on),	     cmocka_unit_test(test_asleep),
		cmocka_unit_test(test_counted_once), cmocka_unit_test(test_no_slice),
		cmocka_unit_test(test_losses),	     cmocka_unit_test(test_more_than_begun),
		cmocka_unit_test(test_moved),	     cmocka_unit_test(test_no_rings),
		cmocka_unit_test(test_not_meant),    cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
