#pragma once
/*
 * What the tests of derived.h share: frames that are any bytes, and what is kept beside them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/derive/derived.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/recording.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/temporary.h"

#define FRAMES (2 * DERIVED_CHUNK + 1000)

static char frames[128], folder[128], state_file[160];

/* ---- files ---- */

static inline void put(const char *path, uint64_t at, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, length, (off_t)at), (int)length);
	close(fd);
}

static inline void flip(const char *path, uint64_t at)
{
	uint8_t byte;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static inline uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? UINT64_MAX : (uint64_t)st.st_size;
}

static inline const char *rows_file(uint32_t generation)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/rows.%u", folder, generation);
	return path;
}

static inline void modified(int64_t seconds, long ns)
{
	const struct timespec times[2] = {{.tv_sec = seconds, .tv_nsec = ns},
					  {.tv_sec = seconds, .tv_nsec = ns}};

	assert_int_equal(utimensat(AT_FDCWD, frames, times, 0), 0);
}

#define THEN 1000000000, 500

static inline void new_frames(void)
{
	uint8_t *bytes = malloc(FRAMES);
	uint32_t x = 1;

	for (size_t i = 0; i < FRAMES; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(x >> 24);
	}
	unlink(frames);
	put(frames, 0, bytes, FRAMES);
	free(bytes);
	modified(THEN);
}

static inline int begin(void **state)
{
	char streams[100];

	if (temporary_setup(state) < 0)
		return -1;
	snprintf(streams, sizeof(streams), "%s/s", temporary_folder);
	mkdir(streams, 0700);
	snprintf(frames, sizeof(frames), "%s/recording.heapcast", streams);
	snprintf(folder, sizeof(folder), "%s/columns", streams);
	snprintf(state_file, sizeof(state_file), "%s/state", folder);
	new_frames();
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, temporary_teardown)

/* ---- recordings ---- */

static inline struct recording *open_frames(void)
{
	struct recording *r;

	assert_int_equal(recording_new(&r), 0);
	r->path = strdup(frames);
	r->file.fd = open(frames, O_RDONLY | O_CLOEXEC);
	assert_true(r->file.fd >= 0);
	assert_int_equal(derived_init(&r->derived, frames), 0);
	return r;
}

static inline struct recording *open_writer(uint64_t cut)
{
	struct recording *r = open_frames();
	uint64_t was_cut = 0;

	assert_int_equal(derived_load_writing(r, &was_cut, NULL), 0);
	assert_int_equal(was_cut, cut);
	return r;
}

static inline void add_rows(struct recording *r, uint32_t count)
{
	uint32_t row;

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(rows_append(&r->rows,
					     &(struct row_birth){.address = 16 + 16 * r->rows.count,
								 .size = 5,
								 .weight = 5,
								 .birth_ns = 10 + r->rows.count,
								 .chain_previous = NO_BLOCK},
					     &row),
				 0);
}

static inline void save(struct recording *r, uint64_t offset)
{
	r->scan.offset = offset;
	assert_int_equal(derived_save(r, NULL), 0);
	assert_int_equal(r->derived.saved_offset, offset);
	assert_int_equal(access(state_file, F_OK), 0);
}

/* Kept of the first `offset` bytes of the frames, by a writer that has left. */
static inline void keep(uint64_t offset)
{
	struct recording *r;

	unlink(state_file);
	r = open_writer(0);
	add_rows(r, 3);
	save(r, offset);
	recording_close(r);
}

#define FRAMES_DIFFER "it was made of other frames"
#define DAMAGED	      "the state there is damaged or of another version"
#define NO_ROWS	      "the rows there are fewer than its state tells of, or missing"

/* `why`: what is said of it, NULL: it fits, "": there is none. */
static inline void loads(const char *why)
{
	unsigned before = descriptors_open();
	struct recording *r = open_frames();
	char said[1024];

	assert_int_equal(derived_load(r), !why);
	assert_int_equal(r->rows.count, why ? 0 : 3);
	assert_int_equal(r->rows.fd[1] >= 0, !why);
	if (why && *why)
		snprintf(said, sizeof(said), "what was kept in %s can't be used: %s", folder, why);
	assert_string_equal(r->derived.anew.text, why && *why ? said : "");
	recording_close(r);
	assert_int_equal(descriptors_open(), before);
}

static inline void private(const char *path, unsigned mode)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, mode);
}
