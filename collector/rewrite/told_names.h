#pragma once
/*
 * Function names for a rewritten recording (copy.h): each place that a batch of stacks mentions
 * first gets a row of Batch.names in a batch of definitions behind it. For anonymise.c and
 * bring_names.c, which choose the names.
 *
 *        told_names_begin(&t, batch.incarnation);
 *        copy_put(&copy, &batch, err);
 *        told_names_of_stacks(&t, &copy, batch.stacks, &batch, place, context, err);
 */
#include "base/intern.h"
#include "collector/rewrite/copy.h"
#include "proto/stack_columns.h"
#include "proto/names.h"

struct told_names {
	uint32_t incarnation;
	struct intern places, texts; /* places and texts that are already written */
	struct names_encoder encoder;
	uint64_t bytes;	      /* part of NAMES_BYTES_MAX that is used */
	bool short_of_memory; /* a text could not be stored; told_names_of_stacks returns the
				 error */
};

/*
 * Called for each new place of a batch. The callback names its frames with told_names_text and
 * told_names_place, or does nothing. `node` is a node of the recording being read. Returns 0, or a
 * negative errno with or without a sentence.
 */
typedef int told_names_place_function(void *context, uint32_t node, const struct stack_node *place);

void told_names_done(struct told_names *told);
/* Returns true if a new agent begins: it numbers texts anew, and has written none yet. */
bool told_names_begin(struct told_names *told, uint32_t incarnation);
/*
 * Calls `place` for each new place of `stacks`, and writes the resulting names behind the batch
 * `of`, which must have been written already.
 */
int told_names_of_stacks(struct told_names *told, struct copy *copy, const Heapcast__Stacks *stacks,
			 const Heapcast__Batch *of, told_names_place_function *place, void *context,
			 struct err_text *err);
/* Returns the number of a text, and adds the text if it is new. Returns 0 for NULL, and if memory
 * is short; then told_names_of_stacks returns the error. */
uint32_t told_names_text(struct told_names *told, const char *text);
/* Returns 0, or -E2BIG if a recording cannot hold as many names. */
int told_names_place(struct told_names *told, uint32_t module, uint64_t offset,
		     const struct name_frame *frames, uint32_t count);
