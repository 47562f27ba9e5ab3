/* No libc of this kind has it; or, in a library for tests, it is not to be used. See
 * find_object.h. */
#include "agent/preload/system/find_object.h"

#include <stddef.h>

#include "agent/preload/poison.h"

find_object_function *find_object(void)
{
	return NULL;
}
