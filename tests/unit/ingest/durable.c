/* Nothing is acknowledged before it is on the disk: what syncs say, and when, beside what the agent
 * is told. */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/ingest/support/peers.h"
#include "tests/unit/temporary.h"

#define SLOW_US 20000 /* a sync; far more than an order takes on its way */

/* Of the recording. */
static _Atomic(uint64_t)
	synced_bytes; /* what was in the file when the last sync that succeeded began */
static atomic_uint syncs, failing; /* failing: so many are yet to fail */

static bool is_recording(int fd)
{
	char link[64], path[512];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	return strstr(path, "/recording.heapcast");
}

/* In place of libc's: a slow disk, that refuses now and then. */
int fdatasync(int fd)
{
	struct stat st;
	int r;

	if (!is_recording(fd) || fstat(fd, &st) < 0)
		return (int)syscall(SYS_fdatasync, fd);
	usleep(SLOW_US);
	syncs++;
	if (failing) {
		failing--;
		errno = EIO;
		return -1;
	}
	r = (int)syscall(SYS_fdatasync, fd);
	if (!r)
		synced_bytes = (uint64_t)st.st_size;
	return r;
}

static int reset(void **state)
{
	synced_bytes = 0;
	syncs = failing = 0;
	return temporary_setup(state);
}

/* Takes orders until all is acknowledged, or the link is gone: of each that is, all frames must be
 * on the disk. */
static void until_acked(struct agent *a, int fd, uint64_t number)
{
	const Heapcast__Order *order;

	while (a->acked < number && (order = next_order(a, fd))) {
		if (!order->ack)
			continue;
		a->acked = order->ack->number;
		a->failed |= synced_bytes < a->b.ends[a->acked - 1];
	}
}

/* Piece by piece, so that there is something to acknowledge all along. */
static void deliver_slowly(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	if (agent_subscribed(a, fd))
		for (size_t i = 0; i < a->b.frame_count; i++) {
			agent_frames(a, fd, i, i + 1);
			usleep(SLOW_US / 4);
		}
	until_acked(a, fd, a->b.number);
	close(fd);
}

static void deliver_half(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	if (agent_subscribed(a, fd))
		agent_frames(a, fd, 0, a->b.frame_count / 2);
	until_acked(a, fd, a->b.number);
	close(fd);
}

static void run(struct agent *a, void (*script)(struct agent *a), enum ingest_event_kind until)
{
	struct collector c;
	const char *peers[] = {a->address};

	agent_begin(a, script);
	agent_start(a);
	collector_begin(&c, temporary_folder, peers, 1, false, until, 1);
	collector_run(&c);
	agent_join(a);
	assert_false(c.timed_out);
}

static void synced_before_the_ack(void **state)
{
	struct agent a;

	(void)state;
	run(&a, deliver_slowly, INGEST_STREAM_ENDED);
	assert_int_equal(a.acked, a.b.number);
	assert_int_equal(synced_bytes, a.b.file.length);
	assert_true(syncs > 0);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

/* What the disk refused is not kept either: who comes next, this agent too, begins before it. */
static void no_ack_of_what_the_disk_refused(void **state)
{
	struct agent a;

	(void)state;
	failing = UINT_MAX;
	run(&a, deliver_half, INGEST_STREAM_LEFT);
	assert_true(syncs > 0);
	assert_int_equal(a.acked, 0);
	agent_done(&a);
	failing = 0;
	run(&a, deliver_slowly, INGEST_STREAM_ENDED);
	assert_true(a.subscribed[0] <= 1);
	assert_int_equal(a.acked, a.b.number);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(synced_before_the_ack, reset, temporary_teardown),
		cmocka_unit_test_setup_teardown(no_ack_of_what_the_disk_refused, reset,
						temporary_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
