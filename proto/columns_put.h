#pragma once
/*
 * The encoder's way of one event into the columns, for those who put millions a second: inlined into the agent, together
 * with the reader of the ring, it makes an event 10 to 15 % cheaper. Others call events_encoder_put (columns.h).
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "proto/columns.h"

/* Varints without a branch on their length: lengths of addresses and sizes follow no pattern, and a mispredicted branch
 * costs more than all of this. The groups of seven bits are spread to bytes, and all bytes but the last marked. Writes 4
 * or 8 bytes, the first of which count. Their number. */
static inline unsigned varint_28(uint8_t *to, uint32_t value)
{
	unsigned top;

	value = (value & 0x0fffc000) << 2 | (value & 0x00003fff);
	value = (value & 0x3f803f80) << 1 | (value & 0x007f007f);
	top = (31u - (unsigned)__builtin_clz(value | 1)) & ~7u;
	value = htole32(value | (0x00808080u & ((1u << top) - 1)));
	memcpy(to, &value, sizeof(value));
	return top / 8 + 1;
}

static inline unsigned varint_56(uint8_t *to, uint64_t value)
{
	unsigned top;

	value = (value & 0x00fffffff0000000) << 4 | (value & 0x000000000fffffff);
	value = (value & 0x0fffc0000fffc000) << 2 | (value & 0x00003fff00003fff);
	value = (value & 0x3f803f803f803f80) << 1 | (value & 0x007f007f007f007f);
	top = (63u - (unsigned)__builtin_clzll(value | 1)) & ~7u;
	value = htole64(value | (UINT64_C(0x80808080808080) & ((UINT64_C(1) << top) - 1)));
	memcpy(to, &value, sizeof(value));
	return top / 8 + 1;
}

static inline size_t varint_any(uint8_t *to, uint64_t value)
{
	if (!(value >> 28))
		return varint_28(to, (uint32_t)value);
	return value >> 56 ? (size_t)(varint_put(to, value) - to) : varint_56(to, value);
}

/* Appends if `wanted`; VARINT_MAX bytes of room are there either way. */
static inline void column_put_if(struct column *c, uint64_t value, bool wanted)
{
	size_t length = varint_any(c->data + c->length, value);

	c->length += wanted ? length : 0;
}

static inline void column_put(struct column *c, uint64_t value)
{
	c->length += varint_any(c->data + c->length, value);
}

/* The same where values below 128 are the rule. */
static inline void column_put_small(struct column *c, uint64_t value)
{
	if (value < 0x80)
		c->data[c->length++] = (uint8_t)value;
	else
		column_put(c, value);
}

/* 0 if the batch's parameters suit the event, else -EAGAIN; those of an empty batch are made to suit. */
static inline int events_suit(struct events_encoder *e, const struct event *event, bool weighted)
{
	uint64_t bits = event->address | event->old_address;

	if (bits & ((1u << e->shift) - 1)) {
		e->shift_limit = (uint32_t)__builtin_ctzll(bits);
		if (e->count)
			return -EAGAIN;
		e->shift = e->shift_limit;
	}
	if (weighted && e->with_size && !e->column[EVENTS_WEIGHT].length)
		return -EAGAIN;
	return 0;
}

/* So many more events find room whatever they are. */
uint32_t events_encoder_room(const struct events_encoder *encoder);

static inline uint64_t events_tick(struct events_encoder *e, uint64_t time_ns)
{
	uint64_t tick;

	if (time_ns - e->last_tick_ns < e->tick_ns)
		return e->last_tick;
	tick = time_ns / e->tick_ns;
	e->last_tick_ns = tick * e->tick_ns;
	return tick;
}

static inline void events_put_time(struct events_encoder *e, uint64_t time_ns)
{
	uint64_t last = e->last_tick, tick = events_tick(e, time_ns);

	if (!e->count)
		e->base_tick = last = tick;
	column_put_small(&e->column[EVENTS_TIME], zigzag((int64_t)(tick - last)));
	e->last_tick = tick;
}

static inline void events_put_reallocation(struct events_encoder *e, const struct event *event, uint64_t address)
{
	column_put(&e->column[EVENTS_OLD_ADDRESS],
		   zigzag((int64_t)((event->old_address >> e->shift) - address)));
	column_put(&e->column[EVENTS_CALL_TIME], event->call_time_ns / e->tick_ns);
}

/* events_encoder_put of columns.h. */
static inline int events_encoder_put_inline(struct events_encoder *e, const struct event *event)
{
	enum event_class class = event_class(event->kind);
	bool sized = event_has_size(event->kind),
	     weighted = sized && event->weight && event->weight != event->size;
	uint64_t *last = &e->last_address[class == EVENT_CLASS_FREE], address;
	int r;

	if (class == EVENT_CLASS_NONE)
		return -EINVAL;
	if (!e->room && !(e->room = events_encoder_room(e)))
		return -ENOSPC;
	r = events_suit(e, event, weighted);
	if (r < 0)
		return r;
	address = event->address >> e->shift;
	e->column[EVENTS_KIND].data[e->column[EVENTS_KIND].length++] = event->kind;
	column_put_small(&e->column[EVENTS_THREAD], event->thread);
	events_put_time(e, event->time_ns);
	column_put(&e->column[EVENTS_ADDRESS], zigzag((int64_t)(address - *last)));
	column_put(&e->column[EVENTS_STACK], event->stack);
	column_put_if(&e->column[EVENTS_SIZE], event->size, sized);
	if (weighted || (sized && e->column[EVENTS_WEIGHT].length))
		column_put(&e->column[EVENTS_WEIGHT], weighted ? event->weight : 0);
	if (class == EVENT_CLASS_REALLOCATION)
		events_put_reallocation(e, event, address);
	*last = address;
	e->with_size += sized;
	e->count++;
	e->room--;
	return 0;
}
