#pragma once
/*
 * The breakpoint that a process's loader has for debuggers: it comes by before it maps or unmaps
 * libraries, and again when it is done (struct r_debug of <link.h>; glibc and musl). The program's
 * dynamic section says where (DT_DEBUG).
 */
#include <stdint.h>
#include <sys/types.h>

struct loader {
	uint64_t breakpoint; /* address, in the process */
	uint64_t state;	     /* of r_debug.r_state: 0 (RT_CONSISTENT) when it is done */
};

/* 0; -ENOENT: it has none, as static programs, or not yet; or a negative errno. What the process
 * says is not believed further than that these are addresses. */
int loader_find(pid_t pid, struct loader *ret);
