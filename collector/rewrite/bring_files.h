#pragma once
/*
 * Files that go along with a recording that is written anew (copy.h), behind its last batch
 * (proto/README.md, "Files of its own"). For bring_names.c.
 */
#include "base/intern.h"
#include "proto/columns.h"
#include "collector/rewrite/bring_names.h"
#include "collector/rewrite/brought.h"
#include "collector/rewrite/copy.h"

struct bring_files {
	Heapcast__Batch
		last; /* behind which they come; but for `stream`, without what it points to */
	struct brought_pieces pieces; /* of one that the recording has already */
	struct intern there;	      /* build ids of whole ones in what is written */
	uint64_t bytes;		      /* of these */
};

void bring_files_done(struct bring_files *files);
/* A batch was written as it was, with whatever it brings. 0 or -ENOMEM. */
int bring_files_pass(struct bring_files *files, const struct copy *copy,
		     const Heapcast__Batch *batch);
/* Writes a file that is not there yet. 0: it is there now, or was; 1: it was left out, and why;
 * negative errno, with a sentence. */
int bring_files_put(struct bring_files *files, struct copy *copy, const struct bring_file *file,
		    struct err_text *err);
