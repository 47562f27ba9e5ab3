/* The function of find_object.h for a libc without _dl_find_object, and for test libraries that
 * must not use it. */
#include "agent/preload/system/find_object.h"

#include <stddef.h>

#include "agent/preload/poison.h"

find_object_function *find_object(void)
{
	return NULL;
}
