#pragma once
/*
 * Files of other tools become recordings (rewrite/compose.h), so that every question can be asked
 *of them. A format is told by its content:
 *
 *	collapsed   "main;parse;malloc 4096" a line: stacks and one number
 *	heaptrack   text of heaptrack_interpret, versions 1 to 3: every allocation and its end, with
 *		    times, stacks and names
 *	jemalloc    heap_v2 of jemalloc's profiler: sums a stack and thread, program counters,
 *		    mapped files
 *	gperftools  "heap profile: ..." of gperftools and tcmalloc: sums a stack, program counters,
 *		    mapped files (both also with names in front, "--- symbol", as jeprof --raw
 *		    writes them)
 *	pprof       profile.proto of pprof and Go: sums a stack, names or program counters
 *
 * All may be packed by gzip or zstd. All that they say is checked: a sentence names file and line,
 * or byte.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

struct err_text;
struct symbols;

#define IMPORT_FORMATS "collapsed, heaptrack, jemalloc, gperftools or pprof"

#define IMPORT_SAMPLES_MAX (1u << 26)

struct import_options {
	const char *format; /* NULL: by content */
	const char *unit; /* collapsed: what the numbers are: NULL or "bytes", "blocks", or another
			     word */
	struct symbols *symbols; /* heaptrack: what tells where files lay; may be NULL */
	uint64_t samples_max; /* sampled blocks that are taken, a row each; 0: IMPORT_SAMPLES_MAX */
	/* As that of recording_open; may be NULL. */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

struct import_result {
	struct stream_id id;
	const char *format;
	uint64_t events;
	char tool[64];	 /* that wrote the file; "": not known */
	char note[1024]; /* what to know of the numbers; "": nothing */
};

bool import_knows(const char *format);
/* Writes the recording that the file becomes to `fd`, which is empty, under this id, or one by
 * chance if `id` is NULL. 0; -EBADMSG: the file is none of these, or damaged; -ECANCELED; others,
 * all with a sentence. What is in `fd` then is of no use. */
int import_file(const char *path, int fd, const struct stream_id *id,
		const struct import_options *options, struct import_result *ret_result,
		struct err_text *err);
/* The file becomes a stream of a store, which is open for writing or adding: as a whole or not at
 * all. As import_file, and what the store fails with. */
int import_to_store(const char *path, struct store *store, const struct import_options *options,
		    struct import_result *ret_result, struct err_text *err);
/* The same of an open file, which is taken over; `name` is for sentences, and what the recording
 * says that it was made of. */
int import_fd_to_store(int file, const char *name, struct store *store,
		       const struct import_options *options, struct import_result *ret_result,
		       struct err_text *err);
