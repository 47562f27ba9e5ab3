/* Writers of what is kept beside a recording: what one goes on with, what it sweeps away, and late
 * news that are merged. */
#include "tests/unit/locks.h"
#include "tests/unit/store/kept.h"

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
	unsigned before = descriptors_open();

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
	assert_int_equal(descriptors_open(), before);
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

/* A state that can't take its place is none, and that is told. */
static void no_place(void **state)
{
	struct recording *r;
	struct err_text err = {0};
	char expected[256];

	(void)state;
	r = open_writer(0);
	add_rows(r, 1);
	assert_int_equal(mkdir(state_file, 0700), 0);
	r->scan.offset = 500;
	assert_int_equal(derived_save(r, &err), -EISDIR);
	snprintf(expected, sizeof(expected), "cannot write %s: Is a directory", state_file);
	assert_string_equal(err.text, expected);
	assert_int_equal(r->derived.saved_offset, 0);
	assert_int_equal(rmdir(state_file), 0);
	save(r, 500);
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
	unsigned open;

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
		open = descriptors_open();
		assert_int_equal(derived_compact(r, NULL), 0);
		assert_int_equal(descriptors_open(), open);
		private(rows_file(blocks + 1), 0600);
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

/* Late news of a block that can't be read: an error, and all stays as it was. */
static void merge_of_damage(void **state)
{
	unsigned before = descriptors_open();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct recording *r = open_writer(0);
		struct err_text err = {0};
		uint32_t generation = r->derived.generation;

		add_rows(r, 3 * ROWS_PER_BLOCK);
		assert_int_equal(rows_seal(&r->rows, 0), 0);
		assert_int_equal(rows_settle(&r->rows), 0);
		assert_int_equal(
			rows_end(&r->rows, 7 + ROWS_PER_BLOCK,
				 &(struct row_death){DEATH_NS, 0, 0, 1, BLOCK_FREED, false}),
			0);
		if (i) /* of a block without news its bytes are missing */
			r->rows.slots[2].offset = 1u << 30;
		else
			flip(rows_file(generation), r->rows.slots[1].offset + 1);
		assert_int_equal(derived_compact(r, &err), i ? -EIO : -EBADMSG);
		assert_non_null(strstr(err.text, "cannot write"));
		assert_int_equal(r->derived.generation, generation);
		assert_int_equal(r->rows.late.page_count, 1);
		assert_int_equal(access(rows_file(generation + 1), F_OK), -1);
		recording_close(r);
		assert_int_equal(descriptors_open(), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(swept),   TEST(goes_on), TEST(no_folder),	     TEST(no_place),
		TEST(dropped), TEST(merged),  TEST(merge_of_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
