/* Writes and reads the state of a recording. state.h describes the format. */
#include "collector/derive/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "proto/columns.h"
#include "proto/culled.h"
#include "collector/columns/row_block.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/state_code.h"
#include "collector/derive/steps.h"
#include "collector/derive/thinned.h"
#include "collector/recording/info.h"
#include "base/ban.h"

/* ---- culled and separate events ---- */

static bool thread_fits(const struct definitions *d, uint32_t thread)
{
	return !thread || (thread <= d->thread_count && d->threads[thread - 1]);
}

static void code_culled_row(struct coder *c, struct culled_row *row)
{
	code_u32(c, &row->thread);
	code_u32(c, &row->stack);
	code_u8(c, &row->lifetime);
	code_u64(c, &row->blocks);
	code_u64(c, &row->bytes);
	code_u64(c, &row->reallocated);
	code_u64(c, &row->size_least);
	code_u64(c, &row->size_most);
	code_u64(c, &row->weight);
	code_u64(c, &row->first_ns);
	code_u64(c, &row->last_ns);
}

static bool culled_fits(const struct definitions *d, const struct culled_row *row)
{
	return thread_fits(d, row->thread) && row->stack <= d->nodes.count &&
	       row->lifetime < culled_lifetimes && row->reallocated <= row->blocks &&
	       row->size_least <= row->size_most && row->first_ns <= row->last_ns;
}

static void code_culled(struct coder *c, struct recording *r)
{
	struct culled *culled = &r->culled;
	uint32_t count = culled->count;

	code_words(c, &culled->totals);
	code_u32(c, &count);
	for (uint32_t i = 0; i < count && !state_failed(c); i++) {
		struct culled_row row = {0};

		if (c->out)
			row = culled->list[i];
		code_culled_row(c, &row);
		if (!c->out && !state_failed(c) && !culled_fits(&r->definitions, &row))
			code_refuse(c);
		if (!c->out && !state_failed(c))
			c->error = culled_restore(culled, &row);
	}
}

static void code_other_events(struct coder *c, struct recording *r)
{
	struct other_events *a = &r->other_events;

	if (!code_array(c, &a->list, &a->count, &a->capacity, sizeof(*a->list)))
		return;
	for (uint32_t i = 0; i < a->count && !state_failed(c); i++) {
		struct other_event_info *info = &a->list[i];

		code_u64(c, &info->time_ns);
		code_u64(c, &info->address);
		code_u64(c, &info->old_address);
		code_u64(c, &info->size);
		code_u32(c, &info->thread);
		code_u32(c, &info->stack);
		code_u8(c, &info->kind);
		if (!thread_fits(&r->definitions, info->thread) ||
		    info->stack > r->definitions.nodes.count)
			code_refuse(c);
	}
}

/* ---- pairing ---- */

static void code_step(struct coder *c, struct step *s)
{
	code_u64(c, &s->time_ns);
	code_u64(c, &s->address);
	code_u64(c, &s->size);
	code_u64(c, &s->weight);
	code_u32(c, &s->thread);
	code_u32(c, &s->stack);
	code_u8(c, &s->kind);
	code_u8(c, &s->what);
}

static bool step_fits(const struct definitions *d, const struct step *s)
{
	return s->address && s->address != MAP_NO_KEY && s->time_ns <= INT64_MAX &&
	       s->stack <= d->nodes.count && thread_fits(d, s->thread);
}

static void code_queue(struct coder *c, struct recording *r)
{
	struct steps *q = &r->pairing.queue;
	uint64_t count = q->count;

	code_u64(c, &count);
	if (!c->out && count > reader_left(&c->in))
		code_refuse(c);
	else if (!c->out && steps_reserve(q, count) < 0)
		c->error = -ENOMEM;
	if (state_failed(c))
		return;
	q->count = q->sorted = count;
	for (size_t i = 0; i < count && !state_failed(c); i++) {
		if (!c->out)
			q->list[i] = (struct step){0};
		code_step(c, &q->list[i]);
		if (!step_fits(&r->definitions, &q->list[i]) && q->list[i].what != STEP_EXEC)
			code_refuse(c);
	}
}

/* Codes pending reallocations. */
static void code_moving(struct coder *c, struct map *moving, uint64_t rows)
{
	uint64_t count = moving->count;

	code_u64(c, &count);
	if (c->out) {
		map_each(moving, e)
		{
			code_u64(c, &e->key);
			code_u64(c, &e->value);
		}
		return;
	}
	for (uint64_t i = 0; i < count && !state_failed(c); i++) {
		uint64_t thread = 0, row = 0, *value;

		code_u64(c, &thread);
		code_u64(c, &row);
		value = map_put(moving, thread, NULL);
		if (thread == MAP_NO_KEY || (row != NO_BLOCK && row >= rows))
			code_refuse(c);
		else if (!value)
			c->error = -ENOMEM;
		else
			*value = row;
	}
}

static void code_latest(struct coder *c, struct pairing *p, uint64_t rows)
{
	uint64_t count = p->latest_capacity;

	while (c->out && count && !p->latest[count - 1])
		count--;
	code_u64(c, &count);
	if (!c->out && count > reader_left(&c->in))
		code_refuse(c);
	else if (!c->out &&
		 array_reserve(&p->latest, &p->latest_capacity, count, sizeof(*p->latest)) < 0)
		c->error = -ENOMEM;
	for (uint64_t i = 0; i < count && !state_failed(c); i++) {
		code_u32(c, &p->latest[i]);
		if (p->latest[i] > rows)
			code_refuse(c);
	}
}

static void code_doubts(struct coder *c, struct doubts *d, uint64_t rows)
{
	for (unsigned i = 0; i < DOUBTS; i++) {
		struct doubt *at = &d->ring[i];

		code_u64(c, &at->address);
		if (!at->address)
			continue;
		code_u64(c, &at->time_ns);
		code_u32(c, &at->thread);
		code_u32(c, &at->stack);
		code_u32(c, &at->row);
		code_u8(c, &at->kind);
		if (at->row && at->row >= rows)
			code_refuse(c);
	}
	code_u32(c, &d->next);
	code_u64(c, &d->latest_ns);
	d->next %= DOUBTS;
}

static void code_thinned(struct coder *c, struct pairing_thinned *t)
{
	uint64_t packed = thinned_pack(&t->law);

	code_u64(c, &t->law.seed);
	code_u64(c, &packed);
	t->law = thinned_unpack(t->law.seed, packed);
	code_u64(c, &t->opened_ns);
	for (unsigned i = 0; i <= THINNING_LEVEL_MAX; i++)
		code_u64(c, &t->judged_ns[i]);
	code_bool(c, &t->told);
	code_u64(c, &t->survivors);
	code_words(c, &t->births);
	code_words(c, &t->info);
	if (t->law.level > THINNING_LEVEL_MAX)
		code_refuse(c);
}

static void code_pairing(struct coder *c, struct recording *r)
{
	struct pairing *p = &r->pairing;

	code_queue(c, r);
	code_moving(c, &p->moving, r->rows.count);
	code_latest(c, p, r->rows.count);
	code_u64(c, &p->window_ns);
	code_doubts(c, &p->double_births, r->rows.count);
	code_doubts(c, &p->orphans, r->rows.count);
	code_words(c, &p->info);
	code_bool(c, &p->forked);
	code_u64(c, &p->lost_frees);
	code_u64(c, &p->lost_frees_from_ns);
	code_u64(c, &p->lost_frees_to_ns);
	code_u64(c, &p->last_ns);
	code_thinned(c, &p->thinned);
}

/* ---- rows ---- */

static void code_zone(struct coder *c, struct rows_slot *s)
{
	struct row_block *z = &s->zone;
	uint64_t birth = z->max.birth_ns - z->min.birth_ns, size = z->max.size - z->min.size,
		 address = z->max.address - z->min.address;

	code_u64(c, &s->offset);
	code_u32(c, &s->length);
	code_u32(c, &s->in_use);
	code_u64(c, &z->min.birth_ns);
	code_u64(c, &birth);
	code_u64(c, &z->min.death_ns);
	code_u64(c, &z->max.death_ns);
	code_u64(c, &z->min.size);
	code_u64(c, &size);
	code_u64(c, &z->min.address);
	code_u64(c, &address);
	code_bool(c, &z->weighted);
	z->max.birth_ns = z->min.birth_ns + birth;
	z->max.size = z->min.size + size;
	z->max.address = z->min.address + address;
}

static void read_slots(struct coder *c, struct recording *r, uint64_t count, uint64_t bytes)
{
	for (uint64_t i = 0; i < count && !state_failed(c); i++) {
		struct rows_slot slot = {
			.base = true,
			.zone = {.count = ROWS_PER_BLOCK, .first_row = i * ROWS_PER_BLOCK}};

		code_zone(c, &slot);
		if (slot.offset > bytes || slot.length > bytes - slot.offset ||
		    slot.in_use > ROWS_PER_BLOCK || i >= NO_BLOCK / ROWS_PER_BLOCK)
			code_refuse(c);
		else if (rows_restore_sealed(&r->rows, &slot) < 0)
			c->error = -ENOMEM;
	}
}

static void write_open(struct coder *c, const struct recording *r)
{
	const struct rows *rows = &r->rows;
	uint32_t count = 0;
	uint64_t length = 0;
	struct buf packed = {0};

	if (rows->first_open < rows->slot_count) {
		count = rows->slots[rows->first_open].open->view.count;
		block_pack(rows->slots[rows->first_open].open, &packed);
		length = packed.length;
	}
	code_u32(c, &count);
	code_u64(c, &length);
	if (buf_error(&packed))
		c->error = -ENOMEM;
	else
		buf_append(c->out, packed.data, packed.length);
	buf_done(&packed);
}

static void read_open(struct coder *c, struct recording *r)
{
	struct block_limits limits = {r->definitions.nodes.count, r->definitions.thread_count, 0};
	struct rows_block *block;
	uint32_t count = 0;
	uint64_t length = 0;
	const uint8_t *data;

	code_u32(c, &count);
	code_u64(c, &length);
	data = state_failed(c) ? NULL : reader_bytes(&c->in, length);
	if (!data || count > ROWS_PER_BLOCK || (!count && length) || length > UINT32_MAX) {
		code_refuse(c);
		return;
	}
	if (!count)
		return;
	block = rows_take_block(r->rows.count);
	if (!block) {
		c->error = -ENOMEM;
		return;
	}
	block->view.count = count;
	limits.rows = r->rows.count + count;
	c->error = block_unpack(
		block, &(struct block_source){.fd = -1, .memory = data, .length = (uint32_t)length},
		ROWS_ALL, &limits, NULL, NULL);
	if (!c->error) {
		block_measure(block);
		c->error = rows_restore(&r->rows, block);
	}
	if (c->error)
		block_free(block);
}

static void code_pages(struct coder *c, struct late_updates *late, uint64_t bytes)
{
	if (!code_array(c, &late->pages, &late->page_count, &late->page_capacity,
			sizeof(*late->pages)))
		return;
	for (uint32_t i = 0; i < late->page_count && !state_failed(c); i++) {
		struct late_update_page *p = &late->pages[i];

		code_u64(c, &p->offset);
		code_u64(c, &p->check);
		code_u32(c, &p->count);
		code_u32(c, &p->first_row);
		code_u32(c, &p->last_row);
		p->base = !c->out || p->base;
		if (p->count > LATE_UPDATE_PAGE || p->offset > bytes)
			code_refuse(c);
	}
}

/* The caller has sealed all full blocks and written their late updates to pages. */
static void code_rows(struct coder *c, struct recording *r, uint64_t bytes)
{
	uint64_t sealed = r->rows.first_open;

	code_u64(c, &sealed);
	if (c->out)
		for (uint64_t i = 0; i < sealed; i++)
			code_zone(c, &r->rows.slots[i]);
	else
		read_slots(c, r, sealed, bytes);
	if (c->out)
		write_open(c, r);
	else
		read_open(c, r);
	code_pages(c, &r->rows.late, bytes);
}

/* ---- the whole state ---- */

static void code_scan(struct coder *c, struct recording *r)
{
	code_u64(c, &r->scan.offset);
	code_u64(c, &r->scan.resync_spent);
	code_u64(c, &r->scan.skipped_bytes);
	code_u64(c, &r->scan.damaged_places);
	code_u64(c, &r->scan.first_damage);
	code_bytes(c, r->damage.text, sizeof(r->damage.text));
	r->damage.text[sizeof(r->damage.text) - 1] = 0;
}

static void code_recording(struct coder *c, struct recording *r, struct state_fit *fit)
{
	code_words(c, fit);
	code_scan(c, r);
	code_bool(c, &r->has_id);
	code_bytes(c, r->id.bytes, sizeof(r->id.bytes));
	code_u32(c, &r->position.incarnation);
	code_u64(c, &r->position.next);
	code_u64(c, &r->announced);
	code_u64(c, &r->watermark_ns);
	code_u64(c, &r->end_ns);
	code_bool(c, &r->flushed);
	code_words(c, &r->ledger);
	code_definitions(c, &r->definitions);
	if (!state_failed(c))
		code_rows(c, r, fit->rows_bytes);
	if (!state_failed(c))
		code_pairing(c, r);
	if (!state_failed(c))
		code_culled(c, r);
	if (!state_failed(c))
		code_other_events(c, r);
}

int state_write(const struct recording *recording, const struct state_fit *fit, struct buf *out)
{
	struct coder c = {.out = out};
	struct state_fit copy = *fit;

	/* The cast is safe: writing changes no member. */
	code_recording(&c, (struct recording *)(uintptr_t)recording, &copy);
	return c.error ? c.error : buf_error(out);
}

int state_read(struct recording *r, const uint8_t *data, size_t length, struct state_fit *ret_fit)
{
	struct coder c = {.in = reader_of(data, length)};

	code_recording(&c, r, ret_fit);
	if (c.error)
		return c.error;
	return reader_error(&c.in) || reader_left(&c.in) ? -EBADMSG : 0;
}
