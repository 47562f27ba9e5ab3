#pragma once
/* Who writes a recording holds a lock on its file. The lock belongs to the open file description,
 * so other descriptors of the same process see it, too. */
#include <stdbool.h>

/* Tells whether another description of this file holds the lock. */
bool recording_is_written(int fd);
/* Takes the lock until `fd` is closed. Returns 0, -EBUSY if somebody else holds it, or another
 * negative errno. */
int recording_mark_written(int fd);
