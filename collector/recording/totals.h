#pragma once
/*
 * What the catalogue knows about a stream, added up batch by batch as they arrive, or recomputed
 * from the recording. Strings are cut to CATALOGUE_TEXT bytes, which bounds what an untrusted agent
 * can put into a line of `collector list`.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/columns.h"
#include "collector/recording/labels.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"

#define CATALOGUE_TEXT 4096

struct totals {
	char *name, *executable, *command_line, *host, *architecture; /* NULL: unknown so far */
	struct labels labels;
	char *began_on; /* the collector that has the beginning, if that is another one; else NULL
			 */
	uint32_t pid;
	uint64_t start_wall_ns;
	uint64_t last_ns;
	uint64_t events;
	uint64_t bytes; /* length of the recording that these totals cover */
	struct stream_position position;
	bool ended;
	/* The members below are valid (recording_sum_up). */
	bool summed_up;
	/* Length of the recording that these members fully cover. 0: the last events wait for a
	 * watermark and are left out. */
	uint64_t summed_bytes;
	uint64_t in_use_bytes, in_use_blocks;
	char *incomplete; /* the line of completeness.h; "": nothing is missing */
};

void totals_done(struct totals *totals);
/*
 * Adds a batch before it is stored. Returns 0; 1 if the batch is already stored (nothing was
 * added); -EBADMSG if it belongs to another stream or is damaged (every column is decoded to its
 * end); or -ENOMEM.
 */
int totals_add(struct totals *totals, const struct stream_id *id, const Heapcast__Batch *batch,
	       struct err_text *err);
/*
 * Adds all whole frames of `fd` from totals->bytes to `size`. totals->bytes is then the end of the
 * last whole frame. Returns 0 or a negative errno with a sentence.
 */
int totals_scan(struct totals *totals, const struct stream_id *id, int fd, uint64_t size,
		struct err_text *err);
int totals_copy(const struct totals *from, struct totals *ret_to);
/* Copies only the sums. Returns 0, or -ENOMEM, and `to` is then empty. */
int totals_copy_sums(const struct totals *from, struct totals *to);

/*
 * Returns the program's usual name: Process.name, or else the name of its file. The caller frees
 * it. Returns NULL if memory is short.
 */
char *program_name(const Heapcast__Process *process);
/*
 * Returns the arguments joined by blanks, at most CATALOGUE_TEXT bytes. The caller frees them.
 * Returns NULL if memory is short.
 */
char *join_arguments(const Heapcast__Process *process);
/* Copies untrusted text like words_copy, at most CATALOGUE_TEXT bytes. */
char *outside_text(const void *data, size_t length);
