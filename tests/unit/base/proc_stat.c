/* Lines of /proc/PID/stat: names with anything in them, and lines that are too short. */
#include "base/proc/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proc/file.h"
#include "tests/unit/temporary.h"

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
	assert_int_equal(proc_stat_parse("1 (x)_S" NUMBERS, &(struct proc_stat){0}), -EBADMSG);
	assert_int_equal(proc_stat_parse("1 (x) S_ " NUMBERS, &(struct proc_stat){0}), -EBADMSG);
	/* Fields that later kernels may append. */
	assert_int_equal(proc_stat_parse("1 (x) S" NUMBERS " 530 540 550", &(struct proc_stat){0}),
			 0);
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

static int read_as(const char *text)
{
	int folder = open(temporary_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    fd = openat(folder, "stat", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600), r;
	struct proc_stat s = {.parent = -1};

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r = proc_stat_read(folder, &s);
	assert_int_equal(s.parent, r ? -1 : 40);
	close(folder);
	return r;
}

/* A process that is gone has no file, or an empty one. */
static void test_files(void **state)
{
	struct proc_stat s;
	char path[128];
	int folder;

	(void)state;
	folder = open(temporary_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(proc_stat_read(folder, &s), -ESRCH);
	assert_int_equal(read_as(""), -ESRCH);
	assert_int_equal(read_as("1"), -EBADMSG);
	assert_int_equal(read_as("1 (x) S" NUMBERS), 0);
	snprintf(path, sizeof(path), "%s/stat", temporary_folder);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(proc_stat_read(folder, &s), -EISDIR);
	close(folder);
	assert_int_equal(proc_stat_read(-1, &s), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_self),
		TEST_IN_FOLDER(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
