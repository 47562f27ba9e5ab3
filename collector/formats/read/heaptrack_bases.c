/* Finds where a file was mapped. See heaptrack_bases.h. */
#include "collector/formats/read/heaptrack_bases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

#define PAGE	    UINT64_C(4096) /* files are mapped at multiples of at least this */
#define CHOICES_MAX (1u << 16)	   /* pages at which code may begin; covers 256 MiB */
#define ENTRY_BYTES 64		   /* the entry makes its call within this many bytes */

static void add_anchor(struct base *b, uint64_t address, uint32_t function)
{
	for (unsigned i = 0; i < b->anchor_count; i++)
		if (b->anchors[i].number == function &&
		    (function || b->anchors[i].address == address))
			return;
	if (b->anchor_count < BASES_ANCHORS)
		b->anchors[b->anchor_count++] = (struct base_anchor){address, function, NULL};
}

void base_see(struct base *b, uint64_t address, uint32_t function)
{
	b->lowest = !b->places || address < b->lowest ? address : b->lowest;
	b->highest = address > b->highest ? address : b->highest;
	b->places++;
	b->nameless += !function;
	if (function)
		add_anchor(b, address, function);
}

void base_see_outermost(struct base *b, uint64_t address)
{
	add_anchor(b, address, 0);
}

/* Finds the lowest and the highest bias for which all addresses lie in the code. Returns false if
 * there is none. */
static bool find_range(const struct base *b, const struct elf_load *load, uint64_t *ret_first,
		       uint64_t *ret_last)
{
	uint64_t end = load->address + load->size, first;

	if (b->highest - b->lowest > load->size)
		return false;
	/* Code may be mapped at any multiple of a page above its link address. Below that address
	 * the difference wraps around, which does no harm. */
	first = b->highest - end;
	first += -first % PAGE;
	*ret_first = first;
	*ret_last = first + ((b->lowest - load->address - first) & ~(PAGE - 1));
	return (int64_t)(b->lowest - load->address - first) >= 0;
}

/* Counts the anchors that each choice explains: functions of the file at the anchors' addresses,
 * and the entry. */
static int count_anchors(const struct base *b, const struct elf_id *id, const char *path,
			 struct symbols *symbols, uint64_t first, size_t choices, uint8_t *counts,
			 uint32_t *lookups, struct err_text *err)
{
	const struct symbol_module module = {path, id->file.build_id, id->file.build_id_length};
	cleanup(cleanup_free) uint64_t *offsets = calloc(choices, sizeof(*offsets));
	cleanup(cleanup_free) const struct symbol **found = calloc(choices, sizeof(*found));

	if (!offsets || !found)
		return -ENOMEM;
	for (unsigned a = 0; a < b->anchor_count; a++) {
		const struct base_anchor *anchor = &b->anchors[a];
		int r;

		for (size_t i = 0; i < choices; i++) {
			offsets[i] = anchor->address - first - i * PAGE;
			counts[i] += !anchor->function && id->entry &&
				     offsets[i] - id->entry < ENTRY_BYTES;
		}
		if (!anchor->function || !symbols || choices > *lookups)
			continue;
		*lookups -= (uint32_t)choices;
		r = symbols_lookup(symbols, &module, offsets, choices, found, err);
		if (r < 0)
			return r;
		for (size_t i = 0; i < choices; i++) {
			const struct symbol_frame *f = &found[i]->frames[found[i]->count - 1];

			counts[i] +=
				(f->function && !strcmp(f->function, anchor->function)) ||
				(f->raw_function && !strcmp(f->raw_function, anchor->function));
		}
	}
	return 0;
}

/* Returns the choice that explains most anchors, or `choices` if several do. */
static size_t best_of(const uint8_t *counts, size_t choices)
{
	size_t best = 0, with = 0;

	for (size_t i = 0; i < choices; i++) {
		if (counts[i] > counts[best])
			best = i;
	}
	for (size_t i = 0; i < choices; i++)
		with += counts[i] == counts[best];
	return with == 1 ? best : choices;
}

static int find_exact(struct base *b, const struct elf_id *id, const struct elf_load *load,
		      const char *path, struct symbols *symbols, uint32_t *lookups,
		      struct err_text *err)
{
	cleanup(cleanup_free) uint8_t *counts = NULL;
	uint64_t first, last;
	size_t choices, best;
	int r;

	if (!find_range(b, load, &first, &last))
		return 0;
	choices = (size_t)((last - first) / PAGE) + 1;
	if (choices > CHOICES_MAX)
		return 0;
	counts = calloc(choices, 1);
	if (!counts)
		return -ENOMEM;
	r = choices > 1 ? count_anchors(b, id, path, symbols, first, choices, counts, lookups, err)
			: 0;
	if (r < 0)
		return r;
	/* Bias 0: the program runs at its link address. */
	best = -first / PAGE < choices ? (size_t)(-first / PAGE) : best_of(counts, choices);
	if (best == choices)
		return 0;
	b->exact = true;
	b->bias = first + best * PAGE;
	memcpy(b->build_id, id->file.build_id, sizeof(b->build_id));
	b->build_id_length = id->file.build_id_length;
	return 0;
}

int base_find(struct base *b, const char *path, struct symbols *symbols, uint32_t *lookups,
	      struct err_text *err)
{
	struct elf_id id;
	int r = 0;

	if (!b->nameless)
		return 0;
	b->bias = b->lowest & ~(PAGE - 1);
	if (path[0] != '/' || elf_id_read(path, &id) < 0)
		return 0;
	for (uint32_t i = 0; !r && !b->exact && i < id.load_count; i++)
		r = find_exact(b, &id, &id.load[i], path, symbols, lookups, err);
	return r == -ENOMEM ? err_set(err, r, "no memory to import") : r;
}
