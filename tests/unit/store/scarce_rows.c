/*
 * Memory that runs out while rows are read, paired and saved: what is asked for is there and right,
 * or -ENOMEM says why not, and what failed may be asked for again. Everything is so small that each
 * allocation fails in turn.
 */
#include "tests/unit/scarce.h"

#include "collector/recording/row_reader.h"
#include "tests/unit/store/state_made.h"

/* ---- a state ---- */

static struct recording *whole;

static int state_written(void *context)
{
	struct buf state = {0};
	const struct buf *right = context;
	int e = state_write(whole, &fit, &state);

	if (!e)
		assert_int_equal(state.length, right->length);
	buf_done(&state);
	return e;
}

static int state_taken(void *context)
{
	const struct buf *state = context;
	struct state_fit back;
	struct recording *r;
	int e = recording_new(&r);

	if (e)
		return e;
	e = state_read(r, state->data, state->length, &back);
	if (!e) {
		assert_int_equal(r->rows.count, ROWS);
		assert_int_equal(r->pairing.queue.count, whole->pairing.queue.count);
		assert_int_equal(r->pairing.moving.count, whole->pairing.moving.count);
		assert_string_equal(r->definitions.process.name, whole->definitions.process.name);
		assert_int_equal(r->definitions.mark_count, 2);
		assert_int_equal(r->definitions.modules[2]->bias,
				 whole->definitions.modules[2]->bias);
		assert_int_equal(r->rows.late.page_count, 2);
		assert_int_equal(r->other_events.count, 2);
		assert_int_equal(r->culled.count, 2);
	}
	recording_close(r);
	return e;
}

static void states(void **state)
{
	struct buf bytes = {0};

	(void)state;
	whole = make();
	assert_int_equal(state_write(whole, &fit, &bytes), 0);
	assert_true(scarce_each(state_written, &bytes) > 0);
	assert_true(scarce_each(state_taken, &bytes) > 20);
	buf_done(&bytes);
	recording_close(whole);
}

/* ---- a reader of rows ---- */

/* An open block of which an end is hidden. */
static int read_hidden(void *context)
{
	struct recording *r = context;
	struct row_reader *reader;
	const struct row_block *b;
	struct err_text err = {0};
	int e = row_reader_new(r, &reader);

	if (e)
		return e;
	b = row_reader_block(reader, 1, ROWS_END | ROWS_DEATH, &err);
	if (!b) {
		assert_non_null(strstr(err.text, strerror(ENOMEM)));
		e = -ENOMEM;
		scarce_over();
		b = row_reader_block(reader, 1, ROWS_END | ROWS_DEATH, NULL); /* now there is */
	}
	assert_int_equal(b->end[0], BLOCK_CENSORED);
	assert_int_equal(b->end[1], BLOCK_FREED);
	row_reader_free(reader);
	return e;
}

/* And of recording_block, which keeps what it has read. */
static int kept_hidden(void *context)
{
	struct recording *r = context;
	const struct row_block *b = recording_block(r, 1);
	int e = b ? 0 : -ENOMEM;

	if (b)
		assert_ptr_equal(recording_block(r, 1), b);
	scarce_over();
	if (!b)
		b = recording_block(r, 1);
	assert_int_equal(b->end[0], BLOCK_CENSORED);
	unpacked_changed(r);
	return e;
}

static void readers(void **state)
{
	struct recording *r = make();

	(void)state;
	r->path = strdup("made");
	r->pairing.censored = true;
	r->pairing.lost_frees_from_ns = 200;
	r->pairing.lost_frees_to_ns = 300;
	assert_true(scarce_each(read_hidden, r) > 1);
	assert_true(scarce_lasting(read_hidden, r, 1) > 1);
	assert_true(scarce_each(kept_hidden, r) > 1);
	assert_true(scarce_lasting(kept_hidden, r, 1) > 1);
	recording_close(r);
}

/* ---- pairing ---- */

static struct event event_of(uint8_t kind, uint64_t time_ns, uint64_t address, uint64_t old)
{
	return (struct event){.kind = kind,
			      .class = old ? EVENT_CLASS_REALLOCATION : EVENT_CLASS_ALLOCATION,
			      .time_ns = time_ns,
			      .address = address,
			      .old_address = old,
			      .size = 10,
			      .thread = 1};
}

static int paired(void *context)
{
	struct recording *r;
	int e = recording_new(&r);

	(void)context;
	if (e)
		return e;
	for (unsigned batch = 0; !e && batch < 2; batch++) {
		for (uint64_t i = 1; !e && i < 20; i++) {
			struct event birth = event_of(HEAPCAST__EVENT_KIND__EVENT_MALLOC,
						      batch * 10 + i, 16 * i + batch * 4096, 0);

			e = pairing_add(&r->pairing, &birth);
		}
		if (!e) {
			struct event move =
				event_of(HEAPCAST__EVENT_KIND__EVENT_REALLOC, batch * 10 + 25,
					 9999 + batch, 16 + batch * 4096);

			e = pairing_add(&r->pairing, &move);
		}
		if (!e)
			e = pairing_advance(&r->pairing, batch * 10 + 15);
	}
	if (!e)
		e = pairing_flush(&r->pairing);
	if (!e) {
		assert_int_equal(r->rows.count, 40);
		assert_int_equal(r->pairing.queue.count, 0);
		assert_int_equal(r->pairing.live.count, 38);
		assert_int_equal(r->pairing.moving.count, 0);
	}
	recording_close(r);
	return e;
}

static void pairs(void **state)
{
	(void)state;
	assert_true(scarce_each(paired, NULL) > 4);
	assert_true(scarce_lasting(paired, NULL, 1) > 4);
}

/* More steps than there is room for at first, that have to be merged. */
static int merged(void *context)
{
	struct steps s = {0}, spare = {0};
	int e = 0;

	(void)context;
	for (unsigned run = 0; !e && run < 2; run++) {
		e = steps_reserve(&s, 1500);
		for (unsigned i = 0; !e && i < 1500; i++)
			s.list[s.count++] = (struct step){.time_ns = 2 * i + (run ? 0 : 1)};
		if (!e)
			e = steps_sort(&s, &spare);
	}
	for (size_t i = 0; !e && i < s.count; i++)
		assert_int_equal(s.list[i].time_ns, i);
	steps_done(&s);
	steps_done(&spare);
	return e;
}

static void merges(void **state)
{
	(void)state;
	assert_int_equal(scarce_each(merged, NULL), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states),
		cmocka_unit_test(readers),
		cmocka_unit_test(pairs),
		cmocka_unit_test(merges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
