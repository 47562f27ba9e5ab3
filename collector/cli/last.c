/* Finds the newest recording. See last.h. */
#include "collector/cli/last.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/cli/here.h"
#include "base/ban.h"

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

int last_none(const char *data, struct err_text *err)
{
	return err_set(err, -ENOENT,
		       "nothing has been recorded yet, neither here (*.heapcast) nor in %.200s: "
		       "'agent run -- CMD' records CMD here, 'collector gather' stores what agents "
		       "record; --data names another folder",
		       data);
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

/* Returns the path of the newest recording in a folder, or NULL. */
static char *newest_file(const char *folder, struct timespec *ret_time)
{
	struct here_list files;
	char *newest = NULL;

	if (here_find(folder, &files) < 0)
		return NULL;
	if (files.count) {
		*ret_time = files.list[0].changed;
		newest = strdup(files.list[0].path);
	}
	here_done(&files);
	return newest;
}

int last_find(const char *data, bool data_only, char **ret_path, struct err_text *err)
{
	struct timespec file_time = {0}, stream_time = {0};
	char *file = newest_file(data_only ? data : ".", &file_time), *stream = NULL;
	int r = newest_stream(data, &stream, &stream_time, err);

	if (r < 0 && file) {
		err->text[0] = '\0';
		r = 0;
	} else if (r == -ENOENT && !data_only) {
		return last_none(data, err);
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
