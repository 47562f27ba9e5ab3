#pragma once
/*
 * What the catalogue knows of a stream: added up batch by batch while it is received, or again from
 * its recording. Strings are cut to CATALOGUE_TEXT bytes; an agent's word is not trusted further
 * than a line of `collector list`.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/columns.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"

#define CATALOGUE_TEXT 4096

struct totals {
	char *name, *executable, *command_line, *host, *architecture; /* NULL: not known yet */
	uint32_t pid;
	uint64_t start_wall_ns;
	uint64_t last_ns;
	uint64_t events;
	uint64_t bytes; /* of the recording, up to where these totals go */
	struct stream_position position;
	bool ended;
	/* What follows is known, as of so many bytes of the recording (recording_sum_up). */
	bool summed_up;
	uint64_t summed_bytes;
	uint64_t in_use_bytes, in_use_blocks;
	char *incomplete; /* the line of completeness.h; "": nothing is missing */
};

void totals_done(struct totals *totals);
/* Adds a batch that is to be stored. 0; 1: it is there already (nothing was added); -EBADMSG: not
 * of this stream, or damaged (every column is read to its end); -ENOMEM. */
int totals_add(struct totals *totals, const struct stream_id *id, const Heapcast__Batch *batch,
	       struct err_text *err);
/* Adds all whole frames of `fd` from totals->bytes up to `size`. totals->bytes is then where the
 * last whole frame ended. */
int totals_scan(struct totals *totals, const struct stream_id *id, int fd, uint64_t size,
		struct err_text *err);
int totals_copy(const struct totals *from, struct totals *ret_to);
/* What was summed up alone. 0 or -ENOMEM; then `to` is done for. */
int totals_copy_sums(const struct totals *from, struct totals *to);

/* What people call the program: its Process.name, or that of its file. Free it; NULL: no memory. */
char *program_name(const Heapcast__Process *process);
/* Arguments joined by blanks, at most CATALOGUE_TEXT bytes. Free it; NULL: no memory. */
char *join_arguments(const Heapcast__Process *process);
/* words_copy, at most CATALOGUE_TEXT bytes. */
char *outside_text(const void *data, size_t length);
