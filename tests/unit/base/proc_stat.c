/* Lines of /proc/PID/stat: names with anything in them, and lines that are too short. */
#include "base/proc/stat.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proc/file.h"

/* Fields 4 to 52, each of them ten times its number. */
#define NUMBERS                                                                                    \
	" 40 50 60 70 80 90 100 110 120 130 140 150 160 170 180 190 200 210 220 230 240 250 260 "  \
	"270 280 290 300 310 320 330 340 350 360 370 380 390 400 410 420 430 440 450 460 470 480 " \
	"490 500 510 520\n"

static void test_fields(void **state)
{
	static const char *const names[] = {"cat", "", ")", ") Z 1 2 3 (", "a b\nc", "((("};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct proc_stat s;
		char line[600];

		snprintf(line, sizeof(line), "1234 (%s) S" NUMBERS, names[i]);
		assert_int_equal(proc_stat_parse(line, &s), 0);
		assert_int_equal(s.state, 'S');
		assert_int_equal(s.parent, 40);
		assert_int_equal(s.flags, 90);
		assert_int_equal(s.minor_faults, 100);
		assert_int_equal(s.minor_faults_of_children, 110);
		assert_int_equal(s.major_faults, 120);
		assert_int_equal(s.major_faults_of_children, 130);
		assert_int_equal(s.threads, 200);
		assert_int_equal(s.start_ticks, 220);
		assert_int_equal(s.stack, 280);
		assert_int_equal(s.arguments, 480);
		assert_int_equal(s.exit_code, 520);
	}
}

/* Cut at every length: whole up to the start time at least, or malformed. */
static void test_short(void **state)
{
	const char *whole = "1 (x) R" NUMBERS, *start = strstr(whole, "220");

	(void)state;
	for (size_t length = 0; length < strlen(whole); length++) {
		struct proc_stat s = {.parent = -1};
		char line[600];
		int r;

		snprintf(line, sizeof(line), "%.*s", (int)length, whole);
		r = proc_stat_parse(line, &s);
		assert_true(r == 0 || (r == -EBADMSG && s.parent == -1));
		if (length < (size_t)(start - whole))
			assert_int_equal(r, -EBADMSG);
		else if (length >= (size_t)(start - whole) + 3)
			assert_int_equal(s.start_ticks, 220);
	}
	assert_int_equal(proc_stat_parse("1 (x)  4 5", &(struct proc_stat){0}), -EBADMSG);
	assert_int_equal(proc_stat_parse("1 (x)", &(struct proc_stat){0}), -EBADMSG);
}

static void test_self(void **state)
{
	int proc = proc_open(getpid());
	struct proc_stat s;

	(void)state;
	assert_true(proc >= 0);
	assert_int_equal(proc_stat_read(proc, &s), 0);
	assert_int_equal(s.state, 'R');
	assert_int_equal(s.parent, getppid());
	assert_true(s.threads >= 1); /* an emulator has some of its own */
	assert_true(s.start_ticks && s.minor_faults && s.stack && s.arguments);
	close(proc);
	assert_true(proc_stat_read(-1, &s) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
