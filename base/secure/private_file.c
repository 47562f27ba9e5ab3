/* Reads files that hold secrets. private_file.h describes the interface. */
#include "base/secure/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

static int check_owner(const char *path, const char *what, const struct stat *st,
		       struct err_text *err)
{
	if (!S_ISREG(st->st_mode))
		return err_set(err, -EINVAL, "the %s %s is no regular file", what, path);
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return err_set(err, -EPERM,
			       "the %s %s belongs to another user (%u), who can read it: chown it "
			       "to the user that uses it",
			       what, path, (unsigned)st->st_uid);
	if (st->st_mode & 077)
		return err_set(
			err, -EPERM,
			"the %s %s can be used by others (mode %04o), so its key may be known: "
			"make a new one with mode 0600",
			what, path, (unsigned)st->st_mode & 07777);
	if (st->st_size > PRIVATE_FILE_MAX)
		return err_set(err, -EFBIG, "%s is no %s: it has %lld bytes", path, what,
			       (long long)st->st_size);
	return 0;
}

int private_file_take(int fd, const char *path, const char *what, char text[PRIVATE_FILE_MAX + 2],
		      size_t *ret_length, struct err_text *err)
{
	struct stat st;
	size_t have = 0;
	ssize_t n = 1;
	int r;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot look at the %s %s: %s", what, path,
			       strerror(errno));
	r = check_owner(path, what, &st, err);
	if (r < 0)
		return r;
	while (have <= PRIVATE_FILE_MAX &&
	       (n = read(fd, text + have, PRIVATE_FILE_MAX + 1 - have)) > 0)
		have += (size_t)n;
	if (n < 0)
		return err_set(err, -errno, "cannot read the %s %s: %s", what, path,
			       strerror(errno));
	if (have > PRIVATE_FILE_MAX || memchr(text, '\0', have))
		return err_set(err, -EINVAL, "%s is no %s", path, what);
	text[have] = '\0';
	*ret_length = have;
	return 0;
}

/* O_NONBLOCK keeps the open from blocking if the path names a pipe. */
int private_file_read(const char *path, const char *what, char text[PRIVATE_FILE_MAX + 2],
		      size_t *ret_length, struct err_text *err)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return err_set(err, -errno, "cannot open the %s %s: %s", what, path,
			       strerror(errno));
	return private_file_take(fd, path, what, text, ret_length, err);
}
