/* Batches that count. See bounded.h. */
#include "collector/share/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/write.h"
#include "collector/catalogue/beginning.h"
#include "collector/recording/file.h"
#include "collector/recording/recording.h"
#include "collector/recording/scan.h"
#include "collector/share/parts.h"

#include "base/ban.h"

#define COPY_BYTES 65536

static int open_file(const char *path, int *ret_fd, uint64_t *ret_size, struct err_text *err)
{
	cleanup(cleanup_close) int fd = recording_file(path, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "can't open %s: %s", path, strerror(errno));
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = take_fd(fd);
	return 0;
}

/* The place of a frame in the stream: of what it has, or, of definitions, of what follows. */
static struct stream_position place_of(const Heapcast__Batch *b)
{
	return (struct stream_position){b->incarnation, b->catch_up ? b->next : b->number};
}

/* ---- the first batch ---- */

static bool lacks_nothing(const struct recording *recording)
{
	const struct ledger_info *l = recording_ledger(recording);
	uint64_t unarrived = 0;

	for (uint32_t i = 1; i <= recording_threads(recording); i++) {
		const struct thread_info *thread = recording_thread(recording, i);

		unarrived += thread ? thread->unarrived : 0;
	}
	return !l->missing_batches && !l->damaged_places && !l->missed && !unarrived;
}

/* A new run of batches begins where one is missing, behind damage, and with another agent: how much
 * the one before had is not known. */
static int find_last_run(int fd, uint64_t size, struct stream_position *ret_first,
			 uint64_t *ret_damaged)
{
	struct stream_position next = {0}, at;
	uint64_t damaged = 0;
	struct scan_item item;
	struct scan scan;
	int r = scan_init(&scan, fd, 0, NULL);

	*ret_first = next;
	while (!r && (r = scan_next(&scan, size, &item)) == 1) {
		at = place_of(item.batch);
		if (at.incarnation != next.incarnation || at.next > next.next ||
		    scan.damaged_places != damaged)
			*ret_first = next = at;
		damaged = scan.damaged_places;
		if (!item.batch->catch_up && at.next == next.next)
			next.next++;
		r = 0;
	}
	*ret_damaged = scan.damaged_places;
	scan_done(&scan);
	return r;
}

int bounded_first(const struct recording *recording, bool search, struct stream_position *ret_first,
		  struct err_text *err)
{
	const char *path = recording_path(recording);
	cleanup(cleanup_close) int fd = -1;
	uint64_t size, damaged = 0;
	int r;

	*ret_first = (struct stream_position){0};
	if (lacks_nothing(recording)) {
		struct recording_beginning beginning;

		r = recording_beginning(path, &beginning, err);
		if (!r)
			*ret_first =
				(struct stream_position){beginning.incarnation, beginning.first};
		return r;
	}
	if (!search)
		return 0;
	r = open_file(path, &fd, &size, err);
	if (!r)
		r = find_last_run(fd, size, ret_first, &damaged);
	/* A frame that only reading it in full shows to be damaged is not seen here. */
	if (damaged != recording_ledger(recording)->damaged_places)
		*ret_first = (struct stream_position){UINT32_MAX, UINT64_MAX};
	return r;
}

/* ---- a copy ---- */

static int find_end(int fd, uint64_t size, struct stream_position bound, uint64_t *ret_end)
{
	struct scan_item item;
	struct scan scan;
	int r = scan_init(&scan, fd, 0, NULL);

	*ret_end = 0;
	while (!r && (r = scan_next(&scan, size, &item)) == 1) {
		if (position_compare(place_of(item.batch), bound) >= 0)
			break;
		*ret_end = item.offset + item.length;
		r = 0;
	}
	scan_done(&scan);
	return r < 0 ? r : 0;
}

static int copy_bytes(int from, int to, uint64_t length)
{
	char bytes[COPY_BYTES];

	for (uint64_t at = 0; at < length;) {
		uint64_t left = length - at;
		ssize_t n = pread(from, bytes, left < sizeof(bytes) ? (size_t)left : sizeof(bytes),
				  (off_t)at);
		int r = n < 0 ? -errno : n ? write_all(to, bytes, (size_t)n) : -EIO;

		if (r == -EINTR)
			continue;
		if (r < 0)
			return r;
		at += (uint64_t)n;
	}
	return 0;
}

int bounded_copy(const char *from, const char *to, struct stream_position bound,
		 uint64_t *ret_bytes, struct err_text *err)
{
	cleanup(cleanup_close) int in = -1, out = -1;
	uint64_t size, end = 0;
	int r = open_file(from, &in, &size, err);

	if (!r)
		r = find_end(in, size, bound, &end);
	if (r < 0)
		return r;
	if (unlink(to) < 0 && errno != ENOENT)
		return err_set(err, -errno, "can't remove %s: %s", to, strerror(errno));
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	r = out < 0 ? -errno : copy_bytes(in, out, end);
	*ret_bytes = end;
	return r < 0 ? err_set(err, r, "can't copy a part of %s to %s: %s", from, to, strerror(-r))
		     : 0;
}
