#pragma once
/*
 * What the tests of sealed rows share: a program with three blocks of rows, its recording in a
 * folder, and rows that are compared with those in memory.
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
#include "collector/derive/recording_parts.h"
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

static inline struct event event_at(uint64_t t, bool *live)
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

static inline void build(void)
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

static inline void same_columns(const struct row_block *x, const struct row_block *y)
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

static inline void within(const struct row_block *zone, const struct row_block *block)
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

static inline void same(struct recording *x, struct recording *y)
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
static inline struct recording *open_in_memory(void)
{
	struct recording *r;

	row_memory_limit(LARGE);
	assert_int_equal(recording_open_frames(path, UINT64_MAX, &r, NULL), 0);
	assert_int_equal(r->rows.first_open, 0);
	row_memory_limit(SMALL);
	return r;
}

static inline struct recording *open_kept(void)
{
	struct recording *r;

	assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
	return r;
}

static inline void save_file(size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.file.data, length), (int)length);
	close(fd);
}

static inline int make_folder(void **state)
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

/* The rows that were asked for; the others may hold anything. */
static inline void same_rows(const struct row_block *x, const struct row_block *all,
			     unsigned wanted, uint32_t first, uint32_t end)
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

static inline void derive(struct recording *r, uint64_t to)
{
	int more = 1;

	while (more == 1)
		more = recording_derive(r, to, 20000, NULL);
	assert_int_equal(more, 0);
}

static inline void finish_kept(void)
{
	struct recording *r;
	uint64_t cut = 0;

	assert_int_equal(recording_open_writing(path, &r, &cut, NULL), 0);
	derive(r, b.file.length);
	assert_int_equal(recording_finish(r, NULL), 0);
	assert_int_equal(r->rows.late.page_count, 0);
	recording_close(r);
}

static inline int build_program(void **state)
{
	(void)state;
	build();
	return 0;
}

static inline int drop_program(void **state)
{
	(void)state;
	builder_done(&b);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, temporary_teardown)
