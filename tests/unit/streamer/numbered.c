/* Numbered stacks in the stream: an event that names a number has the stack that got it. */
#include "tests/unit/streamer/harness.h"

#define DEPTH	   3
#define EVENTS_MAX 32

static struct bench b;
static struct writer w;
static uint64_t written; /* events of the current test */

static int begin(void **state)
{
	(void)state;
	memset(&b, 0, sizeof(b));
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	written = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	bench_close(&b);
	return 0;
}

/* An event with a stack of its own, which `which` names. */
static void whole(uint64_t which)
{
	const uint64_t pcs[DEPTH] = {0x10000 + which, 0x20000 + which, 0x30000};

	writer_event(&w, 1, 0x1000 + ++written * 16, 24, now(), 0, DEPTH, pcs);
}

static void number(uint64_t value)
{
	writer_word(&w, RING_SAVE);
	writer_word(&w, value);
	writer_word(&w, now());
	writer_publish(&w);
}

static void recall(uint32_t value)
{
	writer_event(&w, 1, 0x1000 + ++written * 16, 24, now(), RING_RECALL + value, 0, NULL);
}

/* Takes what was written, and tells the events' stacks. */
static void taken(uint32_t ret_stack[EVENTS_MAX])
{
	struct event events[EVENTS_MAX];

	usleep(200); /* past the slack of stamps */
	bench_drain(&b, true);
	assert_int_equal(bench_events(&b, events, EVENTS_MAX), written);
	for (unsigned i = 0; i < written; i++)
		ret_stack[i] = events[i].stack;
}

static void assert_truncated(uint32_t stack)
{
	struct stack_node node;

	assert_true(stacks_get(&b.stream.stacks, stack, &node));
	assert_int_equal(node.module, 0);
	assert_int_equal(node.offset, HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED);
}

static void named(void **state)
{
	uint32_t stack[EVENTS_MAX];

	(void)state;
	whole(1);
	number(0);
	whole(2);
	number(RING_SAVED_MAX - 1);
	recall(0);
	recall(RING_SAVED_MAX - 1);
	recall(0);
	whole(3);
	number(0); /* another one has it now */
	recall(0);
	recall(RING_SAVED_MAX - 1);
	whole(1);
	taken(stack);
	assert_true(stack[0] != stack[1] && stack[1] != stack[5] && stack[0] != stack[5]);
	assert_int_equal(stack[2], stack[0]);
	assert_int_equal(stack[3], stack[1]);
	assert_int_equal(stack[4], stack[0]);
	assert_int_equal(stack[6], stack[5]);
	assert_int_equal(stack[7], stack[1]);
	assert_int_equal(stack[8], stack[0]);
}

/* What no honest program writes. */
static void void_numbers(void **state)
{
	uint32_t stack[EVENTS_MAX];

	(void)state;
	number(4); /* of no stack */
	whole(1);
	number(RING_SAVED_MAX);
	number(UINT64_MAX);
	recall(4);
	recall(5);
	recall(RING_SAVED_MAX);
	recall(RING_MAX_KEEP - RING_RECALL);
	taken(stack);
	assert_truncated(stack[1]);
	assert_truncated(stack[2]);
	for (unsigned i = 3; i < 5; i++) {
		struct stack_node node;

		assert_true(stacks_get(&b.stream.stacks, stack[i], &node));
		assert_int_not_equal(node.offset, 0x10001);
	}
}

/* A thread's numbers end with it. */
static void next_owner(void **state)
{
	uint32_t stack[EVENTS_MAX];

	(void)state;
	whole(1);
	number(2);
	writer_die(&w);
	usleep(200);
	bench_drain(&b, false);
	bench_drain(&b, false);
	w = writer_claim(&b, 0, 1001);
	recall(2);
	taken(stack);
	assert_truncated(stack[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(named, begin, end),
		cmocka_unit_test_setup_teardown(void_numbers, begin, end),
		cmocka_unit_test_setup_teardown(next_owner, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
