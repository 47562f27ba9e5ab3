/* Tracks the mapped files of a process. See modules.h. */
#include "agent/ebpf/capture/modules.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ebpf/mapped.h"
#include "agent/ebpf/maps.h"
#include "agent/net/elf_file.h"
#include "base/array.h"
#include "base/elf/elf_load.h"
#include "base/log.h"
#include "base/ban.h"

#define HEADERS_MAX  64
#define SEGMENTS_MAX (sizeof(((struct ebpf_module *)0)->segment) / sizeof(struct run_segment))

static bool modules_read_header(int fd, Elf64_Ehdr *ret)
{
	return pread(fd, ret, sizeof(*ret), 0) == sizeof(*ret) &&
	       !memcmp(ret->e_ident, ELFMAG, SELFMAG) && ret->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ret->e_phentsize == sizeof(Elf64_Phdr);
}

/* Consecutive mappings of one file. */
struct row {
	const struct process_map *first, *code; /* `code` is the first executable one */
	uint64_t end;
};

/*
 * Reads the segments, and computes the bias from the mapping of code. A file may be mapped again at
 * a higher address (V8 does so with its builtins); so the module ends with its segments or with the
 * run of mappings, whichever ends first. Returns false if the file is no program or library of our
 * class and byte order.
 */
static bool read_segments(struct ebpf_module *m, const struct row *row)
{
	struct elf_load load[SEGMENTS_MAX];
	unsigned loads = 0;
	uint64_t last = 0;
	Elf64_Ehdr header;
	Elf64_Phdr p;
	bool found;

	if (!modules_read_header(m->fd, &header))
		return false;
	for (unsigned i = 0; i < header.e_phnum && i < HEADERS_MAX; i++) {
		if (pread(m->fd, &p, sizeof(p), (off_t)(header.e_phoff + i * sizeof(p))) !=
		    sizeof(p))
			break;
		if (p.p_type != PT_LOAD)
			continue;
		if (m->segment_count < SEGMENTS_MAX)
			m->segment[m->segment_count++] =
				(struct run_segment){p.p_vaddr, p.p_memsz, p.p_offset, p.p_flags};
		if (p.p_flags & PF_X && loads < SEGMENTS_MAX)
			load[loads++] = (struct elf_load){p.p_vaddr, p.p_offset, p.p_filesz};
		if (p.p_vaddr + p.p_memsz > last)
			last = p.p_vaddr + p.p_memsz;
	}
	found = elf_load_bias(load, loads, row->code->start, row->code->end, row->code->offset,
			      &m->bias);
	last += m->bias;
	m->start = row->first->start;
	m->end = found && last > m->start && last < row->end ? last : row->end;
	return found;
}

static struct ebpf_module *find(struct ebpf_modules *m, const struct process_map *map)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (!m->module[i].idle && m->module[i].inode == map->inode &&
		    m->module[i].device == map->device && map->start >= m->module[i].start &&
		    map->start < m->module[i].end)
			return &m->module[i];
	return NULL;
}

/* Finds the run from a file's first mapping to the last consecutive one. (If segments share a page,
 * their mappings start at the same file page.) Returns false if it has no code. */
static bool modules_find_row(const struct process_map *maps, uint32_t count, uint32_t i,
			     struct row *ret)
{
	*ret = (struct row){.first = &maps[i]};
	for (uint32_t k = i; k < count; k++) {
		const struct process_map *map = &maps[k];

		if (map->inode == maps[i].inode && map->device == maps[i].device &&
		    map->offset >= maps[i].offset) {
			ret->end = map->end;
			ret->code = !ret->code && map->executable ? map : ret->code;
		} else if (map->inode) {
			break;
		}
	}
	return ret->code;
}

/* Computes a fingerprint that differs after the file was rewritten: from inode, size and time. */
static uint32_t print_of(int fd)
{
	struct stat st;
	uint64_t print;

	if (fstat(fd, &st) < 0)
		return 0;
	print = (uint64_t)st.st_ino * 0x9e3779b97f4a7c15u + (uint64_t)st.st_size;
	print = (print ^ (uint64_t)st.st_mtim.tv_sec) * 0x9e3779b97f4a7c15u +
		(uint64_t)st.st_mtim.tv_nsec;
	return (uint32_t)(print ^ print >> 32);
}

static void modules_describe(struct ebpf_module *m)
{
	struct elf_file file;

	if (elf_file_read(m->fd, &file) < 0)
		return;
	m->build_id_length = file.build_id_length;
	memcpy(m->build_id, file.build_id, file.build_id_length);
	if (!m->build_id_length)
		m->print = print_of(m->fd);
}

static bool has_file(const struct ebpf_modules *m, uint64_t device, uint64_t inode)
{
	for (uint32_t i = 0; i < m->file_count; i++)
		if (m->file[i].inode == inode && m->file[i].device == device)
			return true;
	return false;
}

static int add(struct ebpf_modules *m, pid_t pid, const struct row *row)
{
	const struct process_map *map = row->first;
	struct ebpf_module new = {.first = m->looks,
				  .device = map->device,
				  .inode = map->inode,
				  .start = map->start,
				  .end = row->end,
				  .seen = true,
				  .fd = mapped_open(pid, map)};

	if (array_reserve(&m->module, &m->capacity, m->count + 1, sizeof(*m->module)))
		return -ENOMEM;
	new.path = strdup(map->path);
	if (!new.path)
		return -ENOMEM;
	if (new.fd == -ESTALE)
		log_warn("pid %d: %s is not looked at: %s", (int)pid, map->path,
			 mapped_reason(new.fd));
	if (new.fd < 0 || !read_segments(&new, row)) {
		if (new.fd >= 0)
			close(new.fd);
		new.fd = -1;
		new.bias = map->start - map->offset;
	} else {
		modules_describe(&new);
	}
	new.again = has_file(m, new.device, new.inode);
	new.id = ++m->last_id;
	m->module[m->count++] = new;
	return 0;
}

/* Reuses the module of a file that the process's previous program had mapped, too. */
static bool wake(struct ebpf_modules *m, const struct row *row)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct ebpf_module *old = &m->module[i];

		if (!old->idle || old->inode != row->first->inode ||
		    old->device != row->first->device)
			continue;
		old->segment_count = 0;
		if (!read_segments(old, row))
			return false;
		old->idle = false;
		old->moved = old->seen = true;
		old->first = m->looks;
		m->go |= old->sites.go;
		old->id = ++m->last_id;
		return true;
	}
	return false;
}

void ebpf_modules_begin_image(struct ebpf_modules *m)
{
	m->go = false;
	for (uint32_t i = m->count; i-- > 0;) {
		struct ebpf_module *old = &m->module[i];

		if (!old->probed || old->fd < 0 || !old->has_sites ||
		    !(old->sites.count || old->sites.go)) {
			ebpf_modules_remove(m, i);
			continue;
		}
		old->idle = true;
		old->told = old->seen = false;
		old->start = old->end = 0;
	}
}

int ebpf_modules_look(struct ebpf_modules *m, pid_t pid, uint32_t *ret_news, struct err_text *err)
{
	struct process_map *maps;
	uint32_t count;
	int r = process_maps_read(pid, &maps, &count);

	*ret_news = 0;
	if (r < 0)
		return err_set(err, r, "can't read /proc/%d/maps: %s", (int)pid, strerror(-r));
	if (!count) { /* the process is exiting */
		process_maps_free(maps, count);
		return err_set(err, -ESRCH, "pid %d has ended", (int)pid);
	}
	for (uint32_t i = 0; i < m->count; i++)
		m->module[i].seen = false;
	for (uint32_t i = 0; !r && i < count && m->count < EBPF_MODULES_MAX; i++) {
		struct ebpf_module *known;
		struct row row;

		if (!maps[i].inode || !maps[i].path || maps[i].path[0] != '/')
			continue;
		known = find(m, &maps[i]);
		if (known) {
			known->seen = true;
			continue;
		}
		if (!modules_find_row(maps, count, i, &row))
			continue;
		if (!wake(m, &row))
			r = add(m, pid, &row);
		*ret_news += !r;
	}
	process_maps_free(maps, count);
	m->looks++;
	return r;
}

static void modules_search(struct ebpf_modules *m, struct ebpf_module *module)
{
	static const struct sites_options options;
	struct err_text err = {{0}};

	module->has_sites = sites_find(module->fd, &options, &module->sites, &err) == 0;
	m->go |= module->has_sites && module->sites.go;
	if (!module->has_sites)
		log_debug("no sites in %s: %s", module->path, err.text);
	if (!module->again &&
	    !array_reserve(&m->file, &m->file_capacity, m->file_count + 1, sizeof(*m->file)))
		m->file[m->file_count++] = (struct ebpf_file){module->device, module->inode};
}

static bool wants_search(const struct ebpf_module *m, bool known_too)
{
	return !m->searched && m->fd >= 0 && (known_too || !m->again);
}

void ebpf_modules_search(struct ebpf_modules *m, bool known_too)
{
	for (uint32_t i = 0; i < m->count; i++) {
		if (wants_search(&m->module[i], known_too))
			modules_search(m, &m->module[i]);
		m->module[i].searched = true;
	}
}

bool ebpf_modules_want_probes(const struct ebpf_modules *m, bool known_too)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (wants_search(&m->module[i], known_too) || m->module[i].moved)
			return true;
	return false;
}

const struct ebpf_module *ebpf_modules_at(const struct ebpf_modules *m, uint64_t address)
{
	for (uint32_t i = 0; i < m->count; i++) /* skips idle modules: their range is empty */
		if (address >= m->module[i].start && address < m->module[i].end)
			return &m->module[i];
	return NULL;
}

void ebpf_modules_remove(struct ebpf_modules *m, uint32_t index)
{
	struct ebpf_module *gone = &m->module[index];

	if (gone->fd >= 0)
		close(gone->fd);
	if (gone->has_sites)
		sites_done(&gone->sites);
	free(gone->path);
	memmove(gone, gone + 1, (m->count - index - 1) * sizeof(*gone));
	m->count--;
}

void ebpf_modules_done(struct ebpf_modules *m)
{
	while (m->count)
		ebpf_modules_remove(m, m->count - 1);
	free(m->module);
	free(m->file);
	*m = (struct ebpf_modules){0};
}
