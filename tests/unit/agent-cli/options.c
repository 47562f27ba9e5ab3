/* The table of options: command line, environment, what a wrong one is told. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/cli/options/options.h"
#include "agent/cli/options/variables.h"
#include "base/error.h"
#include "proto/ring.h"

#define ARGUMENTS_MAX 16

/* Parses the words of `line` (parted by single spaces). The result of options_arguments. */
static int parse(struct options *o, enum option_command command, const char *line,
		 struct err_text *err)
{
	static char text[256];
	char *argv[ARGUMENTS_MAX + 1], *rest;
	int argc = 0;

	memcpy(text, line, strlen(line) + 1);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	options_defaults(o);
	return options_arguments(o, command, argc, argv, err);
}

static void expect_error(enum option_command command, const char *line, const char *sentence)
{
	struct options o;
	struct err_text err = {{0}};
	int r = parse(&o, command, line, &err);

	assert_true(r < 0);
	assert_string_equal(err_get(&err, r), sentence);
}

static void test_values(void **state)
{
	struct options o;
	struct err_text err;

	(void)state;
	assert_int_equal(parse(&o, COMMAND_RUN,
			       "run --memory-limit 4M --mode=sample=64K --policy thin -- cmd -x",
			       &err),
			 7);
	assert_int_equal(o.memory_limit, 4 << 20);
	assert_int_equal(o.mode, RING_SAMPLE);
	assert_int_equal(o.sample_interval, 64 << 10);
	assert_int_equal(o.policy, RING_THIN);
	assert_int_equal(
		parse(&o, COMMAND_RUN, "run --announce --block-max 250ms cmd --quiet", &err), 4);
	assert_true(o.announce);
	assert_int_equal(o.block_max_ns, 250000000);
	assert_false(o.quiet); /* it is the command's */
	assert_int_equal(parse(&o, COMMAND_SERVE, "serve --for-pid 17 --socket @x", &err), 5);
	assert_int_equal(o.for_pid, 17);
	assert_string_equal(o.socket, "@x");
}

/* `-p` and `--pid` may be given more than once, and each may be several. */
static void test_processes(void **state)
{
	const struct option_set set = options_of(COMMAND_ATTACH);
	struct options o;
	struct err_text err;

	(void)state;
	assert_int_equal(
		parse(&o, COMMAND_ATTACH, "attach -p 1 --pid=2,3 --follow -p4 --no-follow", &err),
		7);
	assert_int_equal(o.pids.count, 3);
	assert_string_equal(o.pids.texts[0], "1");
	assert_string_equal(o.pids.texts[1], "2,3");
	assert_string_equal(o.pids.texts[2], "4");
	assert_false(o.follow);
	options_done(&set, &o);
	expect_error(COMMAND_ATTACH, "attach -p", "-p needs a value: -p PID[,PID...]");
}

static uint32_t policy_of(enum option_command command, const char *line)
{
	struct options o;
	struct err_text err;

	assert_true(parse(&o, command, line, &err) > 0);
	options_choose_policy(&o, command);
	return o.policy;
}

static void test_policy(void **state)
{
	(void)state;
	assert_int_equal(policy_of(COMMAND_RUN, "run --output f cmd"), RING_BLOCK);
	assert_int_equal(policy_of(COMMAND_RUN, "run --announce cmd"), RING_THIN);
	assert_int_equal(policy_of(COMMAND_RUN, "run --collector x cmd"), RING_THIN);
	assert_int_equal(policy_of(COMMAND_RUN, "run --output f --listen :8100 cmd"), RING_THIN);
	assert_int_equal(policy_of(COMMAND_RUN, "run --announce --policy block cmd"), RING_BLOCK);
	assert_int_equal(policy_of(COMMAND_SERVE, "serve --output f"), RING_THIN);
	assert_int_equal(policy_of(COMMAND_SERVE, "serve --policy count"), RING_COUNT);
	assert_int_equal(policy_of(COMMAND_SERVE, "serve --for-pid 17"), RING_BLOCK);
	assert_int_equal(policy_of(COMMAND_SERVE, "serve --for-pid 17 --announce"), RING_THIN);
	assert_int_equal(policy_of(COMMAND_ATTACH, "attach --announce"), RING_BLOCK);
}

static void test_wrong(void **state)
{
	(void)state;
	expect_error(COMMAND_RUN, "run --anounce",
		     "there is no option --anounce; did you mean --announce?");
	expect_error(COMMAND_RUN, "run --memory-limti 4M",
		     "there is no option --memory-limti; did you mean --memory-limit?");
	expect_error(COMMAND_RUN, "run --short-lived-",
		     "--short-lived- is the beginning of several options: --short-lived-pending, "
		     "--short-lived-memory");
	expect_error(COMMAND_RUN, "run --polcy=block",
		     "there is no option --polcy; did you mean --policy?");
	expect_error(COMMAND_RUN, "run --xyzzy", "there is no option --xyzzy (--help lists them)");
	expect_error(COMMAND_RUN, "run --an-option-that-is-longer-than-any-other-one",
		     "there is no option --an-option-that-is-longer-than-any-other-one (--help "
		     "lists them)");
	expect_error(COMMAND_RUN, "run --socket x", "--socket is an option of `agent serve` only");
	expect_error(COMMAND_RUN, "run --policy",
		     "--policy needs a value: --policy block|thin|count");
	expect_error(COMMAND_RUN, "run --policy hard",
		     "--policy takes block|thin|count, not 'hard'");
	expect_error(COMMAND_RUN, "run --mode sample=0",
		     "--mode takes full|sample[=BYTES]|off, not 'sample=0'");
	expect_error(COMMAND_RUN, "run -x", "there is no option -x (--help lists them)");
}

static void test_environment(void **state)
{
	struct options o;
	struct err_text err = {{0}};

	(void)state;
	setenv("MEMORY_PROFILER_ENABLE_BROADCAST", "1", 1);
	setenv("MEMORY_PROFILER_USE_SHADOW_STACK", "0", 1);
	setenv("HEAPCAST_MEMORY_LIMIT", "16M", 1);
	setenv("HEAPCAST_SOCKET", "@other", 1); /* means nothing to run */
	options_defaults(&o);
	assert_int_equal(variables_read(&o, COMMAND_RUN, &options_own_environment, &err), 0);
	assert_true(o.announce);
	assert_true(o.full_walk);
	assert_int_equal(o.memory_limit, 16 << 20);
	assert_null(o.socket);
	setenv("HEAPCAST_ANNOUNCE", "0", 1); /* ours counts more than the seed's */
	options_defaults(&o);
	assert_int_equal(variables_read(&o, COMMAND_SERVE, &options_own_environment, &err), 0);
	assert_false(o.announce);
	assert_string_equal(o.socket, "@other");
	setenv("HEAPCAST_MEMORY_LIMIT", "much", 1);
	assert_true(variables_read(&o, COMMAND_RUN, &options_own_environment, &err) < 0);
	assert_string_equal(
		err_get(&err, -1),
		"HEAPCAST_MEMORY_LIMIT takes a size such as 4096, 512K or 8M, not 'much'");
}

/* Options that were renamed go on working by their former names, wherever an option can be set. */
static void test_former_names(void **state)
{
	struct options o;
	struct err_text err = {{0}};

	(void)state;
	assert_int_equal(parse(&o, COMMAND_RUN,
			       "run --cull 10s --cull-pending=20 --cull-memory 1M cmd", &err),
			 6);
	assert_int_equal(o.cull_ns, 10000000000);
	assert_int_equal(o.cull_pending, 20);
	assert_int_equal(o.cull_memory, 1 << 20);
	expect_error(COMMAND_RUN, "run --cull soon",
		     "--short-lived takes a time such as 10s, 5m or 500ms, not 'soon'");

	options_defaults(&o);
	assert_int_equal(options_file_line(&o, COMMAND_SERVE, "cull", "5s", &err), 0);
	assert_int_equal(o.cull_ns, 5000000000);

	setenv("HEAPCAST_CULL", "3s", 1);
	setenv("HEAPCAST_CULL_PENDING", "30", 1);
	setenv("HEAPCAST_MEMORY_LIMIT", "16M", 1);
	options_defaults(&o);
	assert_int_equal(variables_read(&o, COMMAND_RUN, &options_own_environment, &err), 0);
	assert_int_equal(o.cull_ns, 3000000000);
	assert_int_equal(o.cull_pending, 30);
	setenv("HEAPCAST_SHORT_LIVED", "4s", 1); /* the present name counts more */
	options_defaults(&o);
	assert_int_equal(variables_read(&o, COMMAND_RUN, &options_own_environment, &err), 0);
	assert_int_equal(o.cull_ns, 4000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	    cmocka_unit_test(test_processes),
		cmocka_unit_test(test_policy),	    cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_former_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
