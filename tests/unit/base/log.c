/* The log: its lines, levels, files that turn at their limit to the byte, and files that others
 * move away. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/temporary.h"

#define HEAD 31 /* "2026-11-28T18:00:00.123Z error " */

static char path[128], other[160], text[4096];

/* What a file holds, "none" if there is no such file. */
static const char *text_of(const char *ending)
{
	FILE *f;

	snprintf(other, sizeof(other), "%s%s", path, ending);
	f = fopen(other, "r");
	if (!f)
		return "none";
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static void begin(const char *level)
{
	snprintf(path, sizeof(path), "%s/log", temporary_folder);
	log_limit(0);
	assert_int_equal(log_open(level, path), 0);
}

static void expect_lines(const char *ending, const char *expected)
{
	char got[2000];
	size_t n = 0;

	text_of(ending);
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		int parts[7], length = 0;

		assert_int_equal(sscanf(line, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &parts[0],
					&parts[1], &parts[2], &parts[3], &parts[4], &parts[5],
					&parts[6], &length),
				 7);
		assert_int_equal(length, HEAD - 7);
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%.*s|", (int)(end - line) - length,
				      line + length);
	}
	assert_string_equal(got, expected);
}

static void levels_are_kept(void **state)
{
	static const char *const levels[] = {"off", "error", "warn", "info", "debug", "trace"};
	static const char *const lines[] = {" error 0|", " warn  1|", " info  2|", " debug 3|",
					    " trace 4|"};

	(void)state;
	for (int wanted = 0; wanted < 6; wanted++) {
		char expected[100] = "";

		begin(levels[wanted]);
		for (int level = LOG_ERROR; level <= LOG_TRACE; level++) {
			assert_int_equal(log_wants((enum log_level)level), level < wanted);
			log_write((enum log_level)level, "%d", level);
			if (level < wanted)
				strcat(expected, lines[level]);
		}
		if (wanted)
			expect_lines("", expected);
		else
			assert_string_equal(text_of(""), "");
		unlink(path);
	}
	begin("warn");
	assert_int_equal(log_open("loud", NULL), -EINVAL);
	assert_int_equal(log_open("", NULL), -EINVAL);
	assert_int_equal(log_open("error", "/none/log"), -ENOENT);
	assert_true(log_wants(LOG_WARN)); /* as it was */
	assert_false(log_wants(LOG_INFO));
	assert_int_equal(log_open(NULL, NULL), 0);
	assert_false(log_wants(LOG_ERROR));
}

static void lines_are_clean_and_short(void **state)
{
	char longest[3000];

	(void)state;
	begin("info");
	log_write(LOG_INFO, "a%sb", "\nnew\x1b[1m");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	expect_lines("", " info  a new?[1mb|");
	log_write(LOG_INFO, "%s", longest);
	text_of("");
	assert_int_equal(strlen(strchr(text, '\n') + 1), 1023);
	assert_int_equal(text[strlen(text) - 1], '\n');
}

/* Each line is of 40 bytes. */
static void write_line(char c)
{
	log_write(LOG_ERROR, "%c2345678", c);
}

static unsigned mode_of(const char *ending)
{
	struct stat st;

	snprintf(other, sizeof(other), "%s%s", path, ending);
	assert_int_equal(stat(other, &st), 0);
	return st.st_mode & 07777;
}

/* Nobody else reads them, whatever the mask; and the one behind a turn may have descriptor 0. */
static void files_are_the_users_own(void **state)
{
	mode_t mask = umask(0);

	(void)state;
	begin("error");
	log_limit(40);
	assert_int_equal(mode_of(""), 0600);
	write_line('a');
	first_descriptor_free();
	write_line('b');
	first_descriptor_take();
	write_line('c');
	expect_lines(".initial", " error a2345678| error b2345678|");
	expect_lines("", " error c2345678|");
	assert_int_equal(mode_of(""), 0600);
	assert_int_equal(mode_of(".initial"), 0600);
	umask(mask);
}

static void files_turn_at_their_limit(void **state)
{
	unsigned descriptors;

	(void)state;
	begin("error");
	descriptors = descriptors_open();
	log_limit(80);
	write_line('a');
	write_line('b');
	assert_string_equal(text_of(".initial"), "none");
	write_line('c');
	expect_lines(".initial", " error a2345678| error b2345678| error c2345678|");
	assert_string_equal(text_of(""), "");
	for (char c = 'd'; c <= 'i'; c++)
		write_line(c);
	expect_lines(".initial", " error a2345678| error b2345678| error c2345678|");
	expect_lines(".old", " error g2345678| error h2345678| error i2345678|");
	write_line('j');
	expect_lines("", " error j2345678|");
	assert_int_equal(descriptors_open(), descriptors);
	/* What is there when it is opened counts. */
	log_open("error", path);
	write_line('k');
	write_line('l');
	expect_lines(".old", " error j2345678| error k2345678| error l2345678|");
	log_limit(0);
	for (char c = 'm'; c <= 'q'; c++)
		write_line(c);
	expect_lines("", " error m2345678| error n2345678| error o2345678| error p2345678| error "
			 "q2345678|");
}

static void files_are_opened_again(void **state)
{
	char moved[160];
	unsigned descriptors;

	(void)state;
	begin("error");
	descriptors = descriptors_open();
	write_line('a');
	snprintf(moved, sizeof(moved), "%s.moved", path);
	assert_int_equal(rename(path, moved), 0);
	write_line('b');
	assert_string_equal(text_of(""), "none");
	assert_int_equal(log_reopen(), 0);
	log_limit(40);
	write_line('c');
	expect_lines(".moved", " error a2345678| error b2345678|");
	expect_lines("", " error c2345678|"); /* its size counts from there */
	close(STDIN_FILENO);		      /* the next descriptor is 0 */
	assert_int_equal(log_reopen(), 0);
	assert_int_equal(descriptors_open(), descriptors - 1);
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
	write_line('d');
	expect_lines(".initial", " error c2345678| error d2345678|");
	assert_int_equal(descriptors_open(), descriptors);
	log_limit(0);
	assert_int_equal(rename(temporary_folder, "/tmp/heapcast-test-log-moved"), 0);
	assert_int_equal(log_reopen(), -ENOENT);
	write_line('e'); /* it goes on in the file that is open */
	assert_int_equal(rename("/tmp/heapcast-test-log-moved", temporary_folder), 0);
	expect_lines("", " error e2345678|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(levels_are_kept),	 TEST_IN_FOLDER(lines_are_clean_and_short),
		TEST_IN_FOLDER(files_are_the_users_own), TEST_IN_FOLDER(files_turn_at_their_limit),
		TEST_IN_FOLDER(files_are_opened_again),
	};

	if (log_reopen()) /* there is no file yet: nothing to do */
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
