/* A link over a socket pair: hello, subscribe, batches, acknowledge, come back, come late. */
#include "tests/unit/streamer/link_scene.h"

static void test_sequence(void **state)
{
	static struct scene s;

	(void)state;
	scene_open(&s);
	make_batch(&s, 20);
	join(&s);
	expect_hello(&s, 1, 2);
	subscribe(&s, 0, 0); /* before the hello: refused by hanging up */
	assert_true(link_free(&s.link[0]));
	leave(&s);
	join(&s);
	expect_hello(&s, 1, 2);
	hello(&s, PROTOCOL_VERSION);
	expect_nothing(&s);
	subscribe(&s, 0, 0);
	expect_batch(&s, 1);
	make_batch(&s, 20);
	link_pump(&s.link[0]);
	expect_batch(&s, 2);
	expect_nothing(&s);
	assert_true(link_owes(&s.link[0]));
	ack(&s, s.bench.stream.spool.next); /* which is the next to be sent */
	assert_int_equal(s.acked, 0);
	ack(&s, 1);
	assert_true(link_owes(&s.link[0]));
	ack(&s, 2); /* the last that was sent */
	assert_int_equal(s.acked, 2);
	assert_int_equal(s.link[0].acks, 2);
	assert_false(link_owes(&s.link[0]));
	ack(&s, 1);
	assert_int_equal(s.acked, 2);
	leave(&s);
	make_batch(&s, 20);
	join(&s);
	expect_hello(&s, 1, 4);
	hello(&s, PROTOCOL_VERSION);
	assert_false(link_owes(&s.link[0]));
	subscribe(&s, 1, 3); /* goes on where it was */
	expect_batch(&s, 3);
	expect_nothing(&s);
	assert_true(link_owes(&s.link[0]));
	refuse(&s, HEAPCAST__DISK_REFUSAL__DISK_REFUSAL_NONE);
	assert_int_equal(s.refusals, 0);
	refuse(&s, HEAPCAST__DISK_REFUSAL__DISK_REFUSAL_NO_ROOM);
	assert_int_equal(s.refusals, 1);
	leave(&s);
	scene_close(&s);
}

/* A collector may have what was sent to it, of this incarnation; it counts once, and never less. */
static void test_acks(void **state)
{
	static struct scene s;
	uint64_t sent;

	(void)state;
	scene_open(&s);
	make_batch(&s, 20);
	make_batch(&s, 20);
	make_batch(&s, 20);
	sent = s.bench.stream.spool.next - 1;
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	ack(&s, 1); /* of a stream that it has not asked for */
	expect_hello(&s, 1, sent + 1);
	subscribe(&s, 0, 0);
	for (uint64_t i = 1; i <= sent; i++)
		expect_batch(&s, i);
	ack(&s, sent + 1);
	ack(&s, UINT64_MAX);
	ack(&s, 0);
	ack_of(&s, s.bench.stream.incarnation - 1, sent);
	ack_of(&s, s.bench.stream.incarnation + 1, sent);
	assert_int_equal(s.acks, 0);
	ack(&s, 1);
	assert_int_equal(s.acked, 1);
	ack(&s, sent);
	assert_int_equal(s.acked, sent);
	ack(&s, sent);
	ack(&s, sent - 1);
	assert_int_equal(s.acked, sent);
	assert_int_equal(s.acks, 2);
	make_batch(&s, 20);
	ack(&s, sent + 1); /* is there, and not sent */
	assert_int_equal(s.acks, 2);
	link_pump(&s.link[0]);
	expect_batch(&s, sent + 1);
	ack(&s, sent + 1);
	assert_int_equal(s.acked, sent + 1);
	leave(&s);
	scene_close(&s);
}

/* Where a collector says to be: it goes on there if that can be, and begins anew if not. */
static void test_subscribe(void **state)
{
	static struct scene s;
	uint32_t is;
	uint64_t next;

	(void)state;
	scene_open(&s);
	make_batch(&s, 20);
	make_batch(&s, 20);
	next = s.bench.stream.spool.next;
	is = s.bench.stream.incarnation;
	const struct {
		uint32_t incarnation;
		uint64_t next, from;
	} cases[] = {
		{is, 1, 1},	     {is, 2, 2}, {is, next, next}, {is, next + 1, 1},
		{is, UINT64_MAX, 1}, {is, 0, 1}, {is - 1, 2, 1},   {is + 1, 2, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		join(&s);
		hello(&s, PROTOCOL_VERSION);
		expect_hello(&s, 1, next);
		s.begun = UINT64_MAX;
		subscribe(&s, cases[i].incarnation, cases[i].next);
		assert_int_equal(s.begun, cases[i].from - 1);
		for (uint64_t k = cases[i].from; k < next; k++)
			expect_batch(&s, k);
		expect_nothing(&s);
		leave(&s);
	}
	scene_close(&s);
}

/* Somebody comes when the first batches are gone: definitions first, and what it missed is a
 * gap. */
static void test_late(void **state)
{
	static struct scene s;
	Heapcast__Batch *b;
	uint64_t first, nodes = 0, threads = 0;

	(void)state;
	scene_open(&s);
	for (unsigned i = 0; i < 400 && s.bench.stream.spool.first < 4; i++) {
		make_batch(&s, 90);
		spool_ack(&s.bench.stream.spool, s.bench.stream.spool.next - 1,
			  s.bench.stream.spool.next - 1);
	}
	first = s.bench.stream.spool.first;
	assert_true(first >= 4);
	join(&s);
	expect_hello(&s, first, s.bench.stream.spool.next);
	hello(&s, PROTOCOL_VERSION);
	subscribe(&s, 0, 0);
	b = receive(&s);
	assert_true(b->catch_up);
	assert_non_null(b->process);
	assert_int_equal(b->next, first);
	assert_int_equal(b->n_gap, 1);
	assert_int_equal(b->gap[0]->reason, HEAPCAST__REASON__REASON_JOINED_LATE);
	assert_int_equal(b->gap[0]->events, 90 * (first - 1));
	assert_int_equal(b->ledger->before_join, 90 * (first - 1));
	assert_balanced(b->ledger);
	while (b->catch_up) {
		heapcast__batch__free_unpacked(b, NULL);
		b = receive(&s);
		assert_non_null(b);
		threads += b->n_thread;
		if (b->stacks && b->catch_up) {
			struct stacks_decoder d;
			struct stack_node node;
			uint32_t number;
			struct err_text err;

			assert_int_equal(stacks_decoder_init(&d, b->stacks, &err), 0);
			while (stacks_decoder_next(&d, &number, &node, &err) == 1)
				assert_int_equal(number, ++nodes);
		}
	}
	assert_int_equal(threads, 1);
	assert_int_equal(nodes, s.bench.stream.spool.evicted.nodes);
	assert_int_equal(b->number, first);
	heapcast__batch__free_unpacked(b, NULL);
	leave(&s);
	/* One that was here before is given definitions, too, but its own account says what it
	 * lacks. */
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	expect_hello(&s, first, s.bench.stream.spool.next);
	subscribe(&s, 1, 2);
	b = receive(&s);
	assert_true(b->catch_up);
	assert_int_equal(b->n_gap, 0);
	assert_int_equal(b->ledger->before_join, 0);
	assert_int_equal(b->ledger->delivered, 90 * (first - 1));
	heapcast__batch__free_unpacked(b, NULL);
	leave(&s);
	/* So does that of one that had a part of another incarnation. */
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	expect_hello(&s, first, s.bench.stream.spool.next);
	subscribe(&s, 77, 2);
	b = receive(&s);
	assert_true(b->catch_up);
	assert_int_equal(b->n_gap, 0);
	assert_int_equal(b->ledger->before_join, 0);
	heapcast__batch__free_unpacked(b, NULL);
	leave(&s);
	/* Who has all that is gone needs no definitions. */
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	expect_hello(&s, first, s.bench.stream.spool.next);
	subscribe(&s, 1, first);
	expect_batch(&s, first);
	leave(&s);
	scene_close(&s);
}

/* Another collector has the beginning: the link goes on behind it, with definitions and with who
 * that is, though the batches before are still there. */
static void test_takes_over(void **state)
{
	static struct scene s;
	Heapcast__Batch *b;

	(void)state;
	scene_open(&s);
	for (unsigned i = 0; i < 4; i++)
		make_batch(&s, 90);
	s.bench.stream.parts = 2;
	s.bench.stream.part[0] = (struct stream_part){
		.collector = {0xde, 0x5c}, .host = "desk (10.0.0.5)", .upto = 2, .events = 180};
	s.bench.stream.part[1] =
		(struct stream_part){.host = "later", .upto = 3, .events = 90}; /* not before 3 */
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	expect_hello(&s, 1, 5);
	s.taken_over = 2;
	subscribe(&s, 0, 0);
	b = receive(&s);
	assert_true(b->catch_up);
	assert_non_null(b->process);
	assert_int_equal(b->next, 3);
	assert_int_equal(b->ledger->before_join, 180);
	assert_int_equal(b->ledger->delivered, 180);
	assert_balanced(b->ledger);
	assert_int_equal(b->n_part, 1);
	assert_string_equal(b->part[0]->host, "desk (10.0.0.5)");
	assert_int_equal(b->part[0]->collector.len, STREAM_ID_SIZE);
	assert_int_equal(b->part[0]->upto, 2);
	assert_int_equal(b->part[0]->events, 180);
	while (b->catch_up) {
		heapcast__batch__free_unpacked(b, NULL);
		b = receive(&s);
		assert_non_null(b);
	}
	assert_int_equal(b->number, 3);
	heapcast__batch__free_unpacked(b, NULL);
	expect_batch(&s, 4);
	expect_nothing(&s);
	leave(&s);
	/* One that has some of it already, and one that has more. */
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	expect_hello(&s, 1, 5);
	s.taken_over = 3;
	subscribe(&s, 1, 2);
	b = receive(&s);
	assert_true(b->catch_up);
	assert_int_equal(b->next, 4);
	assert_int_equal(b->ledger->before_join, 0);
	assert_int_equal(b->n_part, 2);
	assert_int_equal(b->part[1]->collector.len, 0);
	heapcast__batch__free_unpacked(b, NULL);
	leave(&s);
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	expect_hello(&s, 1, 5);
	s.taken_over = 2;
	subscribe(&s, 1, 4);
	expect_batch(&s, 4);
	leave(&s);
	scene_close(&s);
}

static void test_hostile(void **state)
{
	static struct scene s;
	uint8_t noise[20000];

	(void)state;
	scene_open(&s);
	make_batch(&s, 20);
	join(&s);
	hello(&s, PROTOCOL_VERSION + 1);
	assert_true(link_free(&s.link[0]));
	leave(&s);
	for (unsigned round = 0; round < 50; round++) {
		join(&s);
		for (unsigned i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)random();
		if (round % 2)
			memcpy(noise, "\x04\x22\x4d\x18\x6c\x70", 6);
		send(s.peer[0].fd, noise, round % 3 ? sizeof(noise) : 30, MSG_NOSIGNAL);
		turn(&s);
		leave(&s);
	}
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequence),   cmocka_unit_test(test_acks),
		cmocka_unit_test(test_subscribe),  cmocka_unit_test(test_late),
		cmocka_unit_test(test_takes_over), cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
