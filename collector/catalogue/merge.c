/* Merges recordings of one stream. See merge.h. */
#include "collector/catalogue/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/beginning.h"
#include "collector/recording/file.h"
#include "base/ban.h"

enum merge_state { MERGE_WAITS, MERGE_OPEN, MERGE_DONE };

struct merge_file {
	const char *path;
	enum merge_state state;
	struct recording_beginning due; /* where its next batch is; first, its beginning */
	int fd;
	uint64_t size;
	struct scan scan;
	struct scan_item item;
};

struct merge {
	struct merge_file *file;
	size_t count;
	struct merge_file *last; /* of the item that was returned last */
	uint64_t bytes, bytes_done;
	struct merge_file *damaged;
	uint64_t damaged_at;
};

static int merge_file_begin(struct merge *m, size_t i, struct err_text *err)
{
	struct merge_file *f = &m->file[i];
	struct stat st;
	int r = recording_beginning(f->path, &f->due, err);

	if (r < 0)
		return r;
	if (memcmp(&f->due.id, &m->file[0].due.id, sizeof(f->due.id)))
		return err_set(err, -EBADMSG, "%s: a batch of another stream", f->path);
	if (recording_file_stat(f->path, &st) < 0)
		return err_set(err, -errno, "cannot read %s: %s", f->path, strerror(errno));
	f->size = (uint64_t)st.st_size;
	m->bytes += f->size;
	return 0;
}

int merge_open(const char *const *paths, size_t count, struct merge **ret, struct err_text *err)
{
	struct merge *m = calloc(1, sizeof(*m));
	int r = 0;

	if (m)
		m->file = calloc(count ? count : 1, sizeof(*m->file));
	if (!m || !m->file)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < count; i++) {
		m->file[i] = (struct merge_file){.path = paths[i], .fd = -1};
		m->count++;
		r = merge_file_begin(m, i, err);
	}
	if (r < 0)
		merge_close(m);
	else
		*ret = m;
	return r;
}

const struct stream_id *merge_id(const struct merge *m)
{
	return &m->file[0].due.id;
}

const char *merge_damaged(const struct merge *m, uint64_t *ret_at)
{
	*ret_at = m->damaged_at;
	return m->damaged ? m->damaged->path : NULL;
}

static void merge_file_close(struct merge_file *f)
{
	if (f->state == MERGE_OPEN) {
		scan_done(&f->scan);
		close(f->fd);
	}
	f->state = MERGE_DONE;
}

static void note_damage(struct merge *m, struct merge_file *f, uint64_t at)
{
	m->damaged = f;
	m->damaged_at = at;
}

/* Goes to the next batch of a file. */
static int merge_advance(struct merge *m, struct merge_file *f, struct err_text *err)
{
	int r = scan_next(&f->scan, f->size, &f->item);

	if (r < 0)
		return err_set(err, r, "cannot read %s: %s", f->path, strerror(-r));
	if (f->scan.damaged_places) {
		note_damage(m, f, f->scan.first_damage);
	} else if (r == 1) {
		const Heapcast__Batch *batch = f->item.batch;

		f->due.incarnation = batch->incarnation;
		f->due.definitions = batch->catch_up;
		f->due.first = batch->catch_up ? batch->next : batch->number;
		return 0;
	} else if (scan_tail(&f->scan, f->size) == 1) {
		note_damage(m, f, f->scan.offset);
	}
	m->bytes_done += f->size;
	merge_file_close(f);
	return 0;
}

static int merge_begin(struct merge *m, struct merge_file *f, struct err_text *err)
{
	int r;

	f->fd = recording_file(f->path, err);
	if (f->fd < 0)
		return f->fd;
	r = scan_init(&f->scan, f->fd, 0, NULL);
	f->state = MERGE_OPEN;
	return r < 0 ? r : merge_advance(m, f, err);
}

/* The file that has the next batch; of those that have the same one, the one named first. */
static struct merge_file *merge_due(const struct merge *m)
{
	struct merge_file *due = NULL;

	for (size_t i = 0; i < m->count; i++) {
		struct merge_file *f = &m->file[i];

		if (f->state != MERGE_DONE &&
		    (!due || recording_beginning_compare(&f->due, &due->due) < 0))
			due = f;
	}
	return due;
}

int merge_next(struct merge *m, struct merge_item *ret, struct err_text *err)
{
	struct merge_file *f = m->last;
	int r = f ? merge_advance(m, f, err) : 0;

	m->last = NULL;
	while (!r && !m->damaged && (f = merge_due(m)) && f->state == MERGE_WAITS)
		r = merge_begin(m, f, err);
	if (r < 0 || m->damaged || !f)
		return r;
	m->last = f;
	*ret = (struct merge_item){.path = f->path, .fd = f->fd, .frame = &f->item, .of = m->bytes};
	ret->done = m->bytes_done;
	for (size_t i = 0; i < m->count; i++)
		if (m->file[i].state == MERGE_OPEN)
			ret->done += m->file[i].item.offset;
	return 1;
}

void merge_close(struct merge *m)
{
	for (size_t i = 0; m && i < m->count; i++)
		merge_file_close(&m->file[i]);
	if (m)
		free(m->file);
	free(m);
}
