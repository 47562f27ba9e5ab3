#pragma once
/* The program's own modules, and memory, as a host of the unwinder has them. host.h is for tests;
 * this part also for programs without cmocka. */
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/unwind/arch/arch.h"
#include "agent/unwind/unwind.h"

#define MODULES_MAX 256

static struct unwind_module host_modules[MODULES_MAX];
static size_t host_module_count;

/* For dl_iterate_phdr: those with code. */
static inline int host_add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct unwind_module m = {
		.start = UINT64_MAX, .load_start = UINT64_MAX, .bias = info->dlpi_addr};

	(void)size;
	(void)context;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + ph->p_vaddr, to = from + ph->p_memsz;

		if (ph->p_type == PT_GNU_EH_FRAME) {
			m.eh_frame_hdr = from;
			m.eh_frame_hdr_size = ph->p_memsz;
		}
		if (ph->p_type == ARCH_TABLE) {
			m.exidx = from;
			m.exidx_size = ph->p_memsz;
		}
		if (ph->p_type != PT_LOAD)
			continue;
		m.load_start = from < m.load_start ? from : m.load_start;
		m.load_end = to > m.load_end ? to : m.load_end;
		if (!(ph->p_flags & PF_X))
			continue;
		m.start = from < m.start ? from : m.start;
		m.end = to > m.end ? to : m.end;
	}
	if (m.end && host_module_count < MODULES_MAX)
		host_modules[host_module_count++] = m;
	return 0;
}

static inline const struct unwind_module *host_loaded(void *context, uint64_t pc)
{
	(void)context;
	for (size_t i = 0; i < host_module_count; i++)
		if (pc >= host_modules[i].start && pc < host_modules[i].end)
			return &host_modules[i];
	return NULL;
}

/* Asks the kernel as libheapcast.so does: of a wait for no time it says EFAULT if the word can't be
 * read. */
static inline uint64_t host_readable(uint64_t from, uint64_t to)
{
	const struct {
		long seconds, nanoseconds;
	} none = {0};

	while (from < to && (syscall(SYS_futex, (uintptr_t)from & ~(uintptr_t)3, FUTEX_WAIT_PRIVATE,
				     0x8f1d35b7u, &none) >= 0 ||
			     errno != EFAULT))
		from = (from | 4095) + 1;
	return from;
}

static inline void *host_pages(void *context, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)context;
	return p == MAP_FAILED ? NULL : p;
}
