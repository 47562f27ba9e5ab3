/* Iterates over matched rows, one block at a time. Survivors are included; the caller tells them
 * apart. See query.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

struct row_walk {
	struct matcher matcher;
	unsigned columns;
	uint64_t first_row, end_row;
	uint32_t at, end; /* blocks */
	struct row_reader *reader;
	uint16_t *room;
};

static int row_walk_begin(struct row_walk *walk, struct view *view, const struct filter *filter,
			  struct err_text *err)
{
	struct recording *recording = view_recording(view);
	int r = matcher_init(&walk->matcher, view, filter, err);

	if (r < 0)
		return r;
	walk->matcher.hides_survivors = false;
	walk->columns |= matcher_columns(&walk->matcher);
	if (walk->end_row > walk->matcher.rows)
		walk->end_row = walk->matcher.rows;
	walk->at = (uint32_t)(walk->first_row / ROWS_PER_BLOCK);
	walk->end = (uint32_t)((walk->end_row + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK);
	matcher_will_do(&walk->matcher, walk->end > walk->at ? walk->end - walk->at : 0);
	walk->room = malloc(ROWS_PER_BLOCK * sizeof(*walk->room));
	r = walk->room ? row_reader_new(recording, &walk->reader) : -ENOMEM;
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

int row_walk_new(struct view *view, const struct filter *filter, unsigned columns,
		 uint64_t first_row, uint64_t end_row, struct row_walk **ret_walk,
		 struct err_text *err)
{
	struct row_walk *walk = calloc(1, sizeof(*walk));
	int r;

	if (!walk)
		return err_set(err, -ENOMEM, "out of memory");
	walk->columns = columns;
	walk->first_row = first_row;
	walk->end_row = end_row;
	r = row_walk_begin(walk, view, filter, err);
	if (r < 0)
		row_walk_free(walk);
	else
		*ret_walk = walk;
	return r;
}

void row_walk_free(struct row_walk *walk)
{
	if (!walk)
		return;
	matcher_done(&walk->matcher);
	row_reader_free(walk->reader);
	free(walk->room);
	free(walk);
}

/* Takes the matched rows of one block; none if the block is skipped. */
static int row_walk_take_block(struct row_walk *walk, uint32_t index, struct walked_rows *ret_rows,
			       struct err_text *err)
{
	const struct matcher *m = &walk->matcher;
	const struct row_block *zone = recording_zone(m->recording, index), *block;
	uint32_t end = matcher_block_rows(m, zone), first = 0;
	struct row_set set;

	ret_rows->count = 0;
	if (!end)
		return 0;
	if (zone->first_row < walk->first_row)
		first = (uint32_t)(walk->first_row - zone->first_row);
	if (zone->first_row + end > walk->end_row)
		end = (uint32_t)(walk->end_row - zone->first_row);
	if (first >= end)
		return 0;
	block = row_reader_block(walk->reader, index, walk->columns, err);
	if (!block)
		return err && err->text[0] ? -EIO : err_set(err, -ENOMEM, "out of memory");
	set = matcher_select(m, block, first, end, walk->room);
	*ret_rows = (struct walked_rows){block, set.list, set.first, set.count};
	return 0;
}

int row_walk_next(struct row_walk *walk, struct walked_rows *ret_rows, struct err_text *err)
{
	while (walk->at < walk->end) {
		uint32_t index = walk->at++;
		bool some = matcher_block_rows(&walk->matcher,
					       recording_zone(walk->matcher.recording, index));
		int r = some ? matcher_cancelled(&walk->matcher, err) : 0;

		matcher_did(&walk->matcher, 1, true);
		if (!r && some)
			r = row_walk_take_block(walk, index, ret_rows, err);
		if (r < 0 || some)
			return r < 0 ? r : 1;
	}
	return 0;
}
