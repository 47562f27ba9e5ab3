#pragma once
/*
 * For tests in which the disk or the memory fails: a recording that is compressed, read and
 * restored. Whatever fails, it has all its bytes afterwards.
 */
#include <sys/stat.h>

#include "base/error.h"
#include "collector/catalogue/compress.h"
#include "collector/recording/compressed.h"
#include "collector/recording/file.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

static char round_path[128];
static struct builder round_builder;

static inline int round_begin(void **state)
{
	int fd;

	if (temporary_setup(state) < 0)
		return -1;
	snprintf(round_path, sizeof(round_path), "%s/recording", temporary_folder);
	builder_init(&round_builder, 7);
	for (uint64_t i = 1; i < 20000; i++)
		builder_malloc(&round_builder, 10 * i, 1, 16 * i * i, i % 1000);
	builder_end(&round_builder, 0);
	buf_append(&round_builder.file, "no frame", 8);
	fd = open(round_path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, round_builder.file.data, round_builder.file.length),
			 round_builder.file.length);
	close(fd);
	return 0;
}

static inline int round_end(void **state)
{
	builder_done(&round_builder);
	return temporary_teardown(state);
}

static inline int round_read(void)
{
	size_t length = round_builder.file.length;
	int fd = recording_file(round_path, NULL);
	uint8_t *bytes = fd < 0 ? NULL : malloc(length + 1);
	ssize_t n = bytes ? pread(fd, bytes, length + 1, 0) : -1;
	bool same = n == (ssize_t)length && !memcmp(bytes, round_builder.file.data, length);

	free(bytes);
	if (fd >= 0)
		close(fd);
	assert_true(same || n < 0);
	return fd < 0 ? fd : same ? 0 : -EIO;
}

/* Compresses the recording if it is not, reads it, and restores it. */
static inline int round_do(void *context)
{
	struct stat st;
	int fd = -1, r = recording_compress(round_path, NULL, NULL, NULL);

	(void)context;
	if (r >= 0)
		r = round_read();
	if (!r)
		r = (fd = open(round_path, O_RDWR)) < 0 ? -errno : 0;
	if (!r)
		r = recording_decompress(round_path, fd, NULL, NULL);
	if (fd >= 0)
		close(fd);
	if (!r && (stat(round_path, &st) < 0 || st.st_size != (off_t)round_builder.file.length))
		r = -EIO;
	return r;
}
