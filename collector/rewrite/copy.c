/* Rewrites recordings. copy.h describes the interface. */
#include "collector/rewrite/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/write.h"
#include "collector/recording/culled.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/file.h"
#include "collector/recording/stream_position.h"
#include "collector/rewrite/rewrite.h"
#include "proto/columns.h"
#include "proto/frame.h"
#include "base/ban.h"

#define PROGRESS_BYTES (1u << 20)
/*
 * Initial memory of the encoder per event, besides a share for each column. It is doubled until it
 * suffices.
 */
#define COLUMNS_EVENT 32
#define COLUMNS_LEAST (64u << 10)

static int copy_failed(const struct copy *c, int error, struct err_text *err)
{
	return err_set(err, error, "cannot read %s: %s", c->path, strerror(-error));
}

int copy_open(struct copy *c, const char *path, const struct copy_settings *settings,
	      struct err_text *err)
{
	struct stat st;
	int r;

	*c = (struct copy){
		.path = path,
		.in = recording_file(path, err),
		.out = settings->fd,
		.out_name = settings->name ? settings->name : "the recording",
		.frames = frame_encoder_new(),
		.progress = settings->progress,
		.context = settings->context,
	};
	definitions_init(&c->definitions);
	if (c->in < 0)
		return c->in;
	if (fstat(c->in, &st) < 0)
		return copy_failed(c, -errno, err);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "%s is not a recording: it is no regular file", path);
	c->size = (uint64_t)st.st_size;
	r = c->frames ? scan_init(&c->scan, c->in, 0, NULL) : -ENOMEM;
	return r ? copy_failed(c, r, err) : 0;
}

void copy_close(struct copy *c)
{
	scan_done(&c->scan);
	decoded_done(&c->decoded);
	definitions_done(&c->definitions);
	frame_encoder_free(c->frames);
	buf_done(&c->message);
	buf_done(&c->frame);
	buf_done(&c->columns);
	buf_done(&c->state);
	if (c->in >= 0)
		close(c->in);
	c->in = -1;
}

int copy_rewind(struct copy *c, struct err_text *err)
{
	int r;

	scan_done(&c->scan);
	definitions_done(&c->definitions);
	definitions_init(&c->definitions);
	c->has_id = false;
	c->position = (struct stream_position){0};
	c->batches = c->events_ahead = c->reported = 0;
	c->decoded.event_count = 0;
	r = scan_init(&c->scan, c->in, 0, NULL);
	return r ? copy_failed(c, r, err) : 0;
}

/* ---- input ---- */

/*
 * Takes a batch like recording_take. Returns 1 if it was taken, 0 if it is a duplicate, or a
 * negative errno.
 */
static int copy_take(struct copy *c, struct err_text *reason)
{
	const Heapcast__Batch *batch = c->decoded.item.batch;
	int r = batch_wanted(&c->position, c->has_id ? &c->id : NULL, batch, reason);

	if (r <= 0)
		return r;
	if (batch->catch_up && (batch->events || batch->culled))
		return -EBADMSG;
	r = decoded_events(&c->decoded, reason);
	if (!r && batch->culled)
		r = culled_check(batch->culled, reason);
	if (!r)
		r = definitions_add(&c->definitions, batch, reason);
	if (r < 0)
		return r;
	memcpy(c->id.bytes, batch->stream.data, STREAM_ID_SIZE);
	c->has_id = true;
	if (!batch->catch_up)
		c->position = (struct stream_position){batch->incarnation, batch->number + 1};
	c->batches++;
	return 1;
}

static int copy_tell_progress(struct copy *c)
{
	uint64_t done = c->scan.offset;

	if (!c->progress || (done - c->reported < PROGRESS_BYTES && done < c->size))
		return 0;
	c->reported = done;
	return c->progress(c->context, done, c->size) ? -ECANCELED : 0;
}

int copy_next(struct copy *c, struct err_text *err)
{
	struct err_text reason;
	int r;

	c->events_ahead += c->decoded.event_count;
	c->decoded.event_count = 0;
	while ((r = scan_next(&c->scan, c->size, &c->decoded.item)) == 1) {
		if (copy_tell_progress(c) < 0)
			return -ECANCELED;
		c->decoded.tried = false;
		r = copy_take(c, &reason);
		if (r == 1)
			return 1;
		c->decoded.event_count = 0;
		if (r < 0 && r != -EBADMSG)
			break;
	}
	if (r < 0)
		return copy_failed(c, r, err);
	if (!c->has_id)
		return err_set(err, -EBADMSG,
			       c->size && !c->scan.damaged_places && !scan_tail(&c->scan, c->size)
				       ? SCAN_NOTHING
				       : "%s is not a recording",
			       c->path);
	return 0;
}

/* ---- output ---- */

/*
 * Returns 0; -EAGAIN if the caller has to start over with the parameters that the encoder knows
 * now; or -ENOSPC.
 */
static int put_events(struct events_encoder *e, const struct decoded *d)
{
	for (uint32_t i = 0; i < d->event_count; i++) {
		int r = events_encoder_put(e, &d->events[i]);

		if (r == -EAGAIN && e->shift_limit >= e->shift) {
			r = events_encoder_weigh(e);
			i -= !r;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int copy_encode(struct copy *c, Heapcast__Events *ret, struct err_text *err)
{
	const struct decoded *d = &c->decoded;
	size_t size = COLUMNS_LEAST + (size_t)d->event_count * COLUMNS_EVENT;
	uint32_t tick_ns = d->item.batch->events->tick_ns;
	struct events_encoder e;
	int r;

	do {
		buf_clear(&c->columns);
		buf_clear(&c->state);
		if (!buf_reserve(&c->columns, size) || !buf_reserve(&c->state, EVENTS_STATE_BEST))
			return copy_failed(c, -ENOMEM, err);
		events_encoder_init(&e, c->columns.data, size, c->state.data, EVENTS_STATE_BEST,
				    EVENTS_MAX_COUNT, tick_ns);
		while ((r = put_events(&e, d)) == -EAGAIN)
			events_encoder_clear(&e);
		size *= 2;
	} while (r == -ENOSPC);
	if (r < 0)
		return copy_failed(c, r, err);
	events_encoder_fill(&e, ret);
	return 0;
}

Heapcast__Batch copy_behind(const Heapcast__Batch *of)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	batch.stream = of->stream;
	batch.incarnation = of->incarnation;
	batch.time_ns = of->time_ns;
	batch.wall_ns = of->wall_ns;
	batch.watermark_ns = of->watermark_ns;
	batch.catch_up = true;
	batch.next = of->catch_up ? of->next : of->number + 1;
	return batch;
}

int copy_put(struct copy *c, const Heapcast__Batch *batch, struct err_text *err)
{
	size_t length = heapcast__batch__get_packed_size(batch), bound = frame_bound(length);
	long n;
	int r;

	if (length > FRAME_MAX_CONTENT - FRAME_HEADROOM)
		return err_set(err, -EMSGSIZE, "%s: batch %llu would be too long", c->path,
			       (unsigned long long)batch->number);
	buf_clear(&c->message);
	buf_clear(&c->frame);
	if (!buf_reserve(&c->message, FRAME_HEADROOM + length) || !buf_reserve(&c->frame, bound))
		return copy_failed(c, -ENOMEM, err);
	heapcast__batch__pack(batch, c->message.data + FRAME_HEADROOM);
	n = frame_encode(c->frames, c->message.data + FRAME_HEADROOM, length, c->frame.data, bound);
	if (n < 0)
		return err_set(err, (int)n, "packing batch %llu of %s: %s",
			       (unsigned long long)batch->number, c->path, strerror((int)-n));
	r = write_all(c->out, c->frame.data, (size_t)n);
	if (r < 0)
		return err_set(err, r, "writing %s: %s", c->out_name, strerror(-r));
	c->written += (uint64_t)n;
	return 0;
}
