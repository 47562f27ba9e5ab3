/*
 * All matched allocations, one line each, and all their backtraces. A program may allocate a
 * million times from a thousand backtraces. So the line of an allocation has the number of its
 * backtrace, and each backtrace is written once, before the first line that refers to it. The
 * writers define the format of the lines (rows_json.c, rows_csv.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/formats/write/rows_parts.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define ROWS_AT_ONCE 512
#define SAMPLES	     64

static const struct rows_writer *const writers[] = {
	[ROWS_AS_JSON] = &rows_json,
	[ROWS_AS_CSV] = &rows_csv,
};

bool rows_has(const struct rows_export *e, unsigned table)
{
	return e->options.tables & table;
}

int rows_table(const char *text, unsigned *ret_tables)
{
	static const struct {
		const char *name;
		unsigned tables;
	} names[] = {{"allocations", ROWS_ALLOCATIONS}, {"backtraces", ROWS_BACKTRACES}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i].name)) {
			*ret_tables = names[i].tables;
			return 0;
		}
	}
	return -EINVAL;
}

void rows_export_free(struct rows_export *e)
{
	if (!e)
		return;
	query_page_free(e->page);
	row_cache_free(e->cache);
	buf_done(&e->field);
	intern_done(&e->places);
	free(e->first_frame);
	free(e->rows);
	free(e->told);
	free(e->way);
	free(e);
}

static int set_options(struct rows_export *e, const struct rows_options *options,
		       struct err_text *err)
{
	e->writer = writers[options->format];
	e->options = *options;
	if (options->with_stacks && options->tables == ROWS_BACKTRACES)
		return err_set(
			err, -EINVAL,
			"the table of backtraces does not go with stacks in the allocations");
	if (!options->tables)
		e->options.tables = e->writer->tables;
	if (options->with_stacks)
		e->options.tables &= ~(unsigned)ROWS_BACKTRACES;
	return 0;
}

static int begin(struct rows_export *e)
{
	e->nodes = recording_nodes(e->recording);
	e->rows = calloc(ROWS_AT_ONCE, sizeof(*e->rows));
	e->told = calloc((size_t)e->nodes / 8 + 1, 1);
	return e->rows && e->told ? row_cache_new(e->recording,
						  rows_has(e, ROWS_ALLOCATIONS)
							  ? ROWS_ALL
							  : ROWS_STACK | ROWS_DEATH_STACK,
						  &e->cache)
				  : -ENOMEM;
}

int rows_export_new(struct view *view, const struct filter *filter,
		    const struct rows_options *options, struct rows_export **ret_export,
		    struct err_text *err)
{
	struct rows_export *e = calloc(1, sizeof(*e));
	int r = e ? set_options(e, options, err) : -ENOMEM;

	if (!r) {
		e->view = view;
		e->recording = view_recording(view);
		r = begin(e);
	}
	if (!r)
		r = query_page_new(view, filter, PAGE_BY_TIME, false, &e->page, err);
	if (r < 0) {
		rows_export_free(e);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_export = e;
	return 0;
}

/* Writes a backtrace at its first occurrence. */
static void tell_backtrace(struct rows_export *e, uint32_t node, struct buf *out)
{
	if (!node || node > e->nodes || e->told[node / 8] & 1u << node % 8)
		return;
	e->told[node / 8] |= (uint8_t)(1u << node % 8);
	e->writer->backtrace(e, node, out);
}

static void tell_row(struct rows_export *e, const struct row_block *b, uint32_t i, struct buf *out)
{
	if (rows_has(e, ROWS_BACKTRACES)) {
		tell_backtrace(e, b->stack[i], out);
		tell_backtrace(e, b->death_stack ? b->death_stack[i] : 0, out);
	}
	if (rows_has(e, ROWS_ALLOCATIONS))
		e->writer->allocation(e, b, i, out);
	e->done++;
}

int rows_export_some(struct rows_export *e, size_t bytes, struct buf *out, struct err_text *err)
{
	if (!e->begun && e->writer->head)
		e->writer->head(e, out);
	e->begun = true;
	while (e->done < e->options.count && out->length < bytes && !buf_error(out)) {
		const struct row_block *block;
		uint32_t i;

		if (e->at == e->count) {
			e->at = 0;
			e->count = query_page_next(e->page, e->rows, ROWS_AT_ONCE, err);
			if (e->count <= 0)
				return (int)e->count;
		}
		block = row_cache_get(e->cache, e->rows[e->at++], &i, err);
		if (!block)
			return -EIO;
		tell_row(e, block, i, out);
	}
	if (buf_error(out))
		return err_set(err, buf_error(out), "out of memory");
	return e->done < e->options.count;
}

/* Writes lines of allocations at equal distances in the recording. The first allocations alone
 * would not be representative, because their backtraces are short. */
static int sample_lines(struct rows_export *e, struct buf *out, uint64_t *ret_lines,
			struct err_text *err)
{
	uint64_t rows = recording_rows(e->recording), count = rows < SAMPLES ? rows : SAMPLES;

	for (uint64_t k = 0; k < count; k++) {
		uint32_t i;
		const struct row_block *b = row_cache_get(e->cache, k * (rows / count), &i, err);

		if (!b)
			return -EIO;
		e->writer->allocation(e, b, i, out);
	}
	*ret_lines = count;
	return buf_error(out) ? err_set(err, buf_error(out), "out of memory") : 0;
}

int rows_export_estimate(struct rows_export *e, uint64_t *ret_bytes, struct err_text *err)
{
	cleanup(buf_done) struct buf sample = {0};
	uint64_t total, lines = 0;
	int r = 0;

	*ret_bytes = 0;
	if (!rows_has(e, ROWS_ALLOCATIONS))
		return 0;
	r = query_page_total(e->page, &total, err);
	if (!r)
		r = sample_lines(e, &sample, &lines, err);
	if (r < 0)
		return r;
	if (total > e->options.count)
		total = e->options.count;
	if (lines)
		*ret_bytes = (uint64_t)((double)sample.length / (double)lines * (double)total);
	return 0;
}
