/* Looks up _dl_find_object; see find_object.h. */
#include "agent/preload/system/find_object.h"

#include "agent/preload/system/symbols.h"

#include "agent/preload/poison.h"

find_object_function *find_object(void)
{
	return (find_object_function *)symbols_find("_dl_find_object", (const void *)find_object);
}
