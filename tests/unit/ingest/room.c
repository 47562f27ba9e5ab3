/*
 * For how many agents there is room, by the files that a process may have open. Each case is a
 * child, as a limit that was lowered stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/ingest/state.h"

#define MUCH (UINT64_C(1) << 40) /* memory */

static char said[256];

static void on_event(void *context, const struct ingest_event *e)
{
	(void)context;
	snprintf(said, sizeof(said), "%s", e->text);
}

/* In the child: 0 if all is as expected. */
static int try(rlim_t soft, rlim_t hard, uint64_t memory, uint32_t asked, uint32_t expected,
	       const char *warning)
{
	static struct ingest ingest = {.event = on_event};
	const struct ingest_options options = {.memory_limit = memory, .agents_max = asked};
	struct rlimit limit = {soft, hard};

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	room_init(&ingest, &options);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur != hard)
		return 2;
	if (ingest.agents_max != expected || ingest.streams_max != 4 * expected)
		return 3;
	return strcmp(said, warning) ? 4 : 0;
}

static void room_by_files(void **state)
{
	static const struct {
		unsigned soft, hard;
		uint64_t memory;
		uint32_t asked, expected;
		const char *warning;
	} cases[] = {
		/* Half of the files, and from 512 on all but 256, five for each agent. */
		{9, 9, MUCH, 0, 1, ""},
		{20, 20, MUCH, 0, 2, ""},
		{20, 60, MUCH, 0, 6, ""},
		{508, 508, MUCH, 0, 50, ""},
		{512, 512, MUCH, 0, 51, ""},
		{516, 516, MUCH, 0, 52, ""},
		{1000, 1000, MUCH, 0, 148, ""},
		/* What was asked for, up to that; memory does not limit it. */
		{60, 60, MUCH, 6, 6, ""},
		{60, 60, 1, 5, 5, ""},
		{60, 60, MUCH, 7, 6,
		 "there is room for 6 agents, not 7: this process may have 60 files open ('ulimit "
		 "-n')"},
		/* Memory, where that is less. */
		{60, 60, 6 << 17, 0, 6, ""},
		{60, 60, (6 << 17) - 1, 0, 5, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t child = fork();
		int status;

		if (!child)
			_exit(try(cases[i].soft, cases[i].hard, cases[i].memory, cases[i].asked,
				  cases[i].expected, cases[i].warning));
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status)
			fail_msg("case %zu: %d", i, WEXITSTATUS(status));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_by_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
