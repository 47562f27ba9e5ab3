/* Who is who among collectors, and who is forgotten. */
#include "tests/unit/streamer/harness.h"

#include <stdio.h>

#include "agent/net/collectors.h"

#define S UINT64_C(1000000000)

static uint32_t greet(struct collectors *cs, uint8_t id, const char *address, bool proved,
		      bool *ret_new)
{
	uint8_t bytes[STREAM_ID_SIZE] = {id, 0xab};

	return collectors_welcome(cs,
				  &(struct collector_greeting){.id = id ? bytes : NULL,
							       .host = "de\033sk",
							       .address = address,
							       .proved = proved},
				  ret_new);
}

/* An id belongs to the address that it comes from, unless it was proved. */
static void test_who(void **state)
{
	struct collectors cs = {0};
	uint32_t mine, other, proved;
	bool is_new;

	(void)state;
	mine = greet(&cs, 1, "10.0.0.5", false, &is_new);
	assert_true(is_new);
	assert_string_equal(cs.at[mine].name, "de?sk (10.0.0.5)");
	other = greet(&cs, 1, "10.0.0.6", false, &is_new);
	assert_true(is_new && other != mine);
	assert_int_equal(greet(&cs, 1, "10.0.0.5", false, &is_new), mine);
	assert_false(is_new);
	assert_int_equal(cs.at[mine].links, 2);
	proved = greet(&cs, 1, "10.0.0.5", true, &is_new);
	assert_true(is_new && proved != mine);
	assert_string_equal(cs.at[proved].name, "de?sk (10.0.0.5, id 01ab)");
	assert_int_equal(greet(&cs, 1, "10.0.0.7", true, &is_new), proved);
	assert_false(is_new);
	assert_string_equal(cs.at[proved].address, "10.0.0.7");
	assert_int_not_equal(greet(&cs, 0, "10.0.0.5", false, &is_new), mine);
	assert_true(is_new);
}

/* A crowd from one address takes no place of others; who is connected stays. */
static void test_crowd(void **state)
{
	struct collectors cs = {0};
	uint32_t mine, here, place;
	bool is_new;

	(void)state;
	mine = greet(&cs, 1, "10.0.0.5", false, &is_new);
	collectors_left(&cs, mine, 1 * S);
	here = greet(&cs, 2, "10.0.0.9", false, &is_new);
	for (unsigned i = 0; i < 200; i++) {
		place = greet(&cs, (uint8_t)(10 + i), "10.0.0.9", false, &is_new);
		assert_true(is_new && place != mine && place != here);
		collectors_left(&cs, place, (2 + i) * S);
	}
	assert_int_equal(greet(&cs, 1, "10.0.0.5", false, &is_new), mine);
	assert_false(is_new);
}

static void test_lapse(void **state)
{
	struct collectors cs = {0};
	uint32_t mine;
	bool is_new;

	(void)state;
	mine = greet(&cs, 1, "10.0.0.5", false, &is_new);
	assert_int_equal(collectors_lapse(&cs, 100000 * S), COLLECTORS_MAX);
	collectors_left(&cs, mine, 5 * S);
	assert_int_equal(collectors_lapse(&cs, 5 * S + COLLECTOR_AWAY_NS), COLLECTORS_MAX);
	assert_int_equal(collectors_lapse(&cs, 6 * S + COLLECTOR_AWAY_NS), mine);
	assert_int_equal(collectors_lapse(&cs, 6 * S + COLLECTOR_AWAY_NS), COLLECTORS_MAX);
	greet(&cs, 1, "10.0.0.5", false, &is_new);
	assert_true(is_new);
}

static uint32_t greet_as(struct collectors *cs, const uint8_t *id, const char *host,
			 const char *address, bool proved, bool expect_new)
{
	bool is_new = !expect_new;
	uint32_t place = collectors_welcome(cs,
					    &(struct collector_greeting){.id = id,
									 .host = host,
									 .address = address,
									 .proved = proved,
									 .named = expect_new},
					    &is_new);

	assert_int_equal(is_new, expect_new);
	assert_int_equal(cs->at[place].named, expect_new);
	return place;
}

/* Every place is used, in order, and the one that has been away for longest is used again. */
static void test_places(void **state)
{
	struct collectors cs = {0};
	char address[16];
	bool is_new;

	(void)state;
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++) {
		snprintf(address, sizeof(address), "10.0.0.%u", i);
		assert_int_equal(greet(&cs, 1, address, false, &is_new), i);
	}
	assert_int_equal(greet(&cs, 1, "10.0.1.1", false, &is_new), 0); /* there is no other */
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		collectors_left(&cs, i, (100 + (i + 5) % COLLECTORS_MAX) * S);
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++) {
		uint32_t oldest = (COLLECTORS_MAX - 5 + i) % COLLECTORS_MAX;

		snprintf(address, sizeof(address), "10.0.2.%u", i);
		assert_int_equal(greet(&cs, 1, address, false, &is_new), oldest);
		assert_true(is_new);
		assert_int_equal(cs.at[oldest].links, 1);
		assert_string_equal(cs.at[oldest].address, address);
	}
	/* Of those that left at once the first; and who is held stays. */
	for (uint32_t i = 1; i < COLLECTORS_MAX; i++)
		collectors_left(&cs, i, 300 * S);
	assert_int_equal(greet(&cs, 1, "10.0.3.1", false, &is_new), 1);
	assert_int_equal(greet(&cs, 1, "10.0.3.2", false, &is_new), 2);
	/* Of an address with two the older one, though others are older. */
	collectors_left(&cs, 1, 500 * S);
	collectors_left(&cs, 2, 400 * S);
	snprintf(cs.at[1].address, sizeof(cs.at[1].address), "10.0.3.2");
	assert_int_equal(greet(&cs, 1, "10.0.4.1", false, &is_new), 2);
	assert_int_equal(greet(&cs, 1, "10.0.4.2", false, &is_new), 3);
}

/* Where there is no id it is the address that counts. */
static void test_without_id(void **state)
{
	static const uint8_t zeros[STREAM_ID_SIZE], id[STREAM_ID_SIZE] = {[15] = 1};
	struct collectors cs = {0};
	uint32_t first, other;

	(void)state;
	first = greet_as(&cs, NULL, "a", "10.0.0.1", true, true);
	assert_int_equal(greet_as(&cs, NULL, "a", "10.0.0.1", true, false), first);
	other = greet_as(&cs, NULL, "a", "10.0.0.2", true, true);
	assert_int_not_equal(other, first);
	assert_int_equal(greet_as(&cs, zeros, "a", "10.0.0.2", true, false), first);
	assert_int_not_equal(greet_as(&cs, NULL, "a", "10.0.0.1", false, true), first);
	other = greet_as(&cs, id, "a", "10.0.0.1", false, true);
	assert_memory_equal(cs.at[other].id, id, sizeof(id));
	assert_int_equal(greet_as(&cs, id, "a", "10.0.0.1", false, false), other);
	/* Whose place is free is not known any more. */
	collectors_left(&cs, other, 1);
	collectors_left(&cs, other, 2);
	collectors_left(&cs, other, 3); /* has no effect */
	assert_int_equal(cs.at[other].links, 0);
	assert_int_equal(cs.at[other].left_ns, 2);
	assert_int_equal(collectors_lapse(&cs, 3 + COLLECTOR_AWAY_NS), other);
	assert_int_equal(greet_as(&cs, id, "a", "10.0.0.1", false, true), other);
	assert_int_equal(cs.at[other].links, 1);
}

static void test_names(void **state)
{
	static const uint8_t id[5][STREAM_ID_SIZE] = {
		{0xa0, 1}, {0xb0, 0x0c, 9}, {0xc0, 2}, {0xd0, 3}, {0xe0, 4}};
	static const struct {
		unsigned id;
		const char *host, *address, *name;
		bool is_new;
	} cases[] = {
		{0, "desk", "10.0.0.1", "desk (10.0.0.1)", true},
		{0, "desk", "10.0.0.1", "desk (10.0.0.1)", false}, /* itself */
		{1, "desk", "10.0.0.1", "desk (10.0.0.1, id b00c)", true},
		{1, "desk", "10.0.0.1", "desk (10.0.0.1, id b00c)", false},
		{2, "desk", "10.0.0.2", "desk (10.0.0.2)", true},
		{3, "des", "10.0.0.1", "des (10.0.0.1)", true},
		{4, "", "10.0.0.1", "a collector without a name (10.0.0.1)", true},
		{2, "other", "10.0.0.2", "other (10.0.0.2)", false},
	};
	struct collectors cs = {0};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t place = greet_as(&cs, id[cases[i].id], cases[i].host, cases[i].address,
					  false, cases[i].is_new);

		assert_string_equal(cs.at[place].name, cases[i].name);
	}
	cs.at[0].known = false; /* a name that nobody has any more */
	cs.at[1].known = false;
	assert_int_equal(greet_as(&cs, id[1], "desk", "10.0.0.1", false, true), 0);
	assert_string_equal(cs.at[0].name, "desk (10.0.0.1)");
	/* Also of the last place. */
	cs.at[COLLECTORS_MAX - 1] = cs.at[0];
	cs.at[0].known = false;
	assert_int_equal(greet_as(&cs, id[0], "desk", "10.0.0.1", false, true), 0);
	assert_string_equal(cs.at[0].name, "desk (10.0.0.1, id a001)");
	cs = (struct collectors){.at[COLLECTORS_MAX - 1] = cs.at[COLLECTORS_MAX - 1]};
	assert_int_equal(greet_as(&cs, id[1], "desk", "10.0.0.1", false, false),
			 COLLECTORS_MAX - 1);
}

/* One at a time, from the first to the last. */
static void test_all_lapse(void **state)
{
	struct collectors cs = {0};

	(void)state;
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		cs.at[i] = (struct collector){.known = i != 3, .links = i == 4, .left_ns = i};
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++) {
		if (i == 3 || i == 4)
			continue;
		assert_int_equal(collectors_lapse(&cs, i + COLLECTOR_AWAY_NS), COLLECTORS_MAX);
		assert_int_equal(collectors_lapse(&cs, i + COLLECTOR_AWAY_NS + 1), i);
		assert_false(cs.at[i].known);
	}
	assert_true(cs.at[4].known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who),	  cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_lapse),	  cmocka_unit_test(test_places),
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_without_id),
		cmocka_unit_test(test_all_lapse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
