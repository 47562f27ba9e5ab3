/* Creates uprobe links. See multi.h. */
#include "agent/ebpf/multi.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ban.h"

#define MULTI_RETURN 1

/* The layout of BPF_LINK_CREATE's attributes for these links. */
struct multi_attr {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, reference_counters, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

static_assert(sizeof(struct multi_attr) == 64, "as the kernel has it");

int multi_attach(const struct multi_probe *probe)
{
	struct multi_attr attr = {
		.program = (uint32_t)probe->program,
		.attach_type = probe->type,
		.path = (uint64_t)(uintptr_t)probe->path,
		.offsets = (uint64_t)(uintptr_t)probe->offset,
		.cookies = (uint64_t)(uintptr_t)probe->cookie,
		.count = probe->count,
		.multi_flags = probe->returns ? MULTI_RETURN : 0,
		.pid = (uint32_t)probe->pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}
