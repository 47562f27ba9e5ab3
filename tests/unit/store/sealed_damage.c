/* Sealed rows with damage in each of their files: right answers all the same, from the frames. */
#include "tests/unit/locks.h"
#include "tests/unit/store/sealed.h"

static void find_file(const char *prefix, char out[256])
{
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(out, 256, "%s/%s", columns, prefix);
		if (!strcmp(prefix, "rows"))
			snprintf(out, 256, "%s/rows.%u", columns, i);
		if (!access(out, F_OK))
			return;
	}
	fail_msg("no %s", prefix);
}

static void flip(const char *file, off_t at)
{
	uint8_t byte;
	int fd = open(file, O_RDWR);

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= (uint8_t)(1 + pick(255));
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* Whatever byte of rows or state is changed or missing: right answers, from the frames; then it is
 * put right. */
static void damaged(void **state)
{
	struct recording *memory = open_in_memory(), *r;
	struct err_text news;
	struct stat st;
	char file[256];

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		finish_kept();
		find_file(i % 3 == 2 ? "state" : "rows", file);
		assert_int_equal(stat(file, &st), 0);
		if (i % 6 == 1)
			assert_int_equal(truncate(file, pick((uint32_t)st.st_size)), 0);
		else
			flip(file, i < 3 ? pick(200) : pick((uint32_t)st.st_size));
		r = open_kept();
		same(memory, r);
		/* Said on opening, or when the damage is come upon. */
		assert_true(recording_opening_news(r, &news) || recording_rederived(r) ||
			    i % 3 != 2);
		recording_close(r);
		r = open_kept();
		same(memory, r);
		assert_null(recording_rederived(r));
		recording_close(r);
	}
	recording_close(memory);
}

/* The same for somebody who reads a few rows: every byte of a column counts, wherever it lies. */
static void damaged_in_part(void **state)
{
	struct recording *memory = open_in_memory(), *r;
	struct row_reader *reader;
	char file[256];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		const struct row_block *some;
		uint32_t first = pick(ROWS_PER_BLOCK - 100);
		uint64_t at;

		finish_kept();
		find_file("rows", file);
		r = open_kept();
		/* The address comes first. */
		at = r->rows.slots[1].offset + BLOCK_HEADER;
		flip(file, (off_t)(at + pick(60000)));
		assert_int_equal(row_reader_new(r, &reader), 0);
		some = row_reader_rows(reader, 1, ROWS_ADDRESS, first, first + 100, NULL);
		assert_non_null(some);
		same_rows(some, recording_block(memory, 1), ROWS_ADDRESS, first, first + 100);
		assert_non_null(recording_rederived(r));
		row_reader_free(reader);
		recording_close(r);
	}
	recording_close(memory);
}

/* It is named. */
static void damage_is_named(void **state)
{
	struct recording *r;
	struct row_reader *reader;
	char file[256];

	(void)state;
	finish_kept();
	find_file("rows", file);
	flip(file, 30);
	r = open_kept();
	assert_int_equal(row_reader_new(r, &reader), 0);
	assert_non_null(row_reader_block(reader, 0, ROWS_SIZE, NULL));
	assert_non_null(recording_block(r, 0));
	assert_non_null(recording_rederived(r));
	assert_non_null(strstr(recording_rederived(r), "block 0 of "));
	row_reader_free(reader);
	recording_close(r);
}

/* The frames are not what the rows were made of: rows are worth nothing. */
static void other_frames(void **state)
{
	struct recording *memory, *r;
	struct err_text news;

	(void)state;
	finish_kept();
	flip(path, (off_t)b.ends[20] + 30);
	memory = open_in_memory();
	assert_int_equal(recording_ledger(memory)->damaged_places, 1);
	r = open_kept();
	same(memory, r);
	assert_true(recording_opening_news(r, &news));
	assert_non_null(strstr(news.text, "damaged bytes in 1 place are"));
	assert_non_null(strstr(news.text, "made of other frames; its rows are derived anew"));
	recording_close(r);
	recording_close(memory);
	/* Touched, but the same. */
	save_file(b.file.length);
	finish_kept();
	save_file(b.file.length);
	r = open_kept();
	assert_int_equal(r->rows.fd[0], -1);
	assert_true(r->rows.fd[1] >= 0);
	recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(damaged),
		TEST(damage_is_named),
		TEST(other_frames),
		TEST(damaged_in_part),
	};

	return cmocka_run_group_tests(tests, build_program, drop_program);
}
