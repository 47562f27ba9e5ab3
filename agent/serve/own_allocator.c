/*
 * Finds allocators in programs. See own_allocator.h. The steps are:
 *
 *	symbols --> candidates --> those that can be moved --> whole allocators only --> entries
 *
 * Moving a function's first instructions depends only on what the file says: the function's own
 * code, branches from anywhere into the instructions to move, and symbols that begin among them. In
 * memory libheapcast.so compares the instructions with those read from the file before it patches.
 */
#include "agent/serve/own_allocator.h"

#include <stdio.h>
#include <string.h>

#include "agent/allocator_functions.h"
#include "agent/core/elf_symbols.h"
#include "agent/unwind/entry.h"
#include "base/elf/elf.h"
#include "base/elf/elf_load.h"
#include "base/ban.h"

#define CANDIDATES_MAX 160
#define CODE_MAX       (64u << 10) /* larger functions are not hooked */
#define WRAPPER_MAX    128
#define BEHIND	       16 /* bytes after a function that are read, too */

static_assert(BEHIND <= ENTRY_BEFORE, "the room for code will do");
static_assert(ENTRY_WAS == RING_ENTRY_WAS && ENTRY_MOVED == RING_ENTRY_MOVED, "the ring has room");

/* Families of functions; each belongs to one allocator. */
enum family {
	FAMILY_COMMON,
	FAMILY_MI,
	FAMILY_TC,
	FAMILY_JE,
	FAMILY_RJEM,
	FAMILY_JEMALLOC,
	FAMILIES
};

static const char *const family_prefix[FAMILIES] = {
	[FAMILY_MI] = "mi_",
	[FAMILY_TC] = "tc_",
	[FAMILY_JE] = "je_",
	[FAMILY_RJEM] = "_rjem_",
	[FAMILY_JEMALLOC] = "jemalloc_",
};

struct candidate {
	uint64_t address;
	uint64_t size;
	uint8_t function;
	uint8_t family;
	bool heap;
	bool late;   /* an ifunc: its address is chosen when the program starts */
	bool copied; /* a copy or a part of a function that the compiler made; never hooked
		      * itself */
	bool wrapper;
	const char *reason; /* why it can't be hooked; NULL: it can */
	struct entry_move move;
	char name[ELF_NAME_MAX];
};

/* The state of one search; static because of its size. */
static struct work {
	struct elf_symbols file;
	struct candidate candidate[CANDIDATES_MAX];
	unsigned count;
	bool overflow;
	bool sanitized;
	bool shown;  /* the symbol table being read is the dynamic one */
	bool malloc; /* in the dynamic table: calls from all libraries reach the program's own
		      * functions */
	bool free;
	uint64_t low, high; /* the address range of all instructions to move */
	uint8_t code[CODE_MAX + ENTRY_BEFORE + ENTRY_BRANCH];
} work;

static const char *const reasons[] = {
	[ENTRY_UNREADABLE] = "it has instructions that are not known",
	[ENTRY_SHORT] = "it is too short",
	[ENTRY_FIXED] = "its first instructions can't be moved",
	[ENTRY_LOOPED] = "a loop leads back to its first instructions",
};

/* ---- candidates ---- */

static enum family family_of(const char *name)
{
	for (unsigned i = FAMILY_COMMON + 1; i < FAMILIES; i++)
		if (!strncmp(name, family_prefix[i], strlen(family_prefix[i])))
			return (enum family)i;
	return FAMILY_COMMON;
}

static bool is_operator(const char *name)
{
	return !strncmp(name, "_Z", 2);
}

/* Aliases share an address and thus one hook. The common name describes a function best. */
static bool is_better(const char *name, enum family family, const struct candidate *than)
{
	if ((family == FAMILY_COMMON) != (than->family == FAMILY_COMMON))
		return family == FAMILY_COMMON;
	return is_operator(than->name) && !is_operator(name);
}

static struct candidate *place_for(uint64_t address, const char *name, enum family family)
{
	struct candidate *c;

	for (unsigned i = 0; i < work.count; i++) {
		c = &work.candidate[i];
		if (c->address == address)
			return is_better(name, family, c) ? c : NULL;
	}
	work.overflow |= work.count == CANDIDATES_MAX;
	return work.overflow ? NULL : &work.candidate[work.count++];
}

static bool is_sanitizers(const char *name)
{
	return !strcmp(name, "__asan_init") || !strcmp(name, "__hwasan_init") ||
	       !strcmp(name, "__tsan_init") || !strcmp(name, "__msan_init");
}

/* Common names count only if the symbol is visible to other files: a static function may be called
 * "free" and be something else. */
static int function_of(const struct elf_symbol *symbol, const char *name, bool copied,
		       bool *ret_heap)
{
	bool local = symbol->binding == STB_LOCAL && !copied;
	int function = allocator_function_find(name, ret_heap);

	if (function >= 0)
		return family_of(name) == FAMILY_COMMON && local ? -1 : function;
	*ret_heap = false;
	if (is_operator(name) ? local : !work.shown && !copied)
		return -1;
	return allocator_function_find_common(name);
}

/* gcc names parts and copies of functions with a dot: "malloc.constprop.0". Only the function
 * itself branches to its seldom executed part (".cold"), so that is no copy. Any code may call the
 * others. */
static bool own_allocator_is_copy(const char *name, char base[ELF_NAME_MAX])
{
	const char *dot = strchr(name, '.');

	snprintf(base, ELF_NAME_MAX, "%.*s", dot ? (int)(dot - name) : ELF_NAME_MAX - 1, name);
	return dot && strncmp(dot, ".cold", 5) != 0;
}

static bool own_allocator_is_wanted_name(const char *full_name)
{
	char name[ELF_NAME_MAX];
	bool heap;

	own_allocator_is_copy(full_name, name);
	return is_sanitizers(name) || allocator_function_find(name, &heap) >= 0 ||
	       allocator_function_find_common(name) >= 0;
}

static const struct elf_names wanted_names = {
	"mi_ mal mem tc_ je_ jem _rj _Zn _Zd __a __h __t __m rea ral xal dal sda cal cfr fre pos "
	"pva "
	"ali val",
	own_allocator_is_wanted_name,
};

static bool take_symbol(void *context, const struct elf_symbol *symbol, const char *full_name)
{
	char name[ELF_NAME_MAX];
	struct candidate *c;
	bool heap, copied;
	int function;

	(void)context;
	copied = own_allocator_is_copy(full_name, name);
	if (strchr(full_name, '.') && !copied)
		return false;
	work.sanitized |= is_sanitizers(name);
	function = function_of(symbol, name, copied, &heap);
	if (function < 0)
		return work.sanitized;
	work.malloc |= work.shown && !strcmp(name, "malloc");
	work.free |= work.shown && !strcmp(name, "free");
	c = place_for(symbol->value, name, family_of(name));
	if (!c)
		return work.overflow;
	*c = (struct candidate){
		.address = symbol->value,
		.size = symbol->size,
		.function = (uint8_t)function,
		.family = (uint8_t)family_of(name),
		.heap = heap,
		.late = symbol->type == STT_GNU_IFUNC,
		.copied = copied,
	};
	memcpy(c->name, name, sizeof(c->name));
	return false;
}

/* Operators new and delete on top of another library's malloc are no allocator: the hook of that
 * malloc records the allocation. */
static void drop_uncommon(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < work.count; i++) {
		const struct candidate *c = &work.candidate[i];
		bool heap;

		if (c->family != FAMILY_COMMON || (work.malloc && work.free) ||
		    allocator_function_find(c->name, &heap) >= 0)
			work.candidate[kept++] = *c;
	}
	work.count = kept;
}

static void own_allocator_collect(void)
{
	work.count = 0;
	work.overflow = work.sanitized = work.malloc = work.free = false;
	work.shown = true;
	work.overflow |=
		!elf_symbols_walk(&work.file, SHT_DYNSYM, &wanted_names, take_symbol, NULL);
	work.shown = false;
	if (!work.sanitized)
		work.overflow |=
			!elf_symbols_walk(&work.file, SHT_SYMTAB, &wanted_names, take_symbol, NULL);
	if (work.sanitized)
		work.count = 0; /* `agent run` refuses these programs; others run unpatched */
	drop_uncommon();
}

/* ---- moves ---- */

static const char *read_move(struct candidate *c)
{
	size_t room;
	enum entry_fault fault;

	if (c->late)
		return "it is chosen when the program starts";
	if (!c->size || c->size > CODE_MAX)
		return c->size ? "it is too long" : "its size is not known";
	room = elf_symbols_code(&work.file, c->address, work.code, (size_t)c->size + BEHIND);
	if (room < c->size)
		return "its code is not in the file";
	fault = entry_read(work.code, (size_t)c->size, room, c->address, &c->move);
	return reasons[fault];
}

static bool is_inside(const struct candidate *c, uint64_t address)
{
	return !c->reason && !c->copied && address > c->move.address &&
	       address - c->move.address < c->move.length;
}

/* Returns true if the branch comes from one of the allocator's own functions. */
static bool is_own_branch(uint64_t from)
{
	for (unsigned i = 0; i < work.count; i++)
		if (from - work.candidate[i].address < work.candidate[i].size)
			return true;
	return false;
}

static void refuse_inside(uint64_t address, const char *reason)
{
	for (unsigned i = 0; i < work.count; i++)
		if (is_inside(&work.candidate[i], address))
			work.candidate[i].reason = reason;
}

static bool own_allocator_is_wanted(void *context, uint64_t target)
{
	(void)context;
	for (unsigned i = 0; i < work.count; i++) {
		const struct candidate *c = &work.candidate[i];

		if (is_inside(c, target) || (c->copied && c->address == target))
			return true;
	}
	return false;
}

static void branch_found(void *context, uint64_t from, uint64_t target)
{
	(void)context;
	refuse_inside(target, "other code leads into its first instructions");
	for (unsigned i = 0; i < work.count; i++) {
		struct candidate *c = &work.candidate[i];

		if (c->copied && c->address == target && !is_own_branch(from))
			c->reason = "the compiler has made a copy of it that others call";
	}
}

static bool symbol_found(void *context, const struct elf_symbol *symbol, const char *name)
{
	(void)context;
	(void)name;
	refuse_inside(symbol->value, "another function begins in its first instructions");
	return false;
}

/* Scans the segment in overlapping pieces, so that no branch is cut by a border. */
static void look_for_branches(const struct elf_load *segment)
{
	const struct entry_search search = {.wanted = own_allocator_is_wanted,
					    .found = branch_found,
					    .low = work.low,
					    .high = work.high};

	for (uint64_t at = 0; at < segment->size; at += CODE_MAX) {
		size_t before = at ? ENTRY_BEFORE : 0;
		uint64_t from = segment->address + at - before;
		size_t got = elf_symbols_code(&work.file, from, work.code, sizeof(work.code));

		entry_branches(work.code, before, got, from, &search);
	}
}

static void read_moves(void)
{
	work.low = UINT64_MAX;
	work.high = 0;
	for (unsigned i = 0; i < work.count; i++) {
		struct candidate *c = &work.candidate[i];

		if (!c->copied)
			c->reason = read_move(c);
		if (c->reason)
			continue;
		work.low = c->address < work.low ? c->address : work.low;
		if (c->address + ENTRY_BEGINNING > work.high)
			work.high = c->address + ENTRY_BEGINNING;
	}
	if (work.low >= work.high)
		return;
	for (unsigned i = 0; i < work.file.segment_count; i++)
		look_for_branches(&work.file.segment[i]);
	elf_symbols_walk(&work.file, SHT_DYNSYM, NULL, symbol_found, NULL);
	elf_symbols_walk(&work.file, SHT_SYMTAB, NULL, symbol_found, NULL);
}

/* ---- whole allocators ---- */

static bool ends_blocks(const struct candidate *c)
{
	switch (allocator_functions[c->function].shape) {
	case SHAPE_END:
	case SHAPE_MOVE_AB:
	case SHAPE_MOVE_ABC:
	case SHAPE_MOVE_OR_END:
		return true;
	default:
		return false;
	}
}

/* Returns true for a small function that can't be hooked but calls a hooked function of the same
 * kind: nothing is missed. */
static bool is_wrapper(const struct candidate *c)
{
	size_t size =
		c->late || c->copied || c->size > WRAPPER_MAX
			? 0
			: elf_symbols_code(&work.file, c->address, work.code, (size_t)c->size);

	for (unsigned i = 0; i < work.count; i++) {
		const struct candidate *other = &work.candidate[i];

		if (!other->reason && !other->copied && ends_blocks(other) == ends_blocks(c) &&
		    entry_leads_to(work.code, size, c->address, other->address))
			return true;
	}
	return false;
}

static void refuse_family(enum family family)
{
	for (unsigned i = 0; i < work.count; i++)
		if (work.candidate[i].family == family && !work.candidate[i].reason &&
		    !work.candidate[i].copied)
			work.candidate[i].reason = ""; /* the reason of the function that broke the
							* family is reported */
}

static void take_whole(void)
{
	bool broken[FAMILIES] = {false};

	for (unsigned i = 0; i < work.count; i++) {
		struct candidate *c = &work.candidate[i];

		c->wrapper = c->reason && is_wrapper(c);
		broken[c->family] |= c->reason && ends_blocks(c) && !c->wrapper;
	}
	for (unsigned f = 0; f < FAMILIES; f++)
		if (broken[f])
			refuse_family((enum family)f);
}

/* ---- the result ---- */

static void own_allocator_refuse(struct own_allocator *ret, const struct candidate *c,
				 const char *reason)
{
	ret->refused++;
	if (ret->reason || !*reason)
		return;
	ret->reason = reason;
	snprintf(ret->function, sizeof(ret->function), "%s", c->name);
}

static void put_entry(struct own_allocator *ret, const struct candidate *c)
{
	const struct entry_move *move = &c->move;
	struct ring_entry *entry = &ret->entry[ret->count++];

	*entry = (struct ring_entry){
		.address = move->address,
		.function = c->function,
		.heap = c->heap,
		.length = move->length,
		.moved_length = move->moved_length,
		.fix = {move->fix[0], move->fix[1]},
	};
	memcpy(entry->was, move->was, sizeof(entry->was));
	memcpy(entry->moved, move->moved, sizeof(entry->moved));
}

void own_allocator_find(int fd, bool early, struct own_allocator *ret)
{
	const char *in_general = early ? NULL : "the program can't be changed here, or any more";

	ret->count = ret->refused = 0;
	ret->reason = NULL;
	if (elf_symbols_open(&work.file, fd) < 0)
		return;
	own_allocator_collect();
	if (early) {
		read_moves();
		take_whole();
	}
	if (work.overflow || work.count > RING_ENTRIES_MAX)
		in_general = "there are too many like it";
	for (unsigned i = 0; i < work.count; i++) {
		const struct candidate *c = &work.candidate[i];

		if (c->wrapper || (c->copied && !c->reason))
			continue;
		if (in_general || c->reason)
			own_allocator_refuse(ret, c, in_general ? in_general : c->reason);
		else
			put_entry(ret, c);
	}
}
