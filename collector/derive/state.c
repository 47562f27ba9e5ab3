/* Writes and reads the state of a recording. state.h describes the format. */
#include "collector/derive/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "proto/columns.h"
#include "proto/culled.h"
#include "collector/columns/row_block.h"
#include "collector/derive/steps.h"
#include "collector/derive/thinned.h"
#include "collector/recording/info.h"
#include "base/ban.h"

#define TEXT_MAX (1u << 16)

/* Visits the members in one order, for writing (`out`) or reading. */
struct coder {
	struct buf *out; /* NULL: reading */
	struct reader in;
	int error;
};

static void code_u64(struct coder *c, uint64_t *value)
{
	uint8_t *room;

	if (!c->out) {
		*value = reader_varint(&c->in);
		return;
	}
	room = buf_reserve(c->out, VARINT_MAX);
	if (room)
		c->out->length = (size_t)(varint_put(room, *value) - c->out->data);
}

static void code_u32(struct coder *c, uint32_t *value)
{
	uint64_t wide = *value;

	code_u64(c, &wide);
	if (wide > UINT32_MAX)
		c->error = -EBADMSG;
	*value = (uint32_t)wide;
}

static void code_u8(struct coder *c, uint8_t *value)
{
	uint32_t wide = *value;

	code_u32(c, &wide);
	*value = (uint8_t)wide;
}

static void code_bool(struct coder *c, bool *value)
{
	uint8_t byte = *value;

	code_u8(c, &byte);
	*value = byte;
}

/* For a struct whose members are all uint64_t. */
#define code_words(c, p) code_row(c, (uint64_t *)(p), sizeof(*(p)) / sizeof(uint64_t))
static void code_row(struct coder *c, uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		code_u64(c, &words[i]);
}

static void code_bytes(struct coder *c, void *data, size_t length)
{
	const uint8_t *from;

	if (c->out) {
		buf_append(c->out, data, length);
		return;
	}
	from = reader_bytes(&c->in, length);
	if (from)
		memcpy(data, from, length);
}

/* NULL stays NULL. */
static void code_text(struct coder *c, char **text)
{
	uint64_t length = c->out && *text ? strlen(*text) + 1 : 0;

	code_u64(c, &length);
	if (!length)
		return;
	if (!c->out) {
		if (length > TEXT_MAX || length - 1 > reader_left(&c->in)) {
			c->error = -EBADMSG;
			return;
		}
		*text = calloc(1, length);
		if (!*text) {
			c->error = -ENOMEM;
			return;
		}
	}
	code_bytes(c, *text, length - 1);
}

static bool state_failed(const struct coder *c)
{
	return c->error || (!c->out && reader_error(&c->in));
}

/*
 * Codes the number of elements and, when reading, reserves room for them. Every element takes at
 * least a byte, which bounds the number. Returns false if there are none.
 */
static bool code_array(struct coder *c, void *array, uint32_t *count, uint32_t *capacity,
		       size_t size)
{
	uint32_t n = *count;

	code_u32(c, &n);
	if (!c->out && (state_failed(c) || n > reader_left(&c->in))) {
		c->error = c->error ? c->error : -EBADMSG;
		return false;
	}
	if (!c->out && n && array_reserve(array, capacity, n, size) < 0) {
		c->error = -ENOMEM;
		return false;
	}
	*count = n;
	return n;
}

/* ---- definitions ---- */

static void code_process(struct coder *c, struct process_info *p)
{
	code_u32(c, &p->pid);
	code_u32(c, &p->parent_pid);
	code_u32(c, &p->uid);
	code_text(c, &p->name);
	code_text(c, &p->executable);
	code_text(c, &p->command_line);
	code_text(c, &p->host);
	code_text(c, &p->architecture);
	code_text(c, &p->agent_version);
	code_u32(c, &p->pointer_bits);
	code_u32(c, &p->page_size);
	code_u32(c, &p->images);
	code_u64(c, &p->start_wall_ns);
	code_u32(c, &p->mode);
	code_u64(c, &p->sample_interval);
	code_u64(c, &p->cull_ns);
	code_bool(c, &p->ended);
	code_u32(c, &p->end_kind);
	code_u32(c, &p->end_status);
	code_bool(c, &p->core_dumped);
	code_u32(c, &p->end_source);
	code_u32(c, &p->oom_counter);
	code_u64(c, &p->rss_peak);
	code_u64(c, &p->ran_before_ns);
	code_bool(c, &p->forked);
	code_bytes(c, p->parent.bytes, sizeof(p->parent.bytes));
	code_u64(c, &p->parent_event);
	code_bool(c, &p->origin.imported);
	code_bool(c, &p->origin.exact);
	code_text(c, &p->origin.format);
	code_text(c, &p->origin.tool);
	code_text(c, &p->origin.file);
	code_text(c, &p->origin.note);
	code_u64(c, &p->origin.wall_ns);
	if (p->origin.imported &&
	    !(p->origin.format && p->origin.tool && p->origin.file && p->origin.note))
		c->error = c->error ? c->error : -EBADMSG;
}

static void code_module(struct coder *c, struct module_info *m)
{
	code_text(c, &m->path);
	code_text(c, &m->file);
	code_u32(c, &m->build_id_length);
	code_bytes(c, m->build_id, sizeof(m->build_id));
	code_u32(c, &m->print);
	code_u64(c, &m->bias);
	code_u64(c, &m->start);
	code_u64(c, &m->end);
	code_u64(c, &m->code_address);
	code_u64(c, &m->code_size);
	code_u64(c, &m->code_offset);
	code_u64(c, &m->loaded_ns);
	code_u64(c, &m->unloaded_ns);
	if (!m->path || m->build_id_length > sizeof(m->build_id) || m->start > m->end)
		c->error = c->error ? c->error : -EBADMSG;
}

static void code_thread(struct coder *c, struct thread_info *t)
{
	code_u32(c, &t->tid);
	code_text(c, &t->name);
	code_u64(c, &t->started_ns);
	code_u64(c, &t->ended_ns);
	code_u64(c, &t->produced);
	code_u64(c, &t->delivered);
	code_u64(c, &t->culled);
	code_u64(c, &t->culled_before);
	code_u64(c, &t->lost);
	code_u32(c, &t->incarnation);
	code_u64(c, &t->unarrived);
	code_u64(c, &t->stored);
	code_u64(c, &t->marked_ns);
	if (!t->name)
		c->error = c->error ? c->error : -EBADMSG;
}

/* Codes a list of pointers; NULL stays NULL. Both kinds of elements have a member `number`. */
#define CODE_POINTERS(c, list, count, capacity, code)                                              \
	do {                                                                                       \
		if (!code_array(c, &(list), &(count), &(capacity), sizeof(*(list))))               \
			break;                                                                     \
		for (uint32_t i = 0; i < (count) && !state_failed(c); i++) {                       \
			bool there = (list)[i];                                                    \
                                                                                                   \
			code_bool(c, &there);                                                      \
			if (!there)                                                                \
				continue;                                                          \
			if (!(c)->out && !((list)[i] = calloc(1, sizeof(*(list)[i]))))             \
				(c)->error = -ENOMEM;                                              \
			if (state_failed(c))                                                       \
				break;                                                             \
			(list)[i]->number = i + 1;                                                 \
			code(c, (list)[i]);                                                        \
		}                                                                                  \
	} while (0)

/* Checks that the parent is an earlier node and the module is known. */
static bool node_fits(const struct definitions *d, const struct stack_node *node, uint32_t index)
{
	return node->parent <= index &&
	       (!node->module || (node->module <= d->module_count && d->modules[node->module - 1]));
}

static void code_nodes(struct coder *c, struct definitions *d)
{
	struct nodes *n = &d->nodes;
	uint64_t last = 0;

	if (code_array(c, &n->list, &n->count, &n->capacity, sizeof(*n->list)))
		for (uint32_t i = 0; i < n->count && !state_failed(c); i++) {
			uint64_t difference = zigzag((int64_t)(n->list[i].offset - last));

			code_u32(c, &n->list[i].parent);
			code_u32(c, &n->list[i].module);
			code_u64(c, &difference);
			last = n->list[i].offset = last + (uint64_t)unzigzag(difference);
			if (!node_fits(d, &n->list[i], i))
				c->error = -EBADMSG;
		}
	if (code_array(c, &n->by_wire, &n->wire_count, &n->wire_capacity, sizeof(*n->by_wire)))
		for (uint32_t i = 0; i < n->wire_count && !state_failed(c); i++) {
			uint64_t difference = zigzag((int64_t)n->by_wire[i] - (int64_t)i);

			code_u64(c, &difference);
			n->by_wire[i] = (uint32_t)(i + (uint64_t)unzigzag(difference));
			if (!n->by_wire[i] || n->by_wire[i] > n->count)
				c->error = -EBADMSG;
		}
}

/* Codes all texts as they are in memory. */
static void code_name_texts(struct coder *c, struct names *n)
{
	uint64_t length = n->text.length;
	const uint8_t *from;

	code_u64(c, &length);
	if (c->out) {
		buf_append(c->out, n->text.data, length);
		return;
	}
	from = reader_bytes(&c->in, length);
	if (from && length && from[length - 1])
		c->error = -EBADMSG;
	for (uint64_t at = 0; from && at < length && !state_failed(c);) {
		size_t one = strlen((const char *)from + at);

		c->error = names_put_text(n, (const char *)from + at, one);
		at += one + 1;
	}
}

static void code_name_frame(struct coder *c, struct names *n, struct name_frame frame)
{
	code_u32(c, &frame.function);
	code_u32(c, &frame.file);
	code_u32(c, &frame.line);
	if (!c->out && !state_failed(c))
		c->error = names_put_frame(n, frame);
}

static void code_names(struct coder *c, struct definitions *d)
{
	struct names *n = &d->names;
	uint32_t places = n->place_count;

	code_name_texts(c, n);
	code_u32(c, &n->text_base);
	code_u32(c, &places);
	for (uint32_t i = 0; i < places && !state_failed(c); i++) {
		struct names_place place = {0};

		if (c->out)
			place = n->places[i];
		code_u32(c, &place.module);
		code_u64(c, &place.offset);
		code_u32(c, &place.count);
		for (uint32_t k = 0; k < place.count && !state_failed(c); k++)
			code_name_frame(
				c, n, c->out ? n->frames[place.first + k] : (struct name_frame){0});
		if (!c->out && !state_failed(c))
			c->error = place.module > d->module_count
					   ? -EBADMSG
					   : names_put_place(n, place.module, place.offset,
							     place.count);
	}
	if (n->text_base > n->text_count)
		c->error = -EBADMSG;
}

static void code_gap(struct coder *c, struct gap_info *g)
{
	code_u32(c, &g->thread);
	code_u32(c, &g->reason);
	code_u64(c, &g->from);
	code_u64(c, &g->to);
	code_u64(c, &g->allocations);
	code_u64(c, &g->frees);
	code_u64(c, &g->bytes);
	code_u64(c, &g->from_ns);
	code_u64(c, &g->to_ns);
	code_u64(c, &g->events);
}

static void code_unrecorded(struct coder *c, struct unrecorded_info *u)
{
	char *name = c->out ? u->name : NULL;

	code_u64(c, &u->events);
	code_u64(c, &u->allocations);
	code_u64(c, &u->frees);
	code_u64(c, &u->bytes);
	code_u32(c, &u->pid);
	code_bool(c, &u->counted);
	code_text(c, &name);
	if (c->out || !name)
		return;
	snprintf(u->name, sizeof(u->name), "%s", name);
	free(name);
}

static void code_mark(struct coder *c, struct mark_info *m)
{
	code_u64(c, &m->time_ns);
	code_u64(c, &m->value);
	code_u32(c, &m->kind);
	code_u32(c, &m->thread);
	code_text(c, &m->text);
	code_text(c, &m->by);
	if (!m->text)
		c->error = c->error ? c->error : -EBADMSG;
}

static void code_definitions(struct coder *c, struct definitions *d)
{
	code_process(c, &d->process);
	CODE_POINTERS(c, d->modules, d->module_count, d->module_capacity, code_module);
	CODE_POINTERS(c, d->threads, d->thread_count, d->thread_capacity, code_thread);
	code_nodes(c, d);
	code_names(c, d);
	if (code_array(c, &d->gaps, &d->gap_count, &d->gap_capacity, sizeof(*d->gaps)))
		for (uint32_t i = 0; i < d->gap_count && !state_failed(c); i++)
			code_gap(c, &d->gaps[i]);
	if (code_array(c, &d->unrecorded, &d->unrecorded_count, &d->unrecorded_capacity,
		       sizeof(*d->unrecorded)))
		for (uint32_t i = 0; i < d->unrecorded_count && !state_failed(c); i++)
			code_unrecorded(c, &d->unrecorded[i]);
	if (code_array(c, &d->marks, &d->mark_count, &d->mark_capacity, sizeof(*d->marks)))
		for (uint32_t i = 0; i < d->mark_count && !state_failed(c); i++)
			code_mark(c, &d->marks[i]);
	if (code_array(c, &d->module_of_wire, &d->wire_module_count, &d->wire_module_capacity,
		       sizeof(*d->module_of_wire)))
		for (uint32_t i = 0; i < d->wire_module_count; i++) {
			code_u32(c, &d->module_of_wire[i]);
			if (d->module_of_wire[i] > d->module_count)
				c->error = -EBADMSG;
		}
	code_u32(c, &d->module_recent);
	code_u32(c, &d->incarnation);
	code_u32(c, &d->ledger_incarnation);
	code_u64(c, &d->last_ns);
	code_u64(c, &d->unarrived);
	code_bool(c, &d->begun);
	code_u64(c, &d->culled_before);
	code_words(c, &d->ledger);
	code_words(c, &d->delivered);
	code_words(c, &d->figures);
	code_words(c, &d->figures_most);
	code_words(c, &d->allocator);
	if (d->module_count > MODULES_MAX || d->thread_count > THREADS_MAX ||
	    d->module_recent > d->module_count)
		c->error = -EBADMSG;
}

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
			c->error = -EBADMSG;
		if (!c->out && !state_failed(c))
			c->error = culled_restore(culled, &row);
	}
}

static void code_aparts(struct coder *c, struct recording *r)
{
	struct aparts *a = &r->aparts;

	if (!code_array(c, &a->list, &a->count, &a->capacity, sizeof(*a->list)))
		return;
	for (uint32_t i = 0; i < a->count && !state_failed(c); i++) {
		struct apart_info *info = &a->list[i];

		code_u64(c, &info->time_ns);
		code_u64(c, &info->address);
		code_u64(c, &info->old_address);
		code_u64(c, &info->size);
		code_u32(c, &info->thread);
		code_u32(c, &info->stack);
		code_u8(c, &info->kind);
		if (!thread_fits(&r->definitions, info->thread) ||
		    info->stack > r->definitions.nodes.count)
			c->error = -EBADMSG;
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
	if (!c->out && (count > reader_left(&c->in) || steps_reserve(q, count) < 0)) {
		c->error = -EBADMSG;
		return;
	}
	q->count = q->sorted = count;
	for (size_t i = 0; i < count && !state_failed(c); i++) {
		if (!c->out)
			q->list[i] = (struct step){0};
		code_step(c, &q->list[i]);
		if (!step_fits(&r->definitions, &q->list[i]) && q->list[i].what != STEP_EXEC)
			c->error = -EBADMSG;
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
		uint64_t thread, row, *value;

		code_u64(c, &thread);
		code_u64(c, &row);
		value = map_put(moving, thread, NULL);
		if (!value || (row != NO_BLOCK && row >= rows))
			c->error = -EBADMSG;
		else
			*value = row;
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
			c->error = -EBADMSG;
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
		c->error = -EBADMSG;
}

static void code_pairing(struct coder *c, struct recording *r)
{
	struct pairing *p = &r->pairing;

	code_queue(c, r);
	code_moving(c, &p->moving, r->rows.count);
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
			c->error = -EBADMSG;
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
		c->error = -EBADMSG;
		return;
	}
	if (!count)
		return;
	block = block_new(r->rows.count);
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

static void code_pages(struct coder *c, struct late *late, uint64_t bytes)
{
	if (!code_array(c, &late->pages, &late->page_count, &late->page_capacity,
			sizeof(*late->pages)))
		return;
	for (uint32_t i = 0; i < late->page_count && !state_failed(c); i++) {
		struct late_page *p = &late->pages[i];

		code_u64(c, &p->offset);
		code_u64(c, &p->check);
		code_u32(c, &p->count);
		code_u32(c, &p->first_row);
		code_u32(c, &p->last_row);
		p->base = !c->out || p->base;
		if (p->count > LATE_PAGE || p->offset > bytes)
			c->error = -EBADMSG;
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
		code_aparts(c, r);
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
