/*
 * Random programs against a model that is too simple to be wrong: a table of addresses, walked in
 * the true order of what happened. The store sees the same events cut into batches, several
 * threads, each event delivered in a later batch than its neighbours now and then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/columns.h"
#include "collector/columns/row_block.h"
#include "collector/recording/recording.h"
#include "tests/unit/store/builder.h"

#define ADDRESSES 64
#define EVENTS	  3000
#define PROGRAMS  60
#define STEP_NS	  100

struct model_row {
	uint64_t address, size, birth, death;
	uint32_t thread, death_thread, previous;
	uint8_t end;
};

struct model {
	struct model_row rows[EVENTS];
	uint32_t count;
	int32_t live[ADDRESSES]; /* row, -1: free */
	uint64_t orphans, failed;
};

static uint64_t seed;

static uint32_t pick(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static uint64_t address_of(uint32_t slot)
{
	return 0x10000 + 16 * (uint64_t)slot;
}

static uint32_t free_slot(const struct model *m)
{
	uint32_t slot = pick(ADDRESSES);

	while (m->live[slot] >= 0)
		slot = (slot + 1) % ADDRESSES;
	return slot;
}

static void model_birth(struct model *m, uint64_t t, uint32_t thread, uint32_t slot, uint64_t size,
			uint32_t previous)
{
	m->rows[m->count] = (struct model_row){address_of(slot), size, t,	 NO_TIME,
					       thread,		 0,    previous, BLOCK_IN_USE};
	m->live[slot] = (int32_t)m->count++;
}

static void model_death(struct model *m, uint64_t t, uint32_t thread, uint32_t slot, uint8_t end)
{
	struct model_row *row = &m->rows[m->live[slot]];

	row->death = t;
	row->death_thread = thread;
	row->end = end;
	m->live[slot] = -1;
}

/* One step of the program: told to the model and written into `event`. */
static struct event step(struct model *m, uint64_t t, unsigned *live)
{
	uint32_t thread = 1 + pick(4), slot = pick(ADDRESSES), what = pick(100), to;
	uint64_t size = pick(4000);
	struct event e = {.thread = thread, .time_ns = t, .stack = BUILDER_STACK, .size = size};

	if (m->live[slot] < 0 && (*live < ADDRESSES / 2 || what < 20)) {
		e.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC;
		e.address = what < 2 ? 0 : address_of(slot);
		m->failed += what < 2;
		if (what >= 2) {
			model_birth(m, t, thread, slot, size, NO_BLOCK);
			(*live)++;
		}
	} else if (m->live[slot] < 0) {
		e.kind = HEAPCAST__EVENT_KIND__EVENT_FREE; /* of something from before */
		e.address = 0x900000 + 16 * (t % 1000);
		e.size = 0;
		m->orphans++;
	} else if (what < 60) {
		e.kind = HEAPCAST__EVENT_KIND__EVENT_FREE;
		e.address = address_of(slot);
		e.size = 0;
		model_death(m, t, thread, slot, BLOCK_FREED);
		(*live)--;
	} else {
		uint32_t old = (uint32_t)m->live[slot];

		e.kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC;
		e.old_address = address_of(slot);
		e.call_time_ns = pick(STEP_NS);
		to = what < 75 ? slot : free_slot(m);
		e.address = what == 99 ? 0 : address_of(to);
		m->failed += what == 99;
		if (what != 99) {
			model_death(m, t, thread, slot, BLOCK_REALLOCATED);
			model_birth(m, t, thread, to, size, old);
		}
	}
	return e;
}

static void build(struct model *m, struct builder *b)
{
	struct event late = {0};
	uint64_t t = 1000000;
	unsigned live = 0;

	memset(m, 0, sizeof(*m));
	memset(m->live, 0xff, sizeof(m->live));
	builder_init(b, 1);
	for (unsigned i = 0; i < EVENTS; i++, t += STEP_NS + pick(20000)) {
		struct event e = step(m, t, &live);

		/* Now and then an event comes only with the next batch: the watermark says so. */
		if (!late.kind && pick(50) == 0) {
			late = e;
			builder_close(b, t - STEP_NS);
			continue;
		}
		builder_event(b, &e);
		if (late.kind && pick(10) == 0) {
			builder_close(b, late.time_ns - STEP_NS);
			builder_event(b, &late);
			late.kind = 0;
			builder_close(b, t);
		}
	}
	if (late.kind) {
		builder_close(b, late.time_ns - STEP_NS);
		builder_event(b, &late);
	}
	builder_end(b, 0);
}

static void compare(const struct model *m, const struct recording *r)
{
	assert_int_equal(recording_rows(r), m->count);
	for (uint32_t i = 0; i < m->count; i++) {
		const struct row_block *b = recording_block(r, i / ROWS_PER_BLOCK);
		const struct model_row *row = &m->rows[i];
		uint32_t k = i % ROWS_PER_BLOCK;

		assert_true(b->address[k] == row->address && b->size[k] == row->size);
		assert_true(b->birth_ns[k] == row->birth && b->death_ns[k] == row->death);
		assert_true(b->thread[k] == row->thread && b->death_thread[k] == row->death_thread);
		assert_int_equal(b->end[k], row->end);
		assert_int_equal(b->chain_previous[k], row->previous);
		if (row->previous != NO_BLOCK)
			assert_int_equal(b->chain_next[row->previous % ROWS_PER_BLOCK], i);
		assert_true(b->birth_ns[k] >= b->min.birth_ns && b->birth_ns[k] <= b->max.birth_ns);
		assert_true(b->size[k] >= b->min.size && b->size[k] <= b->max.size);
	}
	assert_int_equal(recording_pairing(r)->orphan_frees, m->orphans);
	assert_int_equal(recording_pairing(r)->failed, m->failed);
	assert_int_equal(recording_pairing(r)->inferred, 0);
	assert_int_equal(recording_pairing(r)->repaired, 0);
}

static void random_programs(void **state)
{
	static struct model m;

	(void)state;
	for (unsigned i = 0; i < PROGRAMS; i++) {
		struct err_text err = {0};
		struct recording *r;
		struct builder b;

		seed = 1 + i;
		build(&m, &b);
		assert_int_equal(builder_open(&b, b.file.length, &r, &err), 0);
		compare(&m, r);
		assert_true(recording_adds_up(r, &err));
		recording_close(r);
		builder_done(&b);
	}
}

/* The same by refreshes while the file grows by arbitrary pieces. */
static void growing(void **state)
{
	static struct model m;
	struct err_text err = {0};
	struct recording *r;
	struct builder b;
	size_t length;
	char *path;
	int fd;

	(void)state;
	seed = 99;
	build(&m, &b);
	length = b.ends[0] + 5;
	path = builder_save(&b, length);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	assert_int_equal(recording_open(path, NULL, NULL, &r, &err), 0);
	while (length < b.file.length) {
		size_t n = 1 + pick(3000);

		if (n > b.file.length - length)
			n = b.file.length - length;
		assert_int_equal(write(fd, b.file.data + length, n), (int)n);
		length += n;
		assert_true(recording_refresh(r, &err) >= 0);
	}
	assert_int_equal(recording_refresh(r, &err), 0);
	assert_int_equal(recording_rows(r), m.count);
	assert_int_equal(recording_ledger(r)->stored, EVENTS);
	assert_true(recording_process(r)->ended);
	recording_close(r);
	close(fd);
	unlink(path);
	free(path);
	builder_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),
		cmocka_unit_test(growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
