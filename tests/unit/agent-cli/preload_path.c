/* Which programs can be recorded by preloading, and what is said of those that can't. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/cli/preload_path.h"
#include "base/error.h"

static char folder[] = "/tmp/heapcast-preload.XXXXXX";
static char path[128];

static const char *make(const char *name, const char *content, unsigned mode)
{
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(content, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void refused(const char *command, int status, const char *part)
{
	struct err_text err = {{0}};
	char found[4096];
	int exit_status, r = preload_check(command, found, sizeof(found), &exit_status, &err);

	assert_true(r < 0);
	assert_int_equal(exit_status, status);
	assert_non_null(strstr(err_get(&err, r), part));
}

static void taken(const char *command, const char *expected)
{
	struct err_text err = {{0}};
	char found[4096];
	int exit_status;

	assert_int_equal(preload_check(command, found, sizeof(found), &exit_status, &err), 0);
	assert_string_equal(found, expected);
}

static void test_programs(void **state)
{
	char script[128];

	(void)state;
	taken(PROGRAM,
	      PROGRAM); /* not this test: it may be built with a sanitizer, and that is refused */
	refused("no-such-program-anywhere", 127, "in PATH");
	refused("/no/such/program", 127, "/no/such/program");
	refused(folder, 126, "it is a folder");
	refused(make("plain", "text", 0644), 126, "not executable");
	snprintf(script, sizeof(script), "%s", make("script", "#!" PROGRAM "\nexit 0\n", 0755));
	taken(script, script);
	refused(make("orphan", "#! /no/such/interpreter -x\n", 0755), 126, "/no/such/interpreter");
	setenv("PATH", folder, 1);
	taken("script", script);
	refused("plain", 127, "in PATH");
}

static void test_damaged(void **state)
{
	uint8_t head[64] = "\x7f"
			   "ELF\x02\x01\x01";
	struct err_text err;
	char found[4096], program[128];
	int exit_status;
	FILE *f;

	(void)state;
	snprintf(program, sizeof(program), "%s", make("elf", "", 0755));
	for (unsigned round = 0; round < 500; round++) {
		for (unsigned i = 7; i < sizeof(head); i++)
			head[i] = (uint8_t)random();
		if (round % 2)
			memcpy(head + 18, "\x3e\x00", 2);
		f = fopen(program, "w");
		assert_non_null(f);
		fwrite(head, 1, sizeof(head), f);
		fclose(f);
		assert_true(preload_check(program, found, sizeof(found), &exit_status, &err) < 0);
		assert_int_equal(exit_status, 126);
	}
}

static void test_library(void **state)
{
	struct err_text err = {{0}};
	char found[4096];

	(void)state;
	setenv("HEAPCAST_PRELOAD", make("lib.so", "x", 0644), 1);
	assert_int_equal(preload_path(found, sizeof(found), &err), 0);
	assert_string_equal(found, path);
	setenv("HEAPCAST_PRELOAD", "/no/such/lib.so", 1);
	assert_true(preload_path(found, sizeof(found), &err) < 0);
	assert_non_null(strstr(err_get(&err, -2), "/no/such/lib.so"));
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	static const char *const names[] = {"plain", "script", "orphan", "elf", "lib.so"};

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_library),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
