#pragma once
/* Shared by heaptrack.c, which reads heaptrack's text, and heaptrack_see.c, which first scans the
 * text for where files lay. No other file includes it. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collector/formats/read/heaptrack_bases.h"

struct importer;

#define ROWS_MAX (1u << 24) /* limit for strings and for pointers; for traces, twice that */

struct pointer {
	uint32_t module;
	bool named; /* for heaptrack_see: the address has a function */
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
	struct buf text; /* all strings, each followed by a NUL */
	size_t *strings; /* offsets in `text`, [number - 1] */
	uint32_t string_count, string_capacity;
	uint32_t *modules; /* by string; 0: not created yet */
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

/* Scans the text once to find out where files lay, and rewinds it. Returns 0 or a negative errno,
 * as all functions here do. */
int heaptrack_see(struct heaptrack *heaptrack);

int heaptrack_no_memory(struct heaptrack *heaptrack);
int heaptrack_version(struct heaptrack *heaptrack, char *at);
int heaptrack_string(struct heaptrack *heaptrack, char *at, size_t length);
/* Sets *ret_text to the string, or to NULL for number 0. Returns -EBADMSG if the string was never
 * defined. */
int heaptrack_string_at(struct heaptrack *heaptrack, uint64_t number, const char **ret_text);
