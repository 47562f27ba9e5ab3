/* A first line with percent signs that stand for themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collector/http/server/greeting.h"

static void mends(void **state)
{
	static const struct {
		const char *line, *mended;
	} lines[] = {
		{"GET / HTTP/1.1\r\n", NULL},
		{"GET /a?b=50%25&c=%2b HTTP/1.1\r\n", NULL},
		{"GET /a?b=50%&c=1 HTTP/1.1\r\n", "GET /a?b=50%25&c=1 HTTP/1.1\r\n"},
		{"GET /a?b=50% HTTP/1.1\r\n", "GET /a?b=50%25 HTTP/1.1\r\n"},
		{"GET /a?b=%2 HTTP/1.1\r\n", "GET /a?b=%252 HTTP/1.1\r\n"},
		{"%", "%25"},
		{"%a", "%25a"},
		{"%%%41", "%25%25%41"},
		{"GET /a?b=1%0A2%0d%0a HTTP/1.1\r\n", "GET /a?b=1%FF2%FE%FF HTTP/1.1\r\n"},
		{"GET /a?b=%250A HTTP/1.1\r\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct buf out = {0};
		const char *expected = lines[i].mended ? lines[i].mended : lines[i].line;

		assert_int_equal(greeting_mend(lines[i].line, strlen(lines[i].line), &out),
				 lines[i].mended != NULL);
		assert_string_equal(buf_text(&out), expected);
		buf_done(&out);
	}
}

static void restores(void **state)
{
	char text[] = "select 1\xff+ 2\xfe\xff\xc3\xa4";

	(void)state;
	greeting_restore(text);
	assert_string_equal(text, "select 1\n+ 2\r\n\xc3\xa4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(mends), cmocka_unit_test(restores)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
