#pragma once
/* The terminal as a screen: the other page of it, keys without echo, its size. Whatever ends the
 * program, the terminal is as it was before. */
#include <stdbool.h>

struct err_text;

/* Keys that are more than a character have numbers above all characters. */
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
	KEY_CLOSED, /* nobody types any more */
};

/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are only noted; the second one ends the program.
 */
void screen_note_signals(void);
/* Returns the first signal that came, or 0. */
int screen_signal(void);
/* -ENOTTY with a sentence: this is no terminal that can show it. */
int screen_check(struct err_text *err);
void screen_begin(void);
void screen_end(void);
void screen_size(unsigned *ret_rows, unsigned *ret_columns);
/* Whether the locale says that the terminal shows UTF-8. */
bool screen_has_utf8(void);
/* Waits for a key, at most so long. */
int screen_key(int timeout_ms);
