#pragma once
/*
 * The interface of a reader: it turns a file of another tool into a recording (rewrite/compose.h),
 * so that every question can be asked about it. Each reader is declared at the end of its file, and
 * has a line in the table of collector/formats/formats.c. Readers share importer.h. They check all
 * that a file says. Error texts name the file, and the line or byte.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/stream_id.h"

struct importer;
struct symbols;

struct format_reader {
	/* Recognizes the format by the file's first bytes. */
	bool (*is)(const uint8_t *head, size_t length);
	int (*read)(struct importer *importer);
};

extern const struct format_reader collapsed_reader, gperftools_reader, heaptrack_reader,
	jemalloc_reader, pprof_reader;

#define IMPORT_SAMPLES_MAX (1u << 26)

struct import_options {
	const char *format; /* NULL: decided by the content */
	const char *unit; /* collapsed: unit of the numbers: "bytes" (or NULL), "blocks", or another
			     word */
	struct symbols *symbols; /* heaptrack: finds where files lay; may be NULL */
	uint64_t samples_max;	 /* limit for sampled blocks, one row each; 0: IMPORT_SAMPLES_MAX */
	/* See recording_open; may be NULL. */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

struct import_result {
	struct stream_id id;
	const char *format;
	uint64_t events;
	char tool[64];	 /* the tool that wrote the file; "": not known */
	char note[1024]; /* what a reader of the numbers should know; "": nothing */
};
