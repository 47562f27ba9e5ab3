/* Prints for people. See terminal.h. */
#include "collector/cli/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "collector/symbols/fold_name.h"
#include "base/ban.h"

#define NO_BREAK 0xa0

#define WIDTH_PIPED 80
#define WIDTH_MIN   40
#define WIDTH_MAX   400

static bool full_names, uncut;

void terminal_show(bool full, bool wide)
{
	full_names = full;
	uncut = wide;
}

unsigned terminal_width(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	uint64_t given;

	if (uncut)
		return WIDTH_MAX;
	if (columns && !parse_u64(columns, &given) && given)
		return given < WIDTH_MIN   ? WIDTH_MIN
		       : given > WIDTH_MAX ? WIDTH_MAX
					   : (unsigned)given;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return WIDTH_PIPED;
	if (size.ws_col < WIDTH_MIN)
		return WIDTH_MIN;
	return size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

bool terminal_colours(void)
{
	static int known = -1;
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (known < 0)
		known = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && !(no && *no);
	return known;
}

static void terminal_begin(enum style style)
{
	static const char *const codes[] = {
		[STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",	 [STYLE_RED] = "\033[31m",
		[STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
	};

	if (style != STYLE_PLAIN && terminal_colours())
		fputs(codes[style], stdout);
}

static void terminal_end(enum style style)
{
	if (style != STYLE_PLAIN && terminal_colours())
		fputs("\033[0m", stdout);
}

/* Returns the length in bytes of the character at `p`, which takes one column, or 0 at the end of
 * the text. `ret_code` gets the printable character: '?' for one that a terminal would obey. */
static size_t character(const char *p, uint32_t *ret_code)
{
	size_t length = *p ? utf8_next(p, strnlen(p, 4), ret_code) : 0;

	if (!length || !utf8_shows(*ret_code))
		*ret_code = '?';
	return *p && !length ? 1 : length;
}

unsigned terminal_columns(const char *text)
{
	unsigned count = 0;
	size_t length;
	uint32_t code;

	for (; (length = character(text, &code)); text += length)
		count++;
	return count;
}

void terminal_cut(const char *text, unsigned count)
{
	size_t length;
	uint32_t code;

	for (; count && (length = character(text, &code)); text += length, count--) {
		if (code == NO_BREAK)
			putchar(' '); /* a no-break space: it only forbids a line break */
		else if (code == '?')
			putchar('?');
		else
			fwrite(text, 1, length, stdout);
	}
}

unsigned terminal_text(enum style style, const char *text, unsigned width)
{
	unsigned count = terminal_columns(text);
	bool cut = width && count > width;

	terminal_begin(style);
	if (cut && width > 3) {
		terminal_cut(text, width - 3);
		fputs("...", stdout);
	} else {
		terminal_cut(text, cut ? width : count);
	}
	terminal_end(style);
	return cut ? width : count;
}

static bool is_uncut(void)
{
	return uncut || (!isatty(STDOUT_FILENO) && !getenv("COLUMNS"));
}

void terminal_name_ways(unsigned *ret_width, bool *ret_short)
{
	*ret_width = is_uncut() ? 0 : terminal_width();
	*ret_short = !full_names;
}

unsigned terminal_name(enum style style, const char *name, unsigned width)
{
	char *folded = full_names ? NULL : malloc(strlen(name) + 1);
	unsigned used;

	if (folded)
		fold_name(folded, strlen(name) + 1, name);
	if (is_uncut())
		width = 0;
	used = terminal_text(style, folded ? folded : name, width);
	free(folded);
	return used;
}

void terminal_blanks(unsigned count)
{
	printf("%*s", (int)count, "");
}

void terminal_paragraph(enum style style, const char *sentence, unsigned indent)
{
	cleanup(buf_done) struct buf words = {0};
	unsigned width = terminal_width(), at = indent;
	const char *text;
	bool first = true;

	program_words(&words, sentence);
	text = buf_text(&words) ? buf_text(&words) : sentence;
	terminal_begin(style);
	while (*text) {
		size_t length = strcspn(text, " ");
		char word[512];
		unsigned wide;

		snprintf(word, sizeof(word), "%.*s",
			 (int)(length < sizeof(word) ? length : sizeof(word) - 1), text);
		wide = terminal_columns(word);
		if (!first && at + 1 + wide > width) {
			putchar('\n');
			terminal_blanks(indent);
			at = indent;
		} else if (!first) {
			putchar(' ');
			at++;
		}
		terminal_cut(word, wide);
		at += wide;
		first = false;
		text += length;
		text += strspn(text, " ");
	}
	terminal_end(style);
	putchar('\n');
}

void terminal_say(enum style style, unsigned indent, const char *format, ...)
{
	cleanup(buf_done) struct buf text = {0};
	va_list args;

	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	terminal_blanks(indent);
	terminal_paragraph(style, buf_text(&text) ? buf_text(&text) : "", indent);
}

void terminal_line(enum style style, const char *text, unsigned width)
{
	terminal_text(style, text, width);
	putchar('\n');
}

void terminal_heading(const char *text)
{
	putchar('\n');
	terminal_text(STYLE_BOLD, text, 0);
	putchar('\n');
}
