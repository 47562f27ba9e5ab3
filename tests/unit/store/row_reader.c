/*
 * A reader of rows against what the rows were made of: open blocks and sealed ones, whole or in
 * part, in any order of questions; ends that a gap hides; rows that name threads that there are
 * none of. The rows are made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/columns/pack.h"
#include "collector/columns/row_block.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "collector/recording/totals.h"
#include "tests/unit/locks.h"

#define THREADS	  3
#define BLOCK	  ROWS_PER_BLOCK
#define ROWS	  (BLOCK + 5000) /* a block, and one that is not full */
#define ENDED	  3		 /* one row in so many has ended */
#define LIFE_NS	  7
#define GAP_NS	  (BLOCK + 100)
#define NO_THREAD UINT32_MAX

static struct recording *r;
static struct row_reader *reader;

/* What row i was made of. */
static uint64_t address_of(uint64_t i)
{
	return 0x1000 + 16 * i;
}

static uint64_t size_of(uint64_t i)
{
	return 1 + i % 1000;
}

static uint64_t born_at(uint64_t i)
{
	return 10 + i;
}

static bool ended(uint64_t i)
{
	return i % ENDED == 0;
}

static void add_row(uint32_t i, uint32_t odd, uint32_t odd_death)
{
	struct row_birth birth = {.address = address_of(i),
				  .size = size_of(i),
				  .weight = size_of(i),
				  .birth_ns = born_at(i),
				  .thread = i == odd ? THREADS : 1 + i % 2,
				  .chain_previous = NO_BLOCK,
				  .kind = 1};
	uint32_t row;

	assert_int_equal(rows_append(&r->rows, &birth, &row), 0);
	assert_int_equal(row, i);
	if (ended(i))
		assert_int_equal(
			rows_end(&r->rows, i,
				 &(struct row_death){.time_ns = born_at(i) + LIFE_NS,
						     .thread = i == odd_death ? THREADS : 2,
						     .kind = 2,
						     .end = BLOCK_FREED}),
			0);
}

/* Rows `odd` and `odd_death` name the last thread, at birth and at death. */
static void make(uint32_t rows, uint32_t odd, uint32_t odd_death)
{
	struct definitions *d;

	assert_int_equal(recording_new(&r), 0);
	r->path = strdup("made.heapcast");
	d = &r->definitions;
	d->threads = calloc(THREADS, sizeof(*d->threads));
	d->thread_count = d->thread_capacity = THREADS;
	for (uint32_t i = 0; i < THREADS; i++) {
		d->threads[i] = calloc(1, sizeof(*d->threads[i]));
		d->threads[i]->number = i + 1;
	}
	for (uint32_t i = 0; i < rows; i++)
		add_row(i, odd, odd_death);
	assert_int_equal(rows_seal(&r->rows, 0), 0);
	assert_int_equal(rows_settle(&r->rows), 0);
	assert_int_equal(r->rows.first_open, rows / BLOCK);
	assert_int_equal(row_reader_new(r, &reader), 0);
}

static void drop(void)
{
	row_reader_free(reader);
	recording_close(r);
}

/* Frees were lost, and what was born until GAP_NS may have died then. */
static void hide_ends(void)
{
	r->pairing.censored = true;
	r->pairing.lost_frees_from_ns = GAP_NS - 50;
	r->pairing.lost_frees_to_ns = GAP_NS;
}

static void right_end(const struct row_block *b, uint64_t first_row, uint32_t i)
{
	uint64_t row = first_row + i, born = born_at(row);

	if (ended(row)) {
		assert_int_equal(b->end[i], BLOCK_FREED);
		assert_int_equal(b->death_ns[i], born + LIFE_NS);
	} else if (r->pairing.censored && born <= GAP_NS) {
		assert_int_equal(b->end[i], BLOCK_CENSORED);
		assert_int_equal(b->death_ns[i], born > GAP_NS - 50 ? born : GAP_NS - 50);
	} else {
		assert_int_equal(b->end[i], BLOCK_IN_USE);
		assert_int_equal(b->death_ns[i], NO_TIME);
	}
}

/* Of the first, the last, and the ones beside the bounds of chunks; all take too long. */
static void right(const struct row_block *b, uint32_t index, unsigned columns, uint32_t first,
		  uint32_t end)
{
	uint64_t first_row = (uint64_t)index * BLOCK;

	assert_non_null(b);
	assert_int_equal(b->first_row, first_row);
	assert_int_equal(b->count, index ? ROWS - BLOCK : BLOCK);
	for (uint32_t i = first; i < end; i++) {
		uint64_t row = first_row + i;

		if (i - first > 8 && end - i > 8 && (i + 4) % PACK_VALUES > 8)
			continue;
		if (columns & ROWS_ADDRESS)
			assert_int_equal(b->address[i], address_of(row));
		if (columns & ROWS_SIZE)
			assert_int_equal(b->size[i], size_of(row));
		if (columns & ROWS_BIRTH)
			assert_int_equal(b->birth_ns[i], born_at(row));
		if (columns & ROWS_THREAD)
			assert_int_equal(b->thread[i], 1 + row % 2);
		if (columns & ROWS_DEATH_THREAD && ended(row))
			assert_int_equal(b->death_thread[i], 2);
		if (columns & ROWS_KIND)
			assert_int_equal(b->kind[i], 1);
		if ((columns & (ROWS_END | ROWS_DEATH)) == (ROWS_END | ROWS_DEATH))
			right_end(b, first_row, i);
	}
}

static void ask(uint32_t index, unsigned columns, uint32_t first, uint32_t end)
{
	right(row_reader_rows(reader, index, columns, first, end, NULL), index, columns, first,
	      end);
}

/* Where parts begin and end: the bounds of the block and of chunks, and beside them. */
static const uint32_t edges[] = {0,    1,    PACK_VALUES - 1, PACK_VALUES,	   PACK_VALUES + 1,
				 4999, 5000, 8 * PACK_VALUES, BLOCK - PACK_VALUES, BLOCK - 1,
				 BLOCK};
#define EDGES (sizeof(edges) / sizeof(edges[0]))

static void any_part(void)
{
	static const unsigned asked[] = {ROWS_ADDRESS, ROWS_SIZE | ROWS_THREAD,
					 ROWS_DEATH | ROWS_END, ROWS_DEATH_THREAD, ROWS_ALL};
	unsigned turn = 0;

	for (unsigned a = 0; a < EDGES; a++)
		for (unsigned z = a + 1; z < EDGES; z++, turn++) {
			uint32_t index = turn % 7 == 3;

			if (!index || edges[z] <= ROWS - BLOCK)
				ask(index, asked[turn / 3 % 5], edges[a], edges[z]);
		}
	for (unsigned z = 0; z + 1 < EDGES; z++) /* of one block, without others between */
		ask(0, asked[z % 5], edges[z], edges[z + 1]);
	for (unsigned z = EDGES - 1; z; z--)
		ask(0, ROWS_BIRTH, edges[z - 1], edges[z]);
}

static void every_part(void **state)
{
	(void)state;
	make(ROWS, NO_THREAD, NO_THREAD);
	any_part();
	drop();
}

static void every_part_behind_a_gap(void **state)
{
	(void)state;
	make(ROWS, NO_THREAD, NO_THREAD);
	hide_ends();
	any_part();
	drop();
}

/* More than there are is as much as there are; no rows at all are a whole block. */
static void odd_questions(void **state)
{
	struct err_text err = {0};

	(void)state;
	make(ROWS, NO_THREAD, NO_THREAD);
	ask(1, ROWS_SIZE, 0, 5000);
	right(row_reader_rows(reader, 0, ROWS_SIZE, BLOCK - 1, UINT32_MAX - BLOCK, NULL), 0,
	      ROWS_SIZE, BLOCK - 1, BLOCK);
	right(row_reader_rows(reader, 0, ROWS_ADDRESS, 77, 77, NULL), 0, ROWS_ADDRESS, 0, BLOCK);
	right(row_reader_rows(reader, 0, ROWS_SIZE, 5, 4, NULL), 0, ROWS_SIZE, 0, BLOCK);
	right(row_reader_block(reader, 0, ROWS_SIZE, NULL), 0, ROWS_SIZE, 0, BLOCK);
	assert_null(row_reader_block(reader, 2, ROWS_SIZE, &err));
	assert_int_equal(err.text[0], 0);
	assert_null(recording_block(r, 2));
	assert_null(recording_zone(r, 2));
	drop();
}

/* Asked for other columns first, a reader shows the ends as they are known all the same. */
static void ends_asked_for_later(void **state)
{
	static const unsigned before[] = {ROWS_SIZE, ROWS_DEATH_THREAD, ROWS_DEATH_STACK,
					  ROWS_BIRTH, ROWS_ADDRESS | ROWS_DEATH_KIND};

	(void)state;
	make(ROWS, NO_THREAD, NO_THREAD);
	hide_ends();
	for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		for (uint32_t index = 0; index < 2; index++) {
			ask(index, before[i], 0, 5000);
			ask(index, ROWS_END | ROWS_DEATH, 0, 5000);
			ask(1 - index, before[i], 100, 200);
			ask(1 - index, ROWS_END | ROWS_DEATH | ROWS_SIZE, 100, 200);
		}
	ask(0, ROWS_ALL, 0, BLOCK);
	ask(1, ROWS_ALL, 0, ROWS - BLOCK);
	right(recording_block(r, 0), 0, ROWS_ALL, 0, BLOCK);
	right(recording_block(r, 1), 1, ROWS_ALL, 0, ROWS - BLOCK);
	drop();
}

/* A block without a row in use has nothing to hide. */
static void all_ended(void **state)
{
	(void)state;
	make(10, NO_THREAD, NO_THREAD);
	for (uint32_t i = 0; i < 10; i++)
		if (!ended(i))
			assert_int_equal(
				rows_end(&r->rows, i,
					 &(struct row_death){.time_ns = 50, .end = BLOCK_FREED}),
				0);
	hide_ends();
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(row_reader_block(reader, 0, ROWS_ALL, NULL)->end[i], BLOCK_FREED);
	/* It is the block itself. */
	assert_ptr_equal(recording_block(r, 0), &r->rows.slots[0].open->view);
	drop();
}

static void mark(const struct row_block *b, uint32_t i)
{
	((uint64_t *)(uintptr_t)b->address)[i] = 1;
}

/* What is there already is not unpacked again, and what is not asked for is not unpacked. */
static void asked_again(void **state)
{
	const struct row_block *b;

	(void)state;
	make(ROWS, NO_THREAD, NO_THREAD);
	b = row_reader_rows(reader, 0, ROWS_ADDRESS | ROWS_SIZE, 0, PACK_VALUES, NULL);
	mark(b, 0);
	mark(b, PACK_VALUES - 1);
	assert_ptr_equal(row_reader_rows(reader, 0, ROWS_ADDRESS, 5, PACK_VALUES, NULL), b);
	assert_int_equal(b->address[0], 1);
	assert_int_equal(b->address[PACK_VALUES - 1], 1);
	/* Other chunks of the same columns join them. */
	mark(b, 2 * PACK_VALUES);
	b = row_reader_rows(reader, 0, ROWS_ADDRESS, PACK_VALUES, 2 * PACK_VALUES, NULL);
	right(b, 0, ROWS_ADDRESS | ROWS_SIZE, PACK_VALUES, 2 * PACK_VALUES);
	assert_int_equal(b->address[0], 1);
	assert_int_equal(b->address[2 * PACK_VALUES], 1);
	ask(0, ROWS_SIZE, PACK_VALUES, 2 * PACK_VALUES);
	assert_int_equal(b->address[0], 1);
	b = row_reader_rows(reader, 0, ROWS_ADDRESS, BLOCK - 1, BLOCK, NULL);
	assert_int_equal(b->address[0], 1);
	mark(b, BLOCK - 1);
	ask(0, ROWS_SIZE, 2 * PACK_VALUES - 1, 2 * PACK_VALUES);
	assert_int_equal(b->address[BLOCK - 1], 1);
	/* One more column: all anew, but no more than is asked for. */
	b = row_reader_rows(reader, 0, ROWS_ADDRESS | ROWS_BIRTH, 0, 1, NULL);
	right(b, 0, ROWS_ADDRESS | ROWS_BIRTH, 0, PACK_VALUES);
	assert_int_equal(b->address[BLOCK - 1], 1);
	ask(0, ROWS_ADDRESS | ROWS_BIRTH, BLOCK - 1, BLOCK);
	/* The whole block: what was unpacked in part does not count. */
	mark(b, BLOCK - 1);
	ask(0, ROWS_ALL, 0, BLOCK);
	b = row_reader_block(reader, 0, ROWS_SIZE, NULL);
	mark(b, 7);
	ask(0, ROWS_ALL, 100, 101);
	assert_int_equal(b->address[7], 1);
	/* Another block between. */
	ask(1, ROWS_ADDRESS, 0, 1);
	ask(0, ROWS_ADDRESS, 0, 10);
	drop();
}

/* An open block is lent as it is, and late news of a sealed one are in what is read. */
static void news(void **state)
{
	const struct row_block *b;

	(void)state;
	make(ROWS, NO_THREAD, NO_THREAD);
	assert_ptr_equal(row_reader_rows(reader, 1, ROWS_SIZE, 0, 1, NULL)->size,
			 r->rows.slots[1].open->view.size);
	ask(0, ROWS_END | ROWS_DEATH, 0, 10);
	assert_int_equal(
		rows_end(&r->rows, 1, &(struct row_death){.time_ns = 99, .end = BLOCK_REALLOCATED}),
		0);
	late_updates_sort(&r->rows.late);
	ask(1, ROWS_SIZE, 0, 10);
	b = row_reader_rows(reader, 0, ROWS_END | ROWS_DEATH, 0, 10, NULL);
	assert_int_equal(b->end[1], BLOCK_REALLOCATED);
	assert_int_equal(b->death_ns[1], 99);
	drop();
}

/* `what` of the question whose rows name a thread that there is not; then there is, and the same
 * reader says all. */
static void unknown(uint32_t odd, uint32_t odd_death, unsigned columns, uint32_t first,
		    uint32_t end)
{
	struct thread_info *last;
	struct err_text err = {0};

	make(ROWS, odd, odd_death);
	last = r->definitions.threads[THREADS - 1];
	r->definitions.threads[THREADS - 1] = NULL;
	ask(0, ROWS_ADDRESS, first, end); /* another column: there is nothing to check */
	assert_null(row_reader_rows(reader, 0, columns, first, end, &err));
	assert_string_equal(err.text, "cannot read block 0 of the rows of made.heapcast: it names "
				      "threads that there are none of");
	assert_null(row_reader_rows(reader, 0, columns, first, end, NULL));
	assert_null(row_reader_block(reader, 0, columns, NULL));
	assert_null(row_reader_rows(reader, 0, columns | ROWS_ADDRESS, first, end, NULL));
	ask(0, ROWS_SIZE | ROWS_ADDRESS, first, end);
	assert_null(recording_block(r, 0));
	r->definitions.threads[THREADS - 1] = last;
	assert_non_null(row_reader_rows(reader, 0, columns, first, end, NULL));
	if (odd != NO_THREAD)
		assert_int_equal(
			row_reader_rows(reader, 0, columns, odd, odd + 1, NULL)->thread[odd],
			THREADS);
	assert_non_null(recording_block(r, 0));
	drop();
}

static void unknown_threads(void **state)
{
	const uint32_t chunk = PACK_VALUES;

	(void)state;
	unknown(0, NO_THREAD, ROWS_THREAD, 0, 1);
	unknown(chunk, NO_THREAD, ROWS_THREAD, chunk, chunk + 1);
	unknown(2 * chunk - 1, NO_THREAD, ROWS_THREAD, 2 * chunk - 1, 2 * chunk);
	unknown(NO_THREAD, BLOCK - 1, ROWS_DEATH_THREAD, BLOCK - 1, BLOCK);
	unknown(NO_THREAD, chunk + ENDED - chunk % ENDED, ROWS_DEATH_THREAD, chunk + 1, chunk + 9);
	/* Beside what is asked for, in its chunk. */
	unknown(20, NO_THREAD, ROWS_THREAD, 0, 10);
	unknown(20, NO_THREAD, ROWS_THREAD, 30, 40);
}

/* A thread in another chunk is nobody's business; and it does not become known by that. */
static void unknown_threads_elsewhere(void **state)
{
	const uint32_t odd[] = {PACK_VALUES - 1, 2 * PACK_VALUES};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		make(ROWS, odd[i], NO_THREAD);
		free(r->definitions.threads[THREADS - 1]);
		r->definitions.threads[THREADS - 1] = NULL;
		ask(0, ROWS_THREAD, PACK_VALUES, 2 * PACK_VALUES);
		assert_null(row_reader_rows(reader, 0, ROWS_THREAD, odd[i], odd[i] + 1, NULL));
		ask(0, ROWS_THREAD, PACK_VALUES, 2 * PACK_VALUES);
		assert_null(row_reader_block(reader, 0, ROWS_THREAD, NULL));
		drop();
	}
}

static void sums(uint64_t bytes, uint64_t blocks)
{
	struct totals totals = {0};

	assert_int_equal(recording_sum_up(r, &totals, NULL), 0);
	assert_true(totals.summed_up);
	assert_int_equal(totals.in_use_bytes, bytes);
	assert_int_equal(totals.in_use_blocks, blocks);
	totals_done(&totals);
}

/* What is in use: bytes by weight, and as many blocks as a weight stands for, rounded. */
static void summed_up(void **state)
{
	uint64_t bytes = 0, blocks = 0;
	uint32_t row;

	(void)state;
	make(ROWS, NO_THREAD, NO_THREAD);
	for (uint32_t i = 0; i < ROWS; i++) {
		bytes += ended(i) ? 0 : size_of(i);
		blocks += !ended(i);
	}
	sums(bytes, blocks);
	rows_append(&r->rows,
		    &(struct row_birth){.address = 8,
					.size = 100,
					.weight = 249,
					.birth_ns = ROWS + 20,
					.thread = 1,
					.chain_previous = NO_BLOCK},
		    &row);
	sums(bytes + 249, blocks + 2); /* 2.49 of them */
	rows_append(&r->rows,
		    &(struct row_birth){.address = 16,
					.size = 0,
					.weight = 5,
					.birth_ns = ROWS + 20,
					.thread = 1,
					.chain_previous = NO_BLOCK},
		    &row);
	sums(bytes + 249, blocks + 7); /* 7.49; a block of 0 bytes takes none */
	rows_append(&r->rows,
		    &(struct row_birth){.address = 24,
					.size = 100,
					.weight = 101,
					.birth_ns = ROWS + 20,
					.thread = 1,
					.chain_previous = NO_BLOCK},
		    &row);
	sums(bytes + 350, blocks + 9); /* 8.5 */
	hide_ends();
	r->pairing.lost_frees_to_ns = ROWS + 19;
	sums(350, 9);
	drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part),
		cmocka_unit_test(every_part_behind_a_gap),
		cmocka_unit_test(odd_questions),
		cmocka_unit_test(ends_asked_for_later),
		cmocka_unit_test(all_ended),
		cmocka_unit_test(asked_again),
		cmocka_unit_test(news),
		cmocka_unit_test(unknown_threads),
		cmocka_unit_test(unknown_threads_elsewhere),
		cmocka_unit_test(summed_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
