/* Adds function names to a rewritten recording. told_names.h describes the interface. */
#include "collector/rewrite/told_names.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "proto/stack_columns.h"
#include "collector/rewrite/compose.h"
#include "collector/recording/names.h"
#include "base/ban.h"

#define BATCH_BYTES (1u << 20) /* bytes of names at which a batch is written */

void told_names_done(struct told_names *t)
{
	intern_done(&t->places);
	intern_done(&t->texts);
	names_encoder_done(&t->encoder);
}

bool told_names_begin(struct told_names *t, uint32_t incarnation)
{
	if (incarnation == t->incarnation)
		return false;
	t->incarnation = incarnation;
	intern_done(&t->places);
	intern_done(&t->texts);
	names_encoder_clear(&t->encoder, 1);
	return true;
}

uint32_t told_names_text(struct told_names *t, const char *text)
{
	size_t length = text ? strnlen(text, NAMES_TEXT_MAX) : 0;
	uint32_t before = t->texts.count,
		 number = length ? intern_bytes(&t->texts, text, length) : 0;

	t->short_of_memory |= length && !number;
	if (number > before) {
		names_encoder_text(&t->encoder, text, length);
		t->bytes += NAMES_TEXT_BYTES + length;
	}
	return number;
}

int told_names_place(struct told_names *t, uint32_t module, uint64_t offset,
		     const struct name_frame *frames, uint32_t count)
{
	names_encoder_place(&t->encoder, module, offset, frames, count);
	t->bytes += NAMES_PLACE_BYTES + (uint64_t)count * NAMES_FRAME_BYTES;
	return t->bytes > NAMES_BYTES_MAX ? -E2BIG : 0;
}

/* Definitions may be repeated at any time, in batches without a number. */
static int put_names(struct told_names *t, struct copy *copy, const Heapcast__Batch *of,
		     struct err_text *err)
{
	Heapcast__Batch batch;
	Heapcast__Names names;
	int r;

	if (!t->encoder.places && !t->encoder.text_count)
		return 0;
	r = names_encoder_fill(&t->encoder, &names);
	if (r < 0)
		return r;
	batch = copy_behind(of);
	batch.names = &names;
	r = copy_put(copy, &batch, err);
	names_encoder_clear(&t->encoder, t->texts.count + 1);
	return r;
}

static int told_names_tell_place(struct told_names *t, const struct copy *copy, uint32_t number,
				 const struct stack_node *node, told_names_place_function *place,
				 void *context)
{
	uint32_t here = nodes_of_wire(&copy->definitions.nodes, number), before = t->places.count,
		 known;
	int r;

	if (!here || (!node->module && node->offset < COMPOSER_FIRST_PLACE))
		return 0;
	known = intern_pair(&t->places, node->module, node->offset);
	if (!known)
		return -ENOMEM;
	r = known > before ? place(context, here, node) : 0;
	return !r && t->short_of_memory ? -ENOMEM : r;
}

int told_names_of_stacks(struct told_names *t, struct copy *copy, const Heapcast__Stacks *stacks,
			 const Heapcast__Batch *of, told_names_place_function *place, void *context,
			 struct err_text *err)
{
	struct stacks_decoder decoder;
	struct stack_node node;
	uint32_t number;
	int r = stacks_decoder_init(&decoder, stacks, err);

	names_encoder_clear(&t->encoder, t->texts.count + 1);
	while (!r && (r = stacks_decoder_next(&decoder, &number, &node, err)) == 1) {
		r = told_names_tell_place(t, copy, number, &node, place, context);
		if (!r && names_encoder_size(&t->encoder) >= BATCH_BYTES)
			r = put_names(t, copy, of, err);
	}
	if (r == -E2BIG)
		return err_set(err, r,
			       "%s: more than " NAMES_BYTES_TEXT
			       " of names, which is what a recording can have",
			       copy->path);
	return r ? r : put_names(t, copy, of, err);
}
