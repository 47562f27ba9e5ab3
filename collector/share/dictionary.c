/* What backtraces mean. See dictionary.h. */
#include "collector/share/dictionary.h"

#include <errno.h>

#include "collector/clickhouse/row_binary.h"
#include "collector/query/query.h"

#include "base/ban.h"

/* So many are remembered, 16 bytes each; then all are written again. */
#define REMEMBERED_MAX (2u << 20)

void dictionary_forget(struct dictionary *d)
{
	map_clear(&d->stacks);
	map_clear(&d->frames);
}

void dictionary_done(struct dictionary *d)
{
	map_done(&d->stacks);
	map_done(&d->frames);
	buf_done(&d->stack_rows);
	buf_done(&d->frame_rows);
}

/* Returns 1 if the number is new, 0 if it is known, or -ENOMEM. */
static int remember(struct map *map, uint64_t number)
{
	bool new;
	uint64_t *value = map_put(map, number, &new);

	return value ? new : -ENOMEM;
}

/* A name that is known replaces one that is not: rows of a higher version count. */
static void put_frame(struct buf *rows, uint64_t number, uint32_t place, const struct view_frame *f)
{
	row_put_u64(rows, number);
	row_put_u32(rows, place);
	row_put_text(rows, f->name);
	row_put_text(rows, module_basename(f->module));
	row_put_text(rows, f->file);
	row_put_u32(rows, f->line);
	row_put_u64(rows, f->function ? 1 : 0);
}

static int add_frame(struct dictionary *d, struct view *view, const struct stack_ids *ids,
		     uint32_t node)
{
	uint32_t count = view_frame_count(view, node);
	int new = remember(&d->frames, ids->frame[node]);

	for (uint32_t i = 0; new > 0 && i < count; i++) {
		struct view_frame f = view_frame(view, node, i);

		put_frame(&d->frame_rows, ids->frame[node], i, &f);
	}
	return new < 0 ? new : buf_error(&d->frame_rows);
}

static uint32_t depth_of(const struct view *view, uint32_t node)
{
	uint32_t depth = 0;

	for (; node; node = view_parent(view, node))
		depth++;
	return depth;
}

int dictionary_add(struct dictionary *d, struct view *view, const struct stack_ids *ids,
		   uint32_t node)
{
	int r;

	if (!node || node > ids->count)
		return 0;
	if (d->stacks.count > REMEMBERED_MAX || d->frames.count > REMEMBERED_MAX)
		dictionary_forget(d);
	r = remember(&d->stacks, ids->stack[node]);
	if (r <= 0)
		return r;
	row_put_u64(&d->stack_rows, ids->stack[node]);
	buf_varint(&d->stack_rows, depth_of(view, node));
	for (r = 0; !r && node; node = view_parent(view, node)) {
		row_put_u64(&d->stack_rows, ids->frame[node]);
		r = add_frame(d, view, ids, node);
	}
	return r ? r : buf_error(&d->stack_rows);
}
