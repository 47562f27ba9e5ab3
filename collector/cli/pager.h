#pragma once
/*
 * Sends long answers on a terminal through a pager: $HEAPCAST_PAGER, else $PAGER, else less. An
 * answer that fits the screen does not go through it, nor does one for a pipe or a file.
 *
 * Between pager_begin and pager_end, stdout and stderr hold text back until it is longer than the
 * screen, or complete. Descriptors 1 and 2 stay the terminal, so that code that asks it for width
 * and colours works as before. Text for the terminal first erases the line of progress.h. Only the
 * main thread may call these functions.
 */
#include <stdbool.h>

/* Replaces stdout and stderr where they are terminals. With `pages`, long answers go to a pager if
 * the terminal can do more than print. `command` is the user's pager; NULL means the environment's.
 * An empty command or "cat" means no pager. */
void pager_begin(bool pages, const char *command);
/*
 * Prints what was held back, or waits until the user has left the pager. Restores stdout and
 * stderr. A user may leave before the end; that is no error. Returns 0, or the negative errno of
 * writing to the terminal.
 */
int pager_end(void);
