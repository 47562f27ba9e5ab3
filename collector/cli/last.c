/* Finds the newest recording. See last.h. */
#include "collector/cli/last.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "base/ban.h"

#define SUFFIX ".heapcast"

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Takes the file if its name is that of a recording, and it is newer. Not an empty one: an agent
 * that was stopped at once leaves it. */
static void last_consider(DIR *folder, const char *name, char **newest,
			  struct timespec *newest_time)
{
	size_t length = strlen(name);
	struct stat st;
	char *copy;

	if (length <= strlen(SUFFIX) || strcmp(name + length - strlen(SUFFIX), SUFFIX) != 0 ||
	    fstatat(dirfd(folder), name, &st, 0) < 0 || !S_ISREG(st.st_mode) || !st.st_size ||
	    faccessat(dirfd(folder), name, R_OK, 0) < 0 ||
	    (*newest && !is_newer(&st.st_mtim, newest_time)) || asprintf(&copy, "./%s", name) < 0)
		return;
	free(*newest);
	*newest = copy;
	*newest_time = st.st_mtim;
}

/* Returns the path of the newest recording in the working folder, or NULL. */
static char *newest_file(struct timespec *ret_time)
{
	DIR *folder = opendir(".");
	char *newest = NULL;
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		last_consider(folder, entry->d_name, &newest, ret_time);
	if (folder)
		closedir(folder);
	return newest;
}

static int newest_stream(const char *data, char **ret_path, struct timespec *ret_time,
			 struct err_text *err)
{
	struct store *store = NULL;
	struct stat st;
	int r = store_open(data, STORE_READ, &store, err);

	if (r < 0)
		return r;
	r = store_find(store, "last", ret_path, err);
	store_close(store);
	if (r < 0)
		return r;
	*ret_time = stat(*ret_path, &st) < 0 ? (struct timespec){0} : st.st_mtim;
	return 0;
}

int last_find(const char *data, bool data_only, char **ret_path, struct err_text *err)
{
	struct timespec file_time = {0}, stream_time = {0};
	char *file = data_only ? NULL : newest_file(&file_time), *stream = NULL;
	int r = newest_stream(data, &stream, &stream_time, err);

	if (r < 0 && file) {
		err->text[0] = '\0';
		r = 0;
	} else if (r == -ENOENT && !data_only) {
		return err_set(err, r,
			       "nothing has been recorded yet, neither here (*" SUFFIX
			       ") nor in %.200s: 'agent run -- CMD' records CMD here, 'collector "
			       "gather' stores what agents record; --data names another folder",
			       data);
	}
	if (r < 0)
		return r;
	if (file && stream && is_newer(&stream_time, &file_time))
		free(file), file = NULL;
	if (file)
		free(stream);
	*ret_path = file ? file : stream;
	return 0;
}
