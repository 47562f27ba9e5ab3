/* The functions of patch.h for processors whose instructions the agent cannot move. They patch
 * nothing. */
#include "agent/preload/patch/patch.h"

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
