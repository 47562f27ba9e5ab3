/*
 * For processors whose system calls are not listed yet: the worker has only its resource limits.
 * seccomp.h describes the interface.
 */
#include "collector/symbols/seccomp.h"

#include <errno.h>

#include "base/ban.h"

int seccomp_read_only(void)
{
	return -EOPNOTSUPP;
}
