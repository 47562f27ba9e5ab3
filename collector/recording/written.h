#pragma once
/* The writer of a recording holds a lock on its file. The lock belongs to the open file
 * description, so other descriptors of the same process see it, too. */
#include <stdbool.h>

/* Returns true if another description of this file holds the lock. */
bool recording_is_written(int fd);
/* Takes the lock, which is held until `fd` is closed. Returns 0, -EBUSY if another description
 * holds it, or another negative errno. */
int recording_mark_written(int fd);
