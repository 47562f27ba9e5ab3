/* Orders of a collector on its link: which are carried out, which are refused, what is replied. */
#include "tests/unit/streamer/harness.h"

#include <errno.h>

#include "agent/net/replies.h"

static struct stream *streams[2];
static struct stream other;
static struct bench bench;

static int setup(void **state)
{
	(void)state;
	memset(&bench, 0, sizeof(bench));
	memset(&other, 0, sizeof(other)); /* is free */
	bench_open(&bench);
	streams[0] = &other;
	streams[1] = &bench.stream;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bench_close(&bench);
	return 0;
}

static bool order_as(struct replies *r, enum order_policy policy, int action, const uint8_t *id,
		     size_t length)
{
	static uint64_t last;
	Heapcast__Control c = HEAPCAST__CONTROL__INIT;

	c.id = ++last;
	c.action = (Heapcast__Action)action;
	c.stream = (ProtobufCBinaryData){length, (uint8_t *)(uintptr_t)id};
	return replies_order(r, streams, 2, policy, &c);
}

static bool order(struct replies *r, const uint8_t *id, size_t length)
{
	return order_as(r, ORDERS_YES, HEAPCAST__ACTION__ACTION_STOP, id, length);
}

/* The last reply that waits. */
static const struct order_result *last_result(const struct replies *r)
{
	return &r->reply[(r->first + r->count - 1) % REPLIES_MAX].result;
}

static void names(void **state)
{
	char most[200];
	struct replies r;

	(void)state;
	replies_name(&r, "desk", "10.0.0.5");
	assert_string_equal(r.by, "collector desk (10.0.0.5)");
	replies_name(&r, "de\033sk", "::1");
	assert_string_equal(r.by, "collector de?sk (::1)");
	replies_name(&r, "", "10.0.0.5");
	assert_string_equal(r.by, "collector without a name (10.0.0.5)");
	memset(most, 'a', sizeof(most));
	most[sizeof(most) - 1] = '\0';
	replies_name(&r, most, most);
	assert_true(strlen(r.by) < ORDER_BY_MAX);
	assert_int_equal(r.by[strlen(r.by) - 1], ')');
}

/* An id means one stream, no id means all. */
static void which_stream(void **state)
{
	uint8_t id[STREAM_ID_SIZE + 1] = {0};
	struct replies r = {.by = "a test"};

	(void)state;
	memcpy(id, bench.stream.id, STREAM_ID_SIZE);
	assert_true(order(&r, id, STREAM_ID_SIZE));
	assert_int_equal(last_result(&r)->status, HEAPCAST__REPLY_STATUS__REPLY_DONE);
	assert_int_equal(last_result(&r)->streams, 1);
	assert_int_equal(bench.stream.mode, RING_OFF);
	assert_true(order_as(&r, ORDERS_YES, HEAPCAST__ACTION__ACTION_START, NULL, 0));
	assert_int_equal(last_result(&r)->streams, 1);
	assert_int_equal(bench.stream.mode, RING_FULL);
	for (size_t length = 1; length <= STREAM_ID_SIZE + 1; length++) {
		if (length == STREAM_ID_SIZE)
			continue;
		assert_false(order(&r, id, length));
		assert_int_equal(last_result(&r)->status, HEAPCAST__REPLY_STATUS__REPLY_MALFORMED);
	}
	id[STREAM_ID_SIZE - 1] ^= 1;
	assert_false(order(&r, id, STREAM_ID_SIZE));
	assert_int_equal(last_result(&r)->status, HEAPCAST__REPLY_STATUS__REPLY_NO_STREAM);
	assert_false(order(&r, other.id, STREAM_ID_SIZE)); /* of one that is free */
	assert_int_equal(last_result(&r)->status, HEAPCAST__REPLY_STATUS__REPLY_NO_STREAM);
	assert_int_equal(bench.stream.mode, RING_FULL);
	assert_int_equal(r.count, 2 + STREAM_ID_SIZE + 2);
}

static void policies(void **state)
{
	static const struct {
		enum order_policy policy;
		bool local;
		int action, status;
	} given[] = {
		{ORDERS_NO, true, HEAPCAST__ACTION__ACTION_SNAPSHOT,
		 HEAPCAST__REPLY_STATUS__REPLY_SWITCHED_OFF},
		{ORDERS_LOCAL, false, HEAPCAST__ACTION__ACTION_STOP,
		 HEAPCAST__REPLY_STATUS__REPLY_NOT_ALLOWED},
		{ORDERS_LOCAL, false, HEAPCAST__ACTION__ACTION_SNAPSHOT,
		 HEAPCAST__REPLY_STATUS__REPLY_DONE},
		{ORDERS_LOCAL, true, HEAPCAST__ACTION__ACTION_STOP,
		 HEAPCAST__REPLY_STATUS__REPLY_DONE},
		{ORDERS_YES, false, HEAPCAST__ACTION__ACTION_START,
		 HEAPCAST__REPLY_STATUS__REPLY_DONE},
	};
	struct replies r = {.by = "a test"};

	(void)state;
	for (unsigned i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		r.local = given[i].local;
		assert_int_equal(order_as(&r, given[i].policy, given[i].action, NULL, 0),
				 given[i].status == HEAPCAST__REPLY_STATUS__REPLY_DONE);
		assert_int_equal(last_result(&r)->status, given[i].status);
		assert_non_null(last_result(&r)->text);
	}
	r.limit.full_ns = UINT64_MAX / 2;
	assert_false(order(&r, NULL, 0));
	assert_int_equal(last_result(&r)->status, HEAPCAST__REPLY_STATUS__REPLY_TOO_MANY);
	assert_int_equal(bench.stream.mode, RING_FULL);
}

/* The ids of the replies in the next frame. */
static unsigned take_frame(struct replies *r, uint64_t *ids)
{
	static uint8_t out[16 << 10];
	long n = replies_pack(r, &bench.packer, out, sizeof(out));
	const uint8_t *message;
	size_t size, count;
	struct err_text err = {{0}};
	Heapcast__Batch *batch;

	assert_true(n >= 0);
	if (!n)
		return 0;
	assert_int_equal(frame_decode(bench.decoder, out, (size_t)n, &message, &size, &err), 0);
	batch = heapcast__batch__unpack(NULL, size, message);
	assert_non_null(batch);
	assert_non_null(batch->link);
	count = batch->link->n_reply;
	for (size_t i = 0; i < count; i++) {
		const Heapcast__Reply *reply = batch->link->reply[i];

		ids[i] = reply->id;
		assert_int_equal(reply->status, 100 + reply->id);
		assert_string_equal(reply->text, "why");
		assert_int_equal(reply->streams, 200 + reply->id);
		assert_int_equal(reply->time_ns, 300 + reply->id);
		assert_int_equal(reply->mode, 400 + reply->id);
		assert_int_equal(reply->sample_interval, 500 + reply->id);
		assert_int_equal(reply->snapshot, 600 + reply->id);
	}
	heapcast__batch__free_unpacked(batch, NULL);
	return (unsigned)count;
}

static void put(struct replies *r, uint64_t id)
{
	r->reply[(r->first + r->count++) % REPLIES_MAX] =
		(struct reply){id,
			       {.status = 100 + (int)id,
				.text = "why",
				.streams = 200 + (uint32_t)id,
				.time_ns = 300 + id,
				.mode = 400 + (int)id,
				.sample_interval = 500 + id,
				.snapshot = 600 + id}};
}

/* Sixteen in a frame, in order, and each once. */
static void packed(void **state)
{
	struct replies r = {.first = REPLIES_MAX - 7};
	uint64_t ids[16];
	uint8_t out[4096];
	size_t room;

	(void)state;
	assert_int_equal(take_frame(&r, ids), 0);
	for (uint64_t id = 1; id <= 21; id++)
		put(&r, id);
	room = bench.packer.message_size;
	bench.packer.message_size = 64;
	assert_int_equal(replies_pack(&r, &bench.packer, out, sizeof(out)), -EMSGSIZE);
	assert_int_equal(r.count, 21);
	bench.packer.message_size = room;
	assert_int_equal(take_frame(&r, ids), 16);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(ids[i], i + 1);
	put(&r, 22);
	assert_int_equal(take_frame(&r, ids), 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(ids[i], i + 17);
	assert_int_equal(take_frame(&r, ids), 0);
}

/* A collector that does not read its replies is not served. */
static void unread(void **state)
{
	struct replies r = {.first = 3};

	(void)state;
	for (uint64_t id = 1; id <= REPLIES_MAX; id++)
		put(&r, id);
	assert_false(order(&r, NULL, 0));
	assert_int_equal(r.count, REPLIES_MAX);
	assert_int_equal(bench.stream.mode, RING_FULL);
	r.count--;
	assert_true(order(&r, NULL, 0));
	assert_int_equal(r.count, REPLIES_MAX);
	assert_int_equal(bench.stream.mode, RING_OFF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test_setup_teardown(which_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(policies, setup, teardown),
		cmocka_unit_test_setup_teardown(packed, setup, teardown),
		cmocka_unit_test_setup_teardown(unread, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
