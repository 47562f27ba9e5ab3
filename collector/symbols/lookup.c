/*
 * Looks up addresses in one file: debug information first, then symbol tables for the rest.
 * lookup.h describes the interface.
 */
#include "collector/symbols/lookup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/symbols/dwarf.h"
#include "collector/symbols/fde.h"
#include "collector/symbols/symtab.h"

#include "base/ban.h"

struct lookup {
	Elf *elf;
	struct dwarf_scan scan;
	struct symtab tables[3]; /* .symtab, .gnu_debugdata, .dynsym */
	unsigned table_count;
	struct fde_table functions; /* loaded only if code has no name */
	bool has_functions;
	Elf *mini;
	void *mini_memory;
};

static int lookup_say(struct answer *answer, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int lookup_say(struct answer *answer, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(answer->text, sizeof(answer->text), format, args);
	va_end(args);
	answer->error = error;
	return 0;
}

static int load_tables(struct lookup *l, struct answer *answer)
{
	int error = symtab_load(l->elf, SHT_SYMTAB, &l->tables[l->table_count++]);

	if (error)
		return error;
	error = minidebug_open(l->elf, &l->mini, &l->mini_memory);
	if (error == -EBADMSG)
		lookup_say(answer, 0, "its .gnu_debugdata can't be unpacked");
	if (!error)
		error = symtab_load(l->mini, SHT_SYMTAB, &l->tables[l->table_count++]);
	if (error == -ENOMEM)
		return error;
	return symtab_load(l->elf, SHT_DYNSYM, &l->tables[l->table_count++]);
}

static uint32_t lookup_put_name(struct lookup *l, const struct symtab_entry *entry)
{
	return entry ? strings_put(l->scan.strings, entry->name, strcspn(entry->name, "@")) : 0;
}

static uint32_t symbol_at(struct lookup *l, uint64_t address)
{
	const struct symtab_entry *entry = NULL;

	for (unsigned i = 0; i < l->table_count && !entry; i++)
		entry = symtab_find(&l->tables[i], address);
	return lookup_put_name(l, entry);
}

/* Finds the function of code that no symbol covers: its beginning, and the last symbol before the
 * address that is within the function. */
static int find_function(struct lookup *l, uint64_t address, uint64_t *ret_start,
			 uint32_t *ret_symbol)
{
	const struct fde_range *function;
	int error = l->has_functions ? 0 : fde_table_load(l->elf, &l->functions);

	l->has_functions = true;
	function = fde_table_find(&l->functions, address);
	if (error || !function)
		return error;
	*ret_start = function->start;
	for (unsigned i = 0; i < l->table_count && !*ret_symbol; i++) {
		const struct symtab_entry *entry = symtab_before(&l->tables[i], address);

		if (entry && entry->start >= function->start)
			*ret_symbol = lookup_put_name(l, entry);
	}
	return 0;
}

/* Returns the function that contains the code of a spot, or NULL if debug information has none. */
static const struct dwarf_frame *outermost(const struct dwarf_scan *s,
					   const struct dwarf_spot *spot)
{
	uint32_t number = spot->innermost;

	while (number && s->frames[number - 1].outer)
		number = s->frames[number - 1].outer;
	return number ? &s->frames[number - 1] : NULL;
}

/* Returns the symbol table's name for a spot if debug information lacks one, else 0. */
static uint32_t better_symbol(struct lookup *l, const struct dwarf_spot *spot)
{
	const struct dwarf_frame *frame = outermost(&l->scan, spot);
	uint32_t symbol;

	if (frame && frame->function && !frame->symbol_knows)
		return 0;
	symbol = symbol_at(l, spot->address);
	if (frame && frame->function && dwarf_function_name(&l->scan, symbol) == symbol)
		return 0;
	return symbol;
}

/*
 * Adds the frames of a place from debug information. The line of an outer frame is where the next
 * inner function was inlined.
 */
static int add_frames(struct lookup *l, const struct dwarf_spot *spot, uint32_t symbol,
		      struct answer *answer, struct place *place)
{
	uint32_t file = spot->file, line = spot->line, column = spot->column;

	for (uint32_t number = spot->innermost; number && place->count < FRAMES_MAX;) {
		const struct dwarf_frame *from = &l->scan.frames[number - 1];
		struct place_frame *f = answer_frame(answer, place);

		if (!f)
			return -ENOMEM;
		number = from->outer;
		f->function = from->function;
		f->raw = from->raw;
		if (symbol && !number) {
			f->function = dwarf_function_name(&l->scan, symbol);
			f->raw = symbol;
		}
		f->file = file;
		f->line = line;
		f->column = column;
		f->is_inline = number != 0;
		file = from->call_file;
		line = from->call_line;
		column = from->call_column;
	}
	return 0;
}

/*
 * Adds a frame for a place outside all functions of debug information: the symbol's name, with a
 * line if it has one (assembler).
 */
static int add_symbol_frame(struct lookup *l, const struct dwarf_spot *spot, uint32_t symbol,
			    struct answer *answer, struct place *place)
{
	struct place_frame *f = answer_frame(answer, place);

	if (!f)
		return -ENOMEM;
	f->function = dwarf_function_name(&l->scan, symbol);
	f->raw = symbol;
	f->file = spot->file;
	f->line = spot->line;
	f->column = spot->column;
	return 0;
}

static int add_place(struct lookup *l, const struct dwarf_spot *spot, struct answer *answer)
{
	struct place *place = &answer->places[answer->place_count++];
	uint32_t symbol = better_symbol(l, spot);

	*place = (struct place){.address = spot->address, .first = (uint32_t)answer->frame_count};
	if (spot->innermost) {
		place->quality = PLACE_FULL;
		return add_frames(l, spot, symbol, answer, place);
	}
	if (!spot->file && !symbol) {
		int error = find_function(l, spot->address, &place->start, &symbol);

		if (error)
			return error;
	}
	place->quality = spot->file ? PLACE_FULL : symbol ? PLACE_NAMED : PLACE_UNKNOWN;
	return place->quality ? add_symbol_frame(l, spot, symbol, answer, place) : 0;
}

static int scan_dwarf(struct lookup *l, int fd, const struct request *request,
		      struct answer *answer)
{
	struct dwarf_scan *s = &l->scan;
	int error;

	s->strings = &answer->strings;
	s->spots = calloc(request->count + 1, sizeof(*s->spots));
	if (!s->spots)
		return -ENOMEM;
	s->spot_count = request->count;
	for (size_t i = 0; i < request->count; i++)
		s->spots[i].address = request->addresses[i];
	s->dwarf = dwarf_begin(fd, DWARF_C_READ); /* not dwarf_begin_elf, because this call finds
						   * the alternate file of dwz */
	if (!s->dwarf)
		return 0;
	error = dwarf_scan(s);
	return error;
}

static int lookup_look_up(struct lookup *l, int fd, const struct request *request,
			  struct answer *answer)
{
	int error;

	elf_version(EV_CURRENT);
	l->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!l->elf || elf_kind(l->elf) != ELF_K_ELF)
		return lookup_say(answer, -ENOEXEC, "not an ELF file");
	error = scan_dwarf(l, fd, request, answer);
	if (!error)
		error = load_tables(l, answer);
	answer->places = calloc(request->count + 1, sizeof(*answer->places));
	if (!answer->places)
		return -ENOMEM;
	for (size_t i = 0; i < request->count && !error; i++)
		error = add_place(l, &l->scan.spots[i], answer);
	return error;
}

int lookup_file(int fd, const struct request *request, struct answer *answer)
{
	struct lookup l = {0};
	int error = lookup_look_up(&l, fd, request, answer);

	for (unsigned i = 0; i < l.table_count; i++)
		symtab_done(&l.tables[i]);
	fde_table_done(&l.functions);
	dwarf_scan_done(&l.scan);
	free(l.scan.spots);
	if (l.scan.dwarf)
		dwarf_end(l.scan.dwarf);
	elf_end(l.mini);
	free(l.mini_memory);
	elf_end(l.elf);
	return error;
}
