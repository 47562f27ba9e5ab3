/* Wraps messages. See wrap.h. */
#include "base/cli/wrap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/ban.h"

#define WIDTH_MIN 40
#define INDENT	  2
#define BULLET	  "- "

/* Returns the columns of a word in UTF-8: continuation bytes take none. */
static unsigned columns_of(const char *word, size_t length)
{
	unsigned columns = 0;

	for (size_t i = 0; i < length; i++)
		columns += ((unsigned char)word[i] & 0xc0) != 0x80;
	return columns;
}

static void begin_line(struct wrap *wrap, const char *text)
{
	size_t blanks = strspn(text, " ");
	bool is_item = !strncmp(text + blanks, BULLET, strlen(BULLET));

	wrap->indent = (unsigned)blanks + (is_item || !blanks ? INDENT : 0);
}

void wrap_text(struct wrap *wrap, struct buf *out, const char *text)
{
	while (*text) {
		size_t blanks = strspn(text, " "), length = strcspn(text + blanks, " \n");
		unsigned columns = columns_of(text + blanks, length);

		if (!wrap->column)
			begin_line(wrap, text);
		if (wrap->width && blanks && length && wrap->column &&
		    wrap->column + blanks + columns > wrap->width) {
			buf_printf(out, "\n%*s", (int)wrap->indent, "");
			wrap->column = wrap->indent;
		} else {
			buf_append(out, text, blanks);
			wrap->column += (unsigned)blanks;
		}
		buf_append(out, text + blanks, length);
		wrap->column += columns;
		text += blanks + length;
		if (*text == '\n') {
			buf_byte(out, '\n');
			wrap->column = 0;
			text++;
		}
	}
}

static unsigned standard_error_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = {0};
	uint64_t width;

	if (!isatty(STDERR_FILENO))
		return 0;
	if (!columns || parse_u64(columns, &width) < 0 || !width)
		width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
	return width && width < WIDTH_MIN ? WIDTH_MIN : (unsigned)width;
}

void wrap_to_standard_error(const char *text)
{
	static struct wrap wrap;
	cleanup(buf_done) struct buf out = {0};

	wrap.width = standard_error_width();
	if (strpbrk(text, "\r\033")) { /* a progress line, which overwrites itself */
		wrap.column = 0;
		fputs(text, stderr);
		return;
	}
	wrap_text(&wrap, &out, text);
	fputs(buf_text(&out) ? buf_text(&out) : text, stderr);
}
