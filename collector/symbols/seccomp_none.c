/* A processor whose system calls are not listed yet: the worker has its limits only. See
 * seccomp.h. */
#include "collector/symbols/seccomp.h"

#include <errno.h>

#include "base/ban.h"

int seccomp_read_only(void)
{
	return -EOPNOTSUPP;
}
