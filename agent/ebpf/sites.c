/*
 * Finds the sites of one file. See sites.h. The steps are:
 *
 *   symbols --> functions --> wrappers --> places and exits
 *           --> branches from other code --> sites
 */
#include "agent/ebpf/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ebpf/extents.h"
#include "agent/ebpf/functions.h"
#include "agent/ebpf/imports.h"
#include "agent/mapping_functions.h"
#include "agent/unwind/entry.h"
#include "agent/unwind/place.h"
#include "base/elf/elf.h"
#include "base/elf/elf_load.h"
#include "base/ban.h"

#define CODE_MAX  (64u << 10) /* of a longer function only the entry is known */
#define SITES_MAX 1024
#define STUB_MAX  16

struct candidate {
	struct function *f;
	struct place_probe probe;
	struct place_probe nearer; /* a place that depends on less code, in case other code branches
				    * past it; or the same as `probe` */
	struct place_probe whole;  /* for a free: a place where the stack is as at the entry */
	int exits;		   /* number of exits; negative: not known */
	uint64_t exit[PLACE_EXITS_MAX];
	struct candidate *inner;    /* a wrapper calls this candidate... */
	char import[SITE_NAME_MAX]; /* ...or this import; "": none */
	const char *reason;	    /* why it is not probed; NULL: it is */
	bool leaf;
};

/* The state of one search; static because of its size. */
static struct work {
	struct elf_symbols file;
	struct functions functions;
	struct imports imports;
	struct extents extents;
	const struct place_reader *reader;
	const struct sites_options *options;
	struct candidate candidate[FUNCTIONS_MAX];
	struct candidate *asked; /* the candidate whose branch targets are being checked */
	bool go;		 /* made by Go's linker */
	uint64_t low, high;	 /* range around all places that are not entries */
	uint8_t code[CODE_MAX + ENTRY_BEFORE + ENTRY_BRANCH];
} work;

/* ---- code of the file, for readers ---- */

static size_t read_at(void *context, uint64_t address, uint8_t *out, size_t size)
{
	(void)context;
	return elf_symbols_code(&work.file, address, out, size);
}

static uint64_t slot_at(void *context, uint64_t slot)
{
	char name[SITE_NAME_MAX];
	uint64_t address;

	(void)context;
	return imports_find(&work.imports, slot, name, &address) ? address : 0;
}

static bool begins_at(void *context, uint64_t address)
{
	(void)context;
	return extents_begin(&work.extents, address);
}

static const struct place_code all_code = {read_at, slot_at, begins_at, NULL};

/* ---- wrappers ---- */

static bool is_same_sort(const struct candidate *c, unsigned number)
{
	return function_sort(c->f->number) == function_sort(number);
}

static bool is_inner(struct candidate *c, uint64_t address)
{
	struct function *f = functions_at(&work.functions, address);

	if (!f || f == c->f || !is_same_sort(c, f->number))
		return false;
	c->inner = &work.candidate[f - work.functions.function];
	return true;
}

/* Returns true if the jump through a pointer leads to a function of this file that the loader would
 * put there, or to an import. */
static bool is_led_by(struct candidate *c, uint64_t slot)
{
	char name[SITE_NAME_MAX];
	uint64_t address;
	bool heap;
	int number;

	if (!imports_find(&work.imports, slot, name, &address))
		return false;
	if (address)
		return is_inner(c, address);
	number = function_of_name(name, &heap);
	if (number < 0 || !is_same_sort(c, (unsigned)number))
		return false;
	memcpy(c->import, name, sizeof(name));
	return true;
}

static bool is_target(void *context, uint64_t address, bool pointer)
{
	struct candidate *c = context;
	uint8_t stub[STUB_MAX];
	uint64_t slot;

	if (pointer)
		return is_led_by(c, address);
	if (is_inner(c, address))
		return true;
	slot = work.reader->stub(stub, elf_symbols_code(&work.file, address, stub, sizeof(stub)),
				 address);
	return slot && is_led_by(c, slot);
}

static size_t read_code(const struct candidate *c)
{
	const struct function *f = c->f;

	return f->size > CODE_MAX
		       ? 0
		       : elf_symbols_code(&work.file, f->address, work.code, (size_t)f->size);
}

/* Guesses if an operator is a wrapper, for a processor whose code can't be read. Operators in a
 * file without its own malloc usually call an imported malloc or free. */
static void guess_hand_on(struct candidate *c)
{
	if (work.reader == &place_own || !function_is_operator(c->f->name) || work.functions.malloc)
		return;
	memcpy(c->import, function_sort(c->f->number) == SORT_FREES ? "free" : "malloc", 7);
}

static void forget_hand_on(struct candidate *c)
{
	c->inner = NULL;
	c->import[0] = 0;
}

/* Returns true for an operator in a file without its own malloc that reaches an imported function
 * on any path: the event of malloc is recorded, as by libheapcast.so. */
static bool is_over_others(struct candidate *c, const struct place_hand_on *question)
{
	return function_is_operator(c->f->name) && !work.functions.malloc &&
	       work.reader->reaches(&all_code, c->f->address, question);
}

static void find_hand_on(struct candidate *c)
{
	struct place_function function = {work.code, read_code(c), c->f->address};
	struct place_hand_on question = {is_target, c, &all_code,
					 function_sort(c->f->number) == SORT_FREES};

	if (function.size == c->f->size && work.reader->hands_on(&function, &question))
		return;
	forget_hand_on(c);
	if (!is_over_others(c, &question))
		forget_hand_on(c);
	guess_hand_on(c);
}

/* Decides if a wrapper is probed itself. It is if the inner function can't be probed. Of several
 * functions that call each other in a cycle, one is probed. */
static void settle_hand_on(struct candidate *c)
{
	const struct candidate *last = c;

	for (unsigned i = 0; i < work.functions.count && last->inner; i++)
		last = last->inner;
	if (last->inner || last->reason)
		c->inner = NULL;
}

/* ---- places ---- */

static bool maps(const struct function *f)
{
	return f->number >= MAPPING_FUNCTIONS_FIRST;
}

static uint16_t wanted_arguments(const struct function *f)
{
	static const uint8_t of_shape[] = {
		[SHAPE_SIZE_A] = 1,	 [SHAPE_SIZE_B] = 2,  [SHAPE_COUNT_AB] = 3,
		[SHAPE_POSIX] = 5,	 [SHAPE_MOVE_AB] = 3, [SHAPE_MOVE_ABC] = 7,
		[SHAPE_MOVE_OR_END] = 3, [SHAPE_RESIZE] = 3,  [SHAPE_TEXT] = 1,
		[SHAPE_TEXT_OWN] = 3,	 [SHAPE_END] = 1,     [SHAPE_MAP] = 2,
		[SHAPE_UNMAP] = 3,	 [SHAPE_REMAP] = 7,   [SHAPE_SBRK] = 1,
		[SHAPE_BRK] = 1,
	};

	return (uint16_t)(of_shape[function_known(f->number)->shape] << f->heap);
}

static const char *refusal(const struct candidate *c)
{
	unsigned shape = function_known(c->f->number)->shape;

	if (c->f->thumb)
		return "it is Thumb code, and uprobes know ARM code only: use LD_PRELOAD";
	if (c->f->copied)
		return "the compiler has made a copy of it that others call";
	if (c->f->late)
		return "it is chosen when the program starts";
	if (shape == SHAPE_TEXT || shape == SHAPE_TEXT_OWN)
		return "how large its result is can't be told from outside";
	if (!elf_symbols_code(&work.file, c->f->address, work.code, 1))
		return "its code is not in the file";
	return NULL;
}

static void sites_find_place(struct candidate *c)
{
	/* with no code only the entry can be a place */
	const struct place_function entry = {work.code, 0, c->f->address};
	struct place_function function = {work.code, read_code(c), c->f->address};
	struct place_question question = {.wanted = wanted_arguments(c->f), .not_null = -1};

	if (function.size != c->f->size)
		function.size = 0;
	if (function_sort(c->f->number) == SORT_FREES)
		question.not_null = c->f->heap;
	work.reader->find(&function, &question, &c->probe);
	c->nearer = c->whole = c->probe;
	if (c->whole.words)
		work.reader->find(&entry, &question, &c->whole);
	question.ends = function_sort(c->f->number) == SORT_FREES;
	if (question.ends)
		work.reader->find(&function, &question, &c->probe);
	else if (maps(c->f) ||
		 !(c->f->throws || work.go)) /* its result matters more than a cheap place */
		c->probe = c->nearer = c->whole;
	if (c->probe.looped)
		c->reason = "a loop leads back to its beginning";
	if (c->probe.unsafe)
		c->reason = "it begins with a branch, and on this processor a probe there can "
			    "send threads to a wrong place";
}

static void find_exits(struct candidate *c)
{
	c->exits = -1;
	if ((c->f->throws || (work.go && !maps(c->f))) && !work.options->no_exits &&
	    extents_known(&work.extents))
		c->exits = work.reader->exits(&all_code, c->f->address, c->exit);
	if (!extents_known(&work.extents))
		c->exits = -1;
}

/* ---- branches from other code ---- */

static bool sites_is_wanted(void *context, uint64_t target)
{
	(void)context;
	for (unsigned i = 0; i < work.functions.count; i++) {
		const struct candidate *c = &work.candidate[i];

		if (!c->reason && target > c->f->address && target <= c->probe.address)
			return true;
	}
	return false;
}

/* Handles a branch into a function. The function's own branches were taken into account when the
 * place was found. */
static void branch_found(void *context, uint64_t from, uint64_t target)
{
	const struct place_question question = {.not_null = -1};

	(void)context;
	for (unsigned i = 0; i < work.functions.count; i++) {
		struct candidate *c = &work.candidate[i];
		const struct place_function entry = {work.code, 0,
						     c->f->address}; /* with no code only the entry
								      * can be a place */

		if (c->reason || target <= c->f->address || target > c->probe.address ||
		    from - c->f->address < c->f->size)
			continue;
		if (target <= c->whole.address)
			work.reader->find(&entry, &question, &c->whole);
		if (c->probe.address != c->nearer.address && target > c->nearer.address)
			c->probe = c->nearer;
		else
			work.reader->find(&entry, &question, &c->probe);
	}
}

/* Scans the segment in overlapping pieces, so that no branch is cut by a border. */
static void look_for_branches(const struct elf_load *segment)
{
	const struct entry_search search = {.wanted = sites_is_wanted,
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

static void look_at_others(void)
{
	work.low = UINT64_MAX;
	work.high = 0;
	for (unsigned i = 0; i < work.functions.count; i++) {
		const struct candidate *c = &work.candidate[i];

		if (c->reason || c->probe.address == c->f->address)
			continue;
		work.low = c->f->address < work.low ? c->f->address : work.low;
		work.high = c->probe.address >= work.high ? c->probe.address + 1 : work.high;
	}
	for (unsigned i = 0; work.low < work.high && i < work.file.segment_count; i++)
		look_for_branches(&work.file.segment[i]);
}

/* ---- leaves ---- */

static bool is_other(void *context, uint64_t target)
{
	const struct candidate *c = context;
	const struct function *f = functions_at(&work.functions, target);
	char name[SITE_NAME_MAX];
	uint8_t stub[STUB_MAX];
	uint64_t slot;
	bool heap;

	if (f)
		return f != c->f && !maps(f);
	slot = work.reader->stub(stub, elf_symbols_code(&work.file, target, stub, sizeof(stub)),
				 target);
	return slot && imports_find(&work.imports, slot, name, &target) &&
	       (target ? (f = functions_at(&work.functions, target)) && !maps(f)
		       : function_of_name(name, &heap) >= 0);
}

static void other_found(void *context, uint64_t from, uint64_t target)
{
	(void)from;
	(void)target;
	((struct candidate *)context)->leaf = false;
}

/* Finds out if the function is a leaf: its code branches to no other allocator function. If the
 * processor's code can't be read, no function counts as a leaf. */
static void find_leaf(struct candidate *c)
{
	const struct entry_search search = {
		.wanted = is_other, .found = other_found, .context = c, .high = UINT64_MAX};
	size_t size = read_code(c);

	c->leaf = work.reader == &place_own && size && size == c->f->size;
	if (!c->leaf)
		return;
	memset(work.code + size, 0x90, ENTRY_BRANCH); /* padding, so that the last instruction is
						       * checked, too */
	entry_branches(work.code, 0, size + ENTRY_BRANCH, c->f->address, &search);
}

/* ---- the result ---- */

static bool file_offset(uint64_t address, uint64_t *ret)
{
	for (unsigned i = 0; i < work.file.segment_count; i++) {
		const struct elf_load *s = &work.file.segment[i];

		if (address - s->address < s->size) {
			*ret = s->offset + (address - s->address);
			return true;
		}
	}
	return false;
}

static uint64_t entry_word(const struct candidate *c, const struct place_probe *probe,
			   unsigned flags)
{
	const struct allocator_function *known = function_known(c->f->number);
	const uint8_t *argument = probe->argument + c->f->heap;
	uint16_t wanted = (uint16_t)(wanted_arguments(c->f) >> c->f->heap);
	struct site_word word = {.kind = known->kind, .shape = known->shape, .words = probe->words};

	word.a = wanted & 1 ? argument[0] : SITE_NO_REGISTER;
	word.b = wanted & 2 ? argument[1] : SITE_NO_REGISTER;
	word.c = wanted & 4 ? argument[2] : SITE_NO_REGISTER;
	if (function_sort(c->f->number) == SORT_FREES) {
		word.b = probe->pushed[0] ? probe->pushed[0] : SITE_NO_REGISTER;
		word.c = probe->pushed[1] ? probe->pushed[1] : SITE_NO_REGISTER;
	}
	word.flags =
		(uint16_t)(flags | (probe->link ? SITE_LINK : 0) |
			   (c->exits > 0 ? SITE_HAS_EXITS : 0) | (c->f->throws ? SITE_THROWS : 0) |
			   (probe->not_null ? SITE_NOT_NULL : 0) | (c->leaf ? SITE_LEAF : 0));
	return site_pack(&word);
}

static uint64_t exit_word(const struct candidate *c)
{
	const struct allocator_function *known = function_known(c->f->number);
	struct site_word word = {.kind = known->kind,
				 .shape = known->shape,
				 .a = SITE_NO_REGISTER,
				 .b = SITE_NO_REGISTER,
				 .c = SITE_NO_REGISTER,
				 .flags = SITE_EXIT_PROBE | SITE_THROWS};

	return site_pack(&word);
}

/* Returns a site of the function with all members but the offset filled in. */
static struct site site_of(const struct candidate *c)
{
	struct site site = {.size = c->f->size < UINT32_MAX ? (uint32_t)c->f->size : UINT32_MAX,
			    .common = c->f->common};

	file_offset(c->f->address, &site.function);
	memcpy(site.name, c->f->name, sizeof(site.name));
	memcpy(site.leads_to, c->import, sizeof(site.leads_to));
	return site;
}

static void put_exits(struct sites *ret, const struct candidate *c)
{
	for (int i = 0; i < c->exits && ret->count < SITES_MAX; i++) {
		struct site site = site_of(c);

		site.kind = SITE_EXIT;
		site.word = exit_word(c);
		if (file_offset(c->exit[i], &site.offset))
			ret->site[ret->count++] = site;
	}
}

static bool can_return(const struct candidate *c, const struct place_probe *probe)
{
	return !probe->words && !probe->unsafe && !c->f->throws && !work.go;
}

static void put_followed(struct site *site, const struct candidate *c)
{
	if (function_sort(c->f->number) == SORT_FREES && can_return(c, &c->whole) &&
	    file_offset(c->whole.address, &site->followed_offset))
		site->followed_word = entry_word(c, &c->whole, SITE_RETURN_OK | SITE_FOLLOWED);
}

static void sites_put(struct sites *ret, const struct candidate *c)
{
	struct site site = site_of(c);

	if (ret->count == SITES_MAX || !file_offset(c->probe.address, &site.offset))
		return;
	site.kind = SITE_ENTRY;
	site.emulated = c->probe.emulated;
	site.return_ok = can_return(c, &c->probe);
	site.word = entry_word(c, &c->probe, site.return_ok ? SITE_RETURN_OK : 0);
	put_followed(&site, c);
	ret->site[ret->count++] = site;
	put_exits(ret, c);
}

static int compare_sites(const void *a, const void *b)
{
	const struct site *first = a, *second = b;

	if (first->offset != second->offset)
		return first->offset < second->offset ? -1 : 1;
	return first->function < second->function ? -1 : first->function > second->function;
}

static void sites_skip(struct sites *ret, const char *name, const char *reason)
{
	struct site_skip *s = &ret->skip[ret->skip_count++];

	memcpy(s->name, name, sizeof(s->name));
	s->reason = reason;
}

static int build(struct sites *ret)
{
	static const char others[SITE_NAME_MAX] = "others";

	if (!work.functions.count)
		return 0;
	ret->site = calloc(SITES_MAX, sizeof(ret->site[0]));
	ret->skip = calloc(work.functions.count + 1, sizeof(ret->skip[0]));
	if (!ret->site || !ret->skip)
		return -ENOMEM;
	for (unsigned i = 0; i < work.functions.count; i++) {
		const struct candidate *c = &work.candidate[i];

		if (c->reason)
			sites_skip(ret, c->f->name, c->reason);
		else if (!c->inner)
			sites_put(ret, c);
	}
	if (work.functions.overflow)
		sites_skip(ret, others, "there are too many");
	qsort(ret->site, ret->count, sizeof(ret->site[0]), compare_sites);
	return 0;
}

static void sites_look(void)
{
	for (unsigned i = 0; i < work.functions.count; i++) {
		struct candidate *c = &work.candidate[i];

		*c = (struct candidate){.f = &work.functions.function[i], .exits = -1};
		c->reason = refusal(c);
	}
	for (unsigned i = 0; i < work.functions.count; i++) {
		struct candidate *c = &work.candidate[i];

		if (!c->f->late && !c->f->thumb && !c->f->copied && !maps(c->f))
			find_hand_on(c);
		if (!c->reason)
			sites_find_place(c);
	}
	for (unsigned i = 0; i < work.functions.count; i++) {
		struct candidate *c = &work.candidate[i];

		settle_hand_on(c);
		if (c->inner)
			c->reason = NULL; /* the inner function is probed */
		else if (!c->reason)
			find_exits(c);
		if (!c->reason && !maps(c->f))
			find_leaf(c);
	}
	look_at_others();
}

int sites_find(int fd, const struct sites_options *options, struct sites *ret, struct err_text *err)
{
	int error = elf_symbols_open(&work.file, fd);

	*ret = (struct sites){0};
	if (error == -ENOEXEC)
		return err_set(err, error,
			       "it is no program or library of this processor's width and byte "
			       "order (32-bit programs "
			       "can't be attached to on a 64-bit kernel: use LD_PRELOAD)");
	if (error)
		return err_set(err, error, "the file can't be read");
	work.options = options;
	work.reader = place_reader(work.file.elf.machine);
	if (!work.reader)
		return err_set(err, -ENOEXEC,
			       "it is for a processor that is not known (ELF machine %u)",
			       work.file.elf.machine);
	functions_find(&work.file, &work.functions);
	ret->machine = work.file.elf.machine;
	ret->stripped = work.functions.stripped;
	/* Go's linker puts this section into every program */
	ret->go = work.go = elf_has_section(&work.file.elf, ".go.buildinfo");
	if (work.functions.count)
		error = imports_read(&work.imports, &work.file);
	ret->hands_on = work.functions.malloc && !work.functions.known && work.imports.count;
	if (!error) {
		extents_open(&work.extents, &work.file);
		sites_look();
		error = build(ret);
	}
	imports_done(&work.imports);
	if (error) {
		sites_done(ret);
		return err_set(err, error, "no memory for the functions of an allocator");
	}
	return 0;
}

void sites_done(struct sites *sites)
{
	free(sites->site);
	free(sites->skip);
	*sites = (struct sites){0};
}
