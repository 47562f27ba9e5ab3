/* The number of a collector. See share_number.h. */
#include "collector/share/share_number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#include "base/ban.h"

#define NUMBER_FILE "collector"

static int share_number_get(const char *path, uint64_t *ret_number)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32] = "", *end;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	*ret_number = strtoull(text, &end, 16);
	return n >= 16 && end == text + 16 && *ret_number ? 0 : -EBADMSG;
}

/* The file appears with its number in it, or not at all. */
static int share_number_make(const char *path, uint64_t *ret_number)
{
	cleanup(cleanup_free) char *draft = NULL;
	cleanup(cleanup_close) int fd = -1;
	char text[32];
	int length, r = 0;

	if (getrandom(ret_number, sizeof(*ret_number), 0) != sizeof(*ret_number))
		return -EIO;
	if (asprintf(&draft, "%s.draft", path) < 0)
		return -ENOMEM;
	fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	length = snprintf(text, sizeof(text), "%016llx\n", (unsigned long long)*ret_number);
	if (write(fd, text, (size_t)length) != length || fsync(fd) < 0 || rename(draft, path) < 0)
		r = errno ? -errno : -ENOSPC;
	if (r < 0)
		unlink(draft);
	return r;
}

int share_number_keep(const char *folder, uint64_t *ret_number, struct err_text *err)
{
	cleanup(cleanup_free) char *path = NULL;
	int r;

	if (asprintf(&path, "%s/" NUMBER_FILE, folder) < 0)
		return -ENOMEM;
	r = share_number_get(path, ret_number);
	if (r == -ENOENT)
		r = share_number_make(path, ret_number);
	if (r == -EBADMSG)
		return err_set(err, r,
			       "%s does not hold 16 hexadecimal digits. If nothing was sent from "
			       "this folder yet, remove the file",
			       path);
	return r ? err_set(err, r, "can't keep a number in %s: %s", path, strerror(-r)) : 0;
}

uint64_t share_number_read(const char *data)
{
	cleanup(cleanup_free) char *path = NULL;
	uint64_t number = 0;

	if (asprintf(&path, "%s/" SHARE_FOLDER "/" NUMBER_FILE, data) < 0)
		return 0;
	return share_number_get(path, &number) < 0 ? 0 : number;
}
