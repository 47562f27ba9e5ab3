/* Reads the keys made by pairing. pairs.h describes the interface. */
#include "base/secure/pairs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/secure/pairs_folder.h"
#include "base/ban.h"

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)

/*
 * su and sudo may leave $HOME set to another user's home. That home does not hold this user's keys.
 */
static const char *home_of_user(void)
{
	const char *home = getenv("HOME");
	const struct passwd *entry;
	struct stat st;

	if (home && *home == '/' && stat(home, &st) == 0 && st.st_uid == geteuid())
		return home;
	entry = getpwuid(geteuid());
	return entry && entry->pw_dir && *entry->pw_dir == '/' ? entry->pw_dir : NULL;
}

int pairs_place(const char *given, const char *usual, char ret[PATH_MAX])
{
	const char *config = getenv("XDG_CONFIG_HOME"),
		   *home = given || geteuid() == 0 ? NULL : home_of_user();
	int n;

	if (given)
		n = snprintf(ret, PATH_MAX, "%s", given);
	else if (geteuid() == 0)
		n = snprintf(ret, PATH_MAX, "/etc/heapcast/%s", usual);
	else if (config && *config == '/')
		n = snprintf(ret, PATH_MAX, "%s/heapcast/%s", config, usual);
	else if (home)
		n = snprintf(ret, PATH_MAX, "%s/.config/heapcast/%s", home, usual);
	else
		n = snprintf(ret, PATH_MAX, "%s", "");
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* ---- the folder ---- */

int pairs_folder_open(const char *folder, struct err_text *err)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = errno == ENOENT
				? -ENOENT
				: err_set(err, -errno, "cannot open the folder of keys %s: %s",
					  folder, strerror(errno));

		if (fd >= 0)
			close(fd);
		return r;
	}
	if ((st.st_uid == geteuid() || st.st_uid == 0) && !(st.st_mode & 022))
		return fd;
	close(fd);
	return err_set(err, -EPERM,
		       st.st_mode & 022
			       ? "others may write to the folder of keys %s (mode %04o): chmod "
				 "700 it, and pair anew if they may have"
			       : "the folder of keys %s (mode %04o) belongs to another user",
		       folder, (unsigned)st.st_mode & 07777);
}

bool pairs_is_key(const char *file, struct pair_name *ret)
{
	size_t length = strlen(file);
	const size_t ending = strlen(PAIRS_ENDING);

	if (*file == '.' || length <= ending || length - ending >= sizeof(ret->text) ||
	    strcmp(file + length - ending, PAIRS_ENDING))
		return false;
	snprintf(ret->text, sizeof(ret->text), "%.*s", (int)(length - ending), file);
	return true;
}

void pairs_file(const char *name, char out[PAIRS_FILE_MAX])
{
	snprintf(out, PAIRS_FILE_MAX, "%s" PAIRS_ENDING, name);
}

int pairs_read(int folder, const char *path, const char *file, struct secret *ret,
	       struct err_text *err)
{
	cleanup(cleanup_close) int fd = openat(folder, file, OPEN_FLAGS);
	char whole[PATH_MAX + 300];

	snprintf(whole, sizeof(whole), "%s/%s", path, file);
	return fd < 0 ? err_set(err, -errno, "cannot open the key file %s: %s", whole,
				strerror(errno))
		      : secret_read_fd(fd, whole, ret, err);
}

/* ---- the keys ---- */

static int pairs_by_name(const void *a, const void *b)
{
	return strcmp(((const struct pair_name *)a)->text, ((const struct pair_name *)b)->text);
}

/*
 * Lists the names of the keys, up to `max`, unsorted. Returns their total number, which may exceed
 * `max`, or a negative errno.
 */
static int64_t list_names(int folder, struct pair_name *name, size_t max, bool *ret_begun)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	int64_t count = 0, r = dir ? 0 : -errno;
	struct dirent *entry;

	if (!dir && copy >= 0)
		close(copy);
	for (errno = 0; dir && (entry = readdir(dir)); errno = 0) {
		struct pair_name one;

		*ret_begun |= !strcmp(entry->d_name, PAIRS_INSTALLATION);
		if (!pairs_is_key(entry->d_name, &one))
			continue;
		if ((size_t)count < max)
			name[count] = one;
		count++;
	}
	if (dir && errno)
		r = -errno;
	if (dir)
		closedir(dir);
	return r < 0 ? r : count;
}

int64_t pairs_count(int folder)
{
	bool begun = false;

	return list_names(folder, NULL, 0, &begun);
}

/*
 * Reads the keys of an open folder into `secret` and `name`. Returns how many were read. Returns a
 * negative errno if the folder could not be read; the keys are then unknown.
 */
static int64_t read_keys(const struct pairs *p, int folder, struct secret *secret,
			 struct pair_name *name, bool *ret_begun, struct err_text *remark)
{
	int64_t there = list_names(folder, name, p->max, ret_begun);
	size_t count, taken = 0;

	if (there < 0)
		return there;
	count = (size_t)there < p->max ? (size_t)there : p->max;
	if ((size_t)there > p->max)
		err_set(remark, 0, "there are %lld keys in %s, of which %zu are used",
			(long long)there, p->folder, p->max);
	qsort(name, count, sizeof(*name), pairs_by_name);
	for (size_t i = 0; i < count; i++) {
		char file[PAIRS_FILE_MAX];
		struct err_text why = {{0}};
		int r;

		pairs_file(name[i].text, file);
		r = pairs_read(folder, p->folder, file, &secret[taken], &why);
		if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
			return r;
		if (r < 0)
			err_set(remark, 0, "a key is skipped: %.440s", err_get(&why, r));
		else
			name[taken++] = name[i];
	}
	return (int64_t)taken;
}

static bool same_keys(const struct pairs *p, const struct secret *secret,
		      const struct pair_name *name, size_t count)
{
	bool same = p->count == count;

	for (size_t i = 0; same && i < count; i++)
		same = !memcmp(p->secret[i].id, secret[i].id, SECRET_ID_SIZE) &&
		       !strcmp(p->name[i].text, name[i].text);
	return same;
}

static void pairs_forget(struct secret *secret, size_t count)
{
	if (secret)
		explicit_bzero(secret, count * sizeof(*secret));
	free(secret);
}

/*
 * Returns 1 if the keys changed, 0 if they did not, or a negative errno, and the keys stay as they
 * are.
 */
static int take_keys(struct pairs *p, int folder, struct err_text *remark)
{
	struct secret *secret = calloc(p->max, sizeof(*secret));
	struct pair_name *name = calloc(p->max, sizeof(*name));
	bool begun = false, same;
	int64_t count = !secret || !name ? -ENOMEM : 0;

	if (!count && folder >= 0)
		count = read_keys(p, folder, secret, name, &begun, remark);
	if (count < 0) {
		pairs_forget(secret, p->max);
		free(name);
		return (int)count;
	}
	p->begun |= begun;
	same = p->secret && same_keys(p, secret, name, (size_t)count);
	pairs_forget(same ? secret : p->secret, p->max);
	free(same ? name : p->name);
	if (same)
		return 0;
	p->secret = secret;
	p->name = name;
	p->count = (size_t)count;
	return 1;
}

/*
 * Records the folder's modification time, and whether it is so recent that a later change may fall
 * into the same clock tick.
 */
static void note_change(struct pairs *p, const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	p->changed = st->st_mtim;
	p->recent = now.tv_sec - st->st_mtim.tv_sec < 2;
}

int pairs_open(struct pairs *p, const char *folder, size_t max, struct err_text *remark,
	       struct err_text *err)
{
	cleanup(cleanup_close) int fd = -1;
	struct stat st;
	int r;

	*p = (struct pairs){.max = max};
	if ((size_t)snprintf(p->folder, sizeof(p->folder), "%s", folder) >= sizeof(p->folder))
		return -ENAMETOOLONG;
	if (!*folder)
		return 0;
	fd = pairs_folder_open(folder, err);
	if (fd < 0 && fd != -ENOENT)
		return fd;
	if (fd >= 0 && fstat(fd, &st) == 0)
		note_change(p, &st);
	r = take_keys(p, fd, remark);
	if (r > 0)
		r = 0;
	return r < 0 ? err_set(err, r, "cannot read the folder of keys %s: %s", folder,
			       strerror(-r))
		     : 0;
}

/* Tells whether an error of opening the folder means that it is lost. All other errors are
 * temporary, such as a lack of descriptors, or a disk or server that does not answer. */
static bool is_of_no_use(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EACCES ||
	       error == -EPERM;
}

int pairs_look(struct pairs *p, struct err_text *remark)
{
	cleanup(cleanup_close) int fd = -1;
	struct stat st = {0};
	int r;

	if (!*p->folder)
		return 0;
	if (stat(p->folder, &st) < 0 && errno != ENOENT)
		return 0;
	if (!p->recent && st.st_mtim.tv_sec == p->changed.tv_sec &&
	    st.st_mtim.tv_nsec == p->changed.tv_nsec)
		return 0;
	fd = pairs_folder_open(p->folder, remark);
	if (fd < 0 && !is_of_no_use(fd))
		return 0;
	r = take_keys(p, fd, remark);
	if (r >= 0)
		note_change(p, &st);
	return r == 1;
}

void pairs_done(struct pairs *p)
{
	pairs_forget(p->secret, p->max);
	free(p->name);
	*p = (struct pairs){0};
}
