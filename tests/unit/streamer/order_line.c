/* Lines of the agent's control socket: what is understood, and what either end turns away. */
#include "agent/serve/order_line.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "heapcast.pb-c.h"
#include "proto/ring.h"

#define NOT_KNOWN "such an order is not known here"
#define NUMBERS	  "a process is named by its number"
#define MODES	  "mode takes full, sample, sample=BYTES or off"
#define WORDS	  "the order has too many words"
#define MARKS	  "a mark has a text"

static void orders(void **state)
{
	const struct {
		const char *line;
		pid_t pid;
		int action;
		const char *text;
	} right[] = {
		{"start 12", 12, HEAPCAST__ACTION__ACTION_START, ""},
		{"stop 0", 0, HEAPCAST__ACTION__ACTION_STOP, ""},
		{"snapshot 2147483647", INT_MAX, HEAPCAST__ACTION__ACTION_SNAPSHOT, ""},
		{"mark 7 a b  c", 7, HEAPCAST__ACTION__ACTION_MARK, "a b  c"},
	};
	struct order_question q;
	const char *why;

	(void)state;
	for (unsigned i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		memset(&q, 0xee, sizeof(q));
		assert_int_equal(order_question_parse(right[i].line, &q, &why), 0);
		assert_false(q.status);
		assert_int_equal(q.pid, right[i].pid);
		assert_int_equal(q.order.action, right[i].action);
		assert_int_equal(q.order.text_length, strlen(right[i].text));
		assert_string_equal((const char *)q.order.text, right[i].text);
	}
	assert_int_equal(order_question_parse("status", &q, &why), 0);
	assert_true(q.status);
}

static void modes(void **state)
{
	const struct {
		const char *line;
		int mode;
		uint64_t value;
	} right[] = {
		{"mode 3 full", RING_FULL, 0},
		{"mode 3 off", RING_OFF, 0},
		{"mode 3 sample", RING_SAMPLE, 0},
		{"mode 3 sample=4096", RING_SAMPLE, 4096},
	};
	struct order_question q;
	const char *why;

	(void)state;
	for (unsigned i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		memset(&q, 0xee, sizeof(q));
		assert_int_equal(order_question_parse(right[i].line, &q, &why), 0);
		assert_false(q.status);
		assert_int_equal(q.pid, 3);
		assert_int_equal(q.order.action, HEAPCAST__ACTION__ACTION_MODE);
		assert_int_equal(q.order.mode, right[i].mode);
		assert_int_equal(q.order.value, right[i].value);
		assert_int_equal(q.order.text_length, 0);
	}
}

/* What is turned away leaves the question alone, and says why. */
static void no_orders(void **state)
{
	const struct {
		const char *line, *why;
	} wrong[] = {
		{"", NOT_KNOWN},	  {"dance 1", NOT_KNOWN}, {"status 1", NOT_KNOWN},
		{" status", NOT_KNOWN},	  {"start", NUMBERS},	  {"start ", NUMBERS},
		{"start all", NUMBERS},	  {"start -1", NUMBERS},  {"stop 2147483648", NUMBERS},
		{"start 1 2", WORDS},	  {"stop 1 now", WORDS},  {"snapshot 1 x", WORDS},
		{"mark 1", MARKS},	  {"mark 1 ", MARKS},	  {"mark x text", NUMBERS},
		{"mode 1", MODES},	  {"mode 1 loud", MODES}, {"mode 1 full full", MODES},
		{"mode x full", NUMBERS},
	};
	struct order_question q, before;
	const char *why;

	(void)state;
	memset(&before, 0x5a, sizeof(before));
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		q = before;
		why = "";
		assert_int_equal(order_question_parse(wrong[i].line, &q, &why), -EINVAL);
		assert_string_equal(why, wrong[i].why);
		assert_memory_equal(&q, &before, sizeof(q));
	}
}

/* ---- answers ---- */

#define FIELDS_MAX 16

/* A line of these words. */
static const char *line_of(const char *const *word, unsigned count)
{
	static char line[1024];
	size_t n = 0;

	line[0] = '\0';
	for (unsigned i = 0; i < count; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "", word[i]);
	return line;
}

static int parse_agent(const char *line)
{
	struct order_agent a = {.pid = 99};
	int r = order_agent_parse(line, &a);

	assert_true(!r || a.pid == 99);
	return r;
}

static int parse_program(const char *line)
{
	struct order_program p = {.pid = 99};
	int r = order_program_parse(line, &p);

	assert_true(!r || p.pid == 99);
	return r;
}

static int parse_done(const char *line)
{
	struct order_done d = {.pid = 99};
	int r = order_done_parse(line, &d);

	assert_true(!r || d.pid == 99);
	return r;
}

/* Each of the first words is missed, each number has its bound, and no other word is a number. */
static void check_words(int (*parse)(const char *line), const char *const *word, unsigned count,
			unsigned wanted, const uint64_t *most)
{
	const char *line[FIELDS_MAX];
	char number[32];

	assert_int_equal(parse(line_of(word, count)), 0);
	for (unsigned i = 0; i < wanted; i++)
		assert_int_equal(parse(line_of(word, i)), -EINVAL);
	memcpy(line, word, count * sizeof(*word));
	for (unsigned i = 0; i < wanted; i++) {
		if (!most[i])
			continue;
		line[i] = number;
		snprintf(number, sizeof(number), "%" PRIu64, most[i]);
		assert_int_equal(parse(line_of(line, count)), 0);
		snprintf(number, sizeof(number), "%" PRIu64, most[i] + 1);
		if (most[i] != UINT64_MAX)
			assert_int_equal(parse(line_of(line, count)), -EINVAL);
		snprintf(number, sizeof(number), "x");
		assert_int_equal(parse(line_of(line, count)), -EINVAL);
		snprintf(number, sizeof(number), "0");
		assert_int_equal(parse(line_of(line, count)), 0);
		line[i] = word[i];
	}
	line[0] = "other";
	assert_int_equal(parse(line_of(line, count)), -EINVAL);
}

static void agents(void **state)
{
	static const char *const word[] = {"agent", "1", "2", "3", "4", "5", "6", "7", "1"};
	static const uint64_t most[] = {0,	    INT_MAX,	UINT32_MAX,
					UINT32_MAX, UINT32_MAX, UINT32_MAX,
					UINT64_MAX, UINT64_MAX, ORDER_POLICIES - 1};
	const struct order_agent given = {.pid = 1,
					  .programs = 2,
					  .places = 3,
					  .collectors = 4,
					  .collectors_most = 5,
					  .used_bytes = 6,
					  .limit_bytes = 7,
					  .orders = 1};
	struct order_agent got;
	char line[128];
	int length;

	(void)state;
	length = order_agent_format(line, sizeof(line), &given);
	assert_int_equal(length, strlen(line));
	assert_string_equal(line, line_of(word, 9));
	assert_int_equal(order_agent_parse(line, &got), 0);
	assert_memory_equal(&got, &given,
			    offsetof(struct order_agent, orders) + sizeof(given.orders));
	check_words(parse_agent, word, 9, 9, most);
	assert_int_equal(parse_agent("agent 1 2 3 4 5 6 7 1 8"), -EINVAL);
}

#define ID "0123456789abcdef0123456789abcdef"

static void programs(void **state)
{
	static const char *const word[] = {"program", "1", "2", "2", "3", "4", "5",   "6",
					   "7",	      "8", "9", "1", ID,  "a", "name"};
	static const uint64_t most[] = {
		0,	    INT_MAX,	UINT32_MAX, RING_SAMPLE, RING_INTERVAL_MAX,
		UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,	 UINT64_MAX,
		UINT64_MAX, 1,		0};
	const struct order_program given = {.pid = 1,
					    .uid = 2,
					    .mode = RING_SAMPLE,
					    .interval = 3,
					    .since_ns = 4,
					    .events = 5,
					    .before = 6,
					    .lost = 7,
					    .spool_bytes = 8,
					    .spool_most = 9,
					    .ended = true,
					    .id = ID,
					    .name = "a name"};
	static const char *const ids[] = {
		"0123456789abcdef0123456789abcde", ID "0", "0123456789abcdef0123456789abcdeF",
		"0123456789abcdef0123456789abcdeg", "x123456789abcdef0123456789abcdef"};
	const char *other[FIELDS_MAX];
	struct order_program got;
	char line[256];
	int length;

	(void)state;
	length = order_program_format(line, sizeof(line), &given);
	assert_int_equal(length, strlen(line));
	assert_string_equal(line, line_of(word, 15));
	assert_int_equal(order_program_parse(line, &got), 0);
	assert_int_equal(got.pid, 1);
	assert_int_equal(got.uid, 2);
	assert_int_equal(got.mode, RING_SAMPLE);
	assert_int_equal(got.interval, 3);
	assert_int_equal(got.since_ns, 4);
	assert_int_equal(got.events, 5);
	assert_int_equal(got.before, 6);
	assert_int_equal(got.lost, 7);
	assert_int_equal(got.spool_bytes, 8);
	assert_int_equal(got.spool_most, 9);
	assert_true(got.ended);
	assert_string_equal(got.id, ID);
	assert_string_equal(got.name, "a name");
	check_words(parse_program, word, 15, 13, most);
	memcpy(other, word, sizeof(word));
	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		other[12] = ids[i];
		assert_int_equal(parse_program(line_of(other, 15)), -EINVAL);
	}
	assert_int_equal(order_program_parse(line_of(word, 13), &got), 0); /* without a name */
	assert_string_equal(got.name, "");
	other[11] = "0";
	other[12] = ID;
	other[13] = "bad\tone\x1b";
	assert_int_equal(order_program_parse(line_of(other, 14), &got), 0);
	assert_false(got.ended);
	assert_string_equal(got.name, "bad one?");
}

static void outcomes(void **state)
{
	static const char *const done[] = {"done", "1", "2", "1", "3", "4", "all", "well"};
	static const char *const refused[] = {"refused", "1", "why", "not"};
	static const uint64_t most[] = {0,	     INT_MAX,		UINT64_MAX,
					RING_SAMPLE, RING_INTERVAL_MAX, UINT64_MAX};
	struct order_done given = {.done = true,
				   .pid = 1,
				   .time_ns = 2,
				   .mode = RING_FULL,
				   .interval = 3,
				   .snapshot = 4,
				   .text = "all well"};
	struct order_done got;
	char line[256];
	int length;

	(void)state;
	length = order_done_format(line, sizeof(line), &given);
	assert_int_equal(length, strlen(line));
	assert_string_equal(line, line_of(done, 8));
	assert_int_equal(order_done_parse(line, &got), 0);
	assert_true(got.done);
	assert_int_equal(got.pid, 1);
	assert_int_equal(got.time_ns, 2);
	assert_int_equal(got.mode, RING_FULL);
	assert_int_equal(got.interval, 3);
	assert_int_equal(got.snapshot, 4);
	assert_string_equal(got.text, "all well");
	check_words(parse_done, done, 8, 6, most);
	given = (struct order_done){.pid = 1, .text = "why not"};
	length = order_done_format(line, sizeof(line), &given);
	assert_int_equal(length, strlen(line));
	assert_string_equal(line, line_of(refused, 4));
	assert_int_equal(order_done_parse(line, &got), 0);
	assert_false(got.done);
	assert_int_equal(got.pid, 1);
	assert_int_equal(got.mode, 0);
	assert_string_equal(got.text, "why not");
	check_words(parse_done, refused, 4, 2, most);
	assert_int_equal(order_done_format(line, 5, &given), strlen("refused 1 why not"));
	assert_string_equal(line, "refu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders), cmocka_unit_test(modes),    cmocka_unit_test(no_orders),
		cmocka_unit_test(agents), cmocka_unit_test(programs), cmocka_unit_test(outcomes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
