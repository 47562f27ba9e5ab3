#pragma once
/*
 * Uprobes by links of their own kind: multi since Linux 6.6, sessions since 6.13
 * (include/uapi/linux/bpf.h there). By bpf(2) itself, as libbpf 1.1 knows neither. Unlike perf
 * events they need no CAP_SYS_ADMIN.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum multi_type { /* a program's expected_attach_type */
		  MULTI_UPROBES = 48,
		  MULTI_SESSION = 57, /* it runs at the entry, and, unless it gives 1 there, at the
					 return */
};

struct multi_probe {
	int program;
	enum multi_type type;
	bool returns; /* at the return instead of the entry; MULTI_UPROBES only */
	const char *path;
	const uint64_t *offset; /* in that file */
	const uint64_t *cookie; /* of each; NULL: 0 */
	uint32_t count;
	pid_t pid; /* 0: all processes */
};

/* One link for all `count` places: its descriptor, or a negative errno, and none is probed then.
 * When it is closed the probes are gone. The close takes the kernel long, once for each link. */
int multi_attach(const struct multi_probe *probe);
