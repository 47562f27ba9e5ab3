/*
 * Rows that were packed, put on disk, and got late news are the same as rows in memory: with memory
 * for one block only, kept in a store by a writer that is killed again and again, and with damage
 * in each of its files.
 */
#include "tests/unit/store/sealed.h"

/* Every column by itself, and what may be missing is missing. */
static void one_column(void **state)
{
	struct recording *memory = open_in_memory(), *sealed;
	struct row_reader *reader;

	(void)state;
	row_memory_limit(SMALL);
	sealed = open_kept();
	assert_true(sealed->rows.first_open >= 2);
	assert_int_equal(row_reader_new(sealed, &reader), 0);
	for (unsigned column = 1; column < ROWS_ALL; column *= 2) {
		const struct row_block *all = recording_block(memory, 1),
				       *one = row_reader_block(reader, 1, column, NULL);

		assert_non_null(one);
		row_reader_block(reader, 0, column, NULL);
		one = row_reader_block(reader, 1, column, NULL);
		if (column == ROWS_DEATH)
			assert_memory_equal(one->death_ns, all->death_ns, all->count * 8);
		if (column == ROWS_END)
			assert_memory_equal(one->end, all->end, all->count);
		if (column == ROWS_DEATH_THREAD)
			assert_memory_equal(one->death_thread, all->death_thread, all->count * 4);
		if (column == ROWS_CHAIN)
			assert_memory_equal(one->chain_next, all->chain_next, all->count * 4);
		if (column == ROWS_SIZE)
			assert_null(one->address);
	}
	row_reader_free(reader);
	recording_close(memory);
	recording_close(sealed);
}

static void spilled(void **state)
{
	struct recording *memory = open_in_memory(), *sealed;

	(void)state;
	sealed = open_kept();
	assert_true(sealed->rows.first_open >= 2 &&
		    sealed->rows.late.fresh_count + sealed->rows.late.page_count);
	assert_int_equal(access(columns, F_OK), -1);
	same(memory, sealed);
	recording_close(memory);
	recording_close(sealed);
}

static void refreshed(void **state)
{
	struct recording *memory = open_in_memory(), *sealed;
	size_t length = b.ends[0];
	int fd;

	(void)state;
	save_file(length);
	sealed = open_kept();
	fd = open(path, O_WRONLY | O_APPEND);
	while (length < b.file.length) {
		size_t n = 1 + pick(100000);

		n = n > b.file.length - length ? b.file.length - length : n;
		assert_int_equal(write(fd, b.file.data + length, n), (int)n);
		length += n;
		assert_true(recording_refresh(sealed, NULL) >= 0);
		recording_block(sealed, 0);
	}
	close(fd);
	same(memory, sealed);
	recording_close(memory);
	recording_close(sealed);
}

/* Ranges of rows, most in the block of the one before and near it. */
static void ask_for_ranges(const struct recording *r, const struct recording *memory)
{
	struct row_reader *reader;
	uint32_t index = 0;
	unsigned wanted = ROWS_SIZE;

	assert_int_equal(row_reader_new(r, &reader), 0);
	for (unsigned i = 0; i < 600; i++) {
		const struct row_block *all, *some;
		uint32_t first, end;

		if (!pick(6))
			index = pick(recording_blocks(r));
		if (!pick(4))
			wanted = 1 + pick(ROWS_ALL);
		all = recording_block(memory, index);
		first = pick(all->count);
		end = first + 1 + pick(pick(3) ? 5000 : all->count);
		end = end < all->count ? end : all->count;
		some = row_reader_rows(reader, index, wanted, first, end, NULL);
		assert_non_null(some);
		same_rows(some, all, wanted, first, end);
		if (!pick(20))
			same_columns(row_reader_block(reader, index, ROWS_ALL, NULL), all);
	}
	row_reader_free(reader);
}

/* An ended stream is opened without a look at its frames. */
static void kept(void **state)
{
	struct recording *memory = open_in_memory(), *r;
	struct err_text news;

	(void)state;
	finish_kept();
	r = open_kept();
	assert_int_equal(r->rows.fd[0], -1);
	assert_true(r->asleep);
	same(memory, r);
	assert_null(recording_rederived(r));
	assert_false(recording_opening_news(r, &news));
	assert_int_equal(recording_refresh(r, NULL), 0);
	recording_close(r);
	/* Once more by a writer: there is nothing to do. */
	finish_kept();
	r = open_kept();
	same(memory, r);
	recording_close(r);
	recording_close(memory);
}

/* Some rows of a block: with late news and blocks that are open, and packed for good. */
static void in_part(void **state)
{
	struct recording *memory = open_in_memory(), *r = open_kept();

	(void)state;
	assert_true(r->rows.first_open && r->rows.late.fresh_count + r->rows.late.page_count);
	ask_for_ranges(r, memory);
	recording_close(r);
	finish_kept();
	r = open_kept();
	ask_for_ranges(r, memory);
	assert_null(recording_rederived(r));
	recording_close(r);
	recording_close(memory);
}

/* A writer that leaves without a word, at any moment; readers in between, who see all frames that
 * there are. */
static void stopped(void **state)
{
	struct recording *memory = open_in_memory(), *r, *reader;
	uint64_t at = 0, cut;

	(void)state;
	for (unsigned i = 0; at < b.file.length; i++) {
		at += pick(200000);
		at = at > b.file.length ? b.file.length : at;
		cut = 0;
		assert_int_equal(recording_open_writing(path, &r, &cut, NULL), 0);
		derive(r, at);
		if (i % 3)
			assert_int_equal(derived_save(r, NULL), 0);
		if (i % 4 == 0)
			assert_int_equal(rows_seal(&r->rows, 0), 0);
		recording_close(r);
		if (i % 2)
			continue;
		reader = open_kept();
		same(memory, reader);
		recording_close(reader);
	}
	finish_kept();
	reader = open_kept();
	same(memory, reader);
	recording_close(reader);
	recording_close(memory);
}

static void killed(void **state)
{
	struct recording *memory = open_in_memory(), *r;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			uint64_t cut;

			if (recording_open_writing(path, &r, &cut, NULL) < 0)
				_exit(1);
			while (recording_derive(r, b.file.length, 30000, NULL) == 1 &&
			       !derived_save(r, NULL))
				;
			_exit(recording_finish(r, NULL) < 0);
		}
		usleep(pick(40000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		r = open_kept();
		assert_null(recording_rederived(r));
		assert_int_equal(recording_rows(r), recording_rows(memory));
		recording_close(r);
	}
	finish_kept();
	r = open_kept();
	same(memory, r);
	recording_close(r);
	recording_close(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_column), TEST(spilled), TEST(refreshed), TEST(kept),
		TEST(stopped),	  TEST(killed),	 TEST(in_part),
	};

	return cmocka_run_group_tests(tests, build_program, drop_program);
}
