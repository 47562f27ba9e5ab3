#pragma once
/* A library or program that is laid out in memory like the loader would, but not run: as a module
 * to decode, to compare with other decoders, to damage. Pages that must not be touched lie on both
 * sides. */
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/unwind/host.h"

#define GUARD 65536ull

struct mapped {
	struct unwind_module module;
	uint8_t *memory;
	size_t size;
};

static inline bool read_at(int fd, void *to, size_t size, off_t offset)
{
	return pread(fd, to, size, offset) == (ssize_t)size;
}

/* False if the file cannot be had. */
static inline bool map_file(struct mapped *m, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ElfW(Phdr) ph[32];
	ElfW(Ehdr) eh;
	uint64_t end = 0;

	memset(m, 0, sizeof(*m));
	if (fd < 0)
		return false;
	if (!read_at(fd, &eh, sizeof(eh), 0) || eh.e_phnum > 32 ||
	    !read_at(fd, ph, eh.e_phnum * sizeof(ph[0]), (off_t)eh.e_phoff)) {
		close(fd);
		return false;
	}
	for (unsigned i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr + ph[i].p_memsz > end)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	m->size = (end + 4095) / 4096 * 4096;
	m->memory = mmap(NULL, m->size + 2 * GUARD, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(m->memory, MAP_FAILED);
	m->memory += GUARD;
	assert_int_equal(mprotect(m->memory, m->size, PROT_READ | PROT_WRITE), 0);
	m->module.bias = (uintptr_t)m->memory;
	m->module.load_start = (uintptr_t)m->memory;
	m->module.load_end = (uintptr_t)m->memory + m->size;
	m->module.start = UINT64_MAX;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		uint64_t from = m->module.bias + ph[i].p_vaddr;

		if (ph[i].p_type == PT_GNU_EH_FRAME) {
			m->module.eh_frame_hdr = from;
			m->module.eh_frame_hdr_size = ph[i].p_memsz;
		}
		if (ph[i].p_type == ARCH_TABLE) {
			m->module.exidx = from;
			m->module.exidx_size = ph[i].p_memsz;
		}
		if (ph[i].p_type != PT_LOAD)
			continue;
		assert_true(read_at(fd, m->memory + ph[i].p_vaddr, ph[i].p_filesz,
				    (off_t)ph[i].p_offset));
		if (ph[i].p_flags & PF_X) {
			m->module.start = from < m->module.start ? from : m->module.start;
			m->module.end = from + ph[i].p_memsz;
		}
	}
	close(fd);
	return true;
}

static inline void unmap_file(struct mapped *m)
{
	munmap(m->memory - GUARD, m->size + 2 * GUARD);
}

/* The path of the loaded library whose name begins with `name`. */
struct wanted_library {
	const char *name;
	char path[512];
};

static inline int match_library(struct dl_phdr_info *info, size_t size, void *context)
{
	struct wanted_library *w = context;
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!base || strncmp(base + 1, w->name, strlen(w->name)) != 0)
		return 0;
	snprintf(w->path, sizeof(w->path), "%s", info->dlpi_name);
	return 1;
}

static inline bool map_library(struct mapped *m, const char *name)
{
	struct wanted_library w = {.name = name};

	return dl_iterate_phdr(match_library, &w) && map_file(m, w.path);
}
