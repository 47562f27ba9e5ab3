/* Writes files at paths that come from outside. See extract_place.h. */
#include "collector/cli/files/extract_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

#define TRIES 100

static int extract_place_cannot(const char *what, const char *name, int error, struct err_text *err)
{
	return err_set(err, -error, "%s %.300s: %s", what, name, strerror(error));
}

/* Copies the next part of the path to `out`. Returns 1, 0 if there is none, -EINVAL or
 * -ENAMETOOLONG. */
static int next_part(const char **path, char out[256])
{
	size_t length;

	for (;;) {
		*path += strspn(*path, "/");
		length = strcspn(*path, "/");
		if (!length)
			return 0;
		if (length != 1 || **path != '.')
			break;
		++*path;
	}
	if (length == 2 && !memcmp(*path, "..", 2))
		return -EINVAL;
	if (length > 255)
		return -ENAMETOOLONG;
	memcpy(out, *path, length);
	out[length] = '\0';
	*path += length;
	return 1;
}

/* Replaces *folder by its subfolder of that name, which is created if it is missing. */
static int extract_place_enter(int *folder, const char *name, struct err_text *err)
{
	int fd;

	if (mkdirat(*folder, name, 0777) < 0 && errno != EEXIST)
		return extract_place_cannot("making the folder", name, errno, err);
	fd = openat(*folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return extract_place_cannot("opening the folder", name, errno, err);
	close(*folder);
	*folder = fd;
	return 0;
}

/* Opens the folder in which the file will lie. */
static int go_down(struct extract_place *p, const char *path, struct err_text *err)
{
	const char *all = path;
	char part[256];
	int r = next_part(&path, p->name);

	if (r > 0)
		while ((r = next_part(&path, part)) == 1) {
			r = extract_place_enter(&p->folder, p->name, err);
			if (r < 0)
				return r;
			memcpy(p->name, part, sizeof(part));
		}
	else if (!r)
		r = -EINVAL;
	return r < 0 ? extract_place_cannot("no file is written to", all, -r, err) : 0;
}

static int open_temporary(struct extract_place *p, struct err_text *err)
{
	for (unsigned i = 0; i < TRIES; i++) {
		snprintf(p->temporary, sizeof(p->temporary), ".extract-%d-%u", (int)getpid(), i);
		p->fd = openat(p->folder, p->temporary,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (p->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	p->temporary[0] = '\0';
	return extract_place_cannot("writing", p->name, errno, err);
}

int extract_place_open(struct extract_place *p, int below, const char *path, struct err_text *err)
{
	int r;

	*p = (struct extract_place){.folder = fcntl(below, F_DUPFD_CLOEXEC, 0), .fd = -1};
	if (p->folder < 0)
		return extract_place_cannot("writing", path, errno, err);
	r = go_down(p, path, err);
	return r ? r : open_temporary(p, err);
}

int extract_place_keep(struct extract_place *p, bool replace, struct err_text *err)
{
	if (renameat2(p->folder, p->temporary, p->folder, p->name, replace ? 0 : RENAME_NOREPLACE) <
	    0)
		return extract_place_cannot("writing", p->name, errno, err);
	p->temporary[0] = '\0';
	return 0;
}

void extract_place_done(struct extract_place *p)
{
	if (p->folder >= 0 && p->temporary[0])
		unlinkat(p->folder, p->temporary, 0);
	if (p->fd >= 0)
		close(p->fd);
	if (p->folder >= 0)
		close(p->folder);
	*p = (struct extract_place)EXTRACT_PLACE_NONE;
}
