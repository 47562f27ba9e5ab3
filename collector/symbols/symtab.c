/*
 * Symbol tables. symtab.h describes the interface.
 *
 * A symbol with a size covers [value, value + size). A symbol without one (from assembler and some
 * linkers) covers the bytes up to the next symbol or the end of the code. Only symbols in
 * executable sections count, so data never names code.
 */
#include "collector/symbols/symtab.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

#define UNPACKED_MAX (256u << 20)
#define SYMBOLS_MAX  (1u << 24)

/* How many smaller symbols that begin later are skipped when the search looks for an enclosing
 * symbol. */
#define NESTING_MAX 32

/* Sets the address range of a section. Returns false if it holds no code. */
static bool code_section(Elf *elf, size_t index, uint64_t *ret_start, uint64_t *ret_end)
{
	GElf_Shdr header;
	Elf_Scn *section = index && index < SHN_LORESERVE ? elf_getscn(elf, index) : NULL;

	if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
		return false;
	*ret_start = header.sh_addr;
	*ret_end = header.sh_addr + header.sh_size;
	return true;
}

/* Returns true for symbols with which ARM and RISC-V mark code and data in the table ($a, $t, $d,
 * $x, also with suffixes). */
static bool mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("atdx", name[1]) && (!name[2] || name[2] == '.');
}

/* Ranks the names of one place: a global name with fewer leading underscores is better known. */
static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
	size_t underscores = strspn(name, "_");
	unsigned rank = underscores > 7 ? 7 : (unsigned)underscores;

	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
		rank = 0;
	if (GELF_ST_BIND(symbol->st_info) == STB_LOCAL)
		rank += 8;
	if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		rank += 16;
	return (uint8_t)rank;
}

static int symtab_add(struct symtab *table, struct symtab_entry entry)
{
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 1024;
		struct symtab_entry *entries =
			reallocarray(table->entries, capacity, sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		table->entries = entries;
		table->capacity = capacity;
	}
	table->entries[table->count++] = entry;
	return 0;
}

static int add_symbol(struct symtab *table, Elf *elf, const GElf_Sym *symbol, const char *name,
		      bool thumb)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	uint64_t start = symbol->st_value, section_start, section_end;
	bool function = type == STT_FUNC || type == STT_GNU_IFUNC;

	if ((!function && type != STT_NOTYPE) || !name || !*name || mapping_symbol(name))
		return 0;
	if (!code_section(elf, symbol->st_shndx, &section_start, &section_end))
		return 0;
	if (thumb && function)
		start &= ~1ull;
	if (start < section_start || start >= section_end)
		return 0;
	return symtab_add(table,
			  (struct symtab_entry){
				  .start = start,
				  .end = symbol->st_size && symbol->st_size <= section_end - start
						 ? start + symbol->st_size
						 : 0,
				  .name = name,
				  .rank = rank_of(symbol, name),
			  });
}

static int symtab_compare(const void *left, const void *right)
{
	const struct symtab_entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->name, b->name);
}

/*
 * Ends symbols without a size at the next symbol, and the last one at the end of all code. Such a
 * symbol may extend beyond its section, whose end is not kept. That does no harm: the addresses
 * between its section and the next symbol are in no executable section that has symbols.
 */
static void end_open_symbols(struct symtab *table, uint64_t code_end)
{
	uint64_t next = code_end;

	for (size_t i = table->count; i-- > 0;) {
		struct symtab_entry *e = &table->entries[i];

		if (i + 1 < table->count && table->entries[i + 1].start > e->start)
			next = table->entries[i + 1].start;
		if (!e->end)
			e->end = next;
	}
}

static uint64_t end_of_code(Elf *elf)
{
	Elf_Scn *section = NULL;
	uint64_t start, end, last = 0;

	while ((section = elf_nextscn(elf, section)))
		if (code_section(elf, elf_ndxscn(section), &start, &end) && end > last)
			last = end;
	return last;
}

static int load_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct symtab *table)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	GElf_Ehdr file;
	bool thumb = gelf_getehdr(elf, &file) && file.e_machine == EM_ARM;

	if (count > SYMBOLS_MAX)
		count = SYMBOLS_MAX;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		int error;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		error = add_symbol(table, elf, &symbol,
				   elf_strptr(elf, header->sh_link, symbol.st_name), thumb);
		if (error)
			return error;
	}
	return 0;
}

int symtab_load(Elf *elf, uint32_t section_type, struct symtab *ret_table)
{
	struct symtab table = {0};
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int error = 0;

	while (!error && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == section_type)
			error = load_section(elf, section, &header, &table);
	if (error) {
		symtab_done(&table);
		return error;
	}
	if (table.count)
		qsort(table.entries, table.count, sizeof(*table.entries), symtab_compare);
	end_open_symbols(&table, end_of_code(elf));
	*ret_table = table;
	return 0;
}

void symtab_done(struct symtab *table)
{
	free(table->entries);
	*table = (struct symtab){0};
}

/* Returns how many symbols are at or before the address. */
static size_t count_before(const struct symtab *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct symtab_entry *symtab_before(const struct symtab *table, uint64_t address)
{
	size_t count = count_before(table, address);

	while (count > 1 && table->entries[count - 2].start == table->entries[count - 1].start)
		count--; /* go back to the best known name of the place */
	return count ? &table->entries[count - 1] : NULL;
}

const struct symtab_entry *symtab_find(const struct symtab *table, uint64_t address)
{
	const struct symtab_entry *found = NULL;
	size_t low = count_before(table, address);

	for (size_t i = low; i-- > 0 && low - i <= NESTING_MAX;) {
		const struct symtab_entry *e = &table->entries[i];

		if (found && e->start < found->start)
			break;
		if (address < e->end)
			found = e;
	}
	return found;
}

/* ---- .gnu_debugdata ---- */

static Elf_Data *find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && header.sh_type == SHT_PROGBITS && !strcmp(name, wanted))
			return elf_rawdata(section, NULL);
	}
	return NULL;
}

static int symtab_unpack(const Elf_Data *packed, uint8_t **ret_data, size_t *ret_length)
{
	uint64_t limit = UNPACKED_MAX;
	size_t capacity = packed->d_size < UNPACKED_MAX / 8 ? packed->d_size * 8 : UNPACKED_MAX;
	uint8_t *data = NULL, *more;
	lzma_ret result;

	do {
		size_t in = 0, out = 0;

		more = realloc(data, capacity);
		if (!more) {
			free(data);
			return -ENOMEM;
		}
		data = more;
		limit = UNPACKED_MAX;
		result = lzma_stream_buffer_decode(&limit, 0, NULL, packed->d_buf, &in,
						   packed->d_size, data, &out, capacity);
		*ret_length = out;
		capacity *= 2;
	} while (result == LZMA_BUF_ERROR && capacity <= UNPACKED_MAX);
	if (result != LZMA_OK) {
		free(data);
		return -EBADMSG;
	}
	*ret_data = data;
	return 0;
}

int minidebug_open(Elf *elf, Elf **ret_elf, void **ret_memory)
{
	Elf_Data *packed = find_section(elf, ".gnu_debugdata");
	uint8_t *data = NULL;
	size_t length = 0;
	int error;

	if (!packed || !packed->d_buf || !packed->d_size)
		return -ENOENT;
	error = symtab_unpack(packed, &data, &length);
	if (error)
		return error;
	*ret_elf = elf_memory((char *)data, length);
	if (!*ret_elf) {
		free(data);
		return -EBADMSG;
	}
	*ret_memory = data;
	return 0;
}
