#pragma once
/*
 * Shows on the terminal what a command is doing, if it takes longer than a second. One line on
 * standard error says, for example,
 *
 *	looking through the allocations 45 %, 12 s, about 15 s more
 *
 * The line is rewritten while the work goes on. It is erased before anything else is printed
 * (pager.h), and at the end. Nothing is shown if standard error is not a terminal.
 *
 * A thread draws the line, so that the time goes on while the work reports nothing. Any thread may
 * call these functions.
 */
#include <stdint.h>

/* Reports how much of `what` is done; `of` is 0 if the total is unknown. `what` is a text that must
 * not be freed. At the end (done == of) the line disappears, or shows the work of which this was a
 * part. Returns 0, as callbacks of recording_open and others must. */
int progress_show(void *what, uint64_t done, uint64_t of);
/* Shows work of unknown size. Its parts may call progress_show, and the work is shown between them.
 * NULL ends the work. */
void progress_work(const char *what);
/* Erases the line before something is printed. It comes back if the work goes on. */
void progress_erase(void);
/* Shows no progress from now on. */
void progress_never(void);
