#pragma once
/* Uses the terminal as a screen: its alternate page, keys without echo, its size. The terminal is
 * restored however the program ends. */
#include <stdbool.h>

struct err_text;

/* Keys that are not characters have numbers above all characters. */
enum screen_key {
	KEY_NONE = 0, /* the time is over, or the size has changed */
	KEY_ENTER = '\n',
	KEY_ESCAPE = 27,
	KEY_BACKSPACE = 127,
	KEY_UP = 256,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_OTHER,
	KEY_CLOSED, /* the input has ended */
};

/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are only recorded. A second one ends the
 * program. */
void screen_note_signals(void);
/* Returns the first signal received, or 0. */
int screen_signal(void);
/* Checks the terminal. Returns 0, or -ENOTTY with an error text if it cannot show the view. */
int screen_check(struct err_text *err);
void screen_begin(void);
void screen_end(void);
void screen_size(unsigned *ret_rows, unsigned *ret_columns);
/* Tells whether the locale says that the terminal shows UTF-8. */
bool screen_has_utf8(void);
/* Waits at most `timeout_ms` for a key. Returns the key or KEY_NONE, KEY_CLOSED. */
int screen_key(int timeout_ms);
