/*
 * Scans debug information. dwarf.h describes the interface.
 *
 *   unit                      claims the spots in its ranges
 *     subprogram              claims spots that no function has; they get its frame
 *       lexical block
 *         inlined subroutine  puts its frame before the present one of its spots
 *
 * A spot belongs to the first function that claims it. Ranges of functions that the linker dropped
 * begin at 0 and would overlap others. They are recognized by their start, which is in no
 * executable segment.
 */
#include "collector/symbols/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "collector/symbols/sourcepath.h"

#include "base/ban.h"

#define DEPTH_MAX    300
#define SEARCHES_MAX 2000

/* ---- files ---- */

static uint32_t path_number(struct dwarf_scan *s, const char *name)
{
	char path[SOURCE_PATH_MAX];
	uint64_t *known;
	bool is_new;

	if (!name || !*name)
		return 0;
	known = map_put(&s->files, (uint64_t)(uintptr_t)name, &is_new);
	if (!known)
		return 0;
	if (is_new)
		*known = strings_put(s->strings, path, source_path(path, s->folder, name));
	return (uint32_t)*known;
}

static uint32_t dwarf_number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static void read_call(struct dwarf_scan *s, Dwarf_Die *die, struct dwarf_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word index;
	size_t count;

	frame->call_line = dwarf_number_of(die, DW_AT_call_line);
	frame->call_column = dwarf_number_of(die, DW_AT_call_column);
	if (!dwarf_attr(die, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &index) ||
	    dwarf_getsrcfiles(s->unit_die, &files, &count) || index >= count)
		return;
	frame->call_file = path_number(s, dwarf_filesrc(files, index, NULL, NULL));
}

/* ---- spots and ranges ---- */

static size_t first_spot(const struct dwarf_scan *s, uint64_t address)
{
	size_t low = 0, high = s->spot_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->spots[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool dwarf_is_code(const struct dwarf_scan *s, uint64_t address)
{
	for (unsigned i = 0; i < s->code_count; i++)
		if (address >= s->code[i].start && address < s->code[i].end)
			return true;
	return !s->code_count;
}

struct range {
	ptrdiff_t next;
	Dwarf_Addr base; /* state of dwarf_ranges */
	size_t from, to; /* indices of spots */
};

/*
 * Advances to the next range of `die` that contains spots. Returns false if there is none. ret_any:
 * the entry has a range at all.
 */
static bool next_range(const struct dwarf_scan *s, Dwarf_Die *die, struct range *range,
		       bool *ret_any)
{
	Dwarf_Addr start, end;

	while ((range->next = dwarf_ranges(die, range->next, &range->base, &start, &end)) > 0) {
		if (end <= start)
			continue;
		*ret_any = true;
		range->from = first_spot(s, start);
		if (range->from == s->spot_count || s->spots[range->from].address >= end ||
		    !dwarf_is_code(s, start))
			continue;
		range->to = first_spot(s, end);
		return true;
	}
	return false;
}

static uint32_t new_frame(struct dwarf_scan *s, struct dwarf_frame frame)
{
	if (s->frame_count == s->frame_capacity) {
		uint32_t capacity = s->frame_capacity ? s->frame_capacity * 2 : 1024;
		struct dwarf_frame *frames = reallocarray(s->frames, capacity, sizeof(*frames));

		if (!frames) {
			s->error = -ENOMEM;
			return 0;
		}
		s->frames = frames;
		s->frame_capacity = capacity;
	}
	s->frames[s->frame_count] = frame;
	return ++s->frame_count;
}

/* An entry that is applied to its spots. Spots with the same enclosing frame share the new one. */
struct spread {
	struct dwarf_frame frame;
	uint32_t last_outer, last_number;
	bool inlined, named;
};

static bool may_claim(const struct dwarf_scan *s, const struct dwarf_spot *spot,
		      const struct spread *spread, uint32_t owner)
{
	if (!spread->inlined)
		return !spot->owner;
	/*
	 * A sibling at the same depth cannot follow: the first one that covers the spot keeps it.
	 */
	return spot->owner == owner && spot->innermost &&
	       s->frames[spot->innermost - 1].depth < spread->frame.depth;
}

static void claim_spot(struct dwarf_scan *s, Dwarf_Die *die, struct dwarf_spot *spot,
		       struct spread *spread)
{
	if (!spread->named) {
		dwarf_name_frame(s, die, &spread->frame);
		if (spread->inlined)
			read_call(s, die, &spread->frame);
		spread->named = true;
	}
	if (!spread->last_number || spread->last_outer != spot->innermost) {
		spread->last_outer = spot->innermost;
		spread->frame.outer = spot->innermost;
		spread->last_number = new_frame(s, spread->frame);
	}
	spot->innermost = spread->last_number;
}

/*
 * Gives the entry's frame to the spots in its ranges. Returns true if there are any. (noinline: its
 * large locals would be on the stack of the recursion.)
 */
static __attribute__((noinline)) bool claim(struct dwarf_scan *s, Dwarf_Die *die, bool inlined,
					    uint32_t owner, unsigned depth)
{
	struct spread spread = {.frame.depth = (uint16_t)depth, .inlined = inlined};
	struct range range = {0};
	bool any = false, claimed = false;

	while (!s->error && next_range(s, die, &range, &any))
		for (size_t i = range.from; i < range.to && !s->error; i++)
			if (may_claim(s, &s->spots[i], &spread, owner)) {
				claim_spot(s, die, &s->spots[i], &spread);
				s->spots[i].owner = owner;
				claimed = true;
			}
	return claimed;
}

/* ---- the tree ---- */

static void dwarf_walk(struct dwarf_scan *s, Dwarf_Die *parent, uint32_t owner, unsigned depth);

static bool block_is_elsewhere(const struct dwarf_scan *s, Dwarf_Die *die)
{
	struct range range = {0};
	bool any = false;

	return !next_range(s, die, &range, &any) && any;
}

static void dwarf_visit(struct dwarf_scan *s, Dwarf_Die *die, uint32_t owner, unsigned depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		if (claim(s, die, false, s->owners + 1, depth))
			dwarf_walk(s, die, ++s->owners, depth + 1);
		else if (s->everything)
			dwarf_walk(s, die, 0, depth + 1);
		break;
	case DW_TAG_inlined_subroutine:
		if (owner && claim(s, die, true, owner, depth))
			dwarf_walk(s, die, owner, depth + 1);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		if (s->everything || (owner && !block_is_elsewhere(s, die)))
			dwarf_walk(s, die, owner, depth + 1);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
		dwarf_walk(s, die, 0, depth + 1);
		break;
	default:
		if (s->everything)
			dwarf_walk(s, die, 0, depth + 1);
	}
}

static void dwarf_walk(struct dwarf_scan *s, Dwarf_Die *parent, uint32_t owner, unsigned depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do
		dwarf_visit(s, &die, owner, depth);
	while (!s->error && !dwarf_siblingof(&die, &die));
}

/* ---- lines ---- */

static void assign_line(struct dwarf_scan *s, Dwarf_Line *line, uint64_t start, uint64_t end)
{
	int number = 0, column = 0;

	for (size_t i = first_spot(s, start); i < s->spot_count && s->spots[i].address < end; i++) {
		struct dwarf_spot *spot = &s->spots[i];

		if (spot->unit != s->units || spot->file)
			continue;
		dwarf_lineno(line, &number);
		dwarf_linecol(line, &column);
		spot->line = number > 0 ? (uint32_t)number : 0;
		spot->column = column > 0 ? (uint32_t)column : 0;
		spot->file = path_number(s, dwarf_linesrc(line, NULL, NULL));
	}
}

static void read_lines(struct dwarf_scan *s, Dwarf_Die *unit)
{
	Dwarf_Addr start, end;
	Dwarf_Lines *lines;
	size_t count;
	bool ends;

	if (dwarf_getsrclines(unit, &lines, &count))
		return;
	for (size_t i = 0; i + 1 < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);

		if (dwarf_lineendsequence(line, &ends) || ends || dwarf_lineaddr(line, &start) ||
		    dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) || end <= start)
			continue;
		assign_line(s, line, start, end);
	}
}

/* ---- units ---- */

enum reach { REACH_NONE, REACH_SPOTS, REACH_UNKNOWN };

/*
 * Claims the spots in a unit's ranges that no function has. A unit without ranges may contain
 * anything.
 */
static enum reach claim_unit(struct dwarf_scan *s, Dwarf_Die *unit)
{
	struct range range = {0};
	bool any = false, claimed = false;

	while (next_range(s, unit, &range, &any))
		for (size_t i = range.from; i < range.to; i++)
			if (!s->spots[i].owner) {
				s->spots[i].unit = s->units;
				claimed = true;
			}
	return claimed ? REACH_SPOTS : any ? REACH_NONE : REACH_UNKNOWN;
}

static bool spots_left(const struct dwarf_scan *s, bool of_unit)
{
	for (size_t i = 0; i < s->spot_count; i++)
		if (!s->spots[i].owner && (!of_unit || s->spots[i].unit == s->units))
			return true;
	return false;
}

static void scan_unit(struct dwarf_scan *s, Dwarf_Die *unit, Dwarf_Die *split)
{
	Dwarf_Attribute attribute;

	s->unit_die = split ? split : unit;
	s->folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	map_clear(&s->files);
	s->everything = false;
	dwarf_walk(s, s->unit_die, 0, 0);
	if (spots_left(s, true)) {
		s->everything = true;
		dwarf_walk(s, s->unit_die, 0, 0);
	}
	read_lines(s, unit);
}

/* Assigns the spots that were found in a unit without ranges to it. */
static void dwarf_adopt(struct dwarf_scan *s, uint32_t owners_before)
{
	for (size_t i = 0; i < s->spot_count; i++)
		if (s->spots[i].owner > owners_before)
			s->spots[i].unit = s->units;
}

static void scan_unit_without_ranges(struct dwarf_scan *s, Dwarf_Die *unit, Dwarf_Die *split)
{
	uint32_t owners = s->owners;

	s->unit_die = split ? split : unit;
	s->folder = NULL;
	map_clear(&s->files);
	s->everything = true;
	dwarf_walk(s, s->unit_die, 0, 0);
	if (s->owners == owners)
		return;
	dwarf_adopt(s, owners);
	read_lines(s, unit);
}

static void scan_units(struct dwarf_scan *s, bool without_ranges)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, split;
	Dwarf_Half version;
	uint8_t type;

	while (!s->error && !dwarf_get_units(s->dwarf, cu, &cu, &version, &type, &unit, &split)) {
		Dwarf_Die *part = split.addr ? &split : NULL;
		enum reach reach;
		int tag = dwarf_tag(&unit);

		if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
			continue;
		s->units++;
		reach = claim_unit(s, &unit);
		if (reach == REACH_SPOTS && !without_ranges)
			scan_unit(s, &unit, part);
		else if (reach == REACH_UNKNOWN && without_ranges && spots_left(s, false))
			scan_unit_without_ranges(s, &unit, part);
	}
}

static void find_code(struct dwarf_scan *s)
{
	Elf *elf = dwarf_getelf(s->dwarf);
	size_t count = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(elf, &count))
		return;
	for (size_t i = 0; i < count && s->code_count < sizeof(s->code) / sizeof(*s->code); i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X))
			continue;
		s->code[s->code_count].start = header.p_vaddr;
		s->code[s->code_count++].end = header.p_vaddr + header.p_memsz;
	}
}

int dwarf_scan(struct dwarf_scan *s)
{
	s->unnamed_left = SEARCHES_MAX;
	find_code(s);
	scan_units(s, false);
	if (spots_left(s, false))
		scan_units(s, true);
	return s->error;
}

void dwarf_scan_done(struct dwarf_scan *s)
{
	free(s->frames);
	map_done(&s->functions);
	map_done(&s->scoped);
	map_done(&s->files);
}
