#pragma once
/*
 * Files that are embedded in a rewritten recording (copy.h), behind its last batch
 * (proto/README.md, "Files of its own"). For bring_names.c.
 */
#include "base/intern.h"
#include "proto/columns.h"
#include "collector/rewrite/bring_names.h"
#include "collector/rewrite/brought.h"
#include "collector/rewrite/copy.h"

struct bring_files {
	Heapcast__Batch last; /* the batch behind which files are written; of its pointers only
			       * `stream` is valid */
	struct brought_pieces pieces; /* pieces of a file that the recording already contains */
	struct intern there;	      /* build ids of complete files in the output */
	uint64_t bytes;		      /* bytes of these files */
};

void bring_files_done(struct bring_files *files);
/* Records that a batch was written unchanged, with its pieces of files. Returns 0 or -ENOMEM. */
int bring_files_pass(struct bring_files *files, const struct copy *copy,
		     const Heapcast__Batch *batch);
/*
 * Writes a file that is not in the output yet. Returns 0 if it is now, or was before; 1 with the
 * reason if it was skipped; or a negative errno with a sentence.
 */
int bring_files_put(struct bring_files *files, struct copy *copy, const struct bring_file *file,
		    struct err_text *err);
