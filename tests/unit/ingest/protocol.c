/* Streams that arrive: whole, in pieces, over a restart of the collector, by an agent that dials
 * in. */
#include <arpa/inet.h>

#include "tests/unit/ingest/support/peers.h"
#include "tests/unit/temporary.h"

static void whole_stream(void **state)
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	(void)state;
	agent_begin(&a, agent_deliver);
	agent_start(&a);
	collector_begin(&c, temporary_folder, peers, 1, false, INGEST_STREAM_ENDED, 1);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(a.acked, 10);
	assert_int_equal(c.counts[INGEST_STREAM_BEGAN], 1);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

/* The link breaks in the middle of a frame, twice; what was durable is not asked for again, what
 * comes twice is dropped. */
static void deliver_in_pieces(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_send(fd, a->b.file.data, a->b.ends[3] + 7);
	agent_until_acked(a, fd, 4);
	close(fd);
	fd = agent_accept(a);
	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_frames(a, fd, 2, 6); /* 3 and 4 again */
	agent_send(fd, a->b.file.data + a->b.ends[5], 20);
	close(fd);
	fd = agent_accept(a);
	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_frames(a, fd, 6, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void resumes(void **state)
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	(void)state;
	agent_begin(&a, deliver_in_pieces);
	agent_start(&a);
	collector_begin(&c, temporary_folder, peers, 1, false, INGEST_STREAM_ENDED, 1);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(a.connections, 3);
	assert_int_equal(a.subscribed[0], 0);
	assert_int_equal(a.subscribed[1], 5);
	assert_int_equal(a.subscribed[2], 7);
	assert_int_equal(a.acked, 10);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

/* Another collector on the same folder goes on where the first was stopped. */
static void first_half(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_frames(a, fd, 0, 5);
	agent_until_acked(a, fd, 5);
	close(fd);
}

static void second_half(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	if (agent_subscribed(a, fd) && a->subscribed[0] == 6)
		agent_frames(a, fd, 5, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void resumes_after_a_restart(void **state)
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	(void)state;
	agent_begin(&a, first_half);
	agent_start(&a);
	collector_begin(&c, temporary_folder, peers, 1, false, INGEST_STREAM_LEFT, 1);
	collector_run(&c);
	agent_join(&a);
	assert_int_equal(a.acked, 5);
	agent_done(&a);
	agent_begin(&a, second_half);
	agent_start(&a);
	collector_begin(&c, temporary_folder, peers, 1, false, INGEST_STREAM_ENDED, 1);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(a.acked, 10);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

static void dial(struct agent *a)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(a->dial),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a->failed |= connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	a->connections++;
	agent_greet(a, fd, 1);
	if (agent_subscribed(a, fd))
		agent_frames(a, fd, 0, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void agent_dials_in(void **state)
{
	struct collector c;
	struct agent a;

	(void)state;
	agent_begin(&a, dial);
	collector_begin(&c, temporary_folder, NULL, 0, false, INGEST_STREAM_ENDED, 1);
	a.dial = ingest_port(c.ingest);
	agent_start(&a);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(whole_stream),
		TEST_IN_FOLDER(resumes),
		TEST_IN_FOLDER(resumes_after_a_restart),
		TEST_IN_FOLDER(agent_dials_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
