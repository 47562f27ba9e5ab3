#pragma once
/*
 * The encoder of one event, inlined for callers that encode millions per second. Inlined into the
 * agent's reader of the ring, it makes an event 10 to 15 % cheaper. Other callers use
 * events_encoder_put (columns.h).
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "proto/columns.h"

/*
 * Varints without a branch per byte. The lengths of addresses and sizes follow no pattern, and one
 * mispredicted branch costs more than the whole function. The groups of seven bits are spread over
 * bytes, and every byte but the last is marked. The functions write 2, 4 or 8 bytes and return how
 * many of them count.
 */
static inline size_t varint_14(uint8_t *to, uint32_t value)
{
	size_t more = value >= 0x80;
	uint16_t bytes = htole16(
		(uint16_t)(value + (value & 0x3f80) + (more << 7))); /* the addition moves the upper
								      * bits up by one */

	memcpy(to, &bytes, sizeof(bytes));
	return 1 + more;
}

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

/* Encodes values of more than 14 bits. */
static __attribute__((noinline, unused)) size_t varint_long(uint8_t *to, uint64_t value)
{
	if (!(value >> 28))
		return varint_28(to, (uint32_t)value);
	return value >> 56 ? (size_t)(varint_put(to, value) - to) : varint_56(to, value);
}

static inline __attribute__((always_inline)) size_t varint_any(uint8_t *to, uint64_t value)
{
	return __builtin_expect(value < 1u << 14, 1) ? varint_14(to, (uint32_t)value)
						     : varint_long(to, value);
}

static inline __attribute__((always_inline)) void column_put(struct column *c, uint64_t value)
{
	c->length += varint_any(c->data + c->length, value);
}

/* Does the same for columns in which most values are below 128. */
static inline void column_put_small(struct column *c, uint64_t value)
{
	if (value < 0x80)
		c->data[c->length++] = (uint8_t)value;
	else
		column_put(c, value);
}

/* Sets the shift of an empty batch. */
static inline void events_set_shift(struct events_encoder *e)
{
	e->shift = e->shift_limit;
	e->unaligned = (UINT64_C(1) << e->shift) - 1;
}

/*
 * Returns 0 if the batch's parameters suit the event, else -EAGAIN. The parameters of an empty
 * batch are adapted to the event.
 */
static inline int events_suit(struct events_encoder *e, const struct event *event, bool weighted)
{
	uint64_t bits = event->address | event->old_address;

	if (__builtin_expect((bits & e->unaligned) != 0, 0)) {
		e->shift_limit = (uint32_t)__builtin_ctzll(bits);
		if (e->count)
			return -EAGAIN;
		events_set_shift(e);
	}
	if (__builtin_expect(weighted, 0) && e->column[EVENTS_SIZE].length &&
	    !e->column[EVENTS_WEIGHT].length)
		return -EAGAIN;
	return 0;
}

/* Returns how many more events fit even if each takes the most room. */
uint32_t events_encoder_room(const struct events_encoder *encoder);

static inline void events_begin_thread(struct events_encoder *e, uint32_t thread)
{
	if (e->thread)
		column_put_small(&e->column[EVENTS_THREAD_RUN], e->count - e->thread_from);
	column_put_small(&e->column[EVENTS_THREAD], thread);
	e->thread = thread;
	e->thread_from = e->count;
	e->own = &e->slot[thread & (e->slots - 1)];
}

static __attribute__((noinline, unused)) void events_begin_tick(struct events_encoder *e,
								uint64_t time_ns)
{
	uint64_t tick = time_ns / e->tick_ns;

	if (!e->count)
		e->base_tick = e->last_tick = tick;
	else
		column_put_small(&e->column[EVENTS_TIME_RUN], e->count - e->time_from);
	column_put_small(&e->column[EVENTS_TIME], zigzag((int64_t)(tick - e->last_tick)));
	e->last_tick = tick;
	e->last_tick_ns = tick * e->tick_ns;
	e->time_from = e->count;
}

static inline struct addresses_known *addresses_find(const struct events_encoder *e,
						     uint64_t address)
{
	return &e->known[address * UINT64_C(0x9e3779b97f4a7c15) >> e->known_shift];
}

/*
 * Codes the death of the block at `address` (shifted). Returns the block if it is known, or 0.
 */
static inline __attribute__((always_inline)) addresses_block
events_put_death(struct events_encoder *e, struct addresses_slot *s, struct column *c,
		 uint64_t address)
{
	struct addresses_known *known = addresses_find(e, address);
	addresses_block block = known->block;

	if (address && block && addresses_of_block(block) == address) {
		column_put_small(c, DEATH_NUMBERED + zigzag((int64_t)known->number - s->number));
		s->number = known->number;
		s->death = address;
		known->block = 0;
		return block;
	}
	c->data[c->length++] = address ? DEATH_EXPLICIT : DEATH_NONE;
	if (address) {
		column_put(&e->column[EVENTS_ADDRESS], zigzag((int64_t)(address - s->death)));
		s->death = address;
	}
	return 0;
}

static inline __attribute__((always_inline)) void events_put_birth(struct events_encoder *e,
								   struct addresses_slot *s,
								   uint64_t address, uint64_t size,
								   uint64_t old)
{
	struct column *c = &e->column[EVENTS_BIRTH];
	unsigned class = addresses_class(size);
	addresses_block block = addresses_block_of(address, class);

	if (__builtin_expect(old && address == old, 0)) {
		c->data[c->length++] = BIRTH_IN_PLACE;
	} else if (class < ADDRESSES_CLASSES && address && *addresses_top(s, class) == address) {
		c->data[c->length++] = BIRTH_TOP;
		addresses_pop(s, class);
	} else if (address == s->next) {
		c->data[c->length++] = BIRTH_NEXT;
	} else {
		c->data[c->length++] = BIRTH_EXPLICIT;
		column_put(&e->column[EVENTS_ADDRESS], zigzag((int64_t)(address - s->birth)));
	}
	addresses_born(s, address, size, e->shift);
	*addresses_find(e, address) =
		(struct addresses_known){.block = block, .number = ++e->births};
}

static inline __attribute__((always_inline)) void events_put_address(struct events_encoder *e,
								     const struct event *event)
{
	uint64_t address = event->address >> e->shift, old = event->old_address >> e->shift;
	struct addresses_slot *s = e->own;

	if (event->class == EVENT_CLASS_FREE) {
		addresses_push(s, events_put_death(e, s, &e->column[EVENTS_DEATH], address));
	} else if (event->class == EVENT_CLASS_REALLOCATION) {
		addresses_block block = events_put_death(e, s, &e->column[EVENTS_OLD], old);

		events_put_birth(e, s, address, event->size, old);
		if (address != old)
			addresses_push(s, block);
		column_put_small(
			&e->column[EVENTS_CALL_TIME],
			event->call_time_ns < e->tick_ns ? 0 : event->call_time_ns / e->tick_ns);
	} else {
		events_put_birth(e, s, address, event->size, 0);
	}
}

/*
 * Does the same as events_encoder_put (columns.h), for an event whose `class` is already set and is
 * not EVENT_CLASS_NONE.
 */
static inline __attribute__((always_inline)) int
events_encoder_put_inline(struct events_encoder *e, const struct event *event)
{
	bool sized = event->class != EVENT_CLASS_FREE || event_traits[event->kind].sized,
	     weighted = __builtin_expect(event->weight != 0, 0) && sized &&
			event->weight != event->size;
	int r;

	if (__builtin_expect(e->count == e->until, 0)) {
		e->until += events_encoder_room(e);
		if (e->count == e->until)
			return -ENOSPC;
	}
	r = events_suit(e, event, weighted);
	if (r < 0)
		return r;
	e->column[EVENTS_KIND].data[e->count] = event->kind;
	if (event->thread != e->thread)
		events_begin_thread(e, event->thread);
	if (event->time_ns - e->last_tick_ns >= e->tick_ns)
		events_begin_tick(e, event->time_ns);
	column_put(&e->column[EVENTS_STACK], event->stack);
	if (sized) {
		column_put(&e->column[EVENTS_SIZE], event->size);
		if (__builtin_expect(weighted || e->column[EVENTS_WEIGHT].length, 0))
			column_put(&e->column[EVENTS_WEIGHT], weighted ? event->weight : 0);
	}
	events_put_address(e, event);
	e->count++;
	return 0;
}
