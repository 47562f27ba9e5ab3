/* Writes a recording to disk. See file_sink.h. */
#include "agent/stream/file_sink.h"

#include <errno.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "base/ban.h"

#define PUMP_BYTES (4u << 20) /* limit of one call, after which the spool has room again */

/* Removes an incomplete frame. In a pipe or a device this is not possible. */
static void file_sink_take_back(struct file_sink *f)
{
	if (ftruncate(f->fd, f->good) == 0)
		lseek(f->fd, f->good, SEEK_SET);
}

static int file_sink_write_all(struct file_sink *f, const uint8_t *data, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = write(f->fd, data + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int r = n < 0 ? -errno : -ENOSPC;

			file_sink_take_back(f);
			return r;
		}
		done += (size_t)n;
	}
	f->good += (off_t)length;
	f->bytes += length;
	return 0;
}

/* The caller holds the stream's lock. */
static struct catch_up file_sink_begin(const struct spool *spool, uint64_t first)
{
	struct spool_account before;

	if (first <= spool_oldest(spool))
		return catch_up_begin(spool, true);
	before = spool_account_at(spool, first - 1);
	return catch_up_at(first, &before);
}

int file_sink_open(struct file_sink *f, int fd, const char *path, struct stream *stream,
		   uint64_t first, struct packer *packer, uint8_t *out, size_t out_size)
{
	struct catch_up catch_up;
	long length = 1;
	int r = 0;

	*f = (struct file_sink){.fd = fd};
	snprintf(f->path, sizeof(f->path), "%s", path);
	pthread_mutex_lock(&stream->lock);
	catch_up = file_sink_begin(&stream->spool, first);
	f->first = f->next = stream->spool.held = catch_up.next;
	while (!r && f->next > 1 && length > 0) {
		length = batch_pack_catch_up(stream, packer, &catch_up, out, out_size);
		r = length > 0 ? file_sink_write_all(f, out, (size_t)length) : (int)length;
	}
	pthread_mutex_unlock(&stream->lock);
	if (r < 0) {
		pthread_mutex_lock(&stream->lock);
		stream->spool.held = UINT64_MAX;
		pthread_mutex_unlock(&stream->lock);
		f->good = 0;
		file_sink_take_back(f);
		file_sink_close(f);
		f->path[0] = '\0';
	}
	return r;
}

static int copy_all(struct file_sink *f, const struct spool_place *place)
{
	off_t offset = place->offset;
	size_t done = 0;

	while (done < place->length) {
		ssize_t n = sendfile(f->fd, place->fd, &offset, place->length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int r = n < 0 ? -errno : -EIO;

			file_sink_take_back(f);
			return r;
		}
		done += (size_t)n;
	}
	f->good += (off_t)place->length;
	f->bytes += place->length;
	return 0;
}

/* Writes the frame `next`. Returns 0, 1 if the spool has no such frame, or a negative errno. Holds
 * the lock while writing only if the spool has a disk, because frames in memory may move there.
 * Otherwise an unacknowledged frame stays in its place. */
static int file_sink_write_frame(struct file_sink *f, struct stream *stream)
{
	bool moves = stream->spool.disk.folder;
	struct spool_place place;
	int r;

	pthread_mutex_lock(&stream->lock);
	r = spool_find(&stream->spool, f->next, &place);
	if (!moves)
		pthread_mutex_unlock(&stream->lock);
	if (!r)
		r = place.data ? file_sink_write_all(f, place.data, place.length)
			       : copy_all(f, &place);
	else if (r == -ENOENT)
		r = 1;
	if (moves)
		pthread_mutex_unlock(&stream->lock);
	return r;
}

int file_sink_pump(struct file_sink *f, struct stream *stream)
{
	uint64_t end = f->bytes + PUMP_BYTES;
	int r;

	while (f->bytes < end) {
		r = file_sink_write_frame(f, stream);
		if (r == 1)
			return 0;
		f->error = r;
		if (r < 0) {
			f->failed_ns = f->failed_ns ? f->failed_ns : clock_monotonic_ns();
			return r;
		}
		f->failed_ns = 0;
		f->next++;
	}
	return 0;
}

void file_sink_close(struct file_sink *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
