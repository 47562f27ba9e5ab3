/* Reads where a recording begins. See beginning.h. */
#include "collector/catalogue/beginning.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/recording/file.h"
#include "collector/recording/scan.h"
#include "base/ban.h"

static int no_recording(const char *path, struct err_text *err)
{
	return err_set(err, -EBADMSG, "%s is no recording", path);
}

static int read_beginning(int fd, uint64_t size, const char *path, struct recording_beginning *ret,
			  struct err_text *err)
{
	struct scan_item item;
	struct scan scan;
	int r = scan_init(&scan, fd, 0, NULL);

	if (!r)
		r = scan_next(&scan, size, &item);
	if (r == 1 && item.batch->stream.len != STREAM_ID_SIZE)
		r = no_recording(path, err);
	else if (r == 1) {
		memcpy(ret->id.bytes, item.batch->stream.data, STREAM_ID_SIZE);
		ret->incarnation = item.batch->incarnation;
		ret->definitions = item.batch->catch_up;
		ret->first = item.batch->catch_up ? item.batch->next : item.batch->number;
	} else if (!r)
		r = size && !scan.damaged_places && !scan_tail(&scan, size)
			    ? err_set(err, -EBADMSG, SCAN_NOTHING, path)
			    : no_recording(path, err);
	else
		err_set(err, r, "cannot read %s: %s", path, strerror(-r));
	scan_done(&scan);
	return r == 1 ? 0 : r;
}

int recording_beginning(const char *path, struct recording_beginning *ret, struct err_text *err)
{
	cleanup(cleanup_close) int fd = recording_file(path, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	return read_beginning(fd, (uint64_t)st.st_size, path, ret, err);
}

static int beginning_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int recording_beginning_compare(const struct recording_beginning *a,
				const struct recording_beginning *b)
{
	int r = memcmp(&a->id, &b->id, sizeof(a->id));

	r = r ? r : beginning_compare(a->incarnation, b->incarnation);
	r = r ? r : beginning_compare(a->first, b->first);
	return r ? r : beginning_compare(b->definitions, a->definitions);
}
