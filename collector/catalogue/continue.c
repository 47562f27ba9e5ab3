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
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_position.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

struct continuing {
	struct store *store;
	const char *path;
	int fd;
	struct scan scan;
	struct stream_writer *writer;
	bool fresh; /* the store had none of it */
	struct buf frame;
	struct stream_continued result;
};

static int continue_open_file(const char *path, int *ret_fd, uint64_t *ret_size,
			      struct err_text *err)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = take_fd(fd);
	return 0;
}

static int not_one(const char *path, struct err_text *err)
{
	return err_set(err, -EBADMSG, "%s is no recording", path);
}

/* ---- the beginning of a recording ---- */

static int read_beginning(int fd, uint64_t size, const char *path, struct recording_beginning *ret,
			  struct err_text *err)
{
	struct scan_item item;
	struct scan scan;
	int r = scan_init(&scan, fd, 0, NULL);

	if (!r)
		r = scan_next(&scan, size, &item);
	if (r == 1 && item.batch->stream.len != STREAM_ID_SIZE)
		r = not_one(path, err);
	else if (r == 1) {
		memcpy(ret->id.bytes, item.batch->stream.data, STREAM_ID_SIZE);
		ret->incarnation = item.batch->incarnation;
		ret->definitions = item.batch->catch_up;
		ret->first = item.batch->catch_up ? item.batch->next : item.batch->number;
	} else if (!r)
		r = size && !scan.damaged_places && !scan_tail(&scan, size)
			    ? err_set(err, -EBADMSG, SCAN_NOTHING, path)
			    : not_one(path, err);
	else
		err_set(err, r, "cannot read %s: %s", path, strerror(-r));
	scan_done(&scan);
	return r == 1 ? 0 : r;
}

int recording_beginning(const char *path, struct recording_beginning *ret, struct err_text *err)
{
	cleanup(cleanup_close) int fd = -1;
	uint64_t size;
	int r = continue_open_file(path, &fd, &size, err);

	return r < 0 ? r : read_beginning(fd, size, path, ret, err);
}

static int continue_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int recording_beginning_compare(const struct recording_beginning *a,
				const struct recording_beginning *b)
{
	int r = memcmp(&a->id, &b->id, sizeof(a->id));

	r = r ? r : continue_compare(a->incarnation, b->incarnation);
	r = r ? r : continue_compare(a->first, b->first);
	return r ? r : continue_compare(b->definitions, a->definitions);
}

/* ---- appending ---- */

static int continue_open_stream(struct continuing *c, const Heapcast__Batch *batch,
				struct err_text *err)
{
	int r;

	if (batch->stream.len != STREAM_ID_SIZE)
		return not_one(c->path, err);
	memcpy(c->result.id.bytes, batch->stream.data, STREAM_ID_SIZE);
	r = stream_writer_open(c->store, &c->result.id, &c->writer, &c->result.cut_bytes, err);
	if (r < 0)
		return r;
	c->result.before = stream_writer_events(c->writer);
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

static void note_gap(struct continuing *c, const Heapcast__Batch *batch)
{
	struct stream_position p = stream_writer_position(c->writer);
	uint64_t expected = batch->incarnation == p.incarnation ? p.next : 1;

	if (batch->catch_up && p.incarnation && batch->next > expected)
		c->result.missing = batch->next - expected;
}

static int continue_append(struct continuing *c, const struct scan_item *item, struct err_text *err)
{
	uint8_t *room;
	int r;

	buf_clear(&c->frame);
	room = buf_reserve(&c->frame, item->length);
	if (!room)
		return -ENOMEM;
	if (pread(c->fd, room, item->length, (off_t)item->offset) != (ssize_t)item->length)
		return err_set(err, -EIO, "cannot read %s", c->path);
	note_gap(c, item->batch);
	r = stream_writer_append(c->writer, room, item->length, item->batch, err);
	if (r == -EBADMSG)
		return err_prefix(err, r, "%s", c->path);
	return r == 1 ? 0 : r;
}

static void note_damage(struct continuing *c, uint64_t at)
{
	c->result.damaged = c->path;
	c->result.damaged_at = at;
}

static bool is_damaged(struct continuing *c)
{
	if (!c->scan.damaged_places)
		return false;
	note_damage(c, c->scan.first_damage);
	return true;
}

static int take_batch(struct continuing *c, const struct scan_item *item, struct err_text *err)
{
	int r = c->writer ? 0 : continue_open_stream(c, item->batch, err);

	if (r < 0)
		return r;
	note_name(c, item->batch);
	c->result.ended |= item->batch->end != NULL;
	return continue_is_known(c, item->batch) ? 0 : continue_append(c, item, err);
}

static int take_file(struct continuing *c,
		     int (*progress)(void *context, uint64_t done, uint64_t of), void *context,
		     struct err_text *err)
{
	struct scan_item item;
	bool any = false;
	uint64_t size;
	int r = continue_open_file(c->path, &c->fd, &size, err);

	if (r < 0)
		return r;
	r = scan_init(&c->scan, c->fd, 0, NULL);
	while (!r && (r = scan_next(&c->scan, size, &item)) == 1 && !is_damaged(c)) {
		any = true;
		r = take_batch(c, &item, err);
		if (!r && progress)
			r = progress(context, item.offset, size);
	}
	if (r == 0 && !is_damaged(c) && scan_tail(&c->scan, size) == 1)
		note_damage(c, c->scan.offset);
	if (r >= 0)
		r = any || c->result.damaged ? 0 : not_one(c->path, err);
	scan_done(&c->scan);
	cleanup_close(&c->fd);
	c->fd = -1;
	return r;
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
	struct continuing c = {.store = store, .fd = -1};
	int r = 0;

	for (size_t i = 0; !r && i < count && !c.result.damaged; i++) {
		c.path = paths[i];
		r = take_file(&c, progress, context, err);
	}
	if (!r && !c.writer)
		r = not_one(c.path, err);
	if (!r)
		r = continue_settle(&c, err);
	if (r < 0)
		continue_take_back(&c);
	else
		stream_writer_close(c.writer);
	buf_done(&c.frame);
	if (!r)
		*ret = c.result;
	return r < 0 && !err->text[0] ? err_set(err, r, "%s: %s", c.path, strerror(-r)) : r;
}
