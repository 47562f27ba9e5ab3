/* What the library demands and shows: nothing but libc, no version after 2.28, the exports of its
 * map. */
#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/preload/support/ring_agent.h"

#define LIBC_MINOR_MAX 28
/* heapcast_*, memory_profiler_*, __prctl_*, _Znw*, _Zna*, _Zdl*, _Zda* */
#define PATTERNS  7
#define OPERATORS 20

static const uint8_t *file;
static size_t file_size;

static const ElfW(Shdr) * section(unsigned type)
{
	const ElfW(Ehdr) *head = (const void *)file;
	const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);

	for (unsigned i = 0; i < head->e_shnum; i++)
		if (sections[i].sh_type == type)
			return &sections[i];
	return NULL;
}

static const char *dynamic_string(size_t offset)
{
	const ElfW(Ehdr) *head = (const void *)file;
	const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);

	return (const char *)file + sections[section(SHT_DYNSYM)->sh_link].sh_offset + offset;
}

static void needs_libc_only(void **state)
{
	const ElfW(Shdr) *s = section(SHT_DYNAMIC);
	const ElfW(Dyn) *dynamic = (const void *)(file + s->sh_offset);
	unsigned needed = 0;

	(void)state;
	for (size_t i = 0; i < s->sh_size / sizeof(*dynamic); i++) {
		const char *name;

		if (dynamic[i].d_tag != DT_NEEDED)
			continue;
		name = dynamic_string(dynamic[i].d_un.d_val);
		if (strcmp(name, "libc.so.6") != 0 && strncmp(name, "ld-linux", 8) != 0)
			fail_msg("needs %s", name);
		needed++;
	}
	assert_in_range(needed, 1, 2);
}

static void no_newer_libc(void **state)
{
	const ElfW(Shdr) *s = section(SHT_GNU_verneed);
	const uint8_t *at = file + s->sh_offset;

	(void)state;
	for (;;) {
		const ElfW(Verneed) *need = (const void *)at;
		const uint8_t *entry = at + need->vn_aux;

		for (unsigned i = 0; i < need->vn_cnt; i++) {
			const ElfW(Vernaux) *version = (const void *)entry;
			const char *name = dynamic_string(version->vna_name);
			unsigned major = 0, minor = 0;

			if (sscanf(name, "GLIBC_%u.%u", &major, &minor) != 2)
				fail_msg("asks for version %s", name);
			if (major > 2 || minor > LIBC_MINOR_MAX)
				fail_msg("asks for version %s", name);
			entry += version->vna_next;
		}
		if (!need->vn_next)
			break;
		at += need->vn_next;
	}
}

/* The names between `global:` and `local:` of the map. */
static size_t read_map(char names[64][64])
{
	FILE *map = fopen(SOURCE_FOLDER "/agent/preload/exports.map", "r");
	char line[256];
	bool global = false;
	size_t count = 0;

	assert_non_null(map);
	while (fgets(line, sizeof(line), map)) {
		char name[64];

		if (strstr(line, "local:"))
			break;
		if (global && sscanf(line, " %63[A-Za-z0-9_*];", name) == 1 && count < 64)
			snprintf(names[count++], 64, "%s", name);
		global = global || strstr(line, "global:");
	}
	fclose(map);
	return count;
}

static bool listed(char names[64][64], size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(names[i]);

		if (names[i][length - 1] == '*' ? !strncmp(names[i], name, length - 1)
						: !strcmp(names[i], name))
			return true;
	}
	return false;
}

static void exports_its_map(void **state)
{
	const ElfW(Shdr) *s = section(SHT_DYNSYM);
	const ElfW(Sym) *symbols = (const void *)(file + s->sh_offset);
	char names[64][64];
	size_t count = read_map(names), found = 0, operators = 0;

	(void)state;
	assert_true(count > 10);
	for (size_t i = 1; i < s->sh_size / sizeof(*symbols); i++) {
		const char *name = dynamic_string(symbols[i].st_name);

		if (symbols[i].st_shndx == SHN_UNDEF || (symbols[i].st_info >> 4) == STB_LOCAL)
			continue;
		if (!listed(names, count, name))
			fail_msg("exports %s", name);
		found += strncmp(name, "heapcast_", 9) && strncmp(name, "memory_profiler_", 16) &&
			 strncmp(name, "__prctl_", 8) && strncmp(name, "_Z", 2);
		operators += !strncmp(name, "_Z", 2);
	}
	assert_int_equal(found, count - PATTERNS);
	assert_int_equal(operators, OPERATORS);
}

/* Thread-local data in the static block: no call into the loader from a hook. */
#ifdef __aarch64__ /* whose linker sets no flag (binutils 2.40): no relocation asks for a module   \
		      or a descriptor */
static void tls_is_static(void **state)
{
	const ElfW(Ehdr) *head = (const void *)file;
	const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
	unsigned offsets = 0;

	(void)state;
	for (unsigned i = 0; i < head->e_shnum; i++) {
		const ElfW(Rela) *rows = (const void *)(file + sections[i].sh_offset);

		if (sections[i].sh_type != SHT_RELA)
			continue;
		for (size_t row = 0; row < sections[i].sh_size / sizeof(*rows); row++) {
			unsigned type = ELF64_R_TYPE(rows[row].r_info);

			assert_true(type != R_AARCH64_TLS_DTPMOD && type != R_AARCH64_TLS_DTPREL &&
				    type != R_AARCH64_TLSDESC);
			offsets += type == R_AARCH64_TLS_TPREL;
		}
	}
	assert_true(offsets > 0);
}
#else
static void tls_is_static(void **state)
{
	const ElfW(Shdr) *s = section(SHT_DYNAMIC);
	const ElfW(Dyn) *dynamic = (const void *)(file + s->sh_offset);
	uint64_t flags = 0;

	(void)state;
	for (size_t i = 0; i < s->sh_size / sizeof(*dynamic); i++)
		if (dynamic[i].d_tag == DT_FLAGS)
			flags = dynamic[i].d_un.d_val;
	assert_true(flags & DF_STATIC_TLS);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needs_libc_only),
		cmocka_unit_test(no_newer_libc),
		cmocka_unit_test(exports_its_map),
		cmocka_unit_test(tls_is_static),
	};
	int fd = open(preload_path(), O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return 1;
	file_size = (size_t)status.st_size;
	file = mmap(NULL, file_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
