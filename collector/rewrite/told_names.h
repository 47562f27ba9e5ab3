#pragma once
/*
 * Names of functions that go along with a recording that is written anew (copy.h): for each place
 * that a batch of stacks tells first, a row of Batch.names in a batch of definitions behind it. For
 * anonymise.c and name.c, which choose the names.
 *
 *	told_names_begin(&t, batch.incarnation);
 *	copy_put(&copy, &batch, err);
 *	told_names_of_stacks(&t, &copy, batch.stacks, &batch, place, context, err);
 */
#include "base/intern.h"
#include "collector/rewrite/copy.h"
#include "proto/columns.h"
#include "proto/names.h"

struct told_names {
	uint32_t incarnation;
	struct intern places, texts; /* told already */
	struct names_encoder encoder;
	uint64_t bytes; /* of NAMES_BYTES_MAX */
};

/* A place of the batch that is new: its frames are told by told_names_text and told_names_place, or
 * not at all. `node`: of the recording as it is read. 0 or a negative errno, with a sentence or
 * without. */
typedef int told_names_place_function(void *context, uint32_t node, const struct stack_node *place);

void told_names_done(struct told_names *told);
/* True: another agent numbers texts anew, and has told nothing yet. */
bool told_names_begin(struct told_names *told, uint32_t incarnation);
/* Calls `place` for each new one of `stacks`, as it came, and writes what that told behind `of`,
 * which was written. */
int told_names_of_stacks(struct told_names *told, struct copy *copy, const Heapcast__Stacks *stacks,
			 const Heapcast__Batch *of, told_names_place_function *place, void *context,
			 struct err_text *err);
/* The number of a text, told now if it was not yet; 0 for none, or no memory. */
uint32_t told_names_text(struct told_names *told, const char *text);
/* -E2BIG: a recording can't have as much. */
int told_names_place(struct told_names *told, uint32_t module, uint64_t offset,
		     const struct name_frame *frames, uint32_t count);
