/* The state of a recording, there and back: every member comes back as it was. And what reads and
 * writes its numbers, texts and lists. */
#include "collector/derive/state_code.h"

#include "tests/unit/store/state_made.h"

/* ---- comparing ---- */

static void same_text(char **a, char **b)
{
	assert_int_equal(!*a, !*b);
	if (!*a)
		return;
	assert_string_equal(*a, *b);
	free(*a);
	free(*b);
	*a = *b = NULL;
}

#define SAME(a, b)	       assert_memory_equal(&(a), &(b), sizeof(a))
#define SAME_LIST(a, b, count) assert_memory_equal(a, b, (count) * sizeof(*(a)))

/* Texts are compared, and dropped, so that the rest can be compared as it is. */
static void same_definitions(struct definitions *x, struct definitions *y)
{
	struct process_info *p = &x->process, *q = &y->process;

	same_text(&p->name, &q->name);
	same_text(&p->executable, &q->executable);
	same_text(&p->command_line, &q->command_line);
	same_text(&p->host, &q->host);
	same_text(&p->architecture, &q->architecture);
	same_text(&p->agent_version, &q->agent_version);
	same_text(&p->origin.format, &q->origin.format);
	same_text(&p->origin.tool, &q->origin.tool);
	same_text(&p->origin.file, &q->origin.file);
	same_text(&p->origin.note, &q->origin.note);
	SAME(*p, *q);
	assert_int_equal(x->module_count, y->module_count);
	for (uint32_t i = 0; i < x->module_count; i++) {
		assert_int_equal(!x->modules[i], !y->modules[i]);
		if (!x->modules[i])
			continue;
		same_text(&x->modules[i]->path, &y->modules[i]->path);
		same_text(&x->modules[i]->file, &y->modules[i]->file);
		SAME(*x->modules[i], *y->modules[i]);
	}
	assert_int_equal(x->thread_count, y->thread_count);
	for (uint32_t i = 0; i < x->thread_count; i++) {
		assert_int_equal(!x->threads[i], !y->threads[i]);
		if (!x->threads[i])
			continue;
		same_text(&x->threads[i]->name, &y->threads[i]->name);
		SAME(*x->threads[i], *y->threads[i]);
	}
	assert_int_equal(x->nodes.count, y->nodes.count);
	SAME_LIST(x->nodes.list, y->nodes.list, x->nodes.count);
	assert_int_equal(x->nodes.wire_count, y->nodes.wire_count);
	SAME_LIST(x->nodes.by_wire, y->nodes.by_wire, x->nodes.wire_count);
	assert_int_equal(x->names.text.length, y->names.text.length);
	assert_memory_equal(x->names.text.data, y->names.text.data, x->names.text.length);
	assert_int_equal(x->names.text_count, y->names.text_count);
	SAME_LIST(x->names.text_at, y->names.text_at, x->names.text_count);
	assert_int_equal(x->names.text_base, y->names.text_base);
	assert_int_equal(x->names.frame_count, y->names.frame_count);
	SAME_LIST(x->names.frames, y->names.frames, x->names.frame_count);
	assert_int_equal(x->names.place_count, y->names.place_count);
	SAME_LIST(x->names.places, y->names.places, x->names.place_count);
	assert_int_equal(x->gap_count, y->gap_count);
	SAME_LIST(x->gaps, y->gaps, x->gap_count);
	assert_int_equal(x->unrecorded_count, y->unrecorded_count);
	SAME_LIST(x->unrecorded, y->unrecorded, x->unrecorded_count);
	assert_int_equal(x->mark_count, y->mark_count);
	for (uint32_t i = 0; i < x->mark_count; i++) {
		same_text(&x->marks[i].text, &y->marks[i].text);
		same_text(&x->marks[i].by, &y->marks[i].by);
	}
	SAME_LIST(x->marks, y->marks, x->mark_count);
	assert_int_equal(x->wire_module_count, y->wire_module_count);
	SAME_LIST(x->module_of_wire, y->module_of_wire, x->wire_module_count);
	assert_int_equal(x->module_recent, y->module_recent);
	assert_int_equal(x->incarnation, y->incarnation);
	assert_int_equal(x->ledger_incarnation, y->ledger_incarnation);
	assert_int_equal(x->last_ns, y->last_ns);
	assert_int_equal(x->unarrived, y->unarrived);
	assert_int_equal(x->begun, y->begun);
	assert_int_equal(x->culled_before, y->culled_before);
	SAME(x->ledger, y->ledger);
	SAME(x->delivered, y->delivered);
	SAME(x->figures, y->figures);
	SAME(x->figures_most, y->figures_most);
	SAME(x->allocator, y->allocator);
}

static void same_rows(const struct recording *x, const struct recording *y)
{
	const struct row_block *a = recording_block(x, 1), *b = recording_block(y, 1);

	assert_int_equal(x->rows.slot_count, 2);
	assert_int_equal(y->rows.slot_count, 2);
	assert_int_equal(y->rows.first_open, 1);
	assert_int_equal(x->rows.count, y->rows.count);
	SAME(x->rows.slots[0], y->rows.slots[0]);
	assert_int_equal(a->first_row, b->first_row);
	assert_int_equal(a->count, b->count);
	SAME(a->min, b->min);
	SAME(a->max, b->max);
	assert_int_equal(x->rows.slots[1].open->in_use, y->rows.slots[1].open->in_use);
	SAME_LIST(a->address, b->address, OPEN_ROWS);
	SAME_LIST(a->size, b->size, OPEN_ROWS);
	SAME_LIST(a->weight, b->weight, OPEN_ROWS);
	SAME_LIST(a->birth_ns, b->birth_ns, OPEN_ROWS);
	SAME_LIST(a->death_ns, b->death_ns, OPEN_ROWS);
	SAME_LIST(a->end, b->end, OPEN_ROWS);
	SAME_LIST(a->stack, b->stack, OPEN_ROWS);
	SAME_LIST(a->thread, b->thread, OPEN_ROWS);
	assert_int_equal(b->death_stack[1], 2);
	assert_int_equal(b->death_thread[1], 3);
	assert_int_equal(b->death_kind[1], 4);
	assert_int_equal(x->rows.late.page_count, y->rows.late.page_count);
	SAME_LIST(x->rows.late.pages, y->rows.late.pages, x->rows.late.page_count);
}

static void same_doubts(const struct doubts *x, const struct doubts *y)
{
	for (unsigned i = 0; i < DOUBTS; i++) {
		assert_memory_equal(&x->ring[i], &y->ring[i], offsetof(struct doubt, kind));
		assert_int_equal(x->ring[i].kind, y->ring[i].kind);
	}
	assert_int_equal(x->next, y->next);
	assert_int_equal(x->latest_ns, y->latest_ns);
}

static void same_pairing(struct pairing *x, struct pairing *y)
{
	assert_int_equal(x->queue.count, y->queue.count);
	assert_int_equal(y->queue.sorted, y->queue.count);
	for (size_t i = 0; i < x->queue.count; i++) {
		const struct step *s = &x->queue.list[i], *o = &y->queue.list[i];

		assert_memory_equal(s, o, offsetof(struct step, kind));
		assert_int_equal(s->kind, o->kind);
		assert_int_equal(s->what, o->what);
	}
	assert_int_equal(x->moving.count, y->moving.count);
	assert_int_equal(*map_get(&y->moving, 1), ROWS - 1);
	assert_int_equal(*map_get(&y->moving, 7), NO_BLOCK);
	for (uint32_t i = 0; i < x->latest_capacity; i++)
		assert_int_equal(x->latest[i], i < y->latest_capacity ? y->latest[i] : 0);
	assert_int_equal(x->window_ns, y->window_ns);
	same_doubts(&x->double_births, &y->double_births);
	same_doubts(&x->orphans, &y->orphans);
	SAME(x->info, y->info);
	assert_int_equal(x->forked, y->forked);
	assert_int_equal(x->lost_frees, y->lost_frees);
	assert_int_equal(x->lost_frees_from_ns, y->lost_frees_from_ns);
	assert_int_equal(x->lost_frees_to_ns, y->lost_frees_to_ns);
	assert_int_equal(x->last_ns, y->last_ns);
	SAME(x->thinned, y->thinned);
}

static void same_culled(const struct culled_row *x, const struct culled_row *y)
{
	assert_int_equal(x->thread, y->thread);
	assert_int_equal(x->stack, y->stack);
	assert_int_equal(x->lifetime, y->lifetime);
	assert_int_equal(x->blocks, y->blocks);
	assert_int_equal(x->bytes, y->bytes);
	assert_int_equal(x->reallocated, y->reallocated);
	assert_int_equal(x->size_least, y->size_least);
	assert_int_equal(x->size_most, y->size_most);
	assert_int_equal(x->weight, y->weight);
	assert_int_equal(x->first_ns, y->first_ns);
	assert_int_equal(x->last_ns, y->last_ns);
}

static void all_of_it(void **state)
{
	struct recording *x = make(), *y = NULL;

	(void)state;
	assert_int_equal(there_and_back(x, &fit, &y), 0);
	assert_int_equal(x->scan.offset, y->scan.offset);
	assert_int_equal(x->scan.skipped_bytes, y->scan.skipped_bytes);
	assert_int_equal(x->scan.resync_spent, y->scan.resync_spent);
	assert_int_equal(x->scan.damaged_places, y->scan.damaged_places);
	assert_int_equal(x->scan.first_damage, y->scan.first_damage);
	assert_string_equal(x->damage.text, y->damage.text);
	assert_int_equal(y->has_id, true);
	SAME(x->id, y->id);
	assert_int_equal(x->position.incarnation, y->position.incarnation);
	assert_int_equal(x->position.next, y->position.next);
	assert_int_equal(x->announced, y->announced);
	assert_int_equal(x->watermark_ns, y->watermark_ns);
	assert_int_equal(x->end_ns, y->end_ns);
	assert_int_equal(y->flushed, true);
	SAME(x->ledger, y->ledger);
	same_rows(x, y);
	same_pairing(&x->pairing, &y->pairing);
	SAME(x->culled.totals, y->culled.totals);
	assert_int_equal(x->culled.count, y->culled.count);
	for (uint32_t i = 0; i < x->culled.count; i++)
		same_culled(&x->culled.list[i], &y->culled.list[i]);
	assert_int_equal(x->other_events.count, y->other_events.count);
	SAME_LIST(x->other_events.list, y->other_events.list, x->other_events.count);
	same_definitions(&x->definitions, &y->definitions);
	recording_close(x);
	recording_close(y);
}

/* A recording of which nothing is known yet. */
static void nothing(void **state)
{
	struct recording *x, *y = NULL;

	(void)state;
	assert_int_equal(recording_new(&x), 0);
	assert_int_equal(there_and_back(x, &fit, &y), 0);
	assert_int_equal(y->rows.slot_count, 0);
	assert_null(y->definitions.process.name);
	assert_false(y->has_id);
	assert_false(y->definitions.process.ended);
	SAME(x->pairing.info, y->pairing.info);
	SAME(x->pairing.thinned, y->pairing.thinned);
	assert_int_equal(y->pairing.queue.count + y->pairing.moving.count, 0);
	recording_close(x);
	recording_close(y);
}

/* A state that breaks off anywhere, or goes on behind its end. */
static void cut_off(void **state)
{
	struct recording *x = make(), *r;
	struct buf bytes = {0};
	struct state_fit back;

	(void)state;
	assert_int_equal(state_write(x, &fit, &bytes), 0);
	for (size_t length = 0; length < bytes.length; length++) {
		uint8_t *some = malloc(length + !length); /* reading behind it is an error */

		memcpy(some, bytes.data, length);
		assert_int_equal(recording_new(&r), 0);
		assert_int_equal(state_read(r, some, length, &back), -EBADMSG);
		recording_close(r);
		free(some);
	}
	buf_append(&bytes, "", 1);
	assert_int_equal(recording_new(&r), 0);
	assert_int_equal(state_read(r, bytes.data, bytes.length, &back), -EBADMSG);
	recording_close(r);
	recording_close(x);
	buf_done(&bytes);
}

/* A place in the ring of doubts that there is none of is brought into it. */
static void place_in_the_ring(void **state)
{
	struct recording *x = make(), *y = NULL;

	(void)state;
	x->pairing.orphans.next = DOUBTS + 3;
	assert_int_equal(there_and_back(x, &fit, &y), 0);
	assert_int_equal(y->pairing.orphans.next, 3);
	recording_close(x);
	recording_close(y);
}

/* What was written is an earlier file's when it is read; and a text has its end. */
static void as_read(void **state)
{
	struct recording *x = make(), *y = NULL;

	(void)state;
	x->rows.late.pages[0].base = x->rows.slots[0].base = false;
	memset(x->damage.text, 'd', sizeof(x->damage.text));
	assert_int_equal(there_and_back(x, &fit, &y), 0);
	assert_false(x->rows.late.pages[0].base);
	assert_true(y->rows.late.pages[0].base && y->rows.slots[0].base);
	assert_int_equal(strlen(y->damage.text), sizeof(y->damage.text) - 1);
	recording_close(x);
	recording_close(y);
}

/* ---- the coder ---- */

static void numbers(void **state)
{
	static const uint64_t values[] = {UINT32_MAX, (uint64_t)UINT32_MAX + 1};
	struct buf out = {0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct coder c = {.out = &out};
		uint64_t value = values[i];
		uint32_t read = 0;

		buf_clear(&out);
		code_u64(&c, &value);
		assert_false(state_failed(&c));
		c = (struct coder){.in = reader_of(out.data, out.length)};
		code_u32(&c, &read);
		assert_int_equal(c.error, i ? -EBADMSG : 0);
		assert_int_equal(state_failed(&c), i);
		if (!i)
			assert_int_equal(read, UINT32_MAX);
	}
	buf_done(&out);
}

/* A number of elements that cannot be there takes no memory. */
static void arrays(void **state)
{
	static const uint8_t three[] = {3, 0, 0, 0}, none[] = {0}, many[] = {0x83, 0x7f, 0, 0};
	struct coder c = {.in = reader_of(three, 4)};
	uint64_t *list = NULL;
	uint32_t count = 0, capacity = 0;

	(void)state;
	assert_true(code_array(&c, &list, &count, &capacity, sizeof(*list)));
	assert_int_equal(count, 3);
	assert_true(capacity >= 3);
	c = (struct coder){.in = reader_of(none, 1)};
	assert_false(code_array(&c, &list, &count, &capacity, sizeof(*list)));
	assert_int_equal(count, 0);
	assert_false(state_failed(&c));
	free(list);
	list = NULL;
	count = capacity = 0;
	c = (struct coder){.in = reader_of(three, 3)};
	assert_false(code_array(&c, &list, &count, &capacity, sizeof(*list)));
	assert_int_equal(c.error, -EBADMSG);
	c = (struct coder){.in = reader_of(many, 4)};
	assert_false(code_array(&c, &list, &count, &capacity, sizeof(*list)));
	assert_int_equal(c.error, -EBADMSG);
	c.error = -ENOMEM; /* what was wrong first stays */
	assert_false(code_array(&c, &list, &count, &capacity, sizeof(*list)));
	assert_int_equal(c.error, -ENOMEM);
	assert_int_equal(count, 0);
	assert_null(list);
}

static void texts(void **state)
{
	static const uint8_t abc[] = {4, 'a', 'b', 'c'}, none[] = {0}, empty[] = {1};
	struct coder c = {.in = reader_of(abc, 4)};
	char *read = NULL;

	(void)state;
	code_text(&c, &read);
	assert_string_equal(read, "abc");
	assert_int_equal(reader_left(&c.in), 0);
	free(read);
	read = NULL;
	c = (struct coder){.in = reader_of(abc, 3)};
	code_text(&c, &read);
	assert_null(read);
	assert_int_equal(c.error, -EBADMSG);
	c = (struct coder){.in = reader_of(none, 1)};
	code_text(&c, &read);
	assert_null(read);
	assert_false(state_failed(&c));
	c = (struct coder){.in = reader_of(empty, 1)};
	code_text(&c, &read);
	assert_string_equal(read, "");
	free(read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it), cmocka_unit_test(nothing),
		cmocka_unit_test(cut_off),   cmocka_unit_test(place_in_the_ring),
		cmocka_unit_test(as_read),   cmocka_unit_test(numbers),
		cmocka_unit_test(arrays),    cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
