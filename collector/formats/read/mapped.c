/* Maps addresses to files. See mapped.h. */
#include "collector/formats/read/mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/formats/read/importer.h"
#include "collector/symbols/elfid.h"
#include "base/ban.h"

#define MAPPINGS_MAX 8192 /* the file of each one is opened */

void mapped_done(struct mapped *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		free(m->list[i].path);
	free(m->list);
	free(m->by_number);
	*m = (struct mapped){0};
}

/* Reads the build id and the link address from the file itself. */
static void ask_file(struct mapped *mapped, struct mapping *m)
{
	struct elf_id id;

	if (m->path[0] != '/' || elf_id_read(m->path, &id) < 0)
		return;
	if (m->build_id_length &&
	    (id.file.build_id_length != m->build_id_length ||
	     memcmp(id.file.build_id, m->build_id, m->build_id_length) != 0)) {
		mapped->others++;
		return;
	}
	mapped->believed += !m->build_id_length;
	if (id.file.build_id_length && id.file.build_id_length <= sizeof(m->build_id)) {
		memcpy(m->build_id, id.file.build_id, id.file.build_id_length);
		m->build_id_length = id.file.build_id_length;
	}
	elf_load_bias(id.load, id.load_count, m->start, m->end, m->offset, &m->bias);
}

int mapped_add(struct mapped *mapped, const struct mapping *mapping)
{
	struct mapping m = *mapping;

	if (m.start >= m.end)
		return 0;
	if (mapped->count >= MAPPINGS_MAX) {
		mapped->left_out++;
		return 0;
	}
	if (array_reserve(&mapped->list, &mapped->capacity, (uint64_t)mapped->count + 1,
			  sizeof(*mapped->list)) < 0)
		return -ENOMEM;
	m.path = strdup(m.path);
	if (!m.path)
		return -ENOMEM;
	m.bias = m.start - m.offset;
	ask_file(mapped, &m);
	mapped->list[mapped->count++] = m;
	return 0;
}

/* Parses "5590-55a0 r-xp 00001000 08:01 1234 /bin/cat" or "5590-55a0: /bin/cat". base/proc is too
 * strict for these lines: tools change the blanks, and leave parts out. */
int mapped_add_line(struct mapped *mapped, char *line)
{
	struct mapping m = {0};
	char *at = line;

	if (!text_hex(&at, &m.start) || *at != '-')
		return 0;
	at++;
	if (!text_hex(&at, &m.end))
		return 0;
	if (!text_word(&at, ":")) {
		char *flags = at + strspn(at, " \t");

		if (strnlen(flags, 3) < 3 || flags[2] != 'x')
			return 0;
		at = flags + strcspn(flags, " \t");
		if (!text_hex(&at, &m.offset))
			return 0;
		for (unsigned i = 0; i < 2; i++) { /* device and inode */
			at += strspn(at, " \t");
			at += strcspn(at, " \t");
		}
	}
	at += strspn(at, " \t");
	m.path = at;
	return *at ? mapped_add(mapped, &m) : 0;
}

static int mapped_by_start(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int mapped_sort(struct mapped *m)
{
	if (m->count)
		qsort(m->list, m->count, sizeof(*m->list), mapped_by_start);
	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t number = m->list[i].number;

		if (array_reserve(&m->by_number, &m->number_capacity, number,
				  sizeof(*m->by_number)) < 0)
			return -ENOMEM;
		if (number)
			m->by_number[number - 1] = i + 1;
	}
	return 0;
}

void mapped_note(const struct mapped *m, struct importer *importer)
{
	if (m->left_out)
		importer_note(importer,
			      "of %u mapped files the last %u are left out: addresses there have "
			      "no names",
			      m->count + m->left_out, m->left_out);
	if (m->others)
		importer_note(importer,
			      "%u mapped files are of another build here, by their build ids: they "
			      "name nothing",
			      m->others);
	if (m->believed)
		importer_note(importer,
			      "it has no build ids: what it does not name itself is named by the "
			      "files that are at their paths here now");
}

const char *mapped_program(const struct mapped *m)
{
	return m->count ? m->list[0].path : NULL;
}

static struct mapping *mapped_find(const struct mapped *m, uint64_t address)
{
	uint32_t low = 0, high = m->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* A return address may lie one byte behind the code, at the mapping's end. */
	return low && address <= m->list[low - 1].end ? &m->list[low - 1] : NULL;
}

bool mapped_is_in(const struct mapped *m, uint64_t address, const char *library)
{
	const struct mapping *of = mapped_find(m, address);
	const char *slash = of ? strrchr(of->path, '/') : NULL;

	return of && !strncmp(slash ? slash + 1 : of->path, library, strlen(library));
}

/* Returns the module of another mapping of the same file with the same bias, or 0. */
static uint32_t known_module(const struct mapped *m, const struct mapping *of)
{
	for (uint32_t i = 0; i < m->count; i++) {
		const struct mapping *other = &m->list[i];

		if (other->module && other->bias == of->bias && !strcmp(other->path, of->path))
			return other->module;
	}
	return 0;
}

static int put_module(struct mapped *m, struct composer *composer, struct mapping *of)
{
	Heapcast__Module module = HEAPCAST__MODULE__INIT;

	of->module = known_module(m, of);
	if (of->module)
		return 0;
	module.path = composer_text(of->path);
	module.build_id = (ProtobufCBinaryData){of->build_id_length, of->build_id};
	module.bias = of->bias;
	module.start = of->start;
	module.end = of->end;
	return composer_module(composer, &module, &of->module);
}

static int place(struct mapped *m, struct composer *composer, struct mapping *of, uint64_t address,
		 uint32_t *ret_module, uint64_t *ret_offset)
{
	int r = of && !of->module ? put_module(m, composer, of) : 0;

	if (r < 0)
		return r;
	*ret_module = of ? of->module : 0;
	*ret_offset = of ? address - of->bias : address;
	return 0;
}

int mapped_place(struct mapped *m, struct composer *composer, uint64_t address,
		 uint32_t *ret_module, uint64_t *ret_offset)
{
	return place(m, composer, mapped_find(m, address), address, ret_module, ret_offset);
}

int mapped_place_in(struct mapped *m, struct composer *composer, uint32_t number, uint64_t address,
		    uint32_t *ret_module, uint64_t *ret_offset)
{
	uint32_t index = number && number <= m->number_capacity ? m->by_number[number - 1] : 0;
	struct mapping *of = index ? &m->list[index - 1] : NULL;

	if (!of || address < of->start || address > of->end)
		of = mapped_find(m, address);
	return place(m, composer, of, address, ret_module, ret_offset);
}
