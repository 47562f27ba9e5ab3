/* Turns the sums and stacks of heap profiles into blocks and nodes, and scales samples as the
 * formats' own readers do. See heap_parts.h. */
#include "collector/formats/read/heap_parts.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "collector/formats/read/importer.h"
#include "base/ban.h"

/* ---- blocks ---- */

double heap_factor(const struct heap *h, uint64_t blocks, uint64_t bytes)
{
	double mean;

	if (h->scaling == SCALING_NONE || !blocks)
		return 1;
	if (h->scaling == SCALING_POISSON)
		return importer_unsample(blocks, bytes, (double)h->interval);
	mean = (double)bytes / (double)blocks / ((double)h->interval);
	return mean > 0 && mean < 1 ? 1 / mean : 1;
}

/* The freed blocks are the allocated blocks minus those in use. jemalloc counts freed blocks only
 * with prof_accum. */
static int put_counts(struct heap *h, uint32_t thread, const struct sums *s)
{
	int r = 0;

	if (s->blocks > s->live_blocks && s->bytes >= s->live_bytes)
		r = importer_blocks(h->im, thread, h->stack, s->blocks - s->live_blocks,
				    s->bytes - s->live_bytes, true);
	else if (s->blocks && (s->blocks != s->live_blocks || s->bytes != s->live_bytes))
		h->strange++;
	if (!r && (s->live_blocks || !s->live_bytes))
		r = importer_blocks(h->im, thread, h->stack, s->live_blocks, s->live_bytes, false);
	return r;
}

static int put_samples(struct heap *h, uint32_t thread, const struct sums *s)
{
	double live = (double)s->live_bytes * h->live_factor,
	       freed = (double)s->bytes * h->factor - live;
	int r = 0;

	if (s->blocks > s->live_blocks && s->bytes >= s->live_bytes && freed >= 0)
		r = importer_samples(h->im, thread, h->stack, s->blocks - s->live_blocks,
				     s->bytes - s->live_bytes, freed, true);
	else if (s->blocks && (s->blocks != s->live_blocks || s->bytes != s->live_bytes))
		h->strange++;
	if (!r)
		r = importer_samples(h->im, thread, h->stack, s->live_blocks, s->live_bytes, live,
				     false);
	return r;
}

int heap_put_sums(struct heap *h, uint32_t thread, const struct sums *s)
{
	h->strange += !s->live_blocks && s->live_bytes;
	return h->scaling == SCALING_NONE ? put_counts(h, thread, s) : put_samples(h, thread, s);
}

/* ---- stacks ---- */

/* Parses "0x55e1 0x55f2 ...", innermost first. */
static int read_counters(struct heap *h, char *at)
{
	uint64_t counter;

	h->count = 0;
	while (text_hex(&at, &counter)) {
		if (h->count == IMPORT_STACK_MAX)
			return importer_bad_line(h->im, "a stack of more than %u frames",
						 IMPORT_STACK_MAX);
		if (array_reserve(&h->counters, &h->capacity, (uint64_t)h->count + 1,
				  sizeof(*h->counters)) < 0)
			return err_set(h->im->err, -ENOMEM, "no memory to import");
		h->counters[h->count++] = counter;
	}
	return at[strspn(at, " \t\r")]
		       ? importer_bad_line(h->im, "'%.20s' is no program counter", at)
		       : 0;
}

/* Names an address as the file does, once per address. The names of an innermost frame are at its
 * own address, those of a caller one byte lower, inside the call. The other address is tried
 * second. */
static int name_counter(struct heap *h, uint32_t module, uint64_t offset, uint64_t counter,
			bool innermost)
{
	struct composer_frame frames[NAMES_FRAMES_MAX];
	uint64_t first = innermost ? counter : counter - 1;
	unsigned count = symbol_section_frames(&h->symbols, first, frames);
	bool is_new;

	if (!count)
		count = symbol_section_frames(&h->symbols, innermost ? counter - 1 : counter,
					      frames);
	if (!count || counter == MAP_NO_KEY)
		return 0;
	if (!map_put(&h->named, counter, &is_new))
		return err_set(h->im->err, -ENOMEM, "no memory to import");
	return is_new ? importer_name(h->im, module, offset, frames, count) : 0;
}

/* Adds the nodes, callers first. Leaves out jemalloc's own frames: the stack ends where the program
 * calls jemalloc. */
int heap_put_stack(struct heap *h)
{
	uint32_t inner = 0, module;
	uint64_t offset;
	int r = 0;

	h->stack = 0;
	while (h->jemalloc && inner + 1 < h->count &&
	       mapped_is_in(&h->mapped, h->counters[inner], "libjemalloc"))
		inner++;
	for (uint32_t i = h->count; !r && i-- > inner;) {
		r = mapped_place(&h->mapped, h->im->composer, h->counters[i], &module, &offset);
		if (r < 0 || (!module && offset < COMPOSER_FIRST_PLACE))
			continue;
		r = name_counter(h, module, offset, h->counters[i], i == 0);
		if (!r)
			r = composer_node(h->im->composer, h->stack, module, offset, &h->stack);
	}
	return r;
}

int heap_read_stack(struct heap *h, char *at)
{
	int r = read_counters(h, at);

	return r ? r : heap_put_stack(h);
}
