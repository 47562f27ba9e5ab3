/* Who is who among collectors, and who is forgotten. */
#include "tests/unit/streamer/harness.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_who), cmocka_unit_test(test_crowd),
					   cmocka_unit_test(test_lapse)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
