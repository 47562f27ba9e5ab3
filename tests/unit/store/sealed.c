/*
 * Rows that were packed, put on disk, and got late news are the same as rows in memory: with memory
 * for one block only, kept in a store by a writer that is killed again and again, and with damage
 * in each of its files.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/columns.h"
#include "collector/columns/row_block.h"
#include "collector/columns/row_memory.h"
#include "collector/recording/recording.h"
#include "collector/recording/recording_parts.h"
#include "collector/recording/row_reader.h"
#include "collector/recording/totals.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

#define EVENTS	  330000
#define ADDRESSES 3000
#define BATCH	  1500
#define LARGE	  ((uint64_t)1 << 40)
#define SMALL	  1

static uint64_t seed = 7;
static struct builder b;
static char folder[128], path[160], columns[160];

static uint32_t pick(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* ---- a program ---- */

static uint64_t address_of(uint32_t slot)
{
	return 0x7f0000001000 + 16 * (uint64_t)slot;
}

static struct event event_at(uint64_t t, bool *live)
{
	uint32_t slot = pick(20) ? pick(ADDRESSES / 20) : pick(ADDRESSES), to = pick(ADDRESSES);
	struct event e = {.thread = 1 + pick(4),
			  .time_ns = t,
			  .stack = 1 + pick(2),
			  .size = pick(3) ? 16 * pick(20) : pick(100000)};

	e.address = address_of(slot);
	if (!live[slot] || !pick(1000)) {
		e.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC;
		live[slot] = true;
	} else if (pick(8)) {
		e.kind = HEAPCAST__EVENT_KIND__EVENT_FREE;
		e.size = 0;
		live[slot] = false;
	} else {
		e.kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC;
		e.old_address = e.address;
		e.call_time_ns = pick(100);
		live[slot] = false;
		live[to] = true;
		e.address = address_of(to);
	}
	if (e.kind != HEAPCAST__EVENT_KIND__EVENT_FREE)
		e.weight = t > 20000000 && !pick(10) ? e.size + 4096 : e.size;
	return e;
}

static void build(void)
{
	static bool live[ADDRESSES];
	Heapcast__Gap gap = HEAPCAST__GAP__INIT;
	uint64_t t = 1000000;

	builder_init(&b, 5);
	for (uint32_t i = 0; i < EVENTS; i++, t += pick(300)) {
		struct event e = event_at(t, live);

		builder_event(&b, &e);
		if (i == EVENTS / 2) {
			/* Frees were lost: what is in use from before may have died. */
			gap.thread = 1;
			gap.frees = gap.events = 500;
			gap.from_ns = t;
			gap.to_ns = t;
			b.gap = &gap;
			b.lost = 500;
			b.lost_frees = 500;
		}
		if (i % BATCH == BATCH - 1)
			builder_close(&b, t - 1000);
	}
	builder_end(&b, 0);
}

/* ---- comparing ---- */

static void same_columns(const struct row_block *x, const struct row_block *y)
{
	size_t n = x->count;

	assert_int_equal(x->count, y->count);
	assert_memory_equal(x->address, y->address, n * 8);
	assert_memory_equal(x->size, y->size, n * 8);
	assert_memory_equal(x->birth_ns, y->birth_ns, n * 8);
	assert_memory_equal(x->end, y->end, n);
	assert_memory_equal(x->death_ns, y->death_ns, n * 8);
	assert_memory_equal(x->stack, y->stack, n * 4);
	assert_memory_equal(x->death_stack, y->death_stack, n * 4);
	assert_memory_equal(x->thread, y->thread, n * 4);
	assert_memory_equal(x->death_thread, y->death_thread, n * 4);
	assert_memory_equal(x->chain_previous, y->chain_previous, n * 4);
	assert_memory_equal(x->chain_next, y->chain_next, n * 4);
	assert_memory_equal(x->kind, y->kind, n);
	assert_memory_equal(x->death_kind, y->death_kind, n);
	assert_int_equal(!x->weight, !y->weight);
	if (x->weight)
		assert_memory_equal(x->weight, y->weight, n * 8);
}

static void within(const struct row_block *zone, const struct row_block *block)
{
	for (uint32_t i = 0; i < block->count; i++) {
		assert_true(block->birth_ns[i] >= zone->min.birth_ns &&
			    block->birth_ns[i] <= zone->max.birth_ns);
		assert_true(block->death_ns[i] >= zone->min.death_ns &&
			    block->death_ns[i] <= zone->max.death_ns);
		assert_true(block->size[i] >= zone->min.size && block->size[i] <= zone->max.size);
		assert_true(block->address[i] >= zone->min.address &&
			    block->address[i] <= zone->max.address);
	}
	assert_int_equal(zone->weighted, block->weight != NULL);
}

static void same(struct recording *x, struct recording *y)
{
	struct row_reader *rx, *ry;
	struct totals totals[2] = {0};

	assert_true(recording_rows(x) > 2 * ROWS_PER_BLOCK);
	assert_int_equal(recording_rows(x), recording_rows(y));
	assert_int_equal(recording_blocks(x), recording_blocks(y));
	assert_int_equal(recording_end_ns(x), recording_end_ns(y));
	assert_int_equal(recording_nodes(x), recording_nodes(y));
	assert_int_equal(recording_threads(x), recording_threads(y));
	assert_int_equal(recording_gaps(x), recording_gaps(y));
	assert_memory_equal(recording_pairing(x), recording_pairing(y),
			    sizeof(*recording_pairing(x)));
	assert_memory_equal(recording_ledger(x), recording_ledger(y), sizeof(*recording_ledger(x)));
	assert_string_equal(recording_process(x)->executable, recording_process(y)->executable);
	assert_int_equal(row_reader_new(x, &rx), 0);
	assert_int_equal(row_reader_new(y, &ry), 0);
	for (uint32_t i = 0; i < recording_blocks(x); i++) {
		const struct row_block *p = row_reader_block(rx, i, ROWS_ALL, NULL),
				       *q = row_reader_block(ry, i, ROWS_ALL, NULL);

		assert_non_null(p);
		assert_non_null(q);
		same_columns(p, q);
		within(recording_zone(x, i), p);
		within(recording_zone(y, i), q);
		same_columns(p, recording_block(x, i));
	}
	row_reader_free(rx);
	row_reader_free(ry);
	assert_int_equal(recording_sum_up(x, &totals[0], NULL), 0);
	assert_int_equal(recording_sum_up(y, &totals[1], NULL), 0);
	assert_int_equal(totals[0].in_use_bytes, totals[1].in_use_bytes);
	assert_int_equal(totals[0].in_use_blocks, totals[1].in_use_blocks);
	totals_done(&totals[0]);
	totals_done(&totals[1]);
}

/* The same file, all in memory. */
static struct recording *open_in_memory(void)
{
	struct recording *r;

	row_memory_limit(LARGE);
	assert_int_equal(recording_open_frames(path, UINT64_MAX, &r, NULL), 0);
	assert_int_equal(r->rows.first_open, 0);
	row_memory_limit(SMALL);
	return r;
}

static struct recording *open_kept(void)
{
	struct recording *r;

	assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
	return r;
}

/* ---- tests ---- */

static void save_file(size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.file.data, length), (int)length);
	close(fd);
}

static int make_folder(void **state)
{
	if (temporary_setup(state) < 0)
		return -1;
	snprintf(folder, sizeof(folder), "%s/stream", temporary_folder);
	snprintf(path, sizeof(path), "%s/recording.heapcast", folder);
	snprintf(columns, sizeof(columns), "%s/columns", folder);
	mkdir(folder, 0700);
	save_file(b.file.length);
	return 0;
}

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

/* The rows that were asked for; the others may hold anything. */
static void same_rows(const struct row_block *x, const struct row_block *all, unsigned wanted,
		      uint32_t first, uint32_t end)
{
	size_t n = end - first;

	assert_int_equal(x->count, all->count);
	assert_int_equal(x->first_row, all->first_row);
	if (wanted & ROWS_ADDRESS)
		assert_memory_equal(x->address + first, all->address + first, n * 8);
	if (wanted & ROWS_SIZE)
		assert_memory_equal(x->size + first, all->size + first, n * 8);
	if (wanted & ROWS_BIRTH)
		assert_memory_equal(x->birth_ns + first, all->birth_ns + first, n * 8);
	if (wanted & ROWS_DEATH)
		assert_memory_equal(x->death_ns + first, all->death_ns + first, n * 8);
	if (wanted & ROWS_END)
		assert_memory_equal(x->end + first, all->end + first, n);
	if (wanted & ROWS_WEIGHT)
		assert_int_equal(!x->weight, !all->weight);
	if (wanted & ROWS_WEIGHT && x->weight)
		assert_memory_equal(x->weight + first, all->weight + first, n * 8);
	if (wanted & ROWS_STACK)
		assert_memory_equal(x->stack + first, all->stack + first, n * 4);
	if (wanted & ROWS_DEATH_THREAD)
		assert_memory_equal(x->death_thread + first, all->death_thread + first, n * 4);
	if (wanted & ROWS_CHAIN)
		assert_memory_equal(x->chain_next + first, all->chain_next + first, n * 4);
	if (wanted & ROWS_KIND)
		assert_memory_equal(x->kind + first, all->kind + first, n);
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

static void derive(struct recording *r, uint64_t to)
{
	int more = 1;

	while (more == 1)
		more = recording_derive(r, to, 20000, NULL);
	assert_int_equal(more, 0);
}

static void finish_kept(void)
{
	struct recording *r;
	uint64_t cut = 0;

	assert_int_equal(recording_open_writing(path, &r, &cut, NULL), 0);
	derive(r, b.file.length);
	assert_int_equal(recording_finish(r, NULL), 0);
	assert_int_equal(r->rows.late.page_count, 0);
	recording_close(r);
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

/* ---- damage ---- */

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
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, temporary_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_column),   TEST(spilled), TEST(refreshed),	  TEST(kept),
		TEST(stopped),	    TEST(killed),  TEST(damaged),	  TEST(damage_is_named),
		TEST(other_frames), TEST(in_part), TEST(damaged_in_part),
	};
	int failed;

	build();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	builder_done(&b);
	return failed;
}
