/* The state of a recording that tells of what cannot be is refused, by who writes it or by who
 * reads it; and what is just possible is taken. */
#include "base/array.h"
#include "collector/recording/definitions.h"
#include "tests/unit/store/state_made.h"

/* One thing is changed, and that is all right, or refused. */
#define TRY(change, result)                                                                        \
	do {                                                                                       \
		struct recording *r = make();                                                      \
		struct state_fit f = fit;                                                          \
		int e;                                                                             \
                                                                                                   \
		(void)f;                                                                           \
		change;                                                                            \
		e = there_and_back(r, &f, NULL);                                                   \
		if (e != (result))                                                                 \
			fail_msg("%s: %d", #change, e);                                            \
		recording_close(r);                                                                \
	} while (0)
#define GOOD(change) TRY(change, 0)
#define BAD(change)  TRY(change, -EBADMSG)

static void drop_text(char **text_of)
{
	free(*text_of);
	*text_of = NULL;
}

static void set_text(char **text_of, size_t length)
{
	free(*text_of);
	*text_of = malloc(length + 1);
	memset(*text_of, 'x', length);
	(*text_of)[length] = 0;
}

/* So many modules or threads, of which few were told. The first ones stay. */
#define LENGTHEN(list, count, capacity, most)                                                      \
	do {                                                                                       \
		assert_int_equal(array_reserve(&(list), &(capacity), (most), sizeof(*(list))), 0); \
		for (uint32_t i_ = (count); i_ < (most); i_++)                                     \
			(list)[i_] = NULL;                                                         \
		(count) = (most);                                                                  \
	} while (0)

static void have_modules(struct definitions *d, uint32_t most)
{
	LENGTHEN(d->modules, d->module_count, d->module_capacity, most);
}

static void have_threads(struct definitions *d, uint32_t most)
{
	LENGTHEN(d->threads, d->thread_count, d->thread_capacity, most);
}

static void too_many(void **state)
{
	(void)state;
	GOOD(have_modules(&r->definitions, MODULES_MAX));
	BAD(have_modules(&r->definitions, MODULES_MAX + 1));
	GOOD(have_threads(&r->definitions, THREADS_MAX));
	BAD(have_threads(&r->definitions, THREADS_MAX + 1));
	GOOD(have_modules(&r->definitions, MODULES_MAX);
	     r->definitions.module_recent = r->definitions.module_of_wire[0] = MODULES_MAX);
	BAD(have_modules(&r->definitions, MODULES_MAX);
	    r->definitions.module_recent = MODULES_MAX + 1);
	BAD(have_modules(&r->definitions, MODULES_MAX);
	    r->definitions.module_of_wire[0] = MODULES_MAX + 1);
}

static void bad_definitions(void **state)
{
	(void)state;
	GOOD(drop_text(&r->definitions.process.name));
	GOOD(r->definitions.process.origin.imported = false);
	GOOD(r->definitions.process.origin.imported = false;
	     drop_text(&r->definitions.process.origin.note));
	BAD(drop_text(&r->definitions.process.origin.format));
	BAD(drop_text(&r->definitions.process.origin.tool));
	BAD(drop_text(&r->definitions.process.origin.file));
	BAD(drop_text(&r->definitions.process.origin.note));
	GOOD(set_text(&r->definitions.process.name, 0));
	GOOD(set_text(&r->definitions.process.name, (1 << 16) - 1));
	BAD(set_text(&r->definitions.process.name, 1 << 16));
	GOOD(drop_text(&r->definitions.modules[0]->file));
	BAD(drop_text(&r->definitions.modules[0]->path));
	BAD(r->definitions.modules[0]->build_id_length++);
	GOOD(r->definitions.modules[0]->end = r->definitions.modules[0]->start);
	BAD(r->definitions.modules[0]->end = r->definitions.modules[0]->start - 1);
	BAD(drop_text(&r->definitions.threads[2]->name));
	GOOD(drop_text(&r->definitions.marks[0].by));
	BAD(drop_text(&r->definitions.marks[0].text));
	BAD(r->definitions.nodes.list[0].parent = 1);
	BAD(r->definitions.nodes.list[1].parent = 2);
	GOOD(r->definitions.nodes.list[2].parent = 0);
	BAD(r->definitions.nodes.list[1].module = 2); /* not defined */
	BAD(r->definitions.nodes.list[1].module = 4);
	BAD(r->definitions.nodes.by_wire[1] = 0);
	BAD(r->definitions.nodes.by_wire[1] = 4);
	GOOD(r->definitions.module_of_wire[1] = 3);
	BAD(r->definitions.module_of_wire[1] = 4);
	BAD(r->definitions.module_of_wire[2] = 4);
	GOOD(r->definitions.module_recent = 0);
	BAD(r->definitions.module_recent = 4);
	GOOD(r->definitions.names.text_base = 3);
	BAD(r->definitions.names.text_base = 4);
	GOOD(r->definitions.names.places[0].module = 2);
	BAD(r->definitions.names.places[0].module = 4);
	BAD(r->definitions.names.text.data[r->definitions.names.text.length - 1] = 'x');
	BAD(r->definitions.names.places[1].count = 2; r->definitions.names.places[1].first = 1;
	    r->definitions.names.places[1].module = 9);
}

static void bad_rows(void **state)
{
	(void)state;
	GOOD(r->rows.slots[0].length = 0; r->rows.slots[0].offset = ROWS_BYTES);
	BAD(r->rows.slots[0].length = 0; r->rows.slots[0].offset = ROWS_BYTES + 1);
	BAD(r->rows.slots[0].length++);
	BAD(f.rows_bytes--);
	BAD(r->rows.slots[0].in_use++);
	GOOD(r->rows.late.pages[1].offset = ROWS_BYTES);
	BAD(r->rows.late.pages[1].offset = ROWS_BYTES + 1);
	BAD(r->rows.late.pages[0].count++);
	/* A row of the open block with a node or a thread that there are none of. */
	BAD(r->rows.slots[1].open->stack[0] = 4);
	BAD(r->rows.slots[1].open->thread[0] = 4);
	GOOD(r->rows.slots[1].open->chain_previous[1] = ROWS_PER_BLOCK);
	BAD(r->rows.slots[1].open->chain_next[1] = ROWS);
}

static void bad_pairing(void **state)
{
	(void)state;
	GOOD(r->pairing.queue.list[0].thread = 0);
	BAD(r->pairing.queue.list[0].thread = 2);
	BAD(r->pairing.queue.list[0].thread = 4);
	BAD(r->pairing.queue.list[0].stack = 4);
	BAD(r->pairing.queue.list[0].address = 0);
	BAD(r->pairing.queue.list[0].address = MAP_NO_KEY);
	BAD(r->pairing.queue.list[1].time_ns++);
	GOOD(r->pairing.queue.list[1].time_ns++; r->pairing.queue.list[1].what = STEP_EXEC);
	GOOD(r->pairing.queue.list[1].address = 0; r->pairing.queue.list[1].what = STEP_EXEC);
	BAD(*map_put(&r->pairing.moving, 1, NULL) = ROWS);
	BAD(*map_put(&r->pairing.moving, 1, NULL) = (uint64_t)NO_BLOCK + 1);
	GOOD(r->pairing.latest[1] = 0);
	BAD(r->pairing.latest[1] = ROWS + 1);
	GOOD(r->pairing.orphans.ring[0].row = 0);
	BAD(r->pairing.orphans.ring[0].row = ROWS);
	BAD(r->pairing.double_births.ring[DOUBTS - 1].row = ROWS);
	BAD(r->pairing.thinned.law.level++);
}

static void bad_other(void **state)
{
	(void)state;
	GOOD(r->culled.list[0].thread = 1);
	BAD(r->culled.list[0].thread = 2);
	BAD(r->culled.list[0].thread = 4);
	BAD(r->culled.list[0].stack = 4);
	BAD(r->culled.list[0].lifetime = (uint8_t)culled_lifetimes);
	BAD(r->culled.list[0].reallocated = 10);
	BAD(r->culled.list[0].size_least = 71);
	BAD(r->culled.list[0].first_ns = 81);
	BAD(r->culled.list[1].first_ns = 81);
	GOOD(r->other_events.list[0].thread = 1);
	BAD(r->other_events.list[0].thread = 2);
	BAD(r->other_events.list[1].thread = 4);
	BAD(r->other_events.list[1].stack = 4);
}

/* The state with this number changed to another, in the one place where it is. */
static int read_changed(const struct recording *r, uint64_t from, uint64_t to)
{
	uint8_t old[10], new[10];
	const size_t length = (size_t)(varint_put(old, from) - old);
	struct recording *copy;
	struct state_fit back;
	struct buf state = {0};
	unsigned places = 0;
	int e;

	assert_int_equal(varint_put(new, to) - new, length);
	assert_int_equal(recording_new(&copy), 0);
	assert_int_equal(state_write(r, &fit, &state), 0);
	for (size_t i = 0; i + length <= state.length; i++)
		if (!memcmp(state.data + i, old, length)) {
			memcpy(state.data + i, new, length);
			places++;
		}
	assert_int_equal(places, 1);
	e = state_read(copy, state.data, state.length, &back);
	buf_done(&state);
	recording_close(copy);
	return e;
}

/* It was written whole, and changed in the file. */
static void bad_in_the_file(void **state)
{
	const uint64_t size = UINT64_C(0xfedcba9876543210);
	struct recording *r = make();

	(void)state;
	r->culled.list[0].size_least = size;
	r->culled.list[0].size_most = size + 1;
	assert_int_equal(read_changed(r, size + 1, size), 0);
	assert_int_equal(read_changed(r, size + 1, size - 1), -EBADMSG);
	recording_close(r);
}

/* Of a recording without anything else that could be wrong. */
static void bad_slot_alone(void **state)
{
	struct rows_slot slot = {.length = ROWS_BYTES, .zone = {.count = ROWS_PER_BLOCK}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct recording *r;

		slot.length = ROWS_BYTES + (i == 1);
		slot.offset = i == 2 ? ROWS_BYTES + 1 : 0;
		slot.in_use = ROWS_PER_BLOCK + (i == 3);
		assert_int_equal(recording_new(&r), 0);
		assert_int_equal(rows_restore_sealed(&r->rows, &slot), 0);
		assert_int_equal(there_and_back(r, &fit, NULL), i ? -EBADMSG : 0);
		recording_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many),	   cmocka_unit_test(bad_definitions),
		cmocka_unit_test(bad_rows),	   cmocka_unit_test(bad_slot_alone),
		cmocka_unit_test(bad_pairing),	   cmocka_unit_test(bad_other),
		cmocka_unit_test(bad_in_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
