/* Opens new files for recordings. See file_name.h. */
#include "agent/spool/file_name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/naming.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

#define NUMBER_MAX 1000000
#define BESIDE_MAX 64
#define TRY_BYTES  4096 /* a write of this size fails on a full disk */
#define TRIES	   16	/* if others take the name at the same time */

static const char *file_name_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Opens the folder, so that renaming it does not matter later. Returns a descriptor or a negative
 * errno. */
static int file_name_open_folder(const char *path)
{
	char folder[FILE_NAME_MAX];
	size_t length = (size_t)(file_name_last_part(path) - path);
	int fd;

	if (length >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, length ? path : ".", length ? length : 1);
	folder[length ? length : 1] = '\0';
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int file_name_make(int folder, const char *name)
{
	int fd = openat(folder, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

	return fd < 0 ? -errno : fd;
}

/*
 * Takes two locks on a recording while it is written. The flock keeps other agents from replacing
 * the file. The other one is the lock that collectors take on files that they write
 * (collector/recording/written.h): it shows readers on this host that the file is still growing.
 * The locks end with the agent. Without locks in the file system, nothing protects the file.
 * Returns false if another agent has the file, or if the file has no name any more.
 */
static bool file_name_hold(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return false;
	(void)!fcntl(fd, F_OFD_SETLK, &whole); /* only a hint: the file system may have no locks */
	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

static int make_held(int folder, const char *name)
{
	int fd = file_name_make(folder, name);

	if (fd < 0 || file_name_hold(fd))
		return fd;
	close(fd);
	return -EEXIST;
}

/* Creates a file with an unpredictable name. */
static int make_beside(int folder, char name[BESIDE_MAX])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(name, BESIDE_MAX, ".heapcast-%016" PRIx64, random);
	return make_held(folder, name);
}

static int file_name_refuse(const char *path, int error, struct err_text *err)
{
	return err_set(err, error, "can't write a recording to %s: %s", path, strerror(-error));
}

/* Reports why the file with this name is not a former recording of this user. Returns -EEXIST. */
static int refuse_kind(const char *path, const struct stat *st, struct err_text *err)
{
	const char *what = S_ISLNK(st->st_mode)	   ? "is a link"
			   : S_ISDIR(st->st_mode)  ? "is a folder"
			   : !S_ISREG(st->st_mode) ? "is no regular file"
						   : NULL;

	if (what)
		return err_set(err, -EEXIST, "can't write a recording to %s: it %s", path, what);
	return err_set(err, -EEXIST,
		       "can't write a recording to %s: it belongs to another user (%u)", path,
		       (unsigned)st->st_uid);
}

/* Returns true for an LZ4 frame with a content size, as recordings have and files of `lz4` do not,
 * or for an empty file, as mktemp makes it. */
static bool file_name_is_recording(int fd)
{
	uint8_t head[5];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return n == 0 || (n == sizeof(head) && !memcmp(head, "\x04\x22\x4d\x18", 4) && head[4] & 8);
}

/* Opens the former recording for reading. Returns a descriptor, -ENOENT if there is none, or
 * another negative errno with the reason. */
static int open_former(int folder, const char *path, struct err_text *err)
{
	const char *name = file_name_last_part(path);
	struct stat st;
	int fd;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ENOENT : file_name_refuse(path, -errno, err);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return refuse_kind(path, &st, err);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : file_name_refuse(path, -errno, err);
	if (file_name_is_recording(fd))
		return fd;
	close(fd);
	return err_set(err, -EEXIST,
		       "can't write a recording to %s: it is there, and is no recording (choose "
		       "another name, or remove it)",
		       path);
}

static int replace_former(int folder, const char *path, struct err_text *err)
{
	char beside[BESIDE_MAX];
	int fd = make_beside(folder, beside);

	if (fd < 0)
		return file_name_refuse(path, fd, err);
	if (renameat(folder, beside, folder, file_name_last_part(path)) == 0)
		return fd;
	file_name_refuse(path, -errno, err);
	unlinkat(folder, beside, 0);
	close(fd);
	return -EIO;
}

/* Returns -EAGAIN if an agent writes the former recording, -ENOENT if the name is free or belongs
 * to another file by now, a descriptor, or another negative errno with the reason. */
static int file_name_take_place(int folder, const char *path, struct err_text *err)
{
	cleanup(cleanup_close) int former = open_former(folder, path, err);

	if (former < 0)
		return former;
	if (flock(former, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EAGAIN;
	return file_name_hold(former) ? replace_former(folder, path, err) : -ENOENT;
}

/* Returns -EEXIST if this is not a character device. */
static int open_device(int folder, const char *name)
{
	struct stat st;
	int fd;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISCHR(st.st_mode))
		return -EEXIST;
	fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode))) {
		close(fd);
		return -EEXIST;
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, 0); /* open must not wait for a line; writes may */
	return fd < 0 ? -errno : fd;
}

static int open_numbered(int folder, char *path, struct file_number *numbers, uint32_t *ret_number)
{
	char name[FILE_NAME_MAX];
	int fd = -EEXIST;

	if (strcmp(numbers->path, path) != 0) {
		snprintf(numbers->path, sizeof(numbers->path), "%s", path);
		numbers->next = 2;
	}
	while (fd == -EEXIST && numbers->next < NUMBER_MAX) {
		snprintf(name, sizeof(name), "%s", path);
		if (naming_number(name, sizeof(name), '-', numbers->next) < 0)
			return -ENAMETOOLONG;
		*ret_number = numbers->next++;
		fd = make_held(folder, file_name_last_part(name));
	}
	if (fd >= 0)
		snprintf(path, FILE_NAME_MAX, "%s", name);
	return fd;
}

int file_name_open(char path[FILE_NAME_MAX], bool replace, struct file_number *numbers,
		   uint32_t *ret_number, struct err_text *err)
{
	cleanup(cleanup_close) int folder = file_name_open_folder(path);
	int fd = folder < 0		       ? folder
		 : !*file_name_last_part(path) ? -EISDIR
					       : make_held(folder, file_name_last_part(path));

	*ret_number = 0;
	if (fd == -EEXIST)
		fd = open_device(folder, file_name_last_part(path));
	for (unsigned i = 0; fd == -EEXIST && replace && i < TRIES; i++) {
		fd = file_name_take_place(folder, path, err);
		if (fd == -ENOENT)
			fd = make_held(folder, file_name_last_part(path));
		else if (fd != -EAGAIN)
			return fd;
	}
	if (fd == -EEXIST || fd == -EAGAIN)
		fd = open_numbered(folder, path, numbers, ret_number);
	return fd < 0 ? file_name_refuse(path, fd, err) : fd;
}

static int try_writing(int fd, uid_t owner)
{
	static const char some[TRY_BYTES];
	ssize_t n = write(fd, some, sizeof(some));

	if (n != (ssize_t)sizeof(some))
		return n < 0 ? -errno : -ENOSPC;
	return owner != (uid_t)-1 && fchown(fd, owner, (gid_t)-1) < 0 ? -errno : 0;
}

int file_name_try(const char *path, bool replace, uid_t owner, struct err_text *err)
{
	cleanup(cleanup_close) int folder = file_name_open_folder(path), fd = -1;
	char beside[BESIDE_MAX];
	struct stat st;
	int r;

	if (folder < 0)
		return file_name_refuse(path, folder, err);
	if (!*file_name_last_part(path))
		return file_name_refuse(path, -EISDIR, err);
	if (fstatat(folder, file_name_last_part(path), &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno != ENOENT)
		return file_name_refuse(path, -errno, err);
	fd = open_device(folder, file_name_last_part(path));
	if (fd != -EEXIST)
		return fd < 0 ? file_name_refuse(path, fd, err) : 0;
	fd = replace ? open_former(folder, path, err) : -ENOENT;
	if (fd >= 0)
		close(fd);
	else if (fd != -ENOENT)
		return fd;
	fd = make_beside(folder, beside);
	if (fd < 0)
		return file_name_refuse(path, fd, err);
	r = try_writing(fd, owner);
	unlinkat(folder, beside, 0);
	if (r == -EPERM && owner != (uid_t)-1)
		return err_set(err, r, "can't give recordings to user %u: %s", (unsigned)owner,
			       strerror(-r));
	return r < 0 ? file_name_refuse(path, r, err) : 0;
}
