#pragma once
/*
 * Sets uprobes by uprobe links: uprobe-multi since Linux 6.6, sessions since 6.13
 * (include/uapi/linux/bpf.h). They are created by bpf(2) directly, since libbpf 1.1 knows neither.
 * Unlike perf events they need no CAP_SYS_ADMIN.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum multi_type { /* expected_attach_type of a program */
		  MULTI_UPROBES = 48,
		  MULTI_SESSION = 57, /* runs at the entry; unless it returns 1 there, at the
				       * return, too */
};

struct multi_probe {
	int program;
	enum multi_type type;
	bool returns; /* probe the return instead of the entry; MULTI_UPROBES only */
	const char *path;
	const uint64_t *offset; /* in that file */
	const uint64_t *cookie; /* one for each offset; NULL: all 0 */
	uint32_t count;
	pid_t pid; /* 0: all processes */
};

/* Creates one link for all `count` places. Returns its descriptor, or a negative errno with no
 * place probed. Closing the descriptor removes the probes. Closing takes the kernel a long time,
 * but only once per link. */
int multi_attach(const struct multi_probe *probe);
