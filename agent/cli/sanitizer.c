/*
 * Detects programs that are built with a sanitizer. See sanitizer.h. gcc links the runtime as a
 * library (DT_NEEDED libasan.so.8). clang links it into the program, which then defines __asan_init
 * for the libraries that it loads (.dynsym). After gcc's -static-libasan only .symtab tells. All of
 * these are found through the section table, whose entries name their string table (ELF
 * specification, "Sections"). The file may hold anything: all reads are bounded and go to private
 * memory.
 */
#include "agent/cli/sanitizer.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ban.h"

#define SECTIONS_MAX 4096
#define STRINGS_MAX  (64u << 20)
#define SYMBOLS_EACH 512

static const struct sanitizer {
	const char *library; /* prefix of its name */
	const char *symbol;
	const char *option;
} sanitizers[] = {
	{"libasan.", "__asan_init", "-fsanitize=address"},
	{"libclang_rt.asan", "__asan_init", "-fsanitize=address"},
	{"libhwasan.", "__hwasan_init", "-fsanitize=hwaddress"},
	{"libclang_rt.hwasan", "__hwasan_init", "-fsanitize=hwaddress"},
	{"libtsan.", "__tsan_init", "-fsanitize=thread"},
	{"libclang_rt.tsan", "__tsan_init", "-fsanitize=thread"},
	{"libclang_rt.msan", "__msan_init", "-fsanitize=memory"},
};

#define SANITIZERS (sizeof(sanitizers) / sizeof(sanitizers[0]))

struct image {
	int fd;
	ElfW(Shdr) * section;
	unsigned sections;
	char *strings; /* of the section being read */
	size_t strings_size;
};

static bool read_at(int fd, void *out, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, out, size, (off_t)offset) == (ssize_t)size;
}

static int open_sections(struct image *image, int fd)
{
	ElfW(Ehdr) head;

	*image = (struct image){.fd = fd};
	if (!read_at(fd, &head, sizeof(head), 0) || head.e_shentsize != sizeof(*image->section) ||
	    !head.e_shnum || head.e_shnum > SECTIONS_MAX)
		return -ENOEXEC;
	image->section = calloc(head.e_shnum, sizeof(*image->section));
	if (!image->section)
		return -ENOMEM;
	image->sections = head.e_shnum;
	return read_at(fd, image->section, image->sections * sizeof(*image->section), head.e_shoff)
		       ? 0
		       : -ENOEXEC;
}

static void image_done(struct image *image)
{
	free(image->section);
	free(image->strings);
}

/* Returns the first section of this type and loads its strings; NULL if there is none or it can't
 * be read. */
static const ElfW(Shdr) * find_section(struct image *image, uint32_t type)
{
	const ElfW(Shdr) *found = NULL, *strings;

	for (unsigned i = 0; !found && i < image->sections; i++)
		if (image->section[i].sh_type == type)
			found = &image->section[i];
	if (!found || found->sh_link >= image->sections)
		return NULL;
	strings = &image->section[found->sh_link];
	free(image->strings);
	image->strings_size = (size_t)strings->sh_size;
	image->strings = strings->sh_size && strings->sh_size < STRINGS_MAX
				 ? malloc((size_t)strings->sh_size)
				 : NULL;
	if (!image->strings ||
	    !read_at(image->fd, image->strings, image->strings_size, strings->sh_offset))
		return NULL;
	image->strings[image->strings_size - 1] = '\0';
	return found;
}

static const char *string_at(const struct image *image, uint64_t offset)
{
	return offset < image->strings_size ? image->strings + offset : "";
}

static const struct sanitizer *by_library(struct image *image, const char **ret_proof)
{
	const ElfW(Shdr) *section = find_section(image, SHT_DYNAMIC);
	ElfW(Dyn) entry;

	for (uint64_t at = 0; section && at + sizeof(entry) <= section->sh_size;
	     at += sizeof(entry)) {
		if (!read_at(image->fd, &entry, sizeof(entry), section->sh_offset + at) ||
		    entry.d_tag == DT_NULL)
			break;
		*ret_proof = string_at(image, entry.d_un.d_val);
		for (unsigned i = 0; entry.d_tag == DT_NEEDED && i < SANITIZERS; i++)
			if (!strncmp(*ret_proof, sanitizers[i].library,
				     strlen(sanitizers[i].library)))
				return &sanitizers[i];
	}
	return NULL;
}

static const struct sanitizer *by_name(const char *symbol)
{
	for (unsigned i = 0; symbol[0] == '_' && symbol[1] == '_' && i < SANITIZERS; i++)
		if (!strcmp(symbol, sanitizers[i].symbol))
			return &sanitizers[i];
	return NULL;
}

/* True if the table defines a sanitizer's symbol. */
static bool by_symbol(struct image *image, uint32_t table, const char **ret_proof)
{
	const ElfW(Shdr) *section = find_section(image, table);
	ElfW(Sym) symbol[SYMBOLS_EACH];
	uint64_t left = section ? section->sh_size / sizeof(symbol[0]) : 0,
		 at = section ? section->sh_offset : 0;
	bool found = false;

	while (left && !found) {
		size_t count = left < SYMBOLS_EACH ? (size_t)left : SYMBOLS_EACH;

		if (!read_at(image->fd, symbol, count * sizeof(symbol[0]), at))
			return false;
		for (size_t i = 0; i < count && !found; i++) {
			*ret_proof = string_at(image, symbol[i].st_name);
			found = symbol[i].st_shndx != SHN_UNDEF && by_name(*ret_proof);
		}
		left -= count;
		at += count * sizeof(symbol[0]);
	}
	return found;
}

const char *sanitizer_of(int fd, char *ret_proof, size_t size)
{
	const struct sanitizer *found = NULL;
	const char *proof = "";
	struct image image;

	if (open_sections(&image, fd) == 0) {
		found = by_library(&image, &proof);
		if (!found && (by_symbol(&image, SHT_DYNSYM, &proof) ||
			       by_symbol(&image, SHT_SYMTAB, &proof)))
			found = by_name(proof);
	}
	if (found)
		snprintf(ret_proof, size, "%s", proof);
	image_done(&image);
	return found ? found->option : NULL;
}
