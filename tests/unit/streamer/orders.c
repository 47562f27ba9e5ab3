/* Orders in a stream: what becomes of mode and ring, which marks are put, what is refused, and the
 * limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/serve/ring_stream.h"
#include "agent/stream/orders.h"
#include "agent/stream/stream.h"
#include "base/error.h"
#include "heapcast.pb-c.h"

#define LIMIT	  (2u << 20)
#define SECOND_NS 1000000000ull

static struct budget budget;
static struct arena arena;
static struct packer packer;
static struct clock plain = {.kind = RING_CLOCK_MONOTONIC, .slope = 1};
static struct stream stream;
static struct ring_source source;
static const uint8_t agent_id[STREAM_ID_SIZE];

static int open_stream(void **state)
{
	struct stream_settings settings = {.agent_id = agent_id};
	struct ring_settings ring = {.mode = RING_FULL, .sample_interval = 4096, .depth_limit = 64};
	struct target_info target;
	struct err_text err;

	(void)state;
	if (!packer.message && (budget_divide(&budget, LIMIT, 1, &err) ||
				arena_open(&arena, budget_private(&budget) + 65536) ||
				packer_init(&packer, &arena, budget.message, budget.scratch) ||
				ring_source_init(&source, &arena, &budget.shape, &plain) ||
				stream_init(&stream, &arena, &budget, 64, &packer)))
		return -1;
	return target_read(getpid(), &target) ||
	       ring_stream_open(&stream, &source, &target, &settings, &ring);
}

static int close_stream(void **state)
{
	(void)state;
	stream_close(&stream);
	return 0;
}

static struct order_result give(int action, int mode, uint64_t value, const char *text)
{
	struct order order = {.action = action,
			      .mode = mode,
			      .value = value,
			      .text = (const uint8_t *)text,
			      .text_length = text ? strlen(text) : 0,
			      .by = "a test"};

	return order_give(&stream, &order);
}

static void stop_and_start(void **state)
{
	const struct ring_header *ring = source.ring->header;
	uint32_t control = ring->control;
	struct order_result r = give(HEAPCAST__ACTION__ACTION_MODE, RING_SAMPLE, 0, NULL);

	(void)state;
	assert_int_equal(r.status, HEAPCAST__REPLY_STATUS__REPLY_DONE);
	assert_int_equal(r.sample_interval, 4096);
	assert_int_equal(ring->mode, RING_SAMPLE);
	assert_int_equal(ring->control, control + 1);
	r = give(HEAPCAST__ACTION__ACTION_STOP, 0, 0, NULL);
	assert_int_equal(ring->mode, RING_OFF);
	assert_int_equal(ring->resume, RING_SAMPLE);
	assert_int_equal(r.mode, RING_OFF);
	r = give(HEAPCAST__ACTION__ACTION_STOP, 0, 0, NULL); /* changes nothing: no mark */
	assert_int_equal(r.status, HEAPCAST__REPLY_STATUS__REPLY_DONE);
	assert_int_equal(ring->control, control + 2);
	r = give(HEAPCAST__ACTION__ACTION_START, 0, 0, NULL);
	assert_int_equal(r.mode, RING_SAMPLE);
	assert_int_equal(ring->sample_interval, 4096);
	assert_int_equal(stream.batch.marks, 3);
	assert_int_equal(stream.batch.mark[0].kind, HEAPCAST__MARK_KIND__MARK_MODE);
	assert_int_equal(stream.batch.mark[0].value, 4096);
	assert_int_equal(stream.batch.mark[1].kind, HEAPCAST__MARK_KIND__MARK_STOP);
	assert_int_equal(stream.batch.mark[2].kind, HEAPCAST__MARK_KIND__MARK_START);
	assert_string_equal(stream.batch.text + stream.batch.mark[2].by_offset - 1, "a test");
}

/* Without a place for its mark nothing is changed. */
static void full_batch(void **state)
{
	struct order_result r = {0};
	int taken = 0;

	(void)state;
	for (; taken < 2 * BATCH_MARKS_MAX; taken++) {
		r = give(HEAPCAST__ACTION__ACTION_MARK, 0, 0, "text");
		if (r.status != HEAPCAST__REPLY_STATUS__REPLY_DONE)
			break;
	}
	assert_int_equal(r.status, HEAPCAST__REPLY_STATUS__REPLY_TOO_MANY);
	assert_int_equal(taken, BATCH_MARKS_MAX);
	r = give(HEAPCAST__ACTION__ACTION_STOP, 0, 0, NULL);
	assert_int_equal(r.status, HEAPCAST__REPLY_STATUS__REPLY_TOO_MANY);
	assert_int_equal(source.ring->header->mode, RING_FULL);
	assert_int_equal(stream.mode, RING_FULL);
}

static void refused(void **state)
{
	const struct target_end end = {.kind = HEAPCAST__END_KIND__END_EXITED};
	struct order_result r;

	(void)state;
	assert_int_equal(give(99, 0, 0, NULL).status, HEAPCAST__REPLY_STATUS__REPLY_MALFORMED);
	assert_int_equal(give(HEAPCAST__ACTION__ACTION_MODE, 7, 0, NULL).status,
			 HEAPCAST__REPLY_STATUS__REPLY_MALFORMED);
	assert_int_equal(
		give(HEAPCAST__ACTION__ACTION_MODE, RING_SAMPLE, RING_INTERVAL_MAX + 1, NULL)
			.status,
		HEAPCAST__REPLY_STATUS__REPLY_MALFORMED);
	assert_int_equal(give(HEAPCAST__ACTION__ACTION_MARK, 0, 0, "").status,
			 HEAPCAST__REPLY_STATUS__REPLY_MALFORMED);
	assert_int_equal(stream.batch.marks, 0);
	r = give(HEAPCAST__ACTION__ACTION_SNAPSHOT, 0, 0, NULL);
	assert_int_equal(r.snapshot, 1);
	assert_int_equal(give(HEAPCAST__ACTION__ACTION_SNAPSHOT, 0, 9, NULL).snapshot, 9);
	assert_int_equal(give(HEAPCAST__ACTION__ACTION_SNAPSHOT, 0, 0, NULL).snapshot, 10);
	stream_end(&stream, &end);
	assert_int_equal(give(HEAPCAST__ACTION__ACTION_START, 0, 0, NULL).status,
			 HEAPCAST__REPLY_STATUS__REPLY_ENDED);
}

static void limit(void **state)
{
	struct order_limit l = {0};
	uint64_t now = 5 * SECOND_NS;

	(void)state;
	for (int i = 0; i < ORDER_LIMIT_MOST; i++)
		assert_true(order_limit_take(&l, now));
	assert_false(order_limit_take(&l, now));
	now += SECOND_NS;
	for (int i = 0; i < ORDER_LIMIT_EACH; i++)
		assert_true(order_limit_take(&l, now));
	assert_false(order_limit_take(&l, now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stop_and_start, open_stream, close_stream),
		cmocka_unit_test_setup_teardown(full_batch, open_stream, close_stream),
		cmocka_unit_test_setup_teardown(refused, open_stream, close_stream),
		cmocka_unit_test(limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
