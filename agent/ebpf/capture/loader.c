/* Finds where a loader notifies debuggers of libraries. See loader.h. */
#include "agent/ebpf/capture/loader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ban.h"

#define AUXV_MAX    64
#define HEADERS_MAX 64
#define DYNAMIC_MAX 256

static int open_of(pid_t pid, const char *file)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	return open(name, O_RDONLY | O_CLOEXEC);
}

static bool read_at(int fd, void *to, size_t size, uint64_t address)
{
	return address <= INT64_MAX && pread(fd, to, size, (off_t)address) == (ssize_t)size;
}

/* Finds the program headers through the auxiliary vector. */
static bool find_headers(pid_t pid, uint64_t *ret_address, uint64_t *ret_count)
{
	cleanup(cleanup_close) int fd = open_of(pid, "auxv");
	Elf64_auxv_t entry;

	*ret_address = *ret_count = 0;
	for (unsigned i = 0;
	     fd >= 0 && i < AUXV_MAX && read(fd, &entry, sizeof(entry)) == sizeof(entry); i++) {
		if (entry.a_type == AT_PHDR)
			*ret_address = entry.a_un.a_val;
		if (entry.a_type == AT_PHNUM)
			*ret_count = entry.a_un.a_val;
	}
	return *ret_address && *ret_count && *ret_count <= HEADERS_MAX;
}

static uint64_t find_dynamic(int memory, uint64_t headers, uint64_t count)
{
	uint64_t bias = 0, dynamic = 0;
	Elf64_Phdr header;

	for (uint64_t i = 0; i < count; i++) {
		if (!read_at(memory, &header, sizeof(header), headers + i * sizeof(header)))
			return 0;
		if (header.p_type == PT_PHDR)
			bias = headers - header.p_vaddr;
		if (header.p_type == PT_DYNAMIC)
			dynamic = header.p_vaddr;
	}
	return dynamic ? dynamic + bias : 0;
}

static uint64_t find_debug(int memory, uint64_t dynamic)
{
	Elf64_Dyn entry;

	for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
		if (!read_at(memory, &entry, sizeof(entry), dynamic + i * sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_DEBUG)
			return entry.d_un.d_ptr;
	}
	return 0;
}

int loader_find(pid_t pid, struct loader *ret)
{
	cleanup(cleanup_close) int memory = open_of(pid, "mem");
	uint64_t headers, count, debug;
	struct r_debug known;

	if (memory < 0)
		return -errno;
	if (!find_headers(pid, &headers, &count))
		return -ENOENT;
	debug = find_dynamic(memory, headers, count);
	debug = debug ? find_debug(memory, debug) : 0;
	if (!debug || !read_at(memory, &known, sizeof(known), debug) || !known.r_brk)
		return -ENOENT;
	*ret = (struct loader){.breakpoint = known.r_brk,
			       .state = debug + offsetof(struct r_debug, r_state)};
	return 0;
}
