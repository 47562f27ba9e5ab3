/* The columns of events and stacks. See columns.h. */
#include "proto/columns.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "proto/columns_put.h"
#include "base/ban.h"

static const char *const column_names[EVENTS_COLUMNS] = {
	"kind", "thread", "time", "address", "size", "stack", "old_address", "call_time", "weight",
};

/* Sixteenths of an encoder's memory. */
static const uint8_t column_shares[EVENTS_COLUMNS] = {1, 1, 2, 4, 2, 3, 1, 1, 1};

static struct reader column_reader(ProtobufCBinaryData data)
{
	return reader_of(data.data, data.len);
}

int events_decoder_init(struct events_decoder *d, const Heapcast__Events *events,
			struct err_text *err)
{
	if (events->count > EVENTS_MAX_COUNT)
		return err_set(err, -EBADMSG, "events: %u in one batch, more than %u",
			       events->count, EVENTS_MAX_COUNT);
	if (events->kind.len != events->count)
		return err_set(err, -EBADMSG, "events: column kind holds %zu of %u events",
			       events->kind.len, events->count);
	if (!events->tick_ns || events->tick_ns > EVENTS_MAX_TICK_NS)
		return err_set(err, -EBADMSG, "events: a tick of %u ns", events->tick_ns);
	if (events->address_shift > EVENTS_MAX_SHIFT)
		return err_set(err, -EBADMSG, "events: an address shift of %u",
			       events->address_shift);
	if (events->base_ns > INT64_MAX / 2)
		return err_set(err, -EBADMSG, "events: a base time of %llu ns",
			       (unsigned long long)events->base_ns);
	*d = (struct events_decoder){
		.column = {[EVENTS_KIND] = column_reader(events->kind),
			   [EVENTS_THREAD] = column_reader(events->thread),
			   [EVENTS_TIME] = column_reader(events->time),
			   [EVENTS_ADDRESS] = column_reader(events->address),
			   [EVENTS_SIZE] = column_reader(events->size),
			   [EVENTS_STACK] = column_reader(events->stack),
			   [EVENTS_OLD_ADDRESS] = column_reader(events->old_address),
			   [EVENTS_CALL_TIME] = column_reader(events->call_time),
			   [EVENTS_WEIGHT] = column_reader(events->weight)},
		.base_ns = events->base_ns,
		.tick_ns = events->tick_ns,
		.shift = events->address_shift,
		.count = events->count,
	};
	return 0;
}

static int damaged(const struct events_decoder *d, enum events_column column, const char *what,
		   struct err_text *err)
{
	return err_set(err, -EBADMSG, "events: column %s, event %u of %u: %s", column_names[column],
		       d->index + 1, d->count, what);
}

static int ended(const struct events_decoder *d, struct err_text *err)
{
	for (unsigned i = 0; i < EVENTS_COLUMNS; i++)
		if (reader_left(&d->column[i]))
			return err_set(
				err, -EBADMSG,
				"events: column %s goes on for %zu bytes after the last event",
				column_names[i], reader_left(&d->column[i]));
	return 0;
}

static int read_time(struct events_decoder *d, struct event *e, struct err_text *err)
{
	int64_t time;

	if (__builtin_add_overflow(d->ticks, reader_zigzag(&d->column[EVENTS_TIME]), &d->ticks) ||
	    __builtin_mul_overflow(d->ticks, (int64_t)d->tick_ns, &time) ||
	    d->base_ns > INT64_MAX || __builtin_add_overflow(time, (int64_t)d->base_ns, &time))
		return damaged(d, EVENTS_TIME, "out of range", err);
	if (time < 0)
		return damaged(d, EVENTS_TIME, "before the start of the stream", err);
	e->time_ns = (uint64_t)time;
	return 0;
}

static int read_address(struct events_decoder *d, struct event *e, struct err_text *err)
{
	uint64_t *last = &d->last_address[e->class == EVENT_CLASS_FREE];

	*last += (uint64_t)reader_zigzag(&d->column[EVENTS_ADDRESS]);
	if (*last > UINT64_MAX >> d->shift)
		return damaged(d, EVENTS_ADDRESS, "out of range", err);
	e->address = *last << d->shift;
	return 0;
}

static int read_numbers(struct events_decoder *d, struct event *e, struct err_text *err)
{
	uint64_t thread = reader_varint(&d->column[EVENTS_THREAD]);
	uint64_t stack = reader_varint(&d->column[EVENTS_STACK]);

	if (reader_error(&d->column[EVENTS_THREAD]))
		return damaged(d, EVENTS_THREAD, "ends too early", err);
	if (!thread || thread > UINT32_MAX)
		return damaged(d, EVENTS_THREAD, "no number of a thread", err);
	if (stack > UINT32_MAX)
		return damaged(d, EVENTS_STACK, "no number of a node", err);
	e->thread = (uint32_t)thread;
	e->stack = (uint32_t)stack;
	return 0;
}

static int read_reallocation(struct events_decoder *d, struct event *e, struct err_text *err)
{
	uint64_t old =
		(e->address >> d->shift) + (uint64_t)reader_zigzag(&d->column[EVENTS_OLD_ADDRESS]);
	uint64_t ticks = reader_varint(&d->column[EVENTS_CALL_TIME]);

	if (old > UINT64_MAX >> d->shift)
		return damaged(d, EVENTS_OLD_ADDRESS, "out of range", err);
	if (__builtin_mul_overflow(ticks, d->tick_ns, &e->call_time_ns))
		return damaged(d, EVENTS_CALL_TIME, "out of range", err);
	e->old_address = old << d->shift;
	return 0;
}

static int read_size(struct events_decoder *d, struct event *e)
{
	e->size = reader_varint(&d->column[EVENTS_SIZE]);
	e->weight = d->column[EVENTS_WEIGHT].length ? reader_varint(&d->column[EVENTS_WEIGHT]) : 0;
	if (!e->weight)
		e->weight = e->size;
	return 0;
}

int events_decoder_next(struct events_decoder *d, struct event *ret_event, struct err_text *err)
{
	struct event e = {0};
	int r;

	if (d->index == d->count)
		return ended(d, err);
	e.kind = reader_u8(&d->column[EVENTS_KIND]);
	e.class = event_class(e.kind);
	if (e.class == EVENT_CLASS_NONE)
		return damaged(d, EVENTS_KIND, "a kind that this version does not know", err);
	r = read_numbers(d, &e, err);
	if (!r)
		r = read_time(d, &e, err);
	if (!r)
		r = read_address(d, &e, err);
	if (!r && event_has_size(e.kind))
		r = read_size(d, &e);
	if (!r && e.class == EVENT_CLASS_REALLOCATION)
		r = read_reallocation(d, &e, err);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < EVENTS_COLUMNS; i++)
		if (reader_error(&d->column[i]))
			return damaged(d, i, "ends too early, or is no varint", err);
	d->index++;
	*ret_event = e;
	return 1;
}

/* Writes no byte beyond the value's own. */
static void column_put_exact(struct column *c, uint64_t value)
{
	c->length = (size_t)(varint_put(c->data + c->length, value) - c->data);
}

static ProtobufCBinaryData column_data(const struct column *c)
{
	return (ProtobufCBinaryData){.len = c->length, .data = c->data};
}

void events_encoder_init(struct events_encoder *e, void *memory, size_t size, uint32_t limit,
			 uint32_t tick_ns)
{
	uint8_t *at = memory;

	*e = (struct events_encoder){.tick_ns = tick_ns, .limit = limit, .shift_limit = 4};
	for (unsigned i = 0; i < EVENTS_COLUMNS; i++) {
		e->column[i] =
			(struct column){.data = at, .capacity = size / 16 * column_shares[i]};
		at += e->column[i].capacity;
	}
	events_encoder_clear(e);
}

void events_encoder_clear(struct events_encoder *e)
{
	for (unsigned i = 0; i < EVENTS_COLUMNS; i++)
		e->column[i].length = 0;
	e->last_address[0] = e->last_address[1] = 0;
	e->shift = e->shift_limit;
	e->count = e->with_size = e->room = 0;
}

uint32_t events_encoder_room(const struct events_encoder *e)
{
	size_t least = e->limit - e->count;

	for (unsigned i = 0; i < EVENTS_COLUMNS; i++) {
		size_t events = (e->column[i].capacity - e->column[i].length) / VARINT_MAX;

		least = events < least ? events : least;
	}
	return (uint32_t)least;
}

int events_encoder_put(struct events_encoder *e, const struct event *event)
{
	return events_encoder_put_inline(e, event);
}

void events_encoder_fill(const struct events_encoder *e, Heapcast__Events *ret)
{
	heapcast__events__init(ret);
	ret->count = e->count;
	ret->base_ns = e->base_tick * e->tick_ns;
	ret->tick_ns = e->tick_ns;
	ret->address_shift = e->shift;
	ret->kind = column_data(&e->column[EVENTS_KIND]);
	ret->thread = column_data(&e->column[EVENTS_THREAD]);
	ret->time = column_data(&e->column[EVENTS_TIME]);
	ret->address = column_data(&e->column[EVENTS_ADDRESS]);
	ret->size = column_data(&e->column[EVENTS_SIZE]);
	ret->stack = column_data(&e->column[EVENTS_STACK]);
	ret->old_address = column_data(&e->column[EVENTS_OLD_ADDRESS]);
	ret->call_time = column_data(&e->column[EVENTS_CALL_TIME]);
	ret->weight = column_data(&e->column[EVENTS_WEIGHT]);
}

int stacks_decoder_init(struct stacks_decoder *d, const Heapcast__Stacks *stacks,
			struct err_text *err)
{
	if (!stacks->first)
		return err_set(err, -EBADMSG, "stacks: nodes are numbered from 1");
	*d = (struct stacks_decoder){
		.parent = column_reader(stacks->parent),
		.module = column_reader(stacks->module),
		.offset = column_reader(stacks->offset),
		.next = stacks->first,
	};
	return 0;
}

int stacks_decoder_next(struct stacks_decoder *d, uint32_t *ret_number, struct stack_node *ret_node,
			struct err_text *err)
{
	uint64_t up, module;

	if (!reader_left(&d->parent)) {
		if (reader_left(&d->module) || reader_left(&d->offset))
			return err_set(err, -EBADMSG,
				       "stacks: column %s goes on after the last node",
				       reader_left(&d->module) ? "module" : "offset");
		return 0;
	}
	up = reader_varint(&d->parent);
	module = reader_varint(&d->module);
	d->last_offset += (uint64_t)reader_zigzag(&d->offset);
	if (reader_error(&d->parent) || up >= d->next || !d->next)
		return err_set(err, -EBADMSG,
			       "stacks: column parent, node %u: no number of an earlier node",
			       d->next);
	if (reader_error(&d->module) || module > UINT32_MAX)
		return err_set(err, -EBADMSG,
			       "stacks: column module, node %u: no number of a module", d->next);
	if (reader_error(&d->offset))
		return err_set(err, -EBADMSG,
			       "stacks: column offset, node %u: ends too early, or is no varint",
			       d->next);
	*ret_node = (struct stack_node){
		.parent = up ? d->next - (uint32_t)up : 0,
		.module = (uint32_t)module,
		.offset = d->last_offset,
	};
	*ret_number = d->next++;
	return 1;
}

void stacks_encoder_init(struct stacks_encoder *e, void *memory, size_t size, uint32_t first)
{
	size_t room = stacks_encoder_room(size);
	uint8_t *at = memory;

	*e = (struct stacks_encoder){
		.parent = {.data = at, .capacity = room * 5},
		.module = {.data = at + room * 5, .capacity = room * 5},
		.offset = {.data = at + room * 10, .capacity = room * VARINT_MAX},
		.first = first,
	};
}

uint32_t stacks_encoder_room(size_t size)
{
	return (uint32_t)(size / STACKS_NODE_MAX);
}

int stacks_encoder_put(struct stacks_encoder *e, const struct stack_node *node)
{
	if (e->parent.capacity - e->parent.length < 5 ||
	    e->module.capacity - e->module.length < 5 ||
	    e->offset.capacity - e->offset.length < VARINT_MAX)
		return -ENOSPC;
	column_put_exact(&e->parent, node->parent ? e->first + e->count - node->parent : 0);
	column_put_exact(&e->module, node->module);
	column_put_exact(&e->offset, zigzag((int64_t)(node->offset - e->last_offset)));
	e->last_offset = node->offset;
	e->count++;
	return 0;
}

void stacks_encoder_fill(const struct stacks_encoder *e, Heapcast__Stacks *ret)
{
	heapcast__stacks__init(ret);
	ret->first = e->first;
	ret->parent = column_data(&e->parent);
	ret->module = column_data(&e->module);
	ret->offset = column_data(&e->offset);
}
