/* Takes the terminal, and restores it. See screen.h. */
#include "collector/cli/live/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "base/ban.h"

#define SIGNALLED	128
#define SEQUENCE_MS	50 /* the rest of a key's sequence may come in another packet */
#define ROWS_DEFAULT	24
#define COLUMNS_DEFAULT 80

/* `begin` selects the alternate page, hides the cursor and turns off line wrapping. The other text
 * undoes that. */
static const char begin[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char end[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static struct termios before;
static volatile sig_atomic_t taken, noted;
static unsigned char typed[64];
static size_t typed_count;

/* ---- the end, also from within a signal's handler ---- */

static void give_back(void)
{
	ssize_t n;

	if (!taken)
		return;
	taken = 0;
	n = write(STDOUT_FILENO, end, sizeof(end) - 1);
	(void)n;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void note_signal(int number)
{
	if (noted) {
		give_back();
		_exit(SIGNALLED + number);
	}
	noted = number;
}

static void crash(int number)
{
	give_back();
	raise(number); /* SA_RESETHAND: the default action follows */
}

static void resized(int number)
{
	(void)number; /* the signal itself ends the wait for a key */
}

void screen_note_signals(void)
{
	static const int noting[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
	struct sigaction action = {.sa_handler = note_signal};

	for (unsigned i = 0; i < sizeof(noting) / sizeof(*noting); i++)
		sigaction(noting[i], &action, NULL);
	action.sa_handler = resized;
	sigaction(SIGWINCH, &action, NULL);
	action.sa_handler = crash;
	action.sa_flags = SA_RESETHAND | SA_NODEFER;
	for (unsigned i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		sigaction(crashes[i], &action, NULL);
}

int screen_signal(void)
{
	return noted;
}

/* ---- the terminal ---- */

int screen_check(struct err_text *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY,
			       "--live needs a terminal: without --live the rows are printed once");
	if (!term || !*term || !strcmp(term, "dumb"))
		return err_set(err, -ENOTTY,
			       "--live needs a terminal whose cursor can be moved (TERM=%.40s)",
			       term ? term : "");
	return 0;
}

void screen_begin(void)
{
	static bool registered;
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return;
	if (!registered)
		atexit(give_back);
	registered = true;
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_iflag |= ICRNL;
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	taken = 1;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs(begin, stdout);
	fflush(stdout);
}

void screen_end(void)
{
	fflush(stdout);
	give_back();
}

void screen_size(unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size = {0};
	int r = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);

	*ret_rows = !r && size.ws_row ? size.ws_row : ROWS_DEFAULT;
	*ret_columns = !r && size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
}

bool screen_has_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (unsigned i = 0; i < 3; i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* ---- keys ---- */

static bool wait_for_key(int timeout_ms)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, timeout_ms) > 0;
}

static void forget(size_t count)
{
	typed_count -= count;
	memmove(typed, typed + count, typed_count);
}

/* Returns the key of a sequence behind ESC [ or ESC O. */
static int key_of(unsigned char last, unsigned number)
{
	static const struct {
		unsigned char last;
		unsigned number;
		int key;
	} keys[] = {
		{'A', 0, KEY_UP},	 {'B', 0, KEY_DOWN}, {'H', 0, KEY_HOME},
		{'F', 0, KEY_END},	 {'~', 1, KEY_HOME}, {'~', 4, KEY_END},
		{'~', 7, KEY_HOME},	 {'~', 8, KEY_END},  {'~', 5, KEY_PAGE_UP},
		{'~', 6, KEY_PAGE_DOWN},
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].last == last && keys[i].number == number)
			return keys[i].key;
	return KEY_OTHER;
}

static bool is_whole_sequence(void)
{
	for (size_t i = 2; i < typed_count; i++)
		if (typed[i] >= 0x40 && typed[i] < 0x7f)
			return true;
	return typed_count == sizeof(typed);
}

static bool read_more(void)
{
	ssize_t n = read(STDIN_FILENO, typed + typed_count, sizeof(typed) - typed_count);

	if (n > 0)
		typed_count += (size_t)n;
	return n > 0;
}

static int take_sequence(void)
{
	unsigned number = 0;
	size_t i = 2;
	int key;

	while ((typed_count < 2 || !is_whole_sequence()) && wait_for_key(SEQUENCE_MS) &&
	       read_more()) {
		if (typed_count >= 2 && typed[1] != '[' && typed[1] != 'O')
			break;
	}
	if (typed_count < 2 || (typed[1] != '[' && typed[1] != 'O')) {
		forget(1);
		return KEY_ESCAPE;
	}
	for (; i < typed_count && typed[i] >= '0' && typed[i] <= '9'; i++)
		number = number * 10 % 1000 + typed[i] - '0';
	while (i < typed_count && (typed[i] < 0x40 || typed[i] >= 0x7f))
		i++;
	key = i < typed_count ? key_of(typed[i], number) : KEY_OTHER;
	forget(i < typed_count ? i + 1 : typed_count);
	return key;
}

int screen_key(int timeout_ms)
{
	int key;

	if (!typed_count) {
		if (!wait_for_key(timeout_ms))
			return KEY_NONE;
		if (!read_more())
			return errno == EINTR ? KEY_NONE : KEY_CLOSED;
	}
	if (typed[0] == KEY_ESCAPE)
		return take_sequence();
	key = typed[0] == '\b' ? KEY_BACKSPACE : typed[0];
	forget(1);
	return key;
}
