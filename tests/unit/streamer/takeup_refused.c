/* Rings that are not taken up: files that are none, rings of others, and damaged ones. */
#include "tests/unit/streamer/takeup.h"

#include <sys/mman.h>

/* An account cannot have more than its thread has begun. */
static void test_more_than_begun(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		struct bench b = {0};
		struct writer w[1];

		begin(&b, w, 1);
		write_events(&w[0], 2, 64);
		w[0].slice->thread_lost += 2 + more;
		assert_int_equal(take_up(&b, kill_agent(&b)), more ? -EBADMSG : 0);
		bench_close(&b);
	}
	for (unsigned more = 0; more < 2; more++) {
		struct bench b = {0};
		struct writer w[2];

		begin(&b, w, 2);
		b.ring.ring->header->account.threads = w[1].slice->thread - more;
		assert_int_equal(take_up(&b, kill_agent(&b)), more ? -EBADMSG : 0);
		bench_close(&b);
	}
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
	size = b.ring.ring->size;
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
	b.ring.ring->header->account.start_ticks++;
	fd = kill_agent(&b);
	again = dup(fd);
	assert_int_equal(take_up(&b, fd), -ESRCH);
	assert_int_equal(b.stream.state, STREAM_FREE);
	close(again);
	bench_close(&b);

	bench_open(&b);
	b.ring.ring->header->detached = 1;
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
			     ? (uint64_t *)b.ring.ring->header + at
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
		cmocka_unit_test(test_more_than_begun),
		cmocka_unit_test(test_no_rings),
		cmocka_unit_test(test_not_meant),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
