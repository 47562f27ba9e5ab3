/*
 * The first line of a connection to the page's server (collector/http/server/greeting.h): mended,
 * it has no percent sign that stands for itself any more and no end of a line, and is otherwise
 * what it was; mended again it stays as it is.
 */
#include <ctype.h>
#include <string.h>

#include "collector/http/server/greeting.h"
#include "tests/fuzz/fuzz.h"

static bool is_escape(const uint8_t *at, size_t left)
{
	return left >= 3 && isxdigit(at[1]) && isxdigit(at[2]);
}

static bool is_end_of_line(const uint8_t *escape)
{
	return escape[1] == '0' && (toupper(escape[2]) == 'A' || toupper(escape[2]) == 'D');
}

/* Walks both: a "%25" of the mended one is either there, too, or a lone sign. Ends of lines have
 * become others, of the same length. */
static void compare(const uint8_t *line, size_t size, const uint8_t *mended, size_t length)
{
	size_t at = 0;

	for (size_t i = 0; i < size; i++, at++) {
		must(at < length && mended[at] == line[i]);
		if (line[i] != '%')
			continue;
		must(is_escape(mended + at, length - at));
		if (is_escape(line + i, size - i)) {
			must(!is_end_of_line(mended + at));
			if (is_end_of_line(line + i)) {
				must(mended[at + 1] == 'F');
				at += 2;
				i += 2;
			}
			continue;
		}
		must(mended[at + 1] == '2' && mended[at + 2] == '5');
		at += 2;
	}
	must(at == length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf mended = {0}, again = {0};
	bool any = greeting_mend((const char *)data, size, &mended);

	must(!buf_error(&mended));
	compare(data, size, mended.data, mended.length);
	must(any == (mended.length != size || (size && memcmp(mended.data, data, size) != 0)));
	must(!greeting_mend((const char *)mended.data, mended.length, &again));
	must(again.length == mended.length);
	buf_done(&mended);
	buf_done(&again);
	return 0;
}
