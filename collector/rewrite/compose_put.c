/* Fills batches with items. compose.h describes the interface. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/saturated.h"
#include "proto/columns.h"
#include "proto/culled.h"
#include "proto/stack_columns.h"
#include "collector/rewrite/compose_state.h"
#include "collector/recording/definitions.h"
#include "collector/recording/names.h"
#include "base/ban.h"

#define ADDRESS_STEP (1u << 20) /* greatest distance between invented addresses */

/* ---- definitions ---- */

int composer_module(struct composer *c, const Heapcast__Module *module, uint32_t *ret_number)
{
	Heapcast__Module m = *module;
	int r = composer_room(c);

	if (!r && c->modules == MODULES_MAX)
		r = composer_too_many(c, "more modules than a recording can have");
	if (r < 0)
		return r;
	m.number = ++c->modules;
	*ret_number = m.number;
	return composer_field(c, 8, &m.base);
}

int composer_node(struct composer *c, uint32_t parent, uint32_t module, uint64_t offset,
		  uint32_t *ret_node)
{
	const struct stack_node node = {.parent = parent, .module = module, .offset = offset};
	int r = composer_room(c);

	if (!r && (parent > c->nodes.count || module > c->modules))
		r = composer_refuse(c, "a node of a caller or module that is not defined");
	if (!r && c->nodes.count == NODES_MAX)
		r = composer_too_many(c, "more nodes of stacks than a recording can have");
	if (r < 0)
		return r;
	*ret_node = nodes_intern(&c->nodes, &node);
	return *ret_node ? 0 : composer_no_memory(c);
}

/* Counts names against the limit of readers (names.h). */
static int count_names(struct composer *c, uint64_t bytes)
{
	c->names_bytes += bytes;
	return c->names_bytes <= NAMES_BYTES_MAX
		       ? 0
		       : composer_too_many(c, "more than " NAMES_BYTES_TEXT
					      " of names, which is what a recording can have");
}

/* Returns the number of a text; 0 if it is empty, or on failure. */
static uint32_t compose_put_text_of(struct composer *c, const char *text)
{
	uint32_t before = c->texts.count, number;
	size_t length = text ? strnlen(text, NAMES_TEXT_MAX) : 0;

	if (!length)
		return 0;
	number = intern_bytes(&c->texts, text, length);
	if (!number) {
		composer_no_memory(c);
	} else if (number > before) {
		if (count_names(c, NAMES_TEXT_BYTES + length) < 0)
			return 0;
		names_encoder_text(&c->names, text, length);
	}
	return number;
}

int composer_name(struct composer *c, uint32_t module, uint64_t offset,
		  const struct composer_frame *frames, unsigned count)
{
	struct name_frame row[NAMES_FRAMES_MAX];
	int r = composer_room(c);

	if (!r && (module > c->modules || (!module && offset < COMPOSER_FIRST_PLACE)))
		r = composer_refuse(c, "a name for a place that can have none");
	if (count > NAMES_FRAMES_MAX)
		count = NAMES_FRAMES_MAX;
	if (!r)
		r = count_names(c, NAMES_PLACE_BYTES + (uint64_t)count * NAMES_FRAME_BYTES);
	for (unsigned i = 0; !r && i < count; i++) {
		row[i] =
			(struct name_frame){compose_put_text_of(c, frames[i].function),
					    compose_put_text_of(c, frames[i].file), frames[i].line};
		r = c->error;
	}
	if (!r)
		names_encoder_place(&c->names, module, offset, row, count);
	return r;
}

static struct composed_thread *compose_put_thread_of(struct composer *c, uint32_t number)
{
	if (!number || number > THREADS_MAX) {
		composer_refuse(c, "a thread without a number");
		return NULL;
	}
	if (array_reserve(&c->threads, &c->thread_capacity, number, sizeof(*c->threads)) < 0) {
		composer_no_memory(c);
		return NULL;
	}
	if (c->thread_count < number)
		c->thread_count = number;
	return &c->threads[number - 1];
}

int composer_thread(struct composer *c, const Heapcast__Thread *thread)
{
	struct composed_thread *t;
	int r = composer_room(c);

	if (r < 0)
		return r;
	t = compose_put_thread_of(c, thread->number);
	if (!t)
		return c->error;
	t->defined = true;
	return composer_field(c, 10, &thread->base);
}

/*
 * Returns a thread whose counts are about to change. An undefined thread is defined with its number
 * only.
 */
static struct composed_thread *count_thread(struct composer *c, uint32_t number)
{
	struct composed_thread *t = compose_put_thread_of(c, number);

	if (t && !t->defined) {
		Heapcast__Thread thread = HEAPCAST__THREAD__INIT;

		thread.number = number;
		t->defined = true;
		if (composer_field(c, 10, &thread.base) < 0)
			return NULL;
	}
	if (!t || t->news)
		return t;
	if (array_reserve(&c->news, &c->news_capacity, (uint64_t)c->news_count + 1,
			  sizeof(*c->news)) < 0) {
		composer_no_memory(c);
		return NULL;
	}
	t->news = true;
	c->news[c->news_count++] = number;
	return t;
}

/* ---- events ---- */

static void count_event(struct composer *c, const struct event *e)
{
	enum event_class class = event_traits[e->kind].class;
	Heapcast__Ledger *l = &c->ledger;

	l->delivered++;
	if (class == EVENT_CLASS_FREE) {
		l->delivered_frees++;
	} else if (class != EVENT_CLASS_CALL) {
		l->delivered_allocations++;
		l->delivered_bytes += e->size;
	}
}

int composer_event(struct composer *c, const struct event *event)
{
	struct composed_thread *t;
	int r = composer_room(c);

	if (!r)
		r = composer_ascend(c, event->time_ns);
	if (!r && event->stack > c->nodes.count)
		r = composer_refuse(c, "an event of a stack that is not defined");
	if (r < 0)
		return r;
	r = events_encoder_put(&c->events, event);
	if (r == -ENOSPC || r == -EAGAIN) {
		r = composer_close_batch(c, NULL);
		if (!r)
			r = events_encoder_put(&c->events, event);
	}
	if (r < 0)
		return c->error ? c->error : composer_refuse(c, "an event of no kind");
	t = compose_put_thread_of(c, event->thread);
	if (t && !(t->defined && t->news))
		t = count_thread(c, event->thread);
	if (!t)
		return c->error;
	t->delivered++;
	count_event(c, event);
	return 0;
}

int composer_mark(struct composer *c, const Heapcast__Mark *mark)
{
	int r = composer_room(c);

	if (!r)
		r = composer_ascend(c, mark->time_ns);
	return r ? r : composer_field(c, 14, &mark->base);
}

int composer_culled(struct composer *c, const struct culled_row *row)
{
	struct composed_thread *t;
	int r = composer_room(c);

	if (!r && (row->stack > c->nodes.count || row->reallocated > row->blocks ||
		   row->lifetime >= culled_lifetimes))
		r = composer_refuse(c, "a row of short-lived blocks that is impossible");
	if (r < 0)
		return r;
	/* A batch has only one such message. */
	if (culled_encoder_put(&c->culled, row) == -ENOSPC) {
		r = composer_close_batch(c, NULL);
		if (!r)
			r = culled_encoder_put(&c->culled, row);
	}
	t = r ? NULL : count_thread(c, row->thread);
	if (!t)
		return c->error;
	t->culled += 2 * row->blocks - row->reallocated;
	return 0;
}

int composer_gap(struct composer *c, const Heapcast__Gap *gap)
{
	struct composed_thread *t = NULL;
	int r = composer_room(c);

	if (!r && gap->thread && !(t = count_thread(c, gap->thread)))
		r = c->error;
	if (r < 0)
		return r;
	if (t)
		t->lost += gap->events;
	c->ledger.lost += gap->events;
	c->ledger.lost_allocations += gap->allocations;
	c->ledger.lost_frees += gap->frees;
	c->ledger.lost_bytes += gap->bytes;
	return composer_field(c, 13, &gap->base);
}

int composer_observed(struct composer *c, const Heapcast__Figures *figures,
		      const Heapcast__Maps *maps, const Heapcast__Allocator *allocator)
{
	int r = composer_room(c);

	if (!r && figures)
		r = composer_field(c, 16, &figures->base);
	/* A batch has one step and one reading of each kind, and a reader takes the last. */
	if (!r && maps)
		r = composer_field(c, 22, &maps->base);
	if (!r && allocator)
		r = composer_field(c, 23, &allocator->base);
	return r || !(maps || allocator) ? r : composer_close_batch(c, NULL);
}

void composer_account(struct composer *c, uint64_t not_sampled, uint64_t samples_refused,
		      uint64_t stacks_cut)
{
	c->ledger.not_sampled = not_sampled;
	c->ledger.samples_refused = samples_refused;
	c->ledger.stacks_cut = stacks_cut;
}

/* ---- blocks given as sums ---- */

uint64_t composer_address(struct composer *c, uint64_t size)
{
	uint64_t address = c->address;

	/* The address where the columns predict the next block. */
	c->address += addresses_chunk(size < ADDRESS_STEP ? size : ADDRESS_STEP);
	return address;
}

static int put_alike(struct composer *c, uint32_t thread, uint32_t stack, uint64_t blocks,
		     uint64_t size, bool freed)
{
	struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
			  .thread = thread,
			  .time_ns = c->last_ns,
			  .address = composer_address(c, size),
			  .size = size,
			  .stack = stack,
			  .weight = product_most(blocks, size ? size : 1)};
	int r;

	if (blocks == 1)
		e.weight = size;
	r = composer_event(c, &e);
	if (r < 0 || !freed)
		return r;
	e.kind = HEAPCAST__EVENT_KIND__EVENT_FREE;
	e.size = e.weight = 0;
	e.stack = 0;
	return composer_event(c, &e);
}

int composer_blocks(struct composer *c, uint32_t thread, uint32_t stack, uint64_t blocks,
		    uint64_t bytes, bool freed)
{
	uint64_t size, larger;
	int r = 0;

	if (!blocks)
		return bytes ? composer_refuse(c, "bytes of no block") : 0;
	size = bytes / blocks;
	larger = bytes % blocks;
	if (blocks > larger)
		r = put_alike(c, thread, stack, blocks - larger, size, freed);
	if (!r && larger)
		r = put_alike(c, thread, stack, larger, size + 1, freed);
	return r;
}
