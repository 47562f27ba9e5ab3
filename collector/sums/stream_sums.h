#pragma once
/*
 * What a stream allocated and had in use, by minute and backtrace, with the names of its call
 *sites.
 *
 *	streams/ID/columns/minutes	the sums (minute_file.h)
 *
 * The file is made from the recording by the first question of someone who may write there, of a
 * stream that nobody writes. It is used as long as the recording and the files that name its code
 * are those that it was made of; else it is made again. Where it can't be written, sums are made
 *for each question. So answers are the same with the file and without it.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "collector/sums/minute_file.h"

struct err_text;
struct minutes;
struct recording;
struct site_rules;
struct store;
struct stream_summary;
struct symbols;
struct view;

struct sums_source {
	struct store *store;
	struct symbols *symbols;
	const struct site_rules *rules; /* of what is hidden, beside the built-in ones; or NULL */
	const atomic_bool *cancelled;	/* may be NULL */
};

struct stream_sums {
	struct minute_file file;
	const struct sums_site *sites; /* by `site` of file.stacks */
	uint32_t site_count;
	/* ---- private ---- */
	void *mapped;
	size_t mapped_length;
	uint8_t *bytes;
	struct recording *recording; /* of other names than those of the file */
	struct view *view;
	struct sums_site *own_sites;
};

/* Returns true if the sums of a stream can be kept: nobody writes it. */
bool stream_sums_can_be_kept(const struct stream_summary *stream);
/* Reads the sums of a stream, and makes the file if it can be kept. `anew`: makes them also if
 * there is a file, because a block in it is damaged. Returns 0, or a negative errno with a
 * sentence. */
int stream_sums_open(const struct sums_source *source, const struct stream_summary *stream,
		     bool anew, struct stream_sums *ret_sums, struct err_text *err);
void stream_sums_close(struct stream_sums *sums);
/* For tests and benchmarks: keeps other sums than those of the recording; `stack` is a node, and
 * becomes an index. Returns 0, or a negative errno with a sentence. */
int stream_sums_keep(const struct sums_source *source, const struct stream_summary *stream,
		     struct minutes *sums, struct err_text *err);
