/* Sweeps over the rows that a filter selects. See sweep.h. */
#include "collector/query/sweep/sweep.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/parallel.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

/* Enough parts that threads end at about the same time, few enough that merging is cheap. */
#define PARTS	    16
#define PART_PIECES 8

DEFINE_CLEANUP(row_reader_free, struct row_reader *)

struct piece {
	uint32_t block, first, end;
};

struct run {
	const struct sweep *sweep;
	const struct matcher *m;
	struct piece *pieces;
	size_t count;
	unsigned parts;
	void *part[PARTS];
	pthread_t asking;
	pthread_mutex_t lock; /* protects err */
	struct err_text *err;
};

static uint32_t piece_rows = ROWS_PER_BLOCK;

void sweep_set_piece(uint32_t rows)
{
	piece_rows = rows ? rows : ROWS_PER_BLOCK;
}

static int list_pieces(struct run *run)
{
	const struct sweep *s = run->sweep;
	uint32_t blocks = recording_blocks(run->m->recording);
	uint32_t rows = run->m->one_in ? PREVIEW_ROWS : piece_rows;
	size_t each = ROWS_PER_BLOCK / rows;

	run->pieces = malloc((blocks * each + 1) * sizeof(*run->pieces));
	if (!run->pieces)
		return -ENOMEM;
	for (uint32_t b = 0; b < blocks; b++) {
		const struct row_block *zone = recording_zone(run->m->recording, b);
		uint32_t count = matcher_block_rows(run->m, zone);

		if (!count || (s->skips && s->skips(s->context, zone)))
			continue;
		for (uint32_t i = 0; i < count; i += rows)
			if (matcher_takes(run->m, zone->first_row + i, zone->first_row + i + 1))
				run->pieces[run->count++] =
					(struct piece){b, i, count - i < rows ? count : i + rows};
	}
	run->parts = run->count < PARTS * PART_PIECES
			     ? (unsigned)((run->count + PART_PIECES - 1) / PART_PIECES)
			     : PARTS;
	return 0;
}

/* What a thread needs to read rows. */
struct reading {
	struct row_reader *reader;
	uint16_t *room;
	struct weighed_rows *weighed; /* NULL: no preview, or not needed yet */
};

static void reading_done(struct reading *r)
{
	row_reader_free(r->reader);
	free(r->room);
	free(r->weighed);
}

static int sweep_piece(struct run *run, struct reading *reading, const struct piece *piece,
		       void *part, struct err_text *err)
{
	const struct sweep *s = run->sweep;
	unsigned columns = s->columns | matcher_columns(run->m);
	const struct row_block *block =
		run->m->one_in ? row_reader_rows(reading->reader, piece->block, columns,
						 piece->first, piece->end, err)
			       : row_reader_block(reading->reader, piece->block, columns, err);
	struct row_set rows;

	if (!block)
		return err && err->text[0] ? -EIO : -ENOMEM;
	rows = matcher_select(run->m, block, piece->first, piece->end, reading->room);
	if (rows.count && run->m->one_in)
		block = matcher_weigh(run->m, block, &rows, &reading->weighed);
	if (!block)
		return -ENOMEM;
	return rows.count ? s->part_rows(part, block, &rows) : 0;
}

static int sweep_part(struct run *run, void *part, size_t first, size_t end, struct err_text *err)
{
	cleanup(reading_done) struct reading reading = {
		.room = malloc(ROWS_PER_BLOCK * sizeof(*reading.room))};
	bool asking = pthread_equal(pthread_self(), run->asking);
	int r = row_reader_new(run->m->recording, &reading.reader);

	if (!reading.room)
		return -ENOMEM;
	for (size_t i = first; !r && i < end; i++) {
		r = matcher_cancelled(run->m, err);
		if (!r)
			r = sweep_piece(run, &reading, &run->pieces[i], part, err);
		matcher_did(run->m, 1, asking);
	}
	return r;
}

static int sweep_run_part(void *context, unsigned p)
{
	struct run *run = context;
	const struct sweep *s = run->sweep;
	struct err_text err = {0};
	int r = s->part_new ? s->part_new(s->context, &run->part[p]) : 0;

	if (!r)
		r = sweep_part(run, s->part_new ? run->part[p] : s->context,
			       p * run->count / run->parts, (p + 1) * run->count / run->parts,
			       &err);
	if (!r && s->part_end)
		s->part_end(run->part[p]);
	if (r < 0 && err.text[0]) {
		pthread_mutex_lock(&run->lock);
		err_set(run->err, r, "%s", err.text);
		pthread_mutex_unlock(&run->lock);
	}
	return r;
}

static int merge_part(void *context, unsigned p)
{
	struct run *run = context;
	int r = run->sweep->part_merge(run->sweep->context, run->part[p]);

	run->sweep->part_free(take_ptr(run->part[p]));
	return r;
}

int sweep_run(const struct sweep *sweep, struct err_text *err)
{
	struct run run = {
		.sweep = sweep, .m = sweep->matcher, .asking = pthread_self(), .err = err};
	int r = matcher_cancelled(run.m, err);

	if (!r)
		r = list_pieces(&run);
	if (!r) {
		matcher_will_do(run.m, run.count);
		pthread_mutex_init(&run.lock, NULL);
		r = parallel_run(&(struct parallel_work){run.parts, &run, sweep_run_part,
							 sweep->part_new ? merge_part : NULL});
		pthread_mutex_destroy(&run.lock);
	}
	for (unsigned p = 0; p < PARTS; p++)
		if (run.part[p])
			sweep->part_free(run.part[p]);
	free(run.pieces);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

/* ---- on one thread ---- */

static int visit_block(const struct matcher *m, struct row_reader *reader, uint32_t index,
		       unsigned columns, uint16_t *room, sweep_rows *rows, void *context,
		       struct err_text *err)
{
	uint32_t count = matcher_block_rows(m, recording_zone(m->recording, index));
	const struct row_block *block;
	struct row_set set;
	int r = matcher_cancelled(m, err);

	matcher_did(m, 1, true);
	if (r < 0 || !count)
		return r;
	block = row_reader_block(reader, index, columns, err);
	if (!block)
		return err && err->text[0] ? -EIO : -ENOMEM;
	set = matcher_select(m, block, 0, count, room);
	return set.count ? rows(context, block, &set) : 0;
}

static int sweep_visit_all(const struct matcher *m, unsigned columns, bool backwards,
			   sweep_rows *rows, void *context, struct err_text *err)
{
	cleanup(cleanup_row_reader_free) struct row_reader *reader = NULL;
	cleanup(cleanup_free) uint16_t *room = malloc(ROWS_PER_BLOCK * sizeof(*room));
	uint32_t blocks = recording_blocks(m->recording);
	int r = room ? row_reader_new(m->recording, &reader) : -ENOMEM;

	matcher_will_do(m, blocks);
	columns |= matcher_columns(m);
	for (uint32_t b = 0; !r && b < blocks; b++)
		r = visit_block(m, reader, backwards ? blocks - 1 - b : b, columns, room, rows,
				context, err);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

int sweep_in_order(const struct matcher *matcher, unsigned columns, sweep_rows *rows, void *context,
		   struct err_text *err)
{
	return sweep_visit_all(matcher, columns, false, rows, context, err);
}

int sweep_backwards(const struct matcher *matcher, unsigned columns, sweep_rows *rows,
		    void *context, struct err_text *err)
{
	return sweep_visit_all(matcher, columns, true, rows, context, err);
}
