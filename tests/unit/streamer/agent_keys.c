/*
 * The keys of an agent's links: which count, what the log says of pairs, and when it looks for new
 * ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/core/clock.h"
#include "agent/serve/agent.h"
#include "tests/unit/logged.h"
#include "tests/unit/temporary.h"
#include "tests/unit/without_keys.h"

#define MEMORY (64u << 20)
#define PLAIN  "warn  this agent was started before its first pairing"

static struct agent agent;
static struct pairs pairs;
static struct err_text err;
static char folder[128];

static void keep(const char *name)
{
	static uint8_t key[PAIR_KEY_SIZE];
	struct pair_draft draft;
	struct pair_name kept;

	key[0]++;
	assert_int_equal(pair_draft_open(&draft, folder, 10, key, "a peer", &err), 0);
	assert_int_equal(pair_draft_keep(&draft, name, &kept, &err), 0);
	pair_draft_close(&draft);
}

static int begin(void **state)
{
	int r = temporary_setup(state);

	snprintf(folder, sizeof(folder), "%s/keys", temporary_folder);
	memset(&agent, 0, sizeof(agent));
	agent.settings.memory_limit = MEMORY;
	agent.settings.pairs = &pairs;
	err = (struct err_text){{0}};
	logged_begin();
	return r;
}

static int end(void **state)
{
	pairs_done(&pairs);
	logged_end();
	return temporary_teardown(state);
}

static void open_pairs(void)
{
	struct err_text remark = {{0}};

	assert_int_equal(pairs_open(&pairs, folder, 10, &remark, &err), 0);
}

/* 0, or an error. */
static int open_keys(void)
{
	skip_without_keys();
	return agent_open_keys(&agent, &err);
}

static void close_keys(void)
{
	secure_close(agent.secure);
	agent.secure = NULL;
}

static void without_keys(void **state)
{
	(void)state;
	keep("a");
	open_pairs();
	assert_int_equal(agent_open_keys(&agent, &err), 0);
	assert_null(agent.secure);
	assert_int_equal(agent.keys.count, 0); /* pairs count only where they are asked for */
	assert_false(agent.keys.only);
	assert_int_equal(agent.settings.memory_limit, MEMORY);
	assert_int_equal(logged("pair"), 0);
}

static void a_given_key(void **state)
{
	struct secret secret = {.key = "sixteen bytes or more", .key_length = 21, .id = "ours..."};

	(void)state;
	keep("a");
	open_pairs();
	agent.settings.secure.secrets = &secret;
	agent.settings.secure.secret_count = 1;
	assert_int_equal(open_keys(), 0);
	assert_non_null(agent.secure);
	assert_ptr_equal(agent.keys.secret, &secret);
	assert_int_equal(agent.keys.count, 1);
	assert_false(agent.keys.only);
	assert_int_equal(logged("pair"), 0);
	assert_true(agent.settings.memory_limit < MEMORY);
	close_keys();
	agent.settings.memory_limit = 1000; /* not enough for it */
	assert_int_equal(open_keys(), -EINVAL);
	assert_null(agent.secure);
	assert_true(*err.text);
}

static void pairs_of_an_agent(void **state)
{
	static const char *const said[] = {
		"warn  no pair is left",
		"info  paired with 1 collector:", "info  paired with 2 collectors:"};

	(void)state;
	agent.settings.secure.paired = true;
	for (unsigned i = 0; i < 3; i++) {
		if (i)
			keep("a");
		open_pairs();
		assert_int_equal(open_keys(), 0);
		assert_int_equal(agent.keys.count, i);
		assert_ptr_equal(agent.keys.secret, pairs.secret);
		assert_true(agent.keys.only);
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(logged(said[k]), k == i);
		logged_clear();
		close_keys();
		pairs_done(&pairs);
	}
}

/* Once a second, and what has come or gone since counts. */
static void pairs_come_and_go(void **state)
{
	uint64_t now;

	(void)state;
	agent.settings.secure.paired = true;
	keep("a");
	open_pairs();
	assert_int_equal(open_keys(), 0);
	logged_clear();
	keep("b");
	pairs.recent = true;
	now = agent.pairs_ns = clock_monotonic_ns();
	agent_look_for_keys(&agent);
	if (clock_monotonic_ns() - now < 1000000000)
		assert_int_equal(agent.keys.count, 1);
	agent.pairs_ns = clock_monotonic_ns() - 1000000000;
	agent_look_for_keys(&agent);
	assert_int_equal(agent.keys.count, 2);
	assert_int_equal(logged("info  paired with 2 collectors:"), 1);
	assert_true(clock_monotonic_ns() - agent.pairs_ns < 1000000000);
	agent.pairs_ns = 0;
	pairs.recent = true;
	agent_look_for_keys(&agent); /* nothing is new, and nothing is said */
	assert_int_equal(logged("paired with"), 1);
	assert_int_equal(pair_remove(folder, "a", NULL), 0);
	assert_int_equal(pair_remove(folder, "b", NULL), 0);
	agent.pairs_ns = 0;
	pairs.recent = true;
	agent_look_for_keys(&agent);
	assert_int_equal(agent.keys.count, 0);
	assert_int_equal(logged("warn  no pair is left"), 1);
	close_keys();
}

/* What is wrong with the folder is said once, and again when it has been right meanwhile. */
static void remarks(void **state)
{
	char path[200];

	(void)state;
	agent.settings.secure.paired = true;
	keep("a");
	open_pairs();
	assert_int_equal(open_keys(), 0);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/z.key", folder);
		if (i == 3) {
			assert_int_equal(unlink(path), 0);
		} else if (i == 0 || i == 4) {
			int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

			assert_int_equal(write(fd, "nonsense\n", 9), 9);
			close(fd);
		}
		agent.pairs_ns = 0;
		pairs.recent = true;
		agent_look_for_keys(&agent);
		assert_int_equal(logged("warn  a key is skipped: "), i < 4 ? 1 : 2);
		assert_int_equal(agent.keys.count, 1);
	}
	close_keys();
}

/* An agent that talks in plain is told of its first pair, once, if it talks at all. */
static void first_pair(void **state)
{
	(void)state;
	skip_without_keys();
	open_pairs();
	assert_int_equal(agent_open_keys(&agent, &err), 0);
	for (unsigned i = 0; i < 5; i++) {
		if (i == 2)
			keep("a");
		agent.settings.announce = i > 0 && i != 2;
		agent.pairs_ns = 0;
		pairs.recent = true;
		agent_look_for_keys(&agent);
		assert_int_equal(logged(PLAIN), i >= 3);
		assert_int_equal(agent.pairs_told, i >= 3);
		assert_int_equal(agent.keys.count, 0);
	}
	agent.settings.pairs = NULL;
	agent.pairs_ns = 0;
	agent_look_for_keys(&agent);
	assert_int_equal(agent.pairs_ns, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_keys),	 TEST(a_given_key), TEST(pairs_of_an_agent),
		TEST(pairs_come_and_go), TEST(remarks),	    TEST(first_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
