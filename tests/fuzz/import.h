#pragma once
/*
 * A file of another tool, whatever is in it, ends as a recording that balances and can be asked, or
 * with a sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "collector/formats/import.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "tests/fuzz/fuzz.h"

#define FUZZ_PATH 32

/* An empty file in memory, the same one each time, and its path. */
static inline int fuzz_file(int *fd, char path[FUZZ_PATH])
{
	if (*fd < 0)
		*fd = memfd_create("fuzz", MFD_CLOEXEC);
	snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", *fd);
	return ftruncate(*fd, 0) < 0 || lseek(*fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

static inline void fuzz_ask(const char *path)
{
	struct err_text err = {0};
	struct recording *recording;
	struct view *view;
	struct report report;
	struct filter filter;

	if (recording_open(path, NULL, NULL, &recording, &err) < 0 ||
	    !recording_adds_up(recording, &err) || view_new(recording, NULL, &view, &err) < 0)
		abort();
	filter_init(&filter);
	if (query_report(view, &filter, &report, &err) < 0)
		abort();
	filter_done(&filter);
	view_free(view);
	recording_close(recording);
}

static inline int fuzz_import(const char *format, const uint8_t *data, size_t size)
{
	static int in = -1, out = -1;
	const struct import_options options = {.format = format, .samples_max = 1000};
	char path[FUZZ_PATH], made[FUZZ_PATH];
	struct import_result result;
	struct err_text err = {0};
	int r;

	if (fuzz_file(&in, path) < 0 || fuzz_file(&out, made) < 0 ||
	    pwrite(in, data, size, 0) != (ssize_t)size)
		abort();
	r = import_file(path, out, NULL, &options, &result, &err);
	if (r < 0 && !err.text[0])
		abort();
	if (!r)
		fuzz_ask(made);
	return 0;
}
