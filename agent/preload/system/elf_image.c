/* Reads program headers and notes of a loaded module; see elf_image.h. */
#include "agent/preload/system/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/unwind/arch/arch.h"
#include "arch.h"

#include "agent/preload/poison.h"

/* The most words of a table that are hashed. The limit matters because a table is hashed whenever
 * libraries are loaded or unloaded. */
#define WORDS_MAX 1024

static bool mapped(const struct dl_phdr_info *info, uintptr_t start, size_t size)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t segment = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && start >= segment &&
		    size <= p->p_memsz && start - segment <= p->p_memsz - size)
			return true;
	}
	return false;
}

/* Finds the build id in notes. A note is (name size, description size, type), name, description.
 * Name and description are padded to the segment's alignment (ELF gABI ch. 5). */
static void read_build_id(const uint8_t *notes, size_t size, size_t alignment,
			  struct elf_image *image)
{
	size_t at = 0, pad = alignment == 8 ? 7 : 3;

	while (size - at >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		size_t name, description, end;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		if (note.n_namesz > size - name)
			return;
		description = (name + note.n_namesz + pad) & ~pad;
		if (description > size || note.n_descsz > size - description)
			return;
		end = (description + note.n_descsz + pad) & ~pad;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4)) {
			image->build_id_length = note.n_descsz < ELF_BUILD_ID_MAX
							 ? (uint8_t)note.n_descsz
							 : ELF_BUILD_ID_MAX;
			memcpy(image->build_id, notes + description, image->build_id_length);
			return;
		}
		if (end > size)
			return;
		at = end;
	}
}

static void take_load(struct unwind_module *module, const ElfW(Phdr) * p, uintptr_t at)
{
	uintptr_t end = at + p->p_memsz;

	if (!module->load_end || at < module->load_start) {
		module->load_start = at;
		module->unreadable &= ~(uint64_t)UNWIND_HEAD_UNREADABLE;
		module->unreadable |= p->p_flags & PF_R ? 0 : UNWIND_HEAD_UNREADABLE;
	}
	if (end > module->load_end)
		module->load_end = end;
	if (!(p->p_flags & PF_X))
		return;
	module->unreadable |= p->p_flags & PF_R ? 0 : UNWIND_CODE_UNREADABLE;
	if (!module->end || at < module->start)
		module->start = at;
	if (end > module->end)
		module->end = end;
}

static void take_segment(const struct dl_phdr_info *info, const ElfW(Phdr) * p,
			 struct elf_image *image)
{
	uintptr_t at = info->dlpi_addr + p->p_vaddr;

	switch (p->p_type) {
	case PT_LOAD:
		take_load(&image->module, p, at);
		break;
	case PT_GNU_EH_FRAME:
		if (!mapped(info, at, p->p_memsz))
			break;
		image->module.eh_frame_hdr = at;
		image->module.eh_frame_hdr_size = p->p_memsz;
		break;
	case ARCH_TABLE:
		if (!mapped(info, at, p->p_memsz))
			break;
		image->module.exidx = at;
		image->module.exidx_size = p->p_memsz;
		break;
	case PT_NOTE:
		if (!image->build_id_length && mapped(info, at, p->p_memsz))
			read_build_id((const uint8_t *)at, p->p_memsz, p->p_align, image);
		break;
	default:
		break;
	}
}

/* FNV-1a. */
static uint64_t elf_image_hash(uint64_t start, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		start = (start ^ bytes[i]) * 0x100000001b3u;
	return start;
}

/* Hashes a sample of a table's words, evenly spaced. */
static uint64_t hash_table(uint64_t start, uintptr_t table, size_t size)
{
	const size_t words = size / sizeof(uint32_t), step = words / WORDS_MAX + 1;

	for (size_t i = 0; i < words; i += step)
		start = elf_image_hash(start, (const uint8_t *)(table + i * sizeof(uint32_t)),
				       sizeof(uint32_t));
	return start;
}

/* Hashes the layout of a file: the size of its unmapped part (by e_shoff), its segments, and the
 * addresses of its functions. */
static uint64_t hash_layout(uint64_t start, const struct dl_phdr_info *info,
			    const struct unwind_module *module)
{
	if (mapped(info, module->load_start, sizeof(ElfW(Ehdr))))
		start = elf_image_hash(start, (const uint8_t *)(uintptr_t)module->load_start,
				       sizeof(ElfW(Ehdr)));
	start = elf_image_hash(start, (const uint8_t *)info->dlpi_phdr,
			       info->dlpi_phnum * sizeof(ElfW(Phdr)));
	start = hash_table(start, module->eh_frame_hdr, module->eh_frame_hdr_size);
	return hash_table(start, module->exidx, module->exidx_size);
}

static uint64_t identify(const struct dl_phdr_info *info, const struct elf_image *image)
{
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	uint64_t named = elf_image_hash(0xcbf29ce484222325u, (const uint8_t *)name, strlen(name));

	return image->build_id_length
		       ? elf_image_hash(named, image->build_id, image->build_id_length)
		       : hash_layout(named, info, &image->module);
}

int elf_image_read(const struct dl_phdr_info *info, struct elf_image *ret_image)
{
	struct elf_image image = {.module.bias = info->dlpi_addr};

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		take_segment(info, &info->dlpi_phdr[i], &image);
	if (!image.module.end)
		return -ENOEXEC;
	image.identity = identify(info, &image);
	*ret_image = image;
	return 0;
}

bool elf_image_holds(const struct dl_phdr_info *info, uintptr_t address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) <
			    info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

void elf_image_extent(const struct dl_phdr_info *info, uintptr_t *ret_start, uintptr_t *ret_end)
{
	*ret_start = UINTPTR_MAX;
	*ret_end = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		if (at < *ret_start)
			*ret_start = at;
		if (at + p->p_memsz > *ret_end)
			*ret_end = at + p->p_memsz;
	}
}

bool elf_image_headers(uintptr_t start, uintptr_t end, struct dl_phdr_info *info)
{
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)start;

	if (end - start < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_phentsize != sizeof(ElfW(Phdr)) || head->e_phoff > end - start ||
	    head->e_phnum * sizeof(ElfW(Phdr)) > end - start - head->e_phoff)
		return false;
	info->dlpi_phdr = (const ElfW(Phdr) *)(start + head->e_phoff);
	info->dlpi_phnum = head->e_phnum;
	return true;
}

/* Takes the tables from the dynamic section. On most processors the loader has relocated the
 * addresses; on others they are still link-time addresses. */
static void take_dynamic(struct elf_tables *t, uintptr_t bias, const ElfW(Dyn) * dynamic)
{
	uintptr_t value = dynamic->d_un.d_ptr, at = value < bias ? bias + value : value;

	switch (dynamic->d_tag) {
	case DT_SYMTAB:
		t->symbols = (const ElfW(Sym) *)at;
		break;
	case DT_STRTAB:
		t->strings = (const char *)at;
		break;
	case DT_GNU_HASH:
		t->gnu_hash = (const uint32_t *)at;
		break;
	case DT_HASH:
		t->hash = (const uint32_t *)at;
		break;
	case DT_VERSYM:
		t->versions = (const uint16_t *)at;
		break;
	case ARCH_RELOCATIONS:
		t->relocations[0] = (const uint8_t *)at;
		break;
	case ARCH_RELOCATIONS + 1: /* size in bytes: DT_RELASZ, DT_RELSZ */
		t->relocations_size[0] = value;
		break;
	case DT_JMPREL:
		t->relocations[1] = (const uint8_t *)at;
		break;
	case DT_PLTRELSZ:
		t->relocations_size[1] = value;
		break;
#ifdef ARCH_GOT_OF_SYMBOLS
	case DT_PLTGOT:
		t->got = (uintptr_t *)at;
		break;
	case DT_MIPS_LOCAL_GOTNO:
		t->own_words = value;
		break;
	case DT_MIPS_GOTSYM:
		t->first_symbol = value;
		break;
	case DT_MIPS_SYMTABNO:
		t->symbol_count = value;
		break;
#endif
	}
}

bool elf_image_tables(const struct dl_phdr_info *info, struct elf_tables *ret_tables)
{
	struct elf_tables t = {0};

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Dyn) * dynamic;

		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		for (; dynamic->d_tag != DT_NULL; dynamic++)
			take_dynamic(&t, info->dlpi_addr, dynamic);
	}
	*ret_tables = t;
	return t.symbols && t.strings;
}
