#pragma once
/*
 * Finds the breakpoint that a process's loader has for debuggers. The loader passes it before it
 * maps or unmaps libraries, and again afterwards (struct r_debug of <link.h>; glibc and musl). The
 * program's dynamic section points to it (DT_DEBUG).
 */
#include <stdint.h>
#include <sys/types.h>

struct loader {
	uint64_t breakpoint; /* address in the process */
	uint64_t state;	     /* address of r_debug.r_state: 0 (RT_CONSISTENT) after the change */
};

/* Returns 0; -ENOENT if the process has no loader (static programs), or none yet; or another
 * negative errno. The process is not trusted: the results may be any addresses. */
int loader_find(pid_t pid, struct loader *ret);
