/* Scans a heaptrack text for where files lay, before anything is imported. Errors in the text are
 * not reported here; the second reading reports them. */
#include "collector/formats/read/heaptrack_parts.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "collector/formats/read/importer.h"
#include "base/ban.h"

#define BASES_MAX (1u << 14) /* maximum number of files that are examined */

/* Returns the base of a module's string, for writing. Returns NULL if there are too many, or
 * without memory. */
static struct base *see_base(struct heaptrack *h, uint64_t string)
{
	uint32_t *number;

	if (array_reserve(&h->base_numbers, &h->base_number_capacity, string,
			  sizeof(*h->base_numbers)) < 0)
		return NULL;
	number = &h->base_numbers[string - 1];
	if (!*number) {
		if (h->base_count >= BASES_MAX ||
		    array_reserve(&h->bases, &h->base_capacity, (uint64_t)h->base_count + 1,
				  sizeof(*h->bases)) < 0)
			return NULL;
		*number = ++h->base_count;
		h->bases[*number - 1].string = (uint32_t)string;
	}
	return &h->bases[*number - 1];
}

static int see_pointer(struct heaptrack *h, char *at)
{
	uint64_t address, module = 0, next, name = 0;
	struct base *base;

	if (h->pointer_count >= ROWS_MAX || !text_hex(&at, &address))
		return 0;
	text_hex(&at, &module);
	/* The last function contains the code; those before it are inlined into it. */
	while (text_hex(&at, &next)) {
		name = next;
		text_hex(&at, &next);
		text_hex(&at, &next);
	}
	if (module > h->string_count || name > h->string_count)
		return 0;
	if (array_reserve(&h->pointers, &h->pointer_capacity, (uint64_t)h->pointer_count + 1,
			  sizeof(*h->pointers)) < 0)
		return heaptrack_no_memory(h);
	h->pointers[h->pointer_count++] =
		(struct pointer){(uint32_t)module, name != 0, address + 1};
	base = module ? see_base(h, module) : NULL;
	if (base)
		base_see(base, address + 1, (uint32_t)name);
	return 0;
}

static void see_trace(struct heaptrack *h, char *at)
{
	uint64_t pointer, parent;
	const struct pointer *p;
	struct base *base;

	if (!text_hex(&at, &pointer) || !text_hex(&at, &parent) || parent || !pointer ||
	    pointer > h->pointer_count)
		return;
	p = &h->pointers[pointer - 1];
	base = p->module && !p->named ? see_base(h, p->module) : NULL;
	if (base)
		base_see_outermost(base, p->offset);
}

static int see_line(struct heaptrack *h, char *line, size_t length)
{
	if (length && line[0] == 'v')
		return heaptrack_version(h, line + 1);
	if (length && line[0] == 's')
		return heaptrack_string(h, line + 1, length - 1);
	if (length && line[0] == 'i')
		return see_pointer(h, line + 1);
	if (length && line[0] == 't')
		see_trace(h, line + 1);
	return 0;
}

static int find_bases(struct heaptrack *h)
{
	uint32_t lookups = BASES_LOOKUPS, guessed = 0;

	for (uint32_t i = 0; i < h->base_count; i++) {
		struct base *b = &h->bases[i];
		int r;

		for (unsigned a = 0; a < b->anchor_count; a++)
			heaptrack_string_at(h, b->anchors[a].number, &b->anchors[a].function);
		r = base_find(b, (const char *)h->text.data + h->strings[b->string - 1],
			      h->im->options->symbols, &lookups, h->im->err);
		if (r < 0)
			return r;
		guessed += b->nameless && !b->exact;
	}
	if (guessed)
		importer_note(h->im,
			      "the address at which %u file%s began is not known: places without a "
			      "name in %s are counted from the page of the first one seen",
			      guessed, guessed == 1 ? "" : "s", guessed == 1 ? "it" : "them");
	return 0;
}

int heaptrack_see(struct heaptrack *h)
{
	size_t length;
	char *line;
	int r;

	if (!source_rewinds(h->im->source)) {
		importer_note(h->im, "where files lay is not known, as it can be read but once: "
				     "places without a name are others in each run");
		return 0;
	}
	while ((r = importer_line(h->im, &line, &length)) == 1) {
		r = see_line(h, line, length);
		if (r < 0)
			return r;
	}
	if (!r)
		r = find_bases(h);
	h->string_count = h->pointer_count = 0;
	h->version = 0;
	buf_clear(&h->text);
	return r ? r : source_rewind(h->im->source, h->im->err);
}
