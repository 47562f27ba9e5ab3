/*
 * What a link sends next: the list of streams, what earlier agents have left before what goes on,
 * streams in turn, and nothing in the middle of a frame.
 */
#include "tests/unit/streamer/link_scene.h"

#include <netinet/in.h>
#include <poll.h>

#include "base/log.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/streamer/orphans_left.h"

#define FRAME_MOST (256u << 10)
#define BATCHES	   55 /* more than the buffers of sockets take */

static struct scene s;
static struct spool_folder folder;
static struct writer other_writer;
static unsigned descriptors;

/* With so many streams, the first of which has this id, and what was left. */
static void begin(uint32_t streams, uint8_t id)
{
	descriptors = descriptors_open();
	scene_open_with(&s, streams);
	memset(s.bench.stream.id, 0, STREAM_ID_SIZE);
	s.bench.stream.id[0] = id;
	if (streams > 1)
		other_writer = writer_claim(&s.other, 0, 2000);
	assert_int_equal(spool_folder_open(&folder, temporary_folder, LIMIT), 0);
	orphans_open(&s.orphans, &folder, LINKS, FRAME_MOST);
}

static void end(void)
{
	for (unsigned i = 0; i < LINKS; i++)
		link_close(&s.link[i]);
	turn(&s);
	orphans_close(&s.orphans);
	spool_folder_close(&folder);
	scene_close(&s);
	assert_int_equal(descriptors_open(), descriptors);
}

static void subscribe_to(const uint8_t *id, uint32_t incarnation, uint64_t next)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Subscribe m = HEAPCAST__SUBSCRIBE__INIT;

	m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)id};
	m.incarnation = incarnation;
	m.next = next;
	order.subscribe = &m;
	send_order(&s, &order);
}

static void ack_to(const uint8_t *id, uint32_t incarnation, uint64_t number)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Ack m = HEAPCAST__ACK__INIT;

	m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)id};
	m.incarnation = incarnation;
	m.number = number;
	order.ack = &m;
	send_order(&s, &order);
}

static void expect_of(const uint8_t *id, uint32_t incarnation, uint64_t number)
{
	Heapcast__Batch *b = receive(&s);

	assert_non_null(b);
	assert_null(b->link);
	assert_memory_equal(b->stream.data, id, STREAM_ID_SIZE);
	assert_int_equal(b->incarnation, incarnation);
	assert_int_equal(b->number, number);
	heapcast__batch__free_unpacked(b, NULL);
}

static Heapcast__Batch *expect_list(unsigned streams, bool hello)
{
	Heapcast__Batch *b = receive(&s);

	assert_non_null(b);
	assert_non_null(b->link);
	assert_int_equal(b->stream.len, 0);
	assert_int_equal(b->link->n_reply, 0);
	assert_int_equal(!b->link->hello, !hello);
	assert_int_equal(b->link->n_stream, streams);
	return b;
}

static void expect_streams(unsigned streams, bool hello)
{
	heapcast__batch__free_unpacked(expect_list(streams, hello), NULL);
}

static void make_other_batch(unsigned events)
{
	for (unsigned i = 0; i < events; i++) {
		uint64_t pcs[] = {200000, 300000};

		writer_event(&other_writer, 1, (uint64_t)random() << 4, (uint32_t)random(), now(),
			     0, 2, pcs);
	}
	usleep(200);
	s.other.stream.batch.opened_ns = 1;
	bench_drain(&s.other, false);
}

static void list(void **state)
{
	struct stream *a, *b;
	Heapcast__Batch *got;
	Heapcast__StreamState *of;

	(void)state;
	begin(2, 7);
	a = &s.bench.stream;
	b = &s.other.stream;
	make_batch(&s, 5);
	make_batch(&s, 5);
	make_other_batch(3);
	b->incarnation = 4;
	join(&s);
	got = expect_list(2, true);
	assert_int_equal(got->link->hello->window_bytes, 1000);
	assert_memory_equal(got->link->hello->id.data, s.bench.agent_id, STREAM_ID_SIZE);
	assert_string_equal(got->link->hello->version, HEAPCAST_VERSION);
	assert_true(*got->link->hello->host && *got->link->hello->architecture);
	of = got->link->stream[0];
	assert_memory_equal(of->stream.data, a->id, STREAM_ID_SIZE);
	assert_int_equal(of->incarnation, a->incarnation);
	assert_int_equal(of->first, 1);
	assert_int_equal(of->next, 3);
	assert_false(of->ended);
	assert_int_equal(of->executable.len, strlen(a->target.executable));
	assert_memory_equal(of->executable.data, a->target.executable, of->executable.len);
	assert_int_equal(of->name.len, strlen(a->target.name));
	assert_memory_equal(of->name.data, a->target.name, of->name.len);
	assert_int_equal(of->pid, getpid());
	of = got->link->stream[1];
	assert_memory_equal(of->stream.data, b->id, STREAM_ID_SIZE);
	assert_int_equal(of->incarnation, 4);
	assert_int_equal(of->next, 2);
	heapcast__batch__free_unpacked(got, NULL);
	link_pump(&s.link[0]);
	expect_nothing(&s); /* it has not changed */
	writer_die(&s.writer);
	bench_drain(&s.bench, true);
	assert_int_equal(stream_state(a), STREAM_ENDED);
	s.host.generation++;
	link_pump(&s.link[0]);
	got = expect_list(2, false);
	assert_true(got->link->stream[0]->ended);
	assert_false(got->link->stream[1]->ended);
	heapcast__batch__free_unpacked(got, NULL);
	a->frame_pending = true; /* its last frame waits for room */
	s.host.generation++;
	link_pump(&s.link[0]);
	got = expect_list(2, false);
	assert_false(got->link->stream[0]->ended);
	heapcast__batch__free_unpacked(got, NULL);
	a->frame_pending = false;
	b->state = STREAM_FREE;
	s.host.generation++;
	link_pump(&s.link[0]);
	expect_streams(1, false);
	link_pump(&s.link[0]);
	expect_nothing(&s);
	b->state = STREAM_LIVE;
	close(s.peer[0].fd);
	end();
}

/* What was left of a stream goes before what goes on, in the order of incarnations. */
static void left_first(void **state)
{
	const uint8_t going_on[STREAM_ID_SIZE] = {7}, gone[STREAM_ID_SIZE] = {9};
	Heapcast__Batch *got;
	Heapcast__StreamState *of;

	(void)state;
	leave_orphan(7, 1, 4, 0);
	leave_orphan(7, 2, 3, 0);
	leave_orphan(9, 1, 5, 0);
	begin(1, 7);
	assert_int_equal(s.orphans.count, 3);
	s.bench.stream.incarnation = 3;
	make_batch(&s, 5);
	make_batch(&s, 5);
	join(&s);
	got = expect_list(2, true);
	of = got->link->stream[0];
	assert_int_equal(of->incarnation, 3);
	assert_false(of->ended);
	of = got->link->stream[1];
	assert_int_equal(of->stream.len, STREAM_ID_SIZE);
	assert_memory_equal(of->stream.data, gone, STREAM_ID_SIZE);
	assert_int_equal(of->incarnation, 1);
	assert_int_equal(of->first, 1);
	assert_int_equal(of->next, 6);
	assert_true(of->ended);
	assert_int_equal(of->pid, 4711);
	assert_int_equal(of->executable.len, strlen(s.orphans.orphan[2].executable));
	assert_memory_equal(of->executable.data, "/bin/left ", 10);
	heapcast__batch__free_unpacked(got, NULL);
	hello(&s, PROTOCOL_VERSION);
	subscribe_to(going_on, 0, 0);
	assert_false(s.link[0].subscription[0].fresh);
	for (uint64_t i = 1; i <= 4; i++)
		expect_of(going_on, 1, i);
	for (uint64_t i = 1; i <= 3; i++)
		expect_of(going_on, 2, i);
	expect_of(going_on, 3, 1);
	expect_of(going_on, 3, 2);
	expect_nothing(&s);
	subscribe_to(gone, 1, 4);
	expect_of(gone, 1, 4);
	expect_of(gone, 1, 5);
	expect_nothing(&s);
	/* Each has what it says to have, and no more. */
	ack_to(going_on, 2, 3);
	assert_int_equal(s.acks, 0);
	assert_true(orphans_tick(&s.orphans, 0, true));
	assert_int_equal(s.orphans.orphan[0].segments + s.orphans.orphan[1].segments, 0);
	assert_int_equal(s.orphans.orphan[2].segments, 1);
	ack_to(going_on, 3, 1);
	assert_int_equal(s.acks, 1);
	ack_to(gone, 1, 5);
	assert_int_equal(s.acks, 1);
	assert_true(orphans_tick(&s.orphans, 0, true));
	s.host.generation++;
	link_pump(&s.link[0]);
	expect_streams(1, false);
	close(s.peer[0].fd);
	end();
}

/* A connection that ends takes its place in what was left along. */
static void left_from_the_start_again(void **state)
{
	const uint8_t gone[STREAM_ID_SIZE] = {9};

	(void)state;
	leave_orphan(9, 1, 3, 0);
	begin(1, 7);
	for (unsigned i = 0; i < 2; i++) {
		join(&s);
		expect_streams(2, true);
		hello(&s, PROTOCOL_VERSION);
		expect_nothing(&s); /* not before it asks */
		subscribe_to(gone, 0, 0);
		for (uint64_t k = 1; k <= 3; k++)
			expect_of(gone, 1, k);
		expect_nothing(&s);
		leave(&s);
	}
	end();
}

/* Before a hello nothing is sent of any stream. */
static void not_greeted(void **state)
{
	(void)state;
	begin(1, 7);
	make_batch(&s, 5);
	join(&s);
	expect_streams(1, true);
	s.link[0].subscription[0] = (struct subscription){.active = true, .next = 1};
	link_pump(&s.link[0]);
	expect_nothing(&s);
	hello(&s, PROTOCOL_VERSION);
	expect_batch(&s, 1);
	leave(&s);
	end();
}

/* Somebody has removed the file: the link ends, since what was promised can't be sent. */
static void left_and_removed(void **state)
{
	const uint8_t gone[STREAM_ID_SIZE] = {9};
	char name[SPOOL_NAME_MAX];

	(void)state;
	leave_orphan(9, 1, 3, 0);
	begin(1, 7);
	join(&s);
	expect_streams(2, true);
	hello(&s, PROTOCOL_VERSION);
	assert_int_equal(unlinkat(folder.fd, spool_file_name(name, gone, 1, 1, SPOOL_FRAMES), 0),
			 0);
	subscribe_to(gone, 0, 0);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	close(s.peer[0].fd);
	end();
}

/* Several streams have their turns. */
static void in_turn(void **state)
{
	static const uint8_t gone[STREAM_ID_SIZE] = {9};
	const uint8_t *ids[3];
	uint8_t message[FRAME_HEADROOM + 100], out[2000];
	size_t length = 0;

	(void)state;
	leave_orphan(9, 1, 3, 0);
	begin(2, 7);
	for (unsigned i = 0; i < 3; i++) {
		make_batch(&s, 5);
		make_other_batch(3);
	}
	ids[0] = s.bench.stream.id;
	ids[1] = s.other.stream.id;
	ids[2] = gone;
	join(&s);
	expect_streams(3, true);
	hello(&s, PROTOCOL_VERSION);
	for (unsigned i = 0; i < 3; i++) {
		Heapcast__Order order = HEAPCAST__ORDER__INIT;
		Heapcast__Subscribe m = HEAPCAST__SUBSCRIBE__INIT;
		long n;

		m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)ids[i]};
		order.subscribe = &m;
		n = frame_encode(s.encoder, message + FRAME_HEADROOM,
				 heapcast__order__pack(&order, message + FRAME_HEADROOM),
				 out + length, sizeof(out) - length);
		assert_true(n > 0);
		length += (size_t)n;
	}
	assert_int_equal(send(s.peer[0].fd, out, length, MSG_NOSIGNAL), length);
	turn(&s);
	for (uint64_t i = 1; i <= 3; i++)
		for (unsigned k = 0; k < 3; k++)
			expect_of(ids[k], k == 2 ? 1 : s.streams[k]->incarnation, i);
	expect_nothing(&s);
	leave(&s);
	end();
}

/* ---- a socket that is full in the middle of a frame ---- */

/* A link with small buffers, whose other end does not read. */
static void join_narrow(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int small = 4096, l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, own;

	setsockopt(l, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	assert_int_equal(bind(l, (struct sockaddr *)&at, length), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&at, &length), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	own = accept4(l, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(own >= 0);
	setsockopt(own, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	close(l);
	join_with(&s, own, fd);
}

static bool is_in_the_midst(void)
{
	return s.link[0].subscription[0].sent || orphans_half_sent(&s.orphans, 0);
}

/* Reads a little at a time, until a frame is sent in part. */
static void get_stuck(void)
{
	struct peer *p = &s.peer[0];

	for (int i = 0; i < 2000 && !is_in_the_midst(); i++) {
		struct pollfd one = {.fd = p->fd, .events = POLLIN};
		ssize_t n = recv(p->fd, p->in + p->length, 700, MSG_DONTWAIT);

		p->length += n > 0 ? (size_t)n : 0;
		turn(&s);
		if (n < 0) /* the kernel hands it on later, if the machine is busy */
			poll(&one, 1, 1);
	}
	assert_true(is_in_the_midst());
	assert_true(s.link[0].wants_room);
}

static void order_snapshot(uint64_t id)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Control m = HEAPCAST__CONTROL__INIT;

	m.id = id;
	m.action = HEAPCAST__ACTION__ACTION_SNAPSHOT;
	order.control = &m;
	send_order(&s, &order);
}

/* Receives all there is. Returns the number of batches; replies and lists are counted. */
static unsigned receive_all(const uint8_t *id, uint64_t from, unsigned *replies, unsigned *lists)
{
	unsigned count = 0;
	Heapcast__Batch *b;

	*replies = *lists = 0;
	for (int i = 0; i < 50; i++)
		while ((b = receive(&s))) {
			if (b->link) {
				*replies += b->link->n_reply != 0;
				*lists += b->link->n_stream != 0;
			} else {
				assert_memory_equal(b->stream.data, id, STREAM_ID_SIZE);
				assert_int_equal(b->number, from + count++);
			}
			heapcast__batch__free_unpacked(b, NULL);
		}
	return count;
}

/* Lists and replies wait for the end of the frame, and no frame is broken or left out. */
static void stuck(void **state)
{
	static const uint8_t gone[STREAM_ID_SIZE] = {9};
	unsigned replies, lists;

	(void)state;
	leave_orphan(9, 1, 100, 0);
	for (unsigned left = 0; left < 2; left++) {
		begin(1, 7);
		s.host.orders = ORDERS_YES;
		if (!left)
			for (unsigned i = 0; i < BATCHES; i++)
				make_batch(&s, 100);
		join_narrow();
		expect_streams(2, true);
		hello(&s, PROTOCOL_VERSION);
		subscribe_to(left ? gone : s.bench.stream.id, 0, 0);
		get_stuck();
		s.host.generation++;
		link_pump(&s.link[0]);
		order_snapshot(1);
		assert_int_equal(receive_all(left ? gone : s.bench.stream.id, 1, &replies, &lists),
				 left ? 100 : BATCHES);
		assert_int_equal(replies, 1);
		assert_int_equal(lists, 1);
		leave(&s);
		end();
	}
}

/* What is dropped while a part of it was sent can't be mended: the link ends. */
static void dropped_in_the_midst(void **state)
{
	static const uint8_t gone[STREAM_ID_SIZE] = {9};

	(void)state;
	begin(1, 7);
	for (unsigned i = 0; i < BATCHES; i++)
		make_batch(&s, 100);
	join_narrow();
	hello(&s, PROTOCOL_VERSION);
	subscribe_to(s.bench.stream.id, 0, 0);
	get_stuck();
	for (unsigned i = 0;
	     i < 400 && s.bench.stream.spool.first <= s.link[0].subscription[0].next; i++) {
		spool_ack(&s.bench.stream.spool, s.bench.stream.spool.next - 1,
			  s.bench.stream.spool.next - 1);
		make_batch(&s, 100);
	}
	link_pump(&s.link[0]);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	close(s.peer[0].fd);
	end();
	leave_orphan(9, 1, 100, 0);
	begin(1, 7);
	join_narrow();
	hello(&s, PROTOCOL_VERSION);
	subscribe_to(gone, 0, 0);
	get_stuck();
	s.orphans.orphan[0].acked_ns = 1; /* by somebody else */
	assert_true(orphans_tick(&s.orphans, 0, true));
	link_pump(&s.link[0]);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	close(s.peer[0].fd);
	end();
}

/* The slot's stream is another one: a frame of the former one can't be ended. */
static void forgotten(void **state)
{
	(void)state;
	begin(1, 7);
	for (unsigned i = 0; i < BATCHES; i++)
		make_batch(&s, 100);
	join(&s);
	expect_streams(1, true);
	hello(&s, PROTOCOL_VERSION);
	subscribe_to(s.bench.stream.id, s.bench.stream.incarnation, BATCHES);
	expect_batch(&s, BATCHES);
	link_forget(&s.link[0], 0);
	assert_true(s.link[0].fd >= 0 && !s.link[0].closing);
	make_batch(&s, 10);
	link_pump(&s.link[0]);
	expect_nothing(&s);
	leave(&s);
	join_narrow();
	hello(&s, PROTOCOL_VERSION);
	subscribe_to(s.bench.stream.id, 0, 0);
	get_stuck();
	link_forget(&s.link[0], 0);
	assert_false(is_in_the_midst());
	assert_true(s.link[0].closing);
	turn(&s);
	assert_true(link_free(&s.link[0]));
	close(s.peer[0].fd);
	end();
}

/* A link that can send on and on leaves the loop to others after a while. */
static void long_turn(void **state)
{
	static uint8_t all[1 << 20];
	static const uint8_t gone[STREAM_ID_SIZE] = {9};
	int pair[2], much = 1 << 20;
	ssize_t n;

	(void)state;
	leave_orphan(9, 1, 190, 0);
	begin(1, 7);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &much, sizeof(much));
	join_with(&s, pair[0], pair[1]);
	expect_streams(2, true);
	hello(&s, PROTOCOL_VERSION);
	orphans_subscribe(&s.orphans, 0, gone, 0, 0);
	link_pump(&s.link[0]);
	n = recv(pair[1], all, sizeof(all), 0);
	if (n >= 200 << 10) { /* the socket has so much room */
		assert_in_range(n, 256 << 10, (256 << 10) + 3000);
		assert_true(s.link[0].wants_room);
	}
	for (int i = 0; i < 100 && n <= 190 * 2000; i++) { /* not at once where it has less */
		ssize_t more;

		turn(&s);
		more = recv(pair[1], all, sizeof(all), 0);
		n += more > 0 ? more : 0;
	}
	assert_true(n > 190 * 2000);
	assert_false(s.link[0].wants_room);
	assert_true(orphans_reader(&s.orphans, 0, 0)->active);
	leave(&s);
	assert_false(orphans_reader(&s.orphans, 0, 0)->active); /* whoever comes next begins anew */
	end();
}

static int streams_setup(void **state)
{
	log_open("off", NULL);
	return temporary_setup(state);
}

#define TEST_OF_STREAMS(name)                                                                      \
	cmocka_unit_test_setup_teardown(name, streams_setup, temporary_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_STREAMS(list),
		TEST_OF_STREAMS(left_first),
		TEST_OF_STREAMS(left_from_the_start_again),
		TEST_OF_STREAMS(not_greeted),
		TEST_OF_STREAMS(left_and_removed),
		TEST_OF_STREAMS(in_turn),
		TEST_OF_STREAMS(stuck),
		TEST_OF_STREAMS(dropped_in_the_midst),
		TEST_OF_STREAMS(forgotten),
		TEST_OF_STREAMS(long_turn),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
