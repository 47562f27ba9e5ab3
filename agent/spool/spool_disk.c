/* Implements the spool on disk. See spool_disk.h. */
#include "agent/spool/spool_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/spool/spool_files.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/ban.h"

#define SEGMENTS_OF_LIMIT 16
#define RETRY_NS	  5000000000

/* An entry of a segment's index, one for each frame. */
struct entry {
	uint64_t offset;
	uint64_t length;
	struct spool_account account;
};

/* Returns the position of the i-th oldest segment. */
static uint32_t nth(const struct spool_disk *d, uint32_t i)
{
	return (d->begin + i) % SPOOL_SEGMENTS;
}

/* ---- the folder ---- */

int spool_folder_open(struct spool_folder *f, const char *path, uint64_t limit)
{
	int r = 0;

	f->path = path;
	f->limit = limit;
	f->lock = -1;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		r = -errno;
	f->fd = r ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!r && f->fd < 0)
		r = -errno;
	if (!r)
		r = f->lock = spool_files_lock(f->fd);
	if (r < 0) {
		log_warn(
			"can't spool to %s: %s%s; batches that wait for a collector stay in memory",
			path, strerror(-r), r == -EBUSY ? " (another agent spools there)" : "");
		spool_folder_close(f);
		return r;
	}
	f->used = spool_files_used(f->fd, path);
	return 0;
}

void spool_folder_close(struct spool_folder *f)
{
	if (f->lock >= 0)
		close(f->lock);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = f->lock = -1;
}

/* Charges bytes to the limit. Returns false if they exceed it. */
static bool charge(struct spool_folder *f, struct spool_segment *s, uint64_t bytes)
{
	char size[32];

	if (__atomic_add_fetch(&f->used, bytes, __ATOMIC_RELAXED) <= f->limit) {
		s->charged += bytes;
		return true;
	}
	__atomic_sub_fetch(&f->used, bytes, __ATOMIC_RELAXED);
	if (!__atomic_exchange_n(&f->full_told, true, __ATOMIC_RELAXED))
		log_warn("the spool in %s is full (%s, --spool-limit): the policy decides what "
			 "becomes of further events",
			 f->path, format_size(size, (double)f->limit));
	return false;
}

static void discharge(struct spool_folder *f, struct spool_segment *s)
{
	if (__atomic_sub_fetch(&f->used, s->charged, __ATOMIC_RELAXED) < f->limit / 2)
		__atomic_store_n(&f->full_told, false, __ATOMIC_RELAXED);
	s->charged = 0;
}

static int spool_disk_refused(struct spool_folder *f, int error)
{
	if (!f->error_told)
		log_warn("can't spool to %s: %s; trying again every %u s, until then batches that "
			 "wait for a collector stay in memory",
			 f->path, strerror(-error), (unsigned)(RETRY_NS / 1000000000));
	f->error_told = true;
	f->retry_ns = clock_monotonic_ns() + RETRY_NS;
	return -ENOSPC;
}

/* ---- segments ---- */

static void remove_segment(struct spool_disk *d, struct spool_segment *s)
{
	char name[SPOOL_NAME_MAX];

	unlinkat(d->folder->fd,
		 spool_file_name(name, d->id, d->incarnation, s->first, SPOOL_FRAMES), 0);
	unlinkat(d->folder->fd,
		 spool_file_name(name, d->id, d->incarnation, s->first, SPOOL_DEFINITIONS), 0);
	if (s->frames >= 0)
		close(s->frames);
	if (s->index >= 0)
		close(s->index);
	discharge(d->folder, s);
	s->frames = s->index = -1;
}

/* Returns 0, 1 if the limit is exceeded (which is logged), or a negative errno. */
static int write_definitions(struct spool_disk *d, struct spool_segment *s)
{
	char name[SPOOL_NAME_MAX];
	long n;
	int fd;

	if (s->first == 1)
		return 0;
	fd = spool_file_make(d->folder->fd, spool_file_name(name, d->id, d->incarnation, s->first,
							    SPOOL_DEFINITIONS));
	if (fd < 0)
		return fd;
	n = d->define(d->context, fd, s->first, &s->before);
	close(fd);
	if (n < 0)
		return (int)n;
	return charge(d->folder, s, (uint64_t)n) ? 0 : 1;
}

/* Creates the files of a new segment that begins with frame `number`. Returns 0, 1 if no segment is
 * free or the limit is exceeded, or a negative errno. */
static int begin_segment(struct spool_disk *d, uint64_t number, const struct spool_account *before)
{
	struct spool_segment *s = &d->segment[nth(d, d->count)];
	char name[SPOOL_NAME_MAX];
	int r;

	if (d->count == SPOOL_SEGMENTS)
		return 1;
	*s = (struct spool_segment){.frames = -1,
				    .index = -1,
				    .first = number,
				    .next = number,
				    .before = *before,
				    .begun_ns = clock_monotonic_ns()};
	s->frames = spool_file_make(
		d->folder->fd, spool_file_name(name, d->id, d->incarnation, number, SPOOL_FRAMES));
	r = s->frames < 0 ? s->frames : 0;
	if (!r) {
		s->index = spool_file_nameless(d->folder->fd);
		r = s->index < 0 ? s->index : write_definitions(d, s);
	}
	if (r) {
		remove_segment(d, s);
		return r;
	}
	d->count++;
	return 0;
}

static int spool_disk_append(struct spool_segment *s, const void *data, size_t length,
			     const struct spool_account *account)
{
	struct entry e = {.offset = s->bytes, .length = length, .account = *account};
	int r = spool_file_write(s->frames, data, length, s->bytes);

	if (!r)
		r = spool_file_write(s->index, &e, sizeof(e), (s->next - s->first) * sizeof(e));
	if (r < 0)
		return ftruncate(s->frames, (off_t)s->bytes) < 0 ? -errno : r;
	s->bytes += length;
	s->last = *account;
	s->next++;
	return 0;
}

int spool_disk_put(struct spool_disk *d, uint64_t number, const void *data, size_t length,
		   const struct spool_account *before, const struct spool_account *account)
{
	struct spool_folder *f = d->folder;
	struct spool_segment *s;
	uint64_t charged;
	int r = 0;

	if (!f || f->fd < 0 || clock_monotonic_ns() < f->retry_ns)
		return -ENOSPC;
	if (!d->count || d->segment[nth(d, d->count - 1)].bytes >= f->limit / SEGMENTS_OF_LIMIT)
		r = begin_segment(d, number, before);
	s = d->count ? &d->segment[nth(d, d->count - 1)] : NULL;
	if (!r && !charge(f, s, length + sizeof(struct entry)))
		r = 1;
	if (!r) {
		charged = length + sizeof(struct entry);
		r = spool_disk_append(s, data, length, account);
		if (r < 0) {
			s->charged -= charged;
			__atomic_sub_fetch(&f->used, charged, __ATOMIC_RELAXED);
		}
	}
	if (r && s && s->next == s->first) { /* a segment without frames is of no use */
		remove_segment(d, s);
		d->count--;
	}
	if (r > 0)
		return -ENOSPC;
	if (r < 0)
		return spool_disk_refused(f, r);
	f->error_told = false;
	return 0;
}

uint64_t spool_disk_first(const struct spool_disk *d)
{
	return d->count ? d->segment[nth(d, 0)].first : 0;
}

int spool_disk_find(const struct spool_disk *d, uint64_t number, int *ret_fd, off_t *ret_offset,
		    size_t *ret_length, struct spool_account *ret_account)
{
	for (uint32_t i = 0; i < d->count; i++) {
		const struct spool_segment *s = &d->segment[nth(d, i)];
		struct entry e;

		if (number < s->first || number >= s->next)
			continue;
		if (pread(s->index, &e, sizeof(e), (off_t)((number - s->first) * sizeof(e))) !=
		    sizeof(e))
			return -EIO;
		*ret_fd = s->frames;
		*ret_offset = (off_t)e.offset;
		*ret_length = (size_t)e.length;
		*ret_account = e.account;
		return 0;
	}
	return -ENOENT;
}

uint64_t spool_disk_oldest(const struct spool_disk *d, uint64_t *ret_begun_ns)
{
	const struct spool_segment *s = &d->segment[nth(d, 0)];

	*ret_begun_ns = d->count ? s->begun_ns : 0;
	return d->count ? s->next - 1 : 0;
}

void spool_disk_drop(struct spool_disk *d, struct spool_account *ret_gone)
{
	*ret_gone = d->segment[nth(d, 0)].last;
	remove_segment(d, &d->segment[nth(d, 0)]);
	d->begin = (d->begin + 1) % SPOOL_SEGMENTS;
	d->count--;
}

void spool_disk_want(struct spool_disk *d)
{
	if (d->folder && clock_monotonic_ns() >= d->folder->retry_ns)
		__atomic_store_n(&d->folder->wanted, true, __ATOMIC_RELAXED);
}

bool spool_disk_ack(struct spool_disk *d, uint64_t number, struct spool_account *ret_gone)
{
	bool any = false;

	for (; d->count && d->segment[nth(d, 0)].next - 1 <= number; any = true)
		spool_disk_drop(d, ret_gone);
	return any;
}

void spool_disk_leave(struct spool_disk *d)
{
	for (uint32_t i = 0; i < d->count; i++) {
		close(d->segment[nth(d, i)].frames);
		close(d->segment[nth(d, i)].index);
	}
	d->count = 0;
}

void spool_disk_clear(struct spool_disk *d)
{
	struct spool_account gone;

	spool_disk_ack(d, UINT64_MAX, &gone);
}
