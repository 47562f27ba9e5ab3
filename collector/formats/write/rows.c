/*
 * Writes all matched allocations, one line each, and their backtraces. A program may allocate a
 * million times from a thousand backtraces. So the line of an allocation has the number of its
 * backtrace, and each backtrace is written once, before the first line that refers to it. The
 * writers (rows_json.c, rows_csv.c) define the format of the lines.
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

bool rows_has(const struct rows_export *e, unsigned table)
{
	return e->tables & table;
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

void rows_export_free(void *state)
{
	struct rows_export *e = state;

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

static int set_options(struct rows_export *e, const struct writing *w, struct err_text *err)
{
	if (w->with_stacks && w->tables == ROWS_BACKTRACES)
		return err_set(
			err, -EINVAL,
			"the table of backtraces does not go with stacks in the allocations");
	e->tables = w->tables ? w->tables : e->writer->tables;
	if (w->with_stacks)
		e->tables &= ~(unsigned)ROWS_BACKTRACES;
	e->with_stacks = w->with_stacks;
	e->most = w->count;
	return 0;
}

static int rows_make_room(struct rows_export *e)
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

int rows_export_begin(const struct rows_writer *writer, const struct writing *w, void **ret_state,
		      struct err_text *err)
{
	struct rows_export *e;
	int r = filter_narrow(w->filter, w->view, w->value, w->at_ns, err);

	if (r < 0)
		return r;
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->writer = writer;
	e->view = w->view;
	e->recording = view_recording(w->view);
	r = set_options(e, w, err);
	if (!r)
		r = rows_make_room(e);
	if (!r)
		r = query_page_new(w->view, w->filter, PAGE_BY_TIME, false, &e->page, err);
	if (r < 0) {
		rows_export_free(e);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_state = e;
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

int rows_export_some(void *state, size_t bytes, struct buf *out, struct err_text *err)
{
	struct rows_export *e = state;

	if (!e->begun && e->writer->head)
		e->writer->head(e, out);
	e->begun = true;
	while (e->done < e->most && out->length < bytes && !buf_error(out)) {
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
	return e->done < e->most;
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

int rows_export_estimate(void *state, uint64_t *ret_bytes, struct err_text *err)
{
	struct rows_export *e = state;
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
	if (total > e->most)
		total = e->most;
	if (lines)
		*ret_bytes = (uint64_t)((double)sample.length / (double)lines * (double)total);
	return 0;
}
