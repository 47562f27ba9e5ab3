/* Continues a stream from files. continue.h describes it. */
#include "collector/catalogue/continue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/words.h"
#include "proto/columns.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/merge.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/file.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_position.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

/* A place among the batches of all incarnations. */
struct place {
	uint32_t incarnation;
	uint64_t number;
};

/* Batches that the store had not, before what it has: `from` to `to`, which is not included. */
struct hole {
	struct place from, to;
};

struct continuing {
	struct store *store;
	const char *path;
	struct stream_writer *writer;
	bool fresh;		       /* the store had none of it */
	struct stream_position before; /* how far it had it */
	struct buf holes;	       /* struct hole */
	bool looked;		       /* for holes */
	struct place announced;	       /* from a catch-up */
	struct buf frame;
	struct stream_continued result;
};

static int continue_open_file(const char *path, int *ret_fd, uint64_t *ret_size,
			      struct err_text *err)
{
	cleanup(cleanup_close) int fd = recording_file(path, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = take_fd(fd);
	return 0;
}

static int not_one(const char *path, struct err_text *err)
{
	return err_set(err, -EBADMSG, "%s is no recording", path);
}

static int continue_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* ---- what the store lacks ---- */

static int place_compare(struct place a, struct place b)
{
	int r = continue_compare(a.incarnation, b.incarnation);

	return r ? r : continue_compare(a.number, b.number);
}

static int note_hole(struct continuing *c, struct place *next, const Heapcast__Batch *batch)
{
	struct place at = {batch->incarnation, batch->catch_up ? batch->next : batch->number};
	struct hole hole = {*next, at};

	if (place_compare(at, *next) > 0) {
		buf_append(&c->holes, &hole, sizeof(hole));
		*next = at;
	}
	if (!batch->catch_up && !place_compare(at, *next))
		next->number++;
	return buf_error(&c->holes);
}

static int find_holes(struct continuing *c, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(c->store, &c->result.id);
	cleanup(cleanup_close) int fd = -1;
	struct place next = {0, 1};
	struct scan_item item;
	struct scan scan;
	uint64_t size = 0;
	int r = path ? continue_open_file(path, &fd, &size, err) : -ENOMEM;

	if (r < 0)
		return r;
	r = scan_init(&scan, fd, 0, NULL);
	while (!r && (r = scan_next(&scan, size, &item)) == 1)
		r = note_hole(c, &next, item.batch);
	scan_done(&scan);
	return r < 0 ? err_set(err, r, "cannot read %s: %s", path, strerror(-r)) : 0;
}

/* A batch that precedes what is stored is there, unless it falls into a hole. Nothing can be
 * inserted there. */
static int count_unplaced(struct continuing *c, const Heapcast__Batch *batch, struct err_text *err)
{
	struct place at = {batch->incarnation, batch->number},
		     before = {c->before.incarnation, c->before.next};
	const struct hole *hole;
	int r = 0;

	if (c->fresh || !batch->number || place_compare(at, before) >= 0)
		return 0;
	if (!c->looked)
		r = find_holes(c, err);
	c->looked = true;
	hole = (const struct hole *)(const void *)c->holes.data;
	for (size_t i = 0; !r && i < c->holes.length / sizeof(*hole); i++)
		if (place_compare(hole[i].from, at) <= 0 && place_compare(at, hole[i].to) < 0)
			c->result.unplaced++;
	return r;
}

/* ---- appending ---- */

static int continue_open_stream(struct continuing *c, const struct stream_id *id,
				struct err_text *err)
{
	int r;

	c->result.id = *id;
	r = stream_writer_open(c->store, id, &c->writer, &c->result.cut_bytes, err);
	if (r < 0)
		return r;
	c->result.before = stream_writer_events(c->writer);
	c->before = stream_writer_position(c->writer);
	c->fresh = !stream_writer_bytes(c->writer);
	return 0;
}

/* Tells whether a batch contains only definitions that are known. */
static bool continue_is_known(const struct continuing *c, const Heapcast__Batch *batch)
{
	struct stream_position p = stream_writer_position(c->writer);

	return batch->catch_up && (batch->incarnation < p.incarnation ||
				   (batch->incarnation == p.incarnation && batch->next <= p.next));
}

static void note_name(struct continuing *c, const Heapcast__Batch *batch)
{
	cleanup(cleanup_free) char *name = batch->process ? program_name(batch->process) : NULL;

	if (!name)
		return;
	words_clean(c->result.name, sizeof(c->result.name), name, strlen(name));
	c->result.pid = batch->process->pid;
}

/* Who has acknowledged the batch before `next`, as the agent says. */
static void note_holder(struct continuing *c, const Heapcast__Batch *batch)
{
	const Heapcast__Part *part = batch->n_part ? batch->part[batch->n_part - 1] : NULL;

	if (part && part->upto == batch->next - 1 && !*c->result.held_by)
		words_clean(c->result.held_by, sizeof(c->result.held_by), part->host,
			    strlen(part->host));
}

static void note_gap(struct continuing *c, const Heapcast__Batch *batch)
{
	struct stream_position p = stream_writer_position(c->writer);
	struct place expected = {batch->incarnation,
				 batch->incarnation == p.incarnation ? p.next : 1},
		     at = {batch->incarnation, batch->next};

	if (!batch->catch_up || !p.incarnation)
		return;
	if (place_compare(expected, c->announced) < 0) /* the definitions take several batches */
		expected = c->announced;
	if (place_compare(at, expected) <= 0)
		return;
	c->result.missing += batch->next - expected.number;
	c->announced = at;
	note_holder(c, batch);
}

static int continue_append(struct continuing *c, const struct merge_item *item,
			   struct err_text *err)
{
	const struct scan_item *frame = item->frame;
	uint8_t *room;
	int r;

	buf_clear(&c->frame);
	room = buf_reserve(&c->frame, frame->length);
	if (!room)
		return -ENOMEM;
	if (pread(item->fd, room, frame->length, (off_t)frame->offset) != (ssize_t)frame->length)
		return err_set(err, -EIO, "cannot read %s", c->path);
	note_gap(c, frame->batch);
	r = stream_writer_append(c->writer, room, frame->length, frame->batch, err);
	if (r == -EBADMSG)
		return err_prefix(err, r, "%s", c->path);
	return r == 1 ? 0 : r;
}

static int take_batch(struct continuing *c, const struct merge_item *item, struct err_text *err)
{
	const Heapcast__Batch *batch = item->frame->batch;
	int r;

	c->path = item->path;
	note_name(c, batch);
	c->result.ended |= batch->end != NULL;
	r = count_unplaced(c, batch, err);
	return r < 0 || continue_is_known(c, batch) ? r : continue_append(c, item, err);
}

static int take_all(struct continuing *c, struct merge *merge,
		    int (*progress)(void *context, uint64_t done, uint64_t of), void *context,
		    struct err_text *err)
{
	struct merge_item item;
	bool any = false;
	int r = continue_open_stream(c, merge_id(merge), err);

	while (!r && (r = merge_next(merge, &item, err)) == 1) {
		any = true;
		r = take_batch(c, &item, err);
		if (!r && progress)
			r = progress(context, item.done, item.of);
	}
	c->result.damaged = merge_damaged(merge, &c->result.damaged_at);
	return r < 0 || any ? r : not_one(c->path, err);
}

/* A stream without an end may be continued again. */
static int continue_settle(struct continuing *c, struct err_text *err)
{
	struct stream_position durable;
	int r = stream_writer_sync(c->writer, &durable, err);

	c->result.events = stream_writer_events(c->writer) - c->result.before;
	if (r < 0 || c->result.ended)
		return r < 0 ? r : stream_writer_finish(c->writer, err);
	while (stream_writer_derive(c->writer, NULL) == 1)
		;
	return 0;
}

/* Undoes the appends, and removes a stream that is new. */
static void continue_take_back(struct continuing *c)
{
	cleanup(cleanup_free) char *folder = NULL;
	bool new = c->writer && c->fresh;

	stream_writer_abandon(c->writer);
	folder = new ? stream_folder_path(c->store, &c->result.id) : NULL;
	if (folder)
		folder_remove(folder);
}

int store_continue(struct store *store, const char *const *paths, size_t count,
		   int (*progress)(void *context, uint64_t done, uint64_t of), void *context,
		   struct stream_continued *ret, struct err_text *err)
{
	struct continuing c = {.store = store, .path = paths[0]};
	struct merge *merge = NULL;
	int r = merge_open(paths, count, &merge, err);

	if (!r)
		r = take_all(&c, merge, progress, context, err);
	merge_close(merge);
	if (!r)
		r = continue_settle(&c, err);
	if (r < 0)
		continue_take_back(&c);
	else
		stream_writer_close(c.writer);
	buf_done(&c.frame);
	buf_done(&c.holes);
	if (!r)
		*ret = c.result;
	return r < 0 && !err->text[0] ? err_set(err, r, "%s: %s", c.path, strerror(-r)) : r;
}
