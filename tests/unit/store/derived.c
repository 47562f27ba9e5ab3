/*
 * What is kept beside a recording: which frames it fits, what of it is damaged or missing, what a
 * writer goes on with, and late news that are merged. The frames are any bytes.
 */
#include "collector/derive/derived.h"

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
#include "collector/derive/recording_parts.h"
#include "collector/recording/recording.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/temporary.h"

#define FRAMES (2 * DERIVED_CHUNK + 1000)

static char frames[128], folder[128], state_file[160];

/* ---- files ---- */

static void put(const char *path, uint64_t at, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, length, (off_t)at), (int)length);
	close(fd);
}

static void flip(const char *path, uint64_t at)
{
	uint8_t byte;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? UINT64_MAX : (uint64_t)st.st_size;
}

static const char *rows_file(uint32_t generation)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/rows.%u", folder, generation);
	return path;
}

static void modified(int64_t seconds, long ns)
{
	const struct timespec times[2] = {{.tv_sec = seconds, .tv_nsec = ns},
					  {.tv_sec = seconds, .tv_nsec = ns}};

	assert_int_equal(utimensat(AT_FDCWD, frames, times, 0), 0);
}

#define THEN 1000000000, 500

static void new_frames(void)
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

static int begin(void **state)
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

static struct recording *open_frames(void)
{
	struct recording *r;

	assert_int_equal(recording_new(&r), 0);
	r->path = strdup(frames);
	r->fd = open(frames, O_RDONLY | O_CLOEXEC);
	assert_true(r->fd >= 0);
	assert_int_equal(derived_init(&r->derived, frames), 0);
	return r;
}

static struct recording *open_writer(uint64_t cut)
{
	struct recording *r = open_frames();
	uint64_t was_cut = 0;

	assert_int_equal(derived_load_writing(r, &was_cut, NULL), 0);
	assert_int_equal(was_cut, cut);
	return r;
}

static void add_rows(struct recording *r, uint32_t count)
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

static void save(struct recording *r, uint64_t offset)
{
	r->scan.offset = offset;
	assert_int_equal(derived_save(r, NULL), 0);
	assert_int_equal(r->derived.saved_offset, offset);
	assert_int_equal(access(state_file, F_OK), 0);
}

/* Kept of the first `offset` bytes of the frames, by a writer that has left. */
static void keep(uint64_t offset)
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
static void loads(const char *why)
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

static void folders(void **state)
{
	static const struct {
		const char *path, *folder;
	} cases[] = {{"a/recording.heapcast", "a/columns"},
		     {"/recording.heapcast", "/columns"},
		     {"/s/b c/recording.heapcast", "/s/b c/columns"},
		     {"recording.heapcast", NULL},
		     {"a/recording.heapcast2", NULL},
		     {"a/recording.heapcas", NULL},
		     {"a/xrecording.heapcast", NULL},
		     {"", NULL}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct derived d;

		assert_int_equal(derived_init(&d, cases[i].path), 0);
		assert_int_equal(!d.folder, !cases[i].folder);
		if (d.folder)
			assert_string_equal(d.folder, cases[i].folder);
		derived_done(&d);
		assert_null(d.folder);
	}
}

/* ---- frames ---- */

static const uint64_t offsets[] = {
	0,	    1,	   DERIVED_CHUNK - 1, DERIVED_CHUNK, DERIVED_CHUNK + 1, 2 * DERIVED_CHUNK,
	FRAMES - 1, FRAMES};

static void same_frames(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint64_t offset = offsets[i];

		keep(offset);
		loads(NULL);
		modified(5, 5); /* another time: their hash tells */
		loads(NULL);
		if (offset < FRAMES) {
			flip(frames, offset); /* nobody has taken that */
			modified(5, 5);
			loads(NULL);
		}
		put(frames, FRAMES, "more", 4);
		loads(NULL);
		assert_int_equal(truncate(frames, (off_t)offset), 0);
		loads(NULL);
		if (offset) {
			assert_int_equal(truncate(frames, (off_t)offset - 1), 0);
			loads(FRAMES_DIFFER);
		}
		new_frames();
	}
}

static void other_frames(void **state)
{
	(void)state;
	for (unsigned i = 1; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint64_t offset = offsets[i], chunk = offset - offset % DERIVED_CHUNK;
		const uint64_t at[] = {0, offset - 1, offset / 2};

		keep(offset);
		for (unsigned k = 0; k < 3; k++) {
			flip(frames, at[k]);
			modified(THEN); /* length and time are the same: nobody looks */
			loads(NULL);
			modified(1000000000, 501);
			loads(FRAMES_DIFFER);
			modified(1000000001, 500);
			loads(FRAMES_DIFFER);
			/* Of longer ones only what is behind the last whole chunk counts. */
			put(frames, FRAMES, "", 1);
			loads(at[k] < chunk ? NULL : FRAMES_DIFFER);
			assert_int_equal(truncate(frames, FRAMES), 0);
			flip(frames, at[k]);
			modified(THEN);
		}
	}
	/* Shorter ones are looked at as a whole. */
	keep(DERIVED_CHUNK + 1);
	flip(frames, 0);
	assert_int_equal(truncate(frames, FRAMES - 1), 0);
	loads(FRAMES_DIFFER);
}

/* The hash goes on from where it was, in this process and the next one. */
static void saved_again(void **state)
{
	struct recording *r;

	(void)state;
	r = open_writer(0);
	add_rows(r, 3);
	save(r, 100);
	assert_int_equal(r->derived.hashed, 0);
	save(r, DERIVED_CHUNK);
	assert_int_equal(r->derived.hashed, DERIVED_CHUNK);
	save(r, DERIVED_CHUNK + 5);
	recording_close(r);
	modified(5, 5);
	loads(NULL);
	r = open_writer(0);
	assert_int_equal(r->derived.hashed, DERIVED_CHUNK);
	assert_int_equal(r->derived.saved_offset, DERIVED_CHUNK + 5);
	assert_int_equal(r->rows.count, 3);
	assert_int_equal(r->derived.generation, 1);
	save(r, FRAMES);
	assert_int_equal(r->derived.hashed, 2 * DERIVED_CHUNK);
	recording_close(r);
	modified(5, 5);
	loads(NULL);
	flip(frames, 7);
	modified(5, 6);
	loads(FRAMES_DIFFER);
}

/* ---- the files that are kept ---- */

static void damaged_state(void **state)
{
	uint64_t length;
	uint32_t none = 0;

	(void)state;
	loads(""); /* there is none */
	keep(500);
	length = size_of(state_file);
	for (uint64_t at = 0; at < length; at++) {
		if (at >= 12 && at < 16)
			continue; /* the generation: another file of rows */
		flip(state_file, at);
		loads(DAMAGED);
		flip(state_file, at);
	}
	loads(NULL);
	flip(state_file, 14);
	loads(NO_ROWS);
	flip(state_file, 14);
	put(state_file, length, "", 1);
	loads(DAMAGED);
	assert_int_equal(truncate(state_file, (off_t)length - 1), 0);
	loads(DAMAGED);
	keep(500);
	put(state_file, 12, &none, 4);
	loads(DAMAGED);
	assert_int_equal(truncate(state_file, 31), 0);
	loads(DAMAGED);
	assert_int_equal(truncate(state_file, 0), 0);
	loads(DAMAGED);
}

static void rows_missing(void **state)
{
	struct recording *r;
	uint64_t length;

	(void)state;
	r = open_writer(0);
	add_rows(r, ROWS_PER_BLOCK);
	save(r, 500);
	recording_close(r);
	length = size_of(rows_file(1));
	assert_true(length > 100);
	r = open_frames();
	assert_int_equal(derived_load(r), 1);
	assert_int_equal(r->rows.first_open, 1);
	recording_close(r);
	assert_int_equal(truncate(rows_file(1), (off_t)length - 1), 0);
	loads(NO_ROWS);
	unlink(rows_file(1));
	loads(NO_ROWS);
	/* A single file has nothing beside it. */
	r = open_frames();
	derived_done(&r->derived);
	assert_int_equal(derived_load(r), 0);
	recording_close(r);
}

/* Descriptor 0 is as good as any other. */
static void descriptor_zero(void **state)
{
	struct recording *r;
	uint64_t cut;

	(void)state;
	keep(500);
	for (unsigned i = 0; i < 2; i++) {
		r = open_frames();
		first_descriptor_free();
		if (i)
			assert_int_equal(derived_load_writing(r, &cut, NULL), 0);
		else
			assert_int_equal(derived_load(r), 1);
		assert_int_equal(r->rows.fd[!i], 0);
		assert_int_equal(r->rows.count, 3);
		recording_close(r);
		assert_int_equal(fcntl(0, F_GETFD), -1);
		first_descriptor_take();
	}
	/* A state is written there. */
	r = open_writer(0);
	first_descriptor_free();
	save(r, 500);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	first_descriptor_take();
	recording_close(r);
	loads(NULL);
}

/* ---- writers ---- */

static void beside(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	put(path, 0, "x", 1);
}

static bool there(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void swept(void **state)
{
	struct derived d = {.folder = folder, .generation = 12};

	(void)state;
	mkdir(folder, 0700);
	beside("rows.12");
	beside("rows.1");
	beside("rows.123");
	beside("rows");
	beside("row.12");
	beside("state");
	beside("state.new");
	beside("state.news");
	derived_sweep(&d);
	assert_true(there("rows.12") && there("rows") && there("row.12") && there("state") &&
		    there("state.news"));
	assert_false(there("rows.1") || there("rows.123") || there("state.new"));
	d.folder = temporary_folder;
	derived_sweep(&d);
	snprintf(folder, sizeof(folder), "%s/none", temporary_folder);
	d.folder = folder;
	derived_sweep(&d); /* there is no such folder */
}

/* What no state refers to is cut off, and rows go on behind what one refers to. */
static void goes_on(void **state)
{
	struct recording *r;
	uint64_t length;

	(void)state;
	r = open_writer(0);
	add_rows(r, ROWS_PER_BLOCK + 3);
	assert_int_equal(
		rows_end(&r->rows, 4, &(struct row_death){50, 0, 0, 1, BLOCK_FREED, false}), 0);
	assert_int_equal(rows_seal(&r->rows, 0), 0);
	assert_int_equal(
		rows_end(&r->rows, 5, &(struct row_death){50, 0, 0, 1, BLOCK_FREED, false}), 0);
	save(r, 500);
	assert_int_equal(r->rows.late.page_count, 1);
	recording_close(r);
	length = size_of(rows_file(1));
	put(rows_file(1), length, "more", 4);
	beside("rows.7");
	r = open_writer(4);
	assert_int_equal(size_of(rows_file(1)), length);
	assert_int_equal(r->rows.written, length);
	assert_false(r->rows.slots[0].base || r->rows.late.pages[0].base);
	assert_false(there("rows.7"));
	assert_true(r->derived.writing);
	assert_int_equal(r->rows.count, ROWS_PER_BLOCK + 3);
	assert_int_equal(r->derived.anew.text[0], 0);
	recording_close(r);
	/* Of other frames: all anew, in the next generation. */
	modified(5, 5);
	flip(frames, 3);
	r = open_writer(0);
	assert_int_equal(r->rows.count, 0);
	assert_int_equal(r->rows.written, 0);
	assert_int_equal(r->derived.generation, 2);
	assert_int_equal(r->derived.hashed + r->derived.hash + r->derived.saved_offset, 0);
	assert_non_null(strstr(r->derived.anew.text, FRAMES_DIFFER));
	assert_int_equal(size_of(rows_file(2)), 0);
	assert_false(there("rows.1"));
	recording_close(r);
}

static void no_folder(void **state)
{
	struct recording *r;
	struct err_text err = {0};
	uint64_t cut;

	(void)state;
	put(folder, 0, "x", 1); /* a file is in its place */
	r = open_frames();
	assert_int_equal(derived_load_writing(r, &cut, &err), -ENOTDIR);
	assert_non_null(strstr(err.text, "rows.1: Not a directory"));
	recording_close(r);
	unlink(folder);
	r = open_writer(0);
	add_rows(r, 1);
	unlink(rows_file(1));
	rmdir(folder);
	r->scan.offset = 5;
	assert_int_equal(derived_save(r, &err), -ENOENT);
	assert_non_null(strstr(err.text, "state.new: No such file"));
	assert_int_equal(r->derived.saved_offset, 0);
	r->scan.offset = FRAMES + 1; /* more than there is */
	assert_int_equal(derived_save(r, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "cannot write rows to"));
	free(r->derived.folder);
	r->derived.folder = strdup("/nowhere/at/all");
	assert_int_equal(derived_load_writing(r, &cut, &err), -ENOENT);
	assert_non_null(strstr(err.text, "cannot make the folder /nowhere/at/all"));
	recording_close(r);
}

/* A damaged state goes, but not one that another has put in its place. */
static void dropped(void **state)
{
	char other[200];
	struct recording *r;

	(void)state;
	keep(500);
	r = open_frames();
	assert_int_equal(derived_load(r), 1);
	snprintf(other, sizeof(other), "%s.other", state_file);
	put(other, 0, "x", 1);
	assert_int_equal(rename(state_file, rows_file(99)), 0);
	derived_drop(&r->derived); /* there is none */
	assert_int_equal(rename(other, state_file), 0);
	derived_drop(&r->derived);
	assert_int_equal(access(state_file, F_OK), 0);
	assert_int_equal(rename(rows_file(99), state_file), 0);
	derived_drop(&r->derived);
	assert_int_equal(access(state_file, F_OK), -1);
	recording_close(r);
}

/* ---- late news ---- */

#define DEATH_NS 1000000 /* all are born before */

static void right_ends(struct recording *r, uint32_t ended)
{
	for (uint32_t i = 0; i < r->rows.slot_count; i++) {
		const struct row_block *b = recording_block(r, i);

		assert_non_null(b);
		assert_int_equal(b->first_row, i * ROWS_PER_BLOCK);
		assert_int_equal(b->address[9], 16 + 16 * (i * ROWS_PER_BLOCK + 9));
		assert_int_equal(b->end[7], i == ended ? BLOCK_FREED : BLOCK_IN_USE);
		assert_int_equal(b->death_ns[7], i == ended ? DEATH_NS : NO_TIME);
		assert_int_equal(rows_in_use(&r->rows, i), b->count - (i == ended));
	}
}

static void merged(void **state)
{
	struct err_text err = {0};
	struct recording *r;

	(void)state;
	for (uint32_t blocks = 1; blocks <= 3; blocks += 2) {
		r = open_writer(0);
		add_rows(r, blocks * ROWS_PER_BLOCK + 10);
		assert_int_equal(derived_compact(r, NULL), 0); /* there are none */
		assert_int_equal(r->derived.generation, blocks);
		assert_int_equal(
			rows_end(&r->rows, 7 + (blocks - 1) * ROWS_PER_BLOCK,
				 &(struct row_death){DEATH_NS, 0, 0, 1, BLOCK_FREED, false}),
			0);
		save(r, 500);
		assert_int_equal(r->rows.late.page_count, 1);
		assert_int_equal(derived_compact(r, NULL), 0);
		assert_int_equal(r->derived.generation, blocks + 1);
		assert_int_equal(r->rows.late.page_count, 0);
		assert_int_equal(size_of(rows_file(blocks + 1)), r->rows.written);
		assert_true(access(rows_file(blocks), F_OK) == 0); /* until a state says so */
		right_ends(r, blocks - 1);
		save(r, 600);
		recording_close(r);
		r = open_frames();
		assert_int_equal(derived_load(r), 1);
		right_ends(r, blocks - 1);
		assert_int_equal(r->rows.slots[blocks - 1].zone.min.death_ns, DEATH_NS);
		assert_int_equal(r->rows.slots[blocks - 1].zone.max.death_ns, NO_TIME);
		recording_close(r);
		flip(frames, 0); /* the next one begins anew */
		modified(blocks, 0);
	}
	/* Where no file can be made, all stays as it was. */
	r = open_writer(0);
	add_rows(r, ROWS_PER_BLOCK);
	assert_int_equal(rows_seal(&r->rows, 0), 0);
	assert_int_equal(
		rows_end(&r->rows, 7, &(struct row_death){DEATH_NS, 0, 0, 1, BLOCK_FREED, false}),
		0);
	free(r->derived.folder);
	r->derived.folder = strdup("/nowhere/at/all");
	assert_int_equal(derived_compact(r, &err), -ENOENT);
	assert_non_null(strstr(err.text, "cannot write /nowhere/at/all/rows."));
	assert_int_equal(r->rows.late.page_count, 1);
	right_ends(r, 0);
	recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folders),	     TEST(same_frames),	 TEST(other_frames),	TEST(saved_again),
		TEST(damaged_state), TEST(rows_missing), TEST(descriptor_zero), TEST(swept),
		TEST(goes_on),	     TEST(no_folder),	 TEST(dropped),		TEST(merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
