/* What is kept beside a recording: which frames it fits, and what of it is damaged or missing. */
#include "collector/derive/derived.h"

#include "tests/unit/store/kept.h"

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

/* Nobody else may read what is kept. */
static void modes(void **state)
{
	(void)state;
	umask(0);
	keep(500);
	umask(022);
	private(folder, 0700);
	private(state_file, 0600);
	private(rows_file(1), 0600);
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

/* The next writer's hash is the same as that of one who begins. */
static void hash_goes_on(void **state)
{
	struct recording *r;

	(void)state;
	keep(DERIVED_CHUNK + 10);
	r = open_writer(0);
	save(r, 2 * DERIVED_CHUNK + 5);
	recording_close(r);
	modified(5, 5);
	loads(NULL);
	/* A writer of other frames begins with their hash, too. */
	flip(frames, 3);
	modified(5, 6);
	r = open_writer(0);
	add_rows(r, 3);
	save(r, DERIVED_CHUNK + 10);
	recording_close(r);
	modified(5, 5);
	loads(NULL);
}

/* A hash of frames goes on in whole chunks; a state that says otherwise is of nothing. */
static void hash_of_a_part(void **state)
{
	static const uint64_t hashed[] = {0, 1, 100, 499, 500};

	(void)state;
	for (size_t i = 0; i < sizeof(hashed) / sizeof(*hashed); i++) {
		struct recording *r;

		unlink(state_file);
		r = open_writer(0);
		add_rows(r, 3);
		r->derived.hashed = hashed[i];
		save(r, 500);
		recording_close(r);
		loads(hashed[i] ? FRAMES_DIFFER : NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folders),	      TEST(modes),	  TEST(same_frames),
		TEST(other_frames),   TEST(saved_again),  TEST(hash_goes_on),
		TEST(damaged_state),  TEST(rows_missing), TEST(descriptor_zero),
		TEST(hash_of_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
