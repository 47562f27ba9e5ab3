/* Makes, lists and removes keys of pairs. pairs.h describes the interface. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/secure/pairs_folder.h"
#include "base/words.h"
#include "base/ban.h"

#define FACTS_MAX   512 /* the facts are in this many first bytes of a file */
#define NUMBERS_MAX 99	/* keys of the same name */
#define NUMBER_ROOM 4
/* Both sides' keys have the same identity in TLS, whatever their files are called. */
#define SECRET_NAME  "pair"
#define LINE_MAX_ALL (PAIR_PEER_MAX + 2 * PAIR_KEY_SIZE + 160)

int pair_secret(const uint8_t key[PAIR_KEY_SIZE], struct secret *ret)
{
	return secret_make(key, PAIR_KEY_SIZE, SECRET_NAME, ret);
}

/* ---- creation ---- */

/*
 * Creates the folder with mode 0700, and missing parents with the usual mode. Returns 0 or a
 * negative errno.
 */
static int make_folders(const char *folder)
{
	char path[PATH_MAX];
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s", folder) >= sizeof(path))
		return -ENAMETOOLONG;
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	r = mkdir(path, 0700);
	return r < 0 && errno != EEXIST ? -errno : 0;
}

static int write_whole(int fd, const char *text)
{
	size_t length = strlen(text), at = 0;

	while (at < length) {
		ssize_t n = write(fd, text + at, length - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* Writes a new file under a name that nothing reads. */
static int write_temporary(struct pair_draft *d, const char *text)
{
	cleanup(cleanup_close) int fd = -1;
	uint64_t number;
	int r;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(d->temporary, sizeof(d->temporary), ".new-%016llx", (unsigned long long)number);
	fd = openat(d->folder, d->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0) {
		d->temporary[0] = '\0';
		return -errno;
	}
	r = fchmod(fd, 0600) < 0 ? -errno : write_whole(fd, text);
	futimens(fd, (const struct timespec[2]){{0}, {0}}); /* time 0: never seen (pair_seen) */
	if (r < 0)
		pair_draft_close(d);
	return r;
}

static int pairs_write_open_folder(struct pair_draft *d, const char *folder, struct err_text *err)
{
	int r;

	*d = (struct pair_draft){.folder = -1};
	if (!*folder)
		return err_set(err, -EINVAL,
			       "there is no folder for keys: neither XDG_CONFIG_HOME nor HOME is "
			       "set, or none is wanted");
	r = make_folders(folder);
	if (!r)
		r = d->folder = pairs_folder_open(folder, err);
	snprintf(d->path, sizeof(d->path), "%s", folder);
	return r < 0 && (!err || !*err->text)
		       ? err_set(err, r, "cannot make the folder of keys %s: %s", folder,
				 strerror(-r))
	       : r < 0 ? r
		       : 0;
}

int pair_draft_open(struct pair_draft *d, const char *folder, size_t max,
		    const uint8_t key[PAIR_KEY_SIZE], const char *peer, struct err_text *err)
{
	char text[LINE_MAX_ALL], with[PAIR_PEER_MAX], hex[2 * PAIR_KEY_SIZE + 1], when[32];
	time_t now = time(NULL);
	struct tm parts;
	int r = pairs_write_open_folder(d, folder, err);

	if (r < 0)
		return r;
	if (pairs_count(d->folder) >= (int64_t)max) {
		pair_draft_close(d);
		return err_set(err, -ENOSPC,
			       "there are %zu pairs already in %s: remove some that are not used "
			       "any more",
			       max, folder);
	}
	words_clean(with, sizeof(with), peer, strlen(peer));
	gmtime_r(&now, &parts);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
	for (unsigned i = 0; i < PAIR_KEY_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", key[i]);
	snprintf(text, sizeof(text), PAIRS_FIRST_LINE "%s\n" PAIRS_SECOND_LINE "%s\n%s:%s\n", with,
		 when, SECRET_NAME, hex);
	r = write_temporary(d, text);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(hex, sizeof(hex));
	if (r < 0) {
		pair_draft_close(d);
		return err_set(err, r, "cannot write to the folder of keys %s: %s", folder,
			       strerror(-r));
	}
	return 0;
}

/*
 * Reduces a name to letters, digits, '.', '_' and '-', beginning with a letter or digit so that it
 * is neither hidden nor an option.
 */
static void clean_name(const char *text, struct pair_name *ret)
{
	size_t n = 0;

	while (*text && (!isascii(*text) || !isalnum((unsigned char)*text)))
		text++;
	for (; *text && n < sizeof(ret->text) - 1 - NUMBER_ROOM; text++)
		ret->text[n++] =
			isascii(*text) && (isalnum((unsigned char)*text) || strchr("._-", *text))
				? *text
				: '-';
	ret->text[n] = '\0';
	if (!n)
		snprintf(ret->text, sizeof(ret->text), "unnamed");
}

/*
 * Renames the draft without replacing a file. On a file system without hard links (FAT) the check
 * and the rename are not atomic, but no other program creates files of this name in the folder.
 */
static int give_name(struct pair_draft *d, const char *file)
{
	struct stat st;

	if (linkat(d->folder, d->temporary, d->folder, file, 0) == 0) {
		unlinkat(d->folder, d->temporary, 0);
		return 0;
	}
	if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	if (fstatat(d->folder, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(d->folder, d->temporary, d->folder, file) < 0 ? -errno : 0;
}

int pairs_check(const char *folder, size_t max, struct err_text *err)
{
	static const uint8_t none[PAIR_KEY_SIZE];
	struct pair_draft draft;
	int r = pair_draft_open(&draft, folder, max, none, "", err);

	if (!r)
		pair_draft_close(&draft);
	return r;
}

int pair_draft_keep(struct pair_draft *d, const char *wanted, struct pair_name *ret,
		    struct err_text *err)
{
	struct pair_name base, name;
	char file[PAIRS_FILE_MAX];
	int r = -EEXIST;

	clean_name(wanted, &base);
	name = base;
	for (unsigned i = 2; r == -EEXIST && i <= NUMBERS_MAX; i++) {
		pairs_file(name.text, file);
		r = give_name(d, file);
		if (r == -EEXIST)
			snprintf(name.text, sizeof(name.text), "%.*s-%u",
				 (int)sizeof(name.text) - 1 - NUMBER_ROOM, base.text, i);
	}
	if (r < 0)
		return err_set(err, r, "cannot keep the key as %s/%s: %s", d->path, file,
			       strerror(-r));
	fsync(d->folder);
	d->temporary[0] = '\0';
	*ret = name;
	return 0;
}

void pair_draft_close(struct pair_draft *d)
{
	if (d->folder >= 0 && *d->temporary)
		unlinkat(d->folder, d->temporary, 0);
	if (d->folder >= 0)
		close(d->folder);
	d->folder = -1;
	d->temporary[0] = '\0';
}

/* ---- the installation ---- */

static int make_installation(const char *folder, struct err_text *err)
{
	uint8_t key[PAIR_KEY_SIZE];
	char text[2 * PAIR_KEY_SIZE + 64];
	struct pair_draft d;
	size_t n;
	int r = pairs_write_open_folder(&d, folder, err);

	if (r < 0)
		return r;
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		r = -EIO;
	n = (size_t)snprintf(text, sizeof(text), PAIRS_INSTALLATION ":");
	for (unsigned i = 0; i < sizeof(key); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", key[i]);
	snprintf(text + n, sizeof(text) - n, "\n");
	if (!r)
		r = write_temporary(&d, text);
	if (!r)
		r = give_name(&d, PAIRS_INSTALLATION);
	if (!r) {
		fsync(d.folder);
		d.temporary[0] = '\0';
	}
	pair_draft_close(&d);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(key, sizeof(key));
	return r < 0 && r != -EEXIST ? err_set(err, r, "cannot write to the folder of keys %s: %s",
					       folder, strerror(-r))
				     : 0;
}

static int read_installation(const char *folder, struct secret *ret, struct err_text *err)
{
	cleanup(cleanup_close) int fd = pairs_folder_open(folder, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstatat(fd, PAIRS_INSTALLATION, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return -ENOENT;
	return pairs_read(fd, folder, PAIRS_INSTALLATION, ret, err);
}

int pairs_installation(const char *folder, bool make, struct secret *ret, struct err_text *err)
{
	int r = read_installation(folder, ret, err);

	if (r != -ENOENT || !make)
		return r;
	r = make_installation(folder, err);
	return r < 0 ? r : read_installation(folder, ret, err);
}

/* ---- listing and removal ---- */

/* Copies the rest of the line that follows `label`. */
static void take_fact(const char *text, const char *label, char *out, size_t size)
{
	const char *at = strstr(text, label);

	*out = '\0';
	if (at)
		words_clean(out, size, at + strlen(label), strcspn(at + strlen(label), "\n"));
}

static int open_pair(const char *folder, const char *name, char file[PAIRS_FILE_MAX],
		     struct err_text *err)
{
	struct pair_name same;

	if (strlen(name) >= PAIR_NAME_MAX || strchr(name, '/'))
		return -ENOENT;
	pairs_file(name, file);
	return pairs_is_key(file, &same) ? pairs_folder_open(folder, err) : -ENOENT;
}

int pair_facts(const char *folder, const char *name, struct pair_facts *ret)
{
	char file[PAIRS_FILE_MAX], text[FACTS_MAX + 1];
	cleanup(cleanup_close) int dir = open_pair(folder, name, file, NULL);
	cleanup(cleanup_close) int fd =
		dir < 0 ? -1 : openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, FACTS_MAX);
	struct stat st;

	if (n < 0 || fstat(fd, &st) < 0)
		return dir < 0 ? dir : -errno;
	text[n] = '\0';
	*ret = (struct pair_facts){0};
	take_fact(text, PAIRS_FIRST_LINE, ret->peer, sizeof(ret->peer));
	take_fact(text, PAIRS_SECOND_LINE, ret->when, sizeof(ret->when));
	ret->seen = st.st_mtime;
	explicit_bzero(text, sizeof(text));
	return 0;
}

/* Stores the time as the file's modification time, which is 0 before the first connection. */
void pair_seen(const char *folder, const char *name)
{
	char file[PAIRS_FILE_MAX];
	cleanup(cleanup_close) int dir = open_pair(folder, name, file, NULL);
	cleanup(cleanup_close) int fd =
		dir < 0 ? -1 : openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (fd >= 0)
		futimens(fd, NULL);
}

int pair_remove(const char *folder, const char *name, struct err_text *err)
{
	char file[PAIRS_FILE_MAX];
	cleanup(cleanup_close) int dir = open_pair(folder, name, file, err);

	if (dir < 0)
		return dir;
	if (unlinkat(dir, file, 0) < 0)
		return errno == ENOENT ? -ENOENT
				       : err_set(err, -errno, "cannot remove %s/%s: %s", folder,
						 file, strerror(errno));
	fsync(dir);
	return 0;
}
