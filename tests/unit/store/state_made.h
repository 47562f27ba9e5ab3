#pragma once
/* What the tests of states share: a recording of which no member is 0, and its way there and back.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/buf.h"
#include "collector/columns/row_block.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/state.h"
#include "collector/derive/steps.h"
#include "collector/recording/recording.h"
#include "proto/columns.h"
#include "proto/culled.h"

#define OPEN_ROWS  5
#define ROWS	   (ROWS_PER_BLOCK + OPEN_ROWS)
#define ROWS_BYTES 5000 /* of the file of rows */

/* ---- a recording of which no member is 0 ---- */

static uint64_t last;

/* Another number each time, for members of 64 and of 32 bits. */
static inline uint64_t wide(void)
{
	return ++last << 33 | 5;
}

static inline uint32_t narrow(void)
{
	return (uint32_t)++last << 8;
}

static inline void fill(void *words, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)words)[i] = wide();
}

static inline char *text(void)
{
	char *t = malloc(16);

	snprintf(t, 16, "text %u", (unsigned)++last);
	return t;
}

static inline void make_process(struct process_info *p)
{
	p->pid = narrow();
	p->parent_pid = narrow();
	p->uid = narrow();
	p->name = text();
	p->executable = text();
	p->command_line = text();
	p->host = text();
	p->architecture = text();
	p->agent_version = text();
	p->pointer_bits = narrow();
	p->page_size = narrow();
	p->images = narrow();
	p->start_wall_ns = wide();
	p->mode = narrow();
	p->sample_interval = wide();
	p->cull_ns = wide();
	p->ended = true;
	p->end_kind = narrow();
	p->end_status = narrow();
	p->core_dumped = true;
	p->end_source = narrow();
	p->oom_counter = narrow();
	p->rss_peak = wide();
	p->ran_before_ns = wide();
	p->forked = true;
	memset(p->parent.bytes, 0x5a, sizeof(p->parent.bytes));
	p->parent_event = wide();
	p->origin.imported = p->origin.exact = true;
	p->origin.format = text();
	p->origin.tool = text();
	p->origin.file = text();
	p->origin.note = text();
	p->origin.wall_ns = wide();
}

static inline struct module_info *make_module(uint32_t number)
{
	struct module_info *m = calloc(1, sizeof(*m));

	m->number = number;
	m->path = text();
	m->file = text();
	memset(m->build_id, 0x77, sizeof(m->build_id));
	m->build_id_length = sizeof(m->build_id);
	m->print = narrow();
	m->bias = wide();
	m->start = wide();
	m->end = wide();
	m->code_address = wide();
	m->code_size = wide();
	m->code_offset = wide();
	m->loaded_ns = wide();
	m->unloaded_ns = wide();
	return m;
}

static inline struct thread_info *make_thread(uint32_t number)
{
	struct thread_info *t = calloc(1, sizeof(*t));

	t->number = number;
	t->tid = narrow();
	t->name = text();
	t->started_ns = wide();
	t->ended_ns = wide();
	t->produced = wide();
	t->delivered = wide();
	t->culled = wide();
	t->lost = wide();
	t->culled_before = wide();
	t->incarnation = narrow();
	t->unarrived = wide();
	t->stored = wide();
	t->marked_ns = wide();
	return t;
}

static inline struct gap_info make_gap(void)
{
	return (struct gap_info){narrow(), narrow(), wide(), wide(), wide(),
				 wide(),   wide(),   wide(), wide(), wide()};
}

/* Lists of `count`, of memory that the recording frees. */
#define LIST(list, number, capacity, n)                                                            \
	do {                                                                                       \
		(list) = calloc((n), sizeof(*(list)));                                             \
		assert_non_null(list);                                                             \
		(number) = (capacity) = (n);                                                       \
	} while (0)

static inline void make_definitions(struct definitions *d)
{
	make_process(&d->process);
	LIST(d->modules, d->module_count, d->module_capacity, 3);
	d->modules[0] = make_module(1);
	d->modules[2] = make_module(3);
	LIST(d->threads, d->thread_count, d->thread_capacity, 3);
	d->threads[0] = make_thread(1);
	d->threads[2] = make_thread(3);
	LIST(d->nodes.list, d->nodes.count, d->nodes.capacity, 3);
	d->nodes.list[0] = (struct stack_node){.parent = 0, .module = 3, .offset = wide()};
	d->nodes.list[1] = (struct stack_node){.parent = 1, .module = 1, .offset = 3};
	d->nodes.list[2] = (struct stack_node){.parent = 2, .module = 0, .offset = wide()};
	LIST(d->nodes.by_wire, d->nodes.wire_count, d->nodes.wire_capacity, 4);
	d->nodes.by_wire[0] = 3;
	d->nodes.by_wire[1] = 2;
	d->nodes.by_wire[2] = 2;
	d->nodes.by_wire[3] = 1;
	assert_int_equal(names_put_text(&d->names, "one", 3), 0);
	assert_int_equal(names_put_text(&d->names, "", 0), 0);
	assert_int_equal(names_put_text(&d->names, "three", 5), 0);
	d->names.text_base = 2;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(
			names_put_frame(&d->names, (struct name_frame){1 + i % 3, 3 - i, 70 + i}),
			0);
		if (i) /* two frames, and one */
			assert_int_equal(names_put_place(&d->names, i == 1 ? 1 : 3, wide(), 3 - i),
					 0);
	}
	LIST(d->gaps, d->gap_count, d->gap_capacity, 2);
	d->gaps[0] = make_gap();
	d->gaps[1] = make_gap();
	LIST(d->unrecorded, d->unrecorded_count, d->unrecorded_capacity, 2);
	d->unrecorded[0] =
		(struct unrecorded_info){wide(), wide(), wide(), wide(), narrow(), true, "child"};
	d->unrecorded[1].pid = 9;
	LIST(d->marks, d->mark_count, d->mark_capacity, 2);
	d->marks[0] = (struct mark_info){wide(), wide(), narrow(), narrow(), text(), text()};
	d->marks[1].text = text();
	LIST(d->module_of_wire, d->wire_module_count, d->wire_module_capacity, 3);
	d->module_of_wire[0] = 3;
	d->module_of_wire[2] = 1;
	d->module_recent = 3;
	d->incarnation = narrow();
	d->ledger_incarnation = narrow();
	d->last_ns = wide();
	d->unarrived = wide();
	d->begun = true;
	d->culled_before = wide();
	fill(&d->ledger, sizeof(d->ledger));
	fill(&d->delivered, sizeof(d->delivered));
	fill(&d->figures, sizeof(d->figures));
	fill(&d->figures_most, sizeof(d->figures_most));
	fill(&d->allocator, sizeof(d->allocator));
}

static inline void make_rows(struct rows *rows)
{
	struct rows_slot slot = {.offset = 1000,
				 .length = ROWS_BYTES - 1000,
				 .in_use = ROWS_PER_BLOCK,
				 .base = true,
				 .zone = {.count = ROWS_PER_BLOCK, .weighted = true}};
	uint32_t row;

	fill(&slot.zone.min, sizeof(slot.zone.min));
	fill(&slot.zone.max, sizeof(slot.zone.max));
	assert_int_equal(rows_restore_sealed(rows, &slot), 0);
	for (uint32_t i = 0; i < OPEN_ROWS; i++)
		assert_int_equal(rows_append(rows,
					     &(struct row_birth){.address = wide(),
								 .size = narrow(),
								 .weight = wide(),
								 .birth_ns = 100 + i,
								 .stack = 3,
								 .thread = 1 + i % 3,
								 .chain_previous = NO_BLOCK,
								 .kind = 1},
					     &row),
				 0);
	assert_int_equal(rows_end(rows, ROWS_PER_BLOCK + 1,
				  &(struct row_death){500, 2, 3, 4, BLOCK_FREED, false}),
			 0);
	LIST(rows->late.pages, rows->late.page_count, rows->late.page_capacity, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct late_update_page *page = &rows->late.pages[i];

		page->offset = i ? 7 : ROWS_BYTES;
		page->check = wide();
		page->count = i ? 1 : LATE_UPDATE_PAGE;
		page->first_row = narrow();
		page->last_row = narrow();
		page->base = true;
	}
}

static inline void make_doubts(struct doubts *d)
{
	for (unsigned i = 0; i < DOUBTS; i += 3)
		d->ring[i] = (struct doubt){wide(), wide(), narrow(), narrow(), ROWS - 1, 7};
	d->next = DOUBTS - 1;
	d->latest_ns = wide();
}

static inline void put_step(struct steps *q, struct step step)
{
	assert_int_equal(steps_reserve(q, 1), 0);
	q->list[q->count++] = step;
	q->sorted = q->count;
}

static inline void make_pairing(struct pairing *p)
{
	struct pairing_thinned *t = &p->thinned;

	put_step(&p->queue, (struct step){wide(), wide(), wide(), wide(), 3, 3, 5, STEP_BIRTH, 0});
	put_step(&p->queue, (struct step){INT64_MAX, 1, 0, 0, 0, 0, 5, STEP_THINNED, 0});
	*map_put(&p->moving, 1, NULL) = ROWS - 1;
	*map_put(&p->moving, 7, NULL) = NO_BLOCK;
	assert_int_equal(array_reserve(&p->latest, &p->latest_capacity, 4, sizeof(*p->latest)), 0);
	p->latest[1] = ROWS;
	p->latest[3] = 1;
	p->window_ns = wide();
	make_doubts(&p->double_births);
	make_doubts(&p->orphans);
	fill(&p->info, sizeof(p->info));
	p->forked = true;
	p->lost_frees = wide();
	p->lost_frees_from_ns = wide();
	p->lost_frees_to_ns = wide();
	p->last_ns = wide();
	t->law = (struct thinning){.seed = wide(),
				   .level = THINNING_LEVEL_MAX,
				   .cut = 3,
				   .keep = 4,
				   .ahead = 5,
				   .openings = 6000,
				   .halvings = 7000};
	t->opened_ns = wide();
	fill(t->judged_ns, sizeof(t->judged_ns));
	t->told = true;
	t->survivors = wide();
	fill(&t->births, sizeof(t->births));
	fill(&t->info, sizeof(t->info));
}

static inline struct culled_row culled_row(void)
{
	return (struct culled_row){.thread = 3,
				   .stack = 3,
				   .lifetime = culled_lifetimes - 1,
				   .blocks = 9,
				   .bytes = wide(),
				   .reallocated = 9,
				   .size_least = 70,
				   .size_most = 70,
				   .weight = wide(),
				   .first_ns = 80,
				   .last_ns = 80};
}

static inline struct recording *make(void)
{
	struct culled_row row = culled_row();
	struct recording *r;

	last = 0;
	assert_int_equal(recording_new(&r), 0);
	r->scan.offset = wide();
	r->scan.skipped_bytes = wide();
	r->scan.resync_spent = wide();
	r->scan.damaged_places = wide();
	r->scan.first_damage = wide();
	memset(r->damage.text, 'd', sizeof(r->damage.text) - 1);
	r->has_id = true;
	memset(r->id.bytes, 0x33, sizeof(r->id.bytes));
	r->position.incarnation = narrow();
	r->position.next = wide();
	r->announced = wide();
	r->watermark_ns = wide();
	r->end_ns = wide();
	r->flushed = true;
	fill(&r->ledger, sizeof(r->ledger));
	make_definitions(&r->definitions);
	make_rows(&r->rows);
	make_pairing(&r->pairing);
	assert_int_equal(culled_restore(&r->culled, &row), 0);
	row.lifetime = 0;
	row.thread = row.stack = 0;
	assert_int_equal(culled_restore(&r->culled, &row), 0);
	fill(&r->culled.totals, sizeof(r->culled.totals));
	LIST(r->other_events.list, r->other_events.count, r->other_events.capacity, 2);
	r->other_events.list[0].time_ns = wide();
	r->other_events.list[0].address = wide();
	r->other_events.list[0].old_address = wide();
	r->other_events.list[0].size = wide();
	r->other_events.list[0].thread = r->other_events.list[0].stack = 3;
	r->other_events.list[0].kind = 9;
	r->other_events.list[1].time_ns = wide();
	return r;
}

#define SAME(a, b) assert_memory_equal(&(a), &(b), sizeof(a))

static const struct state_fit fit = {1ull << 40, 2ull << 40, 3ull << 40,
				     4ull << 40, 5ull << 40, ROWS_BYTES};

/* What was wrong with the recording, 0 if nothing; then `ret` is what came back. */
static inline int there_and_back(const struct recording *r, const struct state_fit *of,
				 struct recording **ret)
{
	struct state_fit back;
	struct buf state = {0};
	struct recording *copy;
	int e;

	assert_int_equal(recording_new(&copy), 0);
	e = state_write(r, of, &state);
	if (!e)
		e = state_read(copy, state.data, state.length, &back);
	if (!e)
		SAME(back, *of);
	buf_done(&state);
	if (e || !ret)
		recording_close(copy);
	else
		*ret = copy;
	return e;
}
