#pragma once
/*
 * A stream of the store, of a recording that was built: its frames, and its rows and state beside
 * them. It lies in the temporary folder of the test.
 */
#include <sys/stat.h>

#include "collector/derive/recording_parts.h"
#include "tests/unit/query/recording.h"
#include "tests/unit/temporary.h"

static char stream_path[160], stream_columns[160];

/* Writes `length` bytes of frames. */
static inline void stream_write(const void *data, size_t length)
{
	int fd = open(stream_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, length), (ssize_t)length);
	close(fd);
}

static inline void stream_make(const struct builder *b)
{
	struct recording *r;
	char folder[128];
	uint64_t cut = 0;
	int more = 1;

	snprintf(folder, sizeof(folder), "%s/stream", temporary_folder);
	snprintf(stream_path, sizeof(stream_path), "%s/recording.heapcast", folder);
	snprintf(stream_columns, sizeof(stream_columns), "%s/columns", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	stream_write(b->file.data, b->file.length);
	assert_int_equal(recording_open_writing(stream_path, &r, &cut, NULL), 0);
	while (more == 1)
		more = recording_derive(r, b->file.length, 20000, NULL);
	assert_int_equal(more, 0);
	assert_int_equal(recording_finish(r, NULL), 0);
	recording_close(r);
}

static inline void stream_open(struct test_recording *t)
{
	assert_int_equal(recording_open(stream_path, NULL, NULL, &t->recording, NULL), 0);
	assert_int_equal(symbols_new(&(struct symbols_options){0}, &t->symbols, NULL), 0);
	assert_int_equal(view_new(t->recording, t->symbols, &t->view, NULL), 0);
}
