/* Standard output for people. See terminal.h. */
#include "collector/cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/ban.h"

#define WIDTH_PIPED 80
#define WIDTH_MIN   40
#define WIDTH_MAX   400

unsigned terminal_width(void)
{
	struct winsize size;

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

static void begin(enum style style)
{
	static const char *const codes[] = {
		[STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",	 [STYLE_RED] = "\033[31m",
		[STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
	};

	if (style != STYLE_PLAIN && terminal_colours())
		fputs(codes[style], stdout);
}

static void end(enum style style)
{
	if (style != STYLE_PLAIN && terminal_colours())
		fputs("\033[0m", stdout);
}

/* Bytes of the character at `p` (one column), 0 at the end; ret_safe: whether it may be printed. */
static unsigned character(const unsigned char *p, bool *ret_safe)
{
	unsigned length = 1;

	*ret_safe = *p >= ' ' && *p != 0x7f;
	if (!*p)
		return 0;
	if (*p < 0x80)
		return 1;
	if (*p >= 0xc2 && *p < 0xe0)
		length = 2;
	else if (*p >= 0xe0 && *p < 0xf0)
		length = 3;
	else if (*p >= 0xf0 && *p < 0xf5)
		length = 4;
	else
		*ret_safe = false;
	for (unsigned i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			*ret_safe = false;
			return 1;
		}
	}
	/* U+0080 to U+009F are control characters, too. */
	if (p[0] == 0xc2 && p[1] < 0xa0)
		*ret_safe = false;
	return length;
}

unsigned terminal_columns(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned count = 0, length;
	bool safe;

	for (; (length = character(p, &safe)); p += length)
		count++;
	return count;
}

static void put_columns(const char *text, unsigned count)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned length;
	bool safe;

	for (; count && (length = character(p, &safe)); p += length, count--) {
		if (length == 2 && p[0] == 0xc2 && p[1] == 0xa0)
			putchar(' '); /* no line break, that is all it says */
		else if (safe)
			fwrite(p, 1, length, stdout);
		else
			putchar('?');
	}
}

unsigned terminal_text(enum style style, const char *text, unsigned width)
{
	unsigned count = terminal_columns(text);
	bool cut = width && count > width;

	begin(style);
	if (cut && width > 3) {
		put_columns(text, width - 3);
		fputs("...", stdout);
	} else {
		put_columns(text, cut ? width : count);
	}
	end(style);
	return cut ? width : count;
}

void terminal_blanks(unsigned count)
{
	printf("%*s", (int)count, "");
}

void terminal_paragraph(enum style style, const char *text, unsigned indent)
{
	unsigned width = terminal_width(), at = indent;
	bool first = true;

	begin(style);
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
		put_columns(word, wide);
		at += wide;
		first = false;
		text += length;
		text += strspn(text, " ");
	}
	end(style);
	putchar('\n');
}

void terminal_heading(const char *text)
{
	putchar('\n');
	terminal_text(STYLE_BOLD, text, 0);
	putchar('\n');
}
