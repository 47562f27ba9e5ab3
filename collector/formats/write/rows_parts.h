#pragma once
/* Shared by the export of rows (rows.c) and its two writers. No other file uses it. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/intern.h"
#include "collector/columns/row_block.h"
#include "collector/formats/write/writer.h"

struct rows_export;
struct row_block;

struct rows_writer {
	unsigned tables;				      /* default of writing.tables */
	void (*head)(struct rows_export *e, struct buf *out); /* NULL: none */
	void (*allocation)(struct rows_export *e, const struct row_block *b, uint32_t i,
			   struct buf *out);
	void (*backtrace)(struct rows_export *e, uint32_t node, struct buf *out);
};

struct rows_export {
	struct view *view;
	const struct recording *recording;
	const struct rows_writer *writer;
	unsigned tables;  /* enum rows_table */
	bool with_stacks; /* each allocation line holds its frames instead of a number */
	uint64_t most;	  /* maximum number of allocations */
	struct query_page *page;
	struct row_cache *cache;
	bool begun;
	uint64_t *rows; /* the requested rows, in order */
	long count, at;
	uint8_t *told; /* one bit per node: its backtrace was written */
	uint32_t nodes;
	uint64_t done; /* number of allocations written */
	/* For the CSV writer: */
	struct buf field;
	uint32_t *way; /* nodes of the current backtrace */
	uint32_t way_capacity;
	/* For the JSON writer: */
	struct intern places;  /* by module and offset */
	uint64_t *first_frame; /* by place: the number of its innermost frame; the others follow */
	uint32_t first_frame_capacity;
	uint64_t frames; /* frames written so far */
};

/* Tells whether the lines of a table (enum rows_table) are written. */
bool rows_has(const struct rows_export *e, unsigned table);

/* Begins an export, for the `begin` of a format_writer. */
int rows_export_begin(const struct rows_writer *writer, const struct writing *writing,
		      void **ret_state, struct err_text *err);
int rows_export_some(void *state, size_t bytes, struct buf *out, struct err_text *err);
int rows_export_estimate(void *state, uint64_t *ret_bytes, struct err_text *err);
void rows_export_free(void *state);
