#pragma once
/*
 * How a format is read: a file of another tool becomes a recording (rewrite/compose.h), so that
 * every question can be asked of it. Each reader is declared at the end of its file, and has its
 * line in the table of collector/formats/formats.c; what readers share is in importer.h. All that a
 * file says is checked: a sentence names file and line, or byte.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/stream_id.h"

struct importer;
struct symbols;

struct format_reader {
	/* By the first bytes. */
	bool (*is)(const uint8_t *head, size_t length);
	int (*read)(struct importer *importer);
};

extern const struct format_reader collapsed_reader, gperftools_reader, heaptrack_reader,
	jemalloc_reader, pprof_reader;

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
