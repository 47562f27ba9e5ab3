/* For processors whose instructions we do not know how to move: patch.h for nobody. */
#include "agent/preload/allocators/patch.h"

#include <stddef.h>

struct ring_entry *patch_room(void)
{
	return NULL;
}

void patch_room_done(struct ring_entry *entry)
{
	(void)entry;
}

unsigned patch_apply(const struct ring_entry *entry, unsigned count)
{
	(void)entry;
	(void)count;
	return 0;
}
