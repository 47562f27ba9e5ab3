/*
 * A stream that moves from one collector to another: where the new one goes on, who has what was
 * before, and whom the agent waits for no longer.
 */
#include "tests/unit/streamer/whole.h"

static struct session one;
static struct link links[2];
static struct subscription subs[2][1];

enum { DESK = 1, RACK = 2 };

static void is_there(unsigned place, bool there)
{
	agent.collectors.at[place].links = there;
}

/* Two collectors that the agent knows, of which DESK has acknowledged 10 batches with 400 events,
 * and is away. RACK is connected by the link that was dialled. */
static void scene(void)
{
	static const char *const names[] = {"", "desk (10.0.0.1)", "rack (10.0.0.2)"};

	memset(&agent, 0, sizeof(agent));
	memset(&one, 0, sizeof(one));
	memset(links, 0, sizeof(links));
	agent.link = links;
	agent.budget.links = 2;
	agent.dialer.link = &links[1];
	agent.dialer.addresses = 2;
	for (unsigned i = DESK; i <= RACK; i++) {
		agent.collectors.at[i].known = true;
		agent.collectors.at[i].id[0] = (uint8_t)i;
		snprintf(agent.collectors.at[i].name, COLLECTOR_NAME_MAX, "%s", names[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		links[i].subscription = subs[i];
	is_there(RACK, true);
	links[1].who = RACK;
	one.agent = &agent;
	one.link_acked = 10;
	one.stream.spool.evicted.events = 400;
	one.cursor[DESK] = (struct cursor){.active = true, .begun = true, .acked = 10};
	one.cursor[RACK] = (struct cursor){.active = true};
	session_taken_by(&one, DESK);
}

static void goes_on_behind(void **state)
{
	char names[256];

	(void)state;
	scene();
	assert_int_equal(session_taken_over(&one, &links[1], 0), 10);
	assert_int_equal(one.stream.parts, 1);
	assert_int_equal(one.stream.part[0].upto, 10);
	assert_int_equal(one.stream.part[0].events, 400);
	assert_int_equal(one.stream.part[0].collector[0], DESK);
	assert_string_equal(one.stream.part[0].host, "desk (10.0.0.1)");
	assert_false(one.cursor[DESK].active); /* nobody waits for it */
	assert_true(one.cursor[RACK].active);
	assert_int_equal(session_name_parts(&one, names, sizeof(names)),
			 strlen("desk (10.0.0.1), then "));
	assert_string_equal(names, "desk (10.0.0.1), then ");
	assert_int_equal(session_name_parts(&one, names, 10), 9); /* for people: it is cut */
	assert_string_equal(names, "desk (10.");
	/* It goes back to the first one, which has more than it has acknowledged. */
	session_taken_by(&one, RACK);
	one.link_acked = 20;
	one.stream.spool.evicted.events = 1000;
	is_there(RACK, false);
	is_there(DESK, true);
	links[1].who = DESK;
	assert_int_equal(session_taken_over(&one, &links[1], 12), 20);
	assert_int_equal(one.stream.parts, 2);
	assert_int_equal(one.stream.part[1].upto, 20);
	assert_int_equal(one.stream.part[1].events, 600);
}

static void goes_on_as_ever(void **state)
{
	(void)state;
	scene();
	assert_int_equal(session_taken_over(&one, &links[0], 0), 0); /* it was not dialled */
	agent.dialer.addresses = 1;
	assert_int_equal(session_taken_over(&one, &links[1], 0), 0); /* there is one alone */
	agent.dialer.addresses = 2;
	is_there(DESK, true); /* both are there: each has all */
	assert_int_equal(session_taken_over(&one, &links[1], 0), 0);
	assert_true(one.cursor[DESK].active);
	is_there(DESK, false);
	links[1].who = DESK; /* it is the same one again */
	assert_int_equal(session_taken_over(&one, &links[1], 4), 0);
	links[1].who = RACK;
	assert_int_equal(one.stream.parts, 0);
	assert_true(one.cursor[DESK].active);
	/* It has it all by other means. */
	assert_int_equal(session_taken_over(&one, &links[1], 10), 0);
	assert_int_equal(one.stream.parts, 0);
	assert_false(one.cursor[DESK].active);
	/* Nobody has taken anything. */
	scene();
	one.link_acked = 0;
	one.taker = (struct stream_part){0};
	assert_int_equal(session_taken_over(&one, &links[1], 0), 0);
	assert_int_equal(one.stream.parts, 0);
}

/* It moves more often than there is room for. */
static void moves_often(void **state)
{
	uint64_t events = 0;

	(void)state;
	scene();
	for (unsigned i = 0; i < STREAM_PARTS_MAX + 2; i++) {
		unsigned from = i % 2 ? RACK : DESK, to = i % 2 ? DESK : RACK;

		session_taken_by(&one, from);
		one.link_acked = 10 * (i + 1);
		one.stream.spool.evicted.events = 100 * (i + 1);
		is_there(from, false);
		is_there(to, true);
		links[1].who = to;
		assert_int_equal(session_taken_over(&one, &links[1], 0), one.link_acked);
	}
	assert_int_equal(one.stream.parts, STREAM_PARTS_MAX);
	assert_string_equal(one.stream.part[0].host, "several collectors");
	assert_int_equal(one.stream.part[0].collector[0], 0);
	assert_int_equal(one.stream.part[0].upto, 30);
	for (unsigned i = 0; i < STREAM_PARTS_MAX; i++)
		events += one.stream.part[i].events;
	assert_int_equal(events, 100 * (STREAM_PARTS_MAX + 2));
}

/* What is recorded has no room any more. */
static void stalled(void **state)
{
	(void)state;
	scene();
	agent.session = &one;
	agent.budget.slots = 1;
	one.stream.frame_pending = 100;
	assert_false(agent_has_stalled(&agent)); /* the stream is free */
	one.stream.state = STREAM_LIVE;
	assert_true(agent_has_stalled(&agent));
	one.stream.frame_pending = 0;
	assert_false(agent_has_stalled(&agent));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_on_behind),
		cmocka_unit_test(goes_on_as_ever),
		cmocka_unit_test(moves_often),
		cmocka_unit_test(stalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
