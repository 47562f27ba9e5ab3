#pragma once
/*
 * Long answers on a terminal go through a pager: $HEAPCAST_PAGER, else $PAGER, else less. An answer
 * that fits the screen does not; nor does what goes into a pipe or a file.
 *
 * Between pager_begin and pager_end, stdout and stderr hold back what is printed until it is longer
 * than the screen, or the end. Descriptors 1 and 2 stay the terminal, so that widths and colours
 * are asked of it as ever. What goes to the terminal takes the line of progress.h away first. For
 * the main thread only.
 */
#include <stdbool.h>

/* Takes over those of stdout and stderr that are terminals. `pages`: long answers go to a pager, if
 * the terminal can do more than print. `command` is what the user named; NULL: as the environment
 * says. An empty one and "cat": no pager. */
void pager_begin(bool pages, const char *command);
/*
 * Prints what was held back, or waits until the user has left the pager. stdout and stderr are
 * again what they were. A user who leaves before the end has seen enough: that is no error. Returns
 * 0 or the negative errno of writing to the terminal.
 */
int pager_end(void);
