/* The file of a recording. file.h describes the interface. */
#include "collector/recording/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/unnamed_file.h"
#include "collector/recording/compressed.h"
#include "collector/recording/written.h"
#include "base/ban.h"

#define MEMORY_BYTES (16u << 20) /* longer recordings are restored on the disk */

static int open_raw(const char *path)
{
	/* A FIFO would wait for its writer. */
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

bool recording_file_is(const void *head, size_t available)
{
	static const uint8_t frame[] = {0x04, 0x22, 0x4d, 0x18};

	return (available >= sizeof(frame) && !memcmp(head, frame, sizeof(frame))) ||
	       compressed_begins(head, available);
}

static int set_time(int fd, const struct stat *st)
{
	const struct timespec times[] = {st->st_atim, st->st_mtim};

	return futimens(fd, times) < 0 ? -errno : 0;
}

/* Makes the file that is to be filled. */
static int make_hole(const char *path, int compressed, uint64_t length, struct err_text *err)
{
	cleanup(cleanup_close) int fd =
		length <= MEMORY_BYTES ? memfd_create("recording", MFD_CLOEXEC) : unnamed_file();
	struct stat st;
	int r = 0;

	if (fd < 0 || fstat(compressed, &st) < 0 || ftruncate(fd, (off_t)length) < 0)
		r = -errno;
	if (!r)
		r = set_time(fd, &st);
	return r < 0 ? err_set(err, r,
			       "cannot make a file for the %llu bytes of the compressed recording "
			       "%s in TMPDIR or /var/tmp: %s",
			       (unsigned long long)length, path, strerror(-r))
		     : take_fd(fd);
}

int recording_file_open(const char *path, struct recording_file *ret, struct err_text *err)
{
	cleanup(cleanup_close) int fd = open_raw(path);
	struct compressed head;
	struct stat st;
	int r, hole;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	r = S_ISREG(st.st_mode) ? compressed_look(path, fd, &head, err) : 0;
	if (r < 0)
		return r;
	if (!r) {
		*ret = (struct recording_file){take_fd(fd), -1, st.st_dev, st.st_ino};
		return 0;
	}
	hole = make_hole(path, fd, head.length, err);
	if (hole < 0)
		return hole;
	*ret = (struct recording_file){hole, take_fd(fd), st.st_dev, st.st_ino};
	return 0;
}

int recording_file_fill(struct recording_file *file, const char *path, struct err_text *err)
{
	struct stat st;
	int r;

	if (file->compressed < 0)
		return 0;
	if (lseek(file->fd, 0, SEEK_SET) < 0 || fstat(file->fd, &st) < 0)
		return err_set(err, -errno, "cannot restore %s: %s", path, strerror(errno));
	r = compressed_restore(path, file->compressed, file->fd, err);
	if (!r)
		r = set_time(file->fd, &st);
	if (r < 0)
		return r;
	close(file->compressed);
	file->compressed = -1;
	return 0;
}

bool recording_file_is_written(const struct recording_file *file)
{
	return recording_is_written(file->compressed < 0 ? file->fd : file->compressed);
}

bool recording_file_is_replaced(const struct recording_file *file, const char *path)
{
	struct stat st;

	return !stat(path, &st) && (st.st_dev != file->device || st.st_ino != file->inode);
}

void recording_file_close(struct recording_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->compressed >= 0)
		close(file->compressed);
	*file = RECORDING_FILE_NONE;
}

int recording_file(const char *path, struct err_text *err)
{
	struct recording_file file;
	int r = recording_file_open(path, &file, err);

	if (r < 0)
		return r;
	r = recording_file_fill(&file, path, err);
	if (!r)
		r = take_fd(file.fd);
	recording_file_close(&file);
	return r;
}

int recording_file_stat(const char *path, struct stat *ret)
{
	cleanup(cleanup_close) int fd = -1;
	struct compressed head;
	struct stat st;

	if (stat(path, &st) < 0)
		return -1;
	if (S_ISREG(st.st_mode))
		fd = open_raw(path);
	if (fd >= 0 && compressed_look(path, fd, &head, NULL) == 1)
		st.st_size = (off_t)head.length;
	*ret = st;
	return 0;
}
