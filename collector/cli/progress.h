#pragma once
/*
 * What a command is doing, on the terminal, if it takes longer than a second: one line on standard
 * error, such as
 *
 *	looking through the allocations 45 %, 12 s, about 15 s more
 *
 * which is rewritten, and gone before anything else is printed (pager.h) and at the end. Nothing is
 * shown where standard error is no terminal.
 *
 * A thread draws it, so that time goes on where the work tells nothing for a while. These may be
 * called from any thread.
 */
#include <stdint.h>

/* Says how much of `what` (a text that stays) is done; `of` 0: not known. At the end (done == of)
 * the line goes, or shows the work that is behind it. Returns 0, as the callbacks want it that
 * recording_open and others take. */
int progress_show(void *what, uint64_t done, uint64_t of);
/* Work of unknown size, of which parts may call progress_show: it is shown between them. NULL: that
 * is done. */
void progress_work(const char *what);
/* Takes the line away before something is printed. It comes back if the work goes on. */
void progress_erase(void);
/* Draws nothing any more. */
void progress_never(void);
