/* Tells the kernel's programs which code belongs to allocators, libc and the loader, so that they
 * can tell the program's own mappings from others. See hub.h, bpf/mappings.h. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/ebpf/capture/hub.h"
#include "agent/mapping_functions.h"
#include "agent/core/elf_symbols.h"
#include "base/ban.h"

#define SYMBOLS_MAX 65536

static const char *mappings_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns true for the files of libc, of which older versions have several, for the loader, and for
 * libheapcast.so. */
static bool is_libcs(const char *path)
{
	static const char *const beginnings[] = {"ld-",	  "ld64.", "ld.so",
						 "libc.", "libc-", "libpthread",
						 "librt", "libdl", "libheapcast.so"};
	const char *name = mappings_base_name(path);

	for (unsigned i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

static bool has_allocator(const struct ebpf_module *m)
{
	for (size_t i = 0; m->has_sites && i < m->sites.count; i++)
		if (site_shape(m->sites.site[i].word) <= SHAPE_END && !*m->sites.site[i].leads_to)
			return true;
	return false;
}

bool watch_is_program(const struct watch *w, const struct ebpf_module *m)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)w->pid);
	return stat(path, &st) == 0 && st.st_ino == m->inode;
}

/* Returns glibc's __curbrk as an address in its file; 0 if it has none. */
static uint64_t break_of(const struct ebpf_module *m)
{
	static const char wanted[] = "__curbrk";
	struct elf_symbols file;
	ElfW(Shdr) table, names;
	ElfW(Sym) symbol;
	char name[sizeof(wanted)];

	if (elf_symbols_open(&file, m->fd) < 0)
		return 0;
	for (unsigned i = 0; elf_symbols_section(&file, i, &table); i++) {
		if (table.sh_type != SHT_DYNSYM && table.sh_type != SHT_SYMTAB)
			continue;
		if (!elf_symbols_section(&file, table.sh_link, &names))
			continue;
		for (uint64_t at = 0;
		     at + sizeof(symbol) <= table.sh_size && at < SYMBOLS_MAX * sizeof(symbol);
		     at += sizeof(symbol)) {
			if (!elf_symbols_read(&file, table.sh_offset + at, &symbol, sizeof(symbol)))
				break;
			if ((symbol.st_info & 0xf) != STT_OBJECT || !symbol.st_value ||
			    symbol.st_size != sizeof(void *) || symbol.st_name >= names.sh_size)
				continue;
			if (elf_symbols_read(&file, names.sh_offset + symbol.st_name, name,
					     sizeof(name)) &&
			    !memcmp(name, wanted, sizeof(wanted)))
				return symbol.st_value;
		}
	}
	return 0;
}

static bool has_brk(const struct ebpf_module *m)
{
	for (size_t i = 0; m->has_sites && i < m->sites.count; i++)
		if (site_shape(m->sites.site[i].word) == SHAPE_BRK)
			return true;
	return false;
}

void watch_say_theirs(struct watch *w)
{
	struct capture_stream *s = w->shared;
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->modules.count; i++) {
		struct ebpf_module *m = &w->modules.module[i];

		if (m->idle)
			continue;
		if (m->fd >= 0 && has_brk(m)) {
			m->break_at = m->has_break ? m->break_at : break_of(m);
			m->has_break = true;
			s->break_at = m->break_at ? m->bias + m->break_at : 0;
		}
		if (count == CAPTURE_THEIRS || !(is_libcs(m->path) || has_allocator(m)) ||
		    watch_is_program(w, m))
			continue;
		s->theirs[count].start = m->start;
		s->theirs[count++].size = m->end - m->start;
	}
	memset(&s->theirs[count], 0, (CAPTURE_THEIRS - count) * sizeof(s->theirs[0]));
}
