/*
 * Reads the build id and debug link of an ELF file. elfid.h describes the interface; the layout is
 * that of the System V ABI, chapters 4 (sections, notes) and 5 (program headers). Sections have
 * priority: in a separate debug file the program headers still describe the program, and refer to
 * bytes that are not in the file.
 */
#include "collector/symbols/elfid.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/crc32.h"

#include "base/ban.h"

#define SECTIONS_MAX 65536
#define NOTES_MAX                                                                                  \
	(1u << 20) /* bytes of notes that are read per file, in all sections and segments          \
		    * together */
#define NAMES_MAX (1u << 22)

struct elf {
	int fd;
	bool wide, big; /* 64-bit; big endian */
	uint64_t size, notes_read;
};

struct section {
	uint32_t name, type;
	uint64_t flags, offset, size;
};

/* The section names; `text` is NULL if there are none. */
struct elf_names {
	const char *text;
	uint64_t size;
};

static uint64_t number(const struct elf *e, const uint8_t *p, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | p[e->big ? i : bytes - 1 - i];
	return value;
}

/*
 * Reads an address-sized field, at `narrow` in the 32-bit form of a structure and at `wide` in the
 * 64-bit form.
 */
static uint64_t word(const struct elf *e, const uint8_t *p, unsigned narrow, unsigned wide)
{
	return e->wide ? number(e, p + wide, 8) : number(e, p + narrow, 4);
}

static int read_at(const struct elf *e, uint64_t offset, void *to, size_t size)
{
	size_t done = 0;

	if (offset > e->size || size > e->size - offset)
		return -ENOEXEC;
	while (done < size) {
		ssize_t n = pread(e->fd, (char *)to + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOEXEC;
		done += (size_t)n;
	}
	return 0;
}

static void *load(const struct elf *e, uint64_t offset, uint64_t size, uint64_t most)
{
	void *data;

	if (!size || size > most || offset > e->size || size > e->size - offset)
		return NULL;
	data = malloc(size);
	if (data && read_at(e, offset, data, size)) {
		free(data);
		return NULL;
	}
	return data;
}

/*
 * Searches `size` bytes of notes for NT_GNU_BUILD_ID. A note is: name size, data size, type, name
 * "GNU\0", data.
 */
static bool find_build_id(const struct elf *e, const uint8_t *notes, uint64_t size,
			  struct elf_id *id)
{
	for (uint64_t at = 0; size - at >= 12;) {
		uint64_t name_size = number(e, notes + at, 4),
			 data_size = number(e, notes + at + 4, 4);
		uint64_t type = number(e, notes + at + 8, 4);
		uint64_t name = at + 12, data = name + ((name_size + 3) & ~3ull);

		if (data > size || data_size > size - data)
			return false;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(notes + name, "GNU", 4) &&
		    data_size && data_size <= BUILD_ID_MAX) {
			memcpy(id->build_id, notes + data, data_size);
			id->build_id_length = (uint32_t)data_size;
			return true;
		}
		at = data + ((data_size + 3) & ~3ull);
		if (at > size)
			return false;
	}
	return false;
}

static void read_notes(struct elf *e, uint64_t offset, uint64_t size, struct elf_id *id)
{
	cleanup(cleanup_free) uint8_t *notes = NULL;

	if (id->build_id_length)
		return;
	notes = load(e, offset, size, NOTES_MAX - e->notes_read);
	if (!notes)
		return;
	e->notes_read += size;
	find_build_id(e, notes, size, id);
}

/* .gnu_debuglink is a file name with its NUL, padded to a multiple of four, and a CRC. */
static void read_debuglink(const struct elf *e, const struct section *s, struct elf_id *id)
{
	uint8_t data[sizeof(id->debuglink) + 8];
	size_t length;

	if (s->size < 8 || s->size > sizeof(data) || read_at(e, s->offset, data, s->size))
		return;
	length = strnlen((const char *)data, s->size);
	if (!length || length >= sizeof(id->debuglink) || ((length + 4) & ~3u) + 4 > s->size ||
	    memchr(data, '/', length))
		return;
	memcpy(id->debuglink, data, length + 1);
	id->debuglink_crc = (uint32_t)number(e, data + ((length + 4) & ~3u), 4);
}

static struct section section_at(const struct elf *e, const uint8_t *headers, uint64_t entry,
				 uint64_t index)
{
	const uint8_t *p = headers + index * entry;

	return (struct section){
		.name = (uint32_t)number(e, p, 4),
		.type = (uint32_t)number(e, p + 4, 4),
		.flags = word(e, p, 8, 8),
		.offset = word(e, p, 16, 24),
		.size = word(e, p, 20, 32),
	};
}

static bool section_is(const struct elf_names *names, const struct section *s, const char *wanted)
{
	size_t length = strlen(wanted) + 1;

	return names->text && names->size >= length && s->name <= names->size - length &&
	       !memcmp(names->text + s->name, wanted, length);
}

/* In a separate debug file the program's symbol tables are headers without bytes (SHT_NOBITS). */
static unsigned section_has(const struct elf_names *names, const struct section *s)
{
	if (!s->size)
		return 0;
	if (s->type == SHT_SYMTAB)
		return ELF_HAS_SYMBOLS;
	if (s->type == SHT_DYNSYM)
		return ELF_HAS_EXPORTS;
	if (s->type != SHT_PROGBITS)
		return 0;
	if (section_is(names, s, ".gnu_debugdata"))
		return ELF_HAS_SYMBOLS;
	if (section_is(names, s, ".debug_line") || section_is(names, s, ".zdebug_line"))
		return ELF_HAS_LINES;
	if (section_is(names, s, ".debug_info") || section_is(names, s, ".zdebug_info"))
		return ELF_HAS_DEBUG_INFO;
	return 0;
}

static void read_sections(struct elf *e, const uint8_t *header, struct elf_id *id)
{
	uint64_t offset = word(e, header, 32, 40),
		 entry = number(e, header + (e->wide ? 58 : 46), 2);
	uint64_t count = number(e, header + (e->wide ? 60 : 48), 2),
		 index = number(e, header + (e->wide ? 62 : 50), 2);
	cleanup(cleanup_free) uint8_t *headers = NULL;
	cleanup(cleanup_free) char *text = NULL;
	struct elf_names names = {0};
	struct section s = {0};

	if (entry < (e->wide ? 64 : 40))
		return;
	headers = load(e, offset, count * entry, SECTIONS_MAX * 64ull);
	if (!headers)
		return;
	if (index < count) {
		s = section_at(e, headers, entry, index);
		text = load(e, s.offset, s.size, NAMES_MAX);
		names = (struct elf_names){text, s.size};
	}
	for (uint64_t i = 0; i < count; i++) {
		s = section_at(e, headers, entry, i);
		if (s.type == SHT_NOTE)
			read_notes(e, s.offset, s.size, id);
		if (s.type == SHT_PROGBITS && section_is(&names, &s, ".gnu_debuglink"))
			read_debuglink(e, &s, id);
		id->has |= section_has(&names, &s);
		id->has_code |= s.type == SHT_PROGBITS && s.flags & SHF_EXECINSTR;
	}
}

static void read_segments(struct elf *e, const uint8_t *header, struct elf_id *id)
{
	uint64_t offset = word(e, header, 28, 32),
		 entry = number(e, header + (e->wide ? 54 : 42), 2);
	uint64_t count = number(e, header + (e->wide ? 56 : 44), 2);
	cleanup(cleanup_free) uint8_t *headers = NULL;

	if (entry < (e->wide ? 56 : 32))
		return;
	headers = load(e, offset, count * entry, SECTIONS_MAX * 64ull);
	for (uint64_t i = 0; headers && i < count; i++) {
		const uint8_t *p = headers + i * entry;

		if (number(e, p, 4) == PT_NOTE)
			read_notes(e, word(e, p, 4, 8), word(e, p, 16, 32), id);
		if (number(e, p, 4) == PT_LOAD && number(e, p + (e->wide ? 4 : 24), 4) & PF_X &&
		    id->load_count < ELF_LOADS_MAX)
			id->load[id->load_count++] = (struct elf_load){.offset = word(e, p, 4, 8),
								       .address = word(e, p, 8, 16),
								       .size = word(e, p, 16, 32)};
	}
}

/*
 * Opens a file for reading if it is regular, because a path may name a device or a pipe. Returns
 * the descriptor or a negative errno.
 */
static int open_regular(const char *path, struct stat *ret_stat)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_stat))
		return -errno;
	if (!S_ISREG(ret_stat->st_mode))
		return -ENOEXEC;
	return take_fd(fd);
}

int elf_id_read(const char *path, struct elf_id *ret_id)
{
	struct elf_id id = {0};
	struct elf e = {0};
	uint8_t header[64];
	struct stat st;
	cleanup(cleanup_close) int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	e.fd = fd;
	e.size = (uint64_t)st.st_size;
	if (read_at(&e, 0, header, sizeof(header)) || memcmp(header, ELFMAG, SELFMAG))
		return -ENOEXEC;
	e.wide = header[EI_CLASS] == ELFCLASS64;
	e.big = header[EI_DATA] == ELFDATA2MSB;
	if ((!e.wide && header[EI_CLASS] != ELFCLASS32) ||
	    (!e.big && header[EI_DATA] != ELFDATA2LSB))
		return -ENOEXEC;
	id.entry = word(&e, header, 24, 24);
	read_sections(&e, header, &id);
	read_segments(&e, header, &id);
	id.device = st.st_dev;
	id.inode = st.st_ino;
	id.size = e.size;
	id.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	*ret_id = id;
	return 0;
}

int file_crc32(const char *path, uint32_t *ret_crc)
{
	uint8_t bytes[16384];
	uint32_t crc = 0;
	struct stat st;
	ssize_t n;
	cleanup(cleanup_close) int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		crc = crc32_add(crc, bytes, (size_t)n);
	if (n < 0)
		return -errno;
	*ret_crc = crc;
	return 0;
}
