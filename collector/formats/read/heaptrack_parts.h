#pragma once
/* What heaptrack.c, which reads heaptrack's text, and heaptrack_see.c, which reads it before for
 * what must be known first, share. Only they include it. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collector/formats/read/heaptrack_bases.h"

struct importer;

#define ROWS_MAX (1u << 24) /* limit for strings and for pointers; twice as many traces */

struct pointer {
	uint32_t module;
	bool named; /* for heaptrack_see */
	uint64_t offset;
};

struct trace {
	uint32_t node, depth;
};

struct info {
	uint64_t size;
	uint32_t node, live;
};

struct heaptrack {
	struct importer *im;
	uint64_t version, page_size;
	char *command_line;
	char tool[32];
	struct buf text; /* strings, each with a NUL behind it */
	size_t *strings; /* offsets in `text`, [number - 1] */
	uint32_t string_count, string_capacity;
	uint32_t *modules; /* by string; 0: not made yet */
	uint32_t module_capacity;
	uint32_t *base_numbers; /* by string; 0: none */
	uint32_t base_number_capacity;
	struct base *bases; /* [number - 1] */
	uint32_t base_count, base_capacity;
	struct pointer *pointers;
	uint32_t pointer_count, pointer_capacity;
	struct trace *traces;
	uint32_t trace_count, trace_capacity;
	struct info *infos;
	uint32_t info_count, info_capacity;
	uint64_t now_ns, clock_ns, resident_peak;
	uint64_t unmatched; /* frees without a live block */
};

/* Reads the text once, to find out where files lay, and goes back to its start. Returns 0 or a
 * negative errno, as all functions here do. */
int heaptrack_see(struct heaptrack *heaptrack);

int heaptrack_no_memory(struct heaptrack *heaptrack);
int heaptrack_version(struct heaptrack *heaptrack, char *at);
int heaptrack_string(struct heaptrack *heaptrack, char *at, size_t length);
/* Returns NULL for 0, and -EBADMSG for a string that was never defined. */
int heaptrack_string_at(struct heaptrack *heaptrack, uint64_t number, const char **ret_text);
