/* The reader of collapsed stacks: what is a line, what it shares with the one before, what is left
 * out; wherever the buffer ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/formats/read/collapsed_read.h"
#include "collector/formats/read/source.h"
#include "collector/query/match/intern.h"

struct got {
	struct intern frames;
	struct buf text; /* "a;b 5 (kept 1)\n" */
	uint32_t before[64], before_count;
	uint64_t total;
	struct collapsed_counts counts;
};

static int take(void *context, const struct collapsed_line *line)
{
	struct got *got = context;

	assert_true(line->kept <= line->count && line->kept <= got->before_count);
	assert_true(line->count <= 64);
	for (uint32_t i = 0; i < line->kept; i++)
		assert_int_equal(line->frames[i], got->before[i]);
	got->before_count = line->count;
	for (uint32_t i = 0; i < line->count; i++) {
		got->before[i] = line->frames[i];
		buf_printf(&got->text, "%s%s", i ? ";" : "",
			   intern_get(&got->frames, line->frames[i]));
	}
	buf_printf(&got->text, " %llu (kept %u)\n", (unsigned long long)line->value, line->kept);
	got->total += line->value;
	return 0;
}

static void read_text(struct got *got, const char *text, size_t length)
{
	const struct collapsed_to to = {.line = take, .context = got};
	int fd = memfd_create("stacks", MFD_CLOEXEC);
	struct source *source = NULL;

	*got = (struct got){0};
	assert_true(fd >= 0);
	while (length) {
		ssize_t n = write(fd, text, length);

		assert_true(n > 0);
		text += n;
		length -= (size_t)n;
	}
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(source_open_fd(fd, "stacks", &source, NULL), 0);
	assert_int_equal(collapsed_read(source, &got->frames, &to, &got->counts, NULL), 0);
	source_close(source);
}

static void done(struct got *got)
{
	intern_done(&got->frames);
	buf_done(&got->text);
}

static void lines_share_their_begin(void **state)
{
	static const char text[] =
		"main;a;b 1\nmain;a;bc 2\nmain;a;b 3\nmain;a 4\n;;main;;a;b 5\nmain;;a;x y 6";
	struct got got;

	(void)state;
	read_text(&got, text, sizeof(text) - 1);
	assert_string_equal(buf_text(&got.text),
			    "main;a;b 1 (kept 0)\nmain;a;bc 2 (kept 2)\nmain;a;b 3 (kept 2)\n"
			    "main;a 4 (kept 1)\nmain;a;b 5 (kept 0)\nmain;a;x y 6 (kept 0)\n");
	assert_int_equal(got.counts.lines, 6);
	assert_int_equal(collapsed_left_out(&got.counts), 0);
	done(&got);
}

static void values_are_what_python_takes(void **state)
{
	static const char text[] = "a +7\na 1_000\r\na 007\ra -0\n \t b c \t9 \na  \t8\n";
	struct got got;

	(void)state;
	read_text(&got, text, sizeof(text) - 1);
	assert_string_equal(buf_text(&got.text), "a 7 (kept 0)\na 1000 (kept 0)\na 7 (kept 0)\na 0 "
						 "(kept 0)\nb c 9 (kept 0)\na  8 (kept 0)\n");
	done(&got);
}

static void what_is_no_line_is_counted(void **state)
{
	static const char text[] =
		"\nword\na 1.5\na _1\na 1_\na 1__0\na -3\na 18446744073709551615\na "
		"18446744073709551616\na -99999999999999999999\n";
	struct got got;
	char said[256];

	(void)state;
	read_text(&got, text, sizeof(text) - 1);
	assert_int_equal(got.counts.stacks, 1);
	assert_int_equal(got.total, UINT64_MAX);
	assert_int_equal(got.counts.without_value, 1);
	assert_int_equal(got.counts.no_number, 4);
	assert_int_equal(got.counts.negative, 2);
	assert_int_equal(got.counts.too_large, 1);
	assert_int_equal(got.counts.first_left_out, 2);
	assert_string_equal(collapsed_left_out_text(&got.counts, said, sizeof(said)),
			    "left out 8 of 10 lines, the first is line 2: 1 without a value, 4 "
			    "whose value is no number, 2 "
			    "with a value below 0, 1 with a value beyond 64 bits");
	done(&got);
}

/* Lines of all lengths, some of them longer than the buffer: none is lost, wherever a chunk of the
 * file ends. */
static void long_files_are_whole(void **state)
{
	struct buf text = {0};
	uint64_t total = 0, too_long = 0;
	struct got got;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		unsigned length = i % 500 == 499 ? COLLAPSED_LINE_MAX + i
				  : i % 7	 ? i % 97 + 1
						 : i * 3 + 1;

		buf_string(&text, "main;f");
		for (unsigned k = 0; k < length; k++)
			buf_byte(&text, (uint8_t)('a' + (k + i) % 26));
		buf_printf(&text, ";leaf%u %u\n", i % 10, i);
		if (length > COLLAPSED_LINE_MAX)
			too_long++;
		else
			total += i;
	}
	read_text(&got, (const char *)text.data, text.length);
	assert_int_equal(got.total, total);
	assert_int_equal(got.counts.too_long, too_long);
	assert_int_equal(got.counts.lines, 3000);
	assert_int_equal(got.counts.stacks, 3000 - too_long);
	done(&got);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_share_their_begin),
		cmocka_unit_test(values_are_what_python_takes),
		cmocka_unit_test(what_is_no_line_is_counted),
		cmocka_unit_test(long_files_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
