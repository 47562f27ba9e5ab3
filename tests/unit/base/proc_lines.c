/* Lines of any length in little memory, and numbers out of them. */
#include "base/proc/lines.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static int text_file(const char *text, size_t length)
{
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), (ssize_t)length);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Random lines against all sizes of memory: each is its beginning, and none is lost or made up. */
static void test_any_size(void **state)
{
	char text[600], memory[64];

	(void)state;
	srand(7);
	for (unsigned turn = 0; turn < 200; turn++) {
		size_t length = (size_t)rand() % sizeof(text), size = 2 + (size_t)rand() % 62;
		struct proc_lines lines;
		const char *at = text, *end = text + length;
		size_t got;
		char *line;
		int fd;

		for (size_t i = 0; i < length; i++)
			text[i] = rand() % 20 ? (char)('a' + rand() % 26) : '\n';
		fd = text_file(text, length);
		proc_lines_begin(&lines, fd, memory, size);
		while ((line = proc_lines_next(&lines, &got))) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));
			size_t whole = (size_t)((newline ? newline : end) - at);

			assert_int_equal(got, whole < size - 1 ? whole : size - 1);
			assert_memory_equal(line, at, got);
			assert_int_equal(strlen(line), got);
			at += whole + (newline != NULL);
		}
		assert_ptr_equal(at, end);
		assert_null(proc_lines_next(&lines, &got));
		assert_int_equal(lines.error, 0);
		close(fd);
	}
}

static void test_error(void **state)
{
	char memory[64];
	struct proc_lines lines;

	(void)state;
	proc_lines_begin(&lines, -1, memory, sizeof(memory));
	assert_null(proc_lines_next(&lines, NULL));
	assert_int_equal(lines.error, -EBADF);
}

static void test_numbers(void **state)
{
	const char *at = "\t18446744073709551615 18446744073709551616";
	uint64_t n = 0;

	(void)state;
	assert_true(proc_number(&at, &n));
	assert_true(n == UINT64_MAX);
	assert_false(proc_number(&at, &n));
	at = "fFg";
	assert_true(proc_digits(&at, 16, &n));
	assert_int_equal(n, 255);
	assert_string_equal(at, "g");
	assert_false(proc_digits(&at, 16, &n));
	at = "08";
	assert_true(proc_digits(&at, 10, &n));
	assert_int_equal(n, 8);
	at = "-1";
	assert_false(proc_number(&at, &n));
	assert_null(proc_value("VmRSSx:\t1", "VmRSS"));
	assert_null(proc_value("VmRS", "VmRSS"));
	assert_null(proc_value("", "VmRSS"));
	assert_string_equal(proc_value("VmRSS:\t 1 kB", "VmRSS"), "1 kB");
	assert_string_equal(proc_value("oom_kill 3", "oom_kill"), "3");
	assert_null(proc_value("oom_kill_disable 0", "oom_kill"));
}

/* A line of 65,536 groups stands before the fields of memory. */
static void test_fields(void **state)
{
	size_t groups = 65536 * 11, length;
	char *text = malloc(groups + 400);
	struct proc_field fields[] = {{.name = "VmRSS"},
				      {.name = "CapEff", .base = 16},
				      {.name = "Gone", .value = 77},
				      {.name = "VmSwap", .value = 5},
				      {.name = "Name"}};
	int fd;

	(void)state;
	assert_non_null(text);
	length = (size_t)snprintf(text, 200, "Name:\tVmRSS: 9\nGroups:\t");
	for (size_t i = 0; i < groups; i++)
		text[length++] = i % 11 ? '1' : ' ';
	length += (size_t)snprintf(text + length, 200,
				   "\nVmRSS:\t    1234 kB\nCapEff:\t000001ffffffffff\n"
				   "VmSwap:\tmany\nVmRSS:\t1 kB\n");
	fd = text_file(text, length);
	assert_int_equal(proc_fields(fd, fields, 5), 2);
	assert_int_equal(fields[0].value, 1234);
	assert_true(fields[1].value == 0x1ffffffffff);
	assert_int_equal(fields[2].value, 77);
	assert_int_equal(fields[3].value, 5);
	assert_int_equal(fields[4].value, 0);
	close(fd);
	free(text);
	fd = text_file("", 0);
	errno = EINTR; /* of another call, long ago */
	assert_int_equal(proc_fields(fd, fields, 5), 0);
	close(fd);
	assert_int_equal(proc_fields(-1, fields, 5), -EBADF);
	assert_int_equal(proc_file_fields(-1, "/proc/no such file", fields, 5), -ENOENT);
	assert_true(proc_file_fields(-1, "/proc/self/status", fields, 1) == 1);
	assert_true(fields[0].value > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_size),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
