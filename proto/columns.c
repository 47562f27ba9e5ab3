/* Encodes and decodes the columns of events. columns.h describes the interface. */
#include "proto/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "proto/columns_put.h"
#include "base/ban.h"

#define ADAPT_EVENTS 256 /* fewer events are too few to predict the next batch */

static const char *const column_names[EVENTS_COLUMNS] = {
	"kind", "thread",  "thread_run", "time",  "time_run",  "birth",	 "death",
	"old",	"address", "size",	 "stack", "call_time", "weight",
};

/* Shares of an encoder's memory before anything is known about the program. */
static const uint8_t column_shares[EVENTS_COLUMNS] = {3, 1, 1, 1, 1, 2, 2, 1, 4, 4, 5, 1, 1};

const struct event_traits event_traits[256] = {
#define X(number, suffix, class_, name)                                                            \
	[number] = {EVENT_CLASS_##class_,                                                          \
		    EVENT_CLASS_##class_ != EVENT_CLASS_FREE ||                                    \
			    number == HEAPCAST__EVENT_KIND__EVENT_MUNMAP ||                        \
			    number == HEAPCAST__EVENT_KIND__EVENT_SBRK_BACK,                       \
		    EVENT_CLASS_##class_ == EVENT_CLASS_FREE                                       \
			    ? number != HEAPCAST__EVENT_KIND__EVENT_MUNMAP &&                      \
				      number != HEAPCAST__EVENT_KIND__EVENT_SBRK_BACK              \
			    : EVENT_CLASS_##class_ != EVENT_CLASS_CALL},
	EVENT_KINDS(X)
#undef X
};

static struct column_cursor column_cursor(ProtobufCBinaryData data)
{
	return (struct column_cursor){data.data, data.len ? data.data + data.len : data.data};
}

/*
 * Each birth takes one byte of its column, so the memory allocated here is proportional to the
 * bytes received.
 */
static int decoder_state(struct events_decoder *d, struct err_text *err)
{
	size_t slots = d->slots * sizeof(struct addresses_slot),
	       births = (size_t)(d->column[EVENTS_BIRTH].end - d->column[EVENTS_BIRTH].at);
	struct events_decoder_state *state;

	state = calloc(1, sizeof(*state) + slots + (births + 1) * sizeof(*state->born));
	if (!state)
		return err_set(err, -ENOMEM, "events: no memory for %zu births", births);
	state->born = (addresses_block *)((uint8_t *)state->slot + slots);
	d->state = state;
	return 0;
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
	if (!events->address_slots || events->address_slots > ADDRESSES_MAX_SLOTS)
		return err_set(err, -EBADMSG, "events: %u states of prediction",
			       events->address_slots);
	if (events->birth.len > events->count)
		return err_set(err, -EBADMSG, "events: column birth holds %zu bytes for %u events",
			       events->birth.len, events->count);
	if (events->base_ns > INT64_MAX / 2)
		return err_set(err, -EBADMSG, "events: a base time of %llu ns",
			       (unsigned long long)events->base_ns);
	*d = (struct events_decoder){
		.column = {[EVENTS_KIND] = column_cursor(events->kind),
			   [EVENTS_THREAD] = column_cursor(events->thread),
			   [EVENTS_THREAD_RUN] = column_cursor(events->thread_run),
			   [EVENTS_TIME] = column_cursor(events->time),
			   [EVENTS_TIME_RUN] = column_cursor(events->time_run),
			   [EVENTS_BIRTH] = column_cursor(events->birth),
			   [EVENTS_DEATH] = column_cursor(events->death),
			   [EVENTS_OLD] = column_cursor(events->old),
			   [EVENTS_ADDRESS] = column_cursor(events->address),
			   [EVENTS_SIZE] = column_cursor(events->size),
			   [EVENTS_STACK] = column_cursor(events->stack),
			   [EVENTS_CALL_TIME] = column_cursor(events->call_time),
			   [EVENTS_WEIGHT] = column_cursor(events->weight)},
		.base_ns = events->base_ns,
		.tick_ns = events->tick_ns,
		.shift = events->address_shift,
		.slots = events->address_slots,
		.count = events->count,
		.kind = events->kind.data,
		.weighted = events->weight.len != 0,
	};
	return decoder_state(d, err);
}

void events_decoder_done(struct events_decoder *d)
{
	free(d->state);
	d->state = NULL;
}

static int columns_damaged(const struct events_decoder *d, enum events_column column,
			   const char *what, struct err_text *err)
{
	return err_set(err, -EBADMSG, "events: column %s, event %u of %u: %s", column_names[column],
		       d->index + 1, d->count, what);
}

static int columns_ended(const struct events_decoder *d, struct err_text *err)
{
	/* events_decoder_init has checked the length of the kind column. */
	for (unsigned i = EVENTS_KIND + 1; i < EVENTS_COLUMNS; i++)
		if (d->column[i].at < d->column[i].end)
			return err_set(
				err, -EBADMSG,
				"events: column %s goes on for %zu bytes after the last event",
				column_names[i], (size_t)(d->column[i].end - d->column[i].at));
	return 0;
}

/* Decodes a varint that has more than three bytes, is near the end of its column or is damaged. */
static __attribute__((noinline)) uint64_t take_long(struct events_decoder *d,
						    enum events_column column)
{
	struct column_cursor *c = &d->column[column];
	struct reader r = reader_of(c->at, (size_t)(c->end - c->at));
	uint64_t value;
	unsigned length;

	if (reader_left(&r) >= VARINT_WORD && varint_of_word(c->at, &value, &length)) {
		c->at += length;
		return value;
	}
	value = reader_varint_slow(&r);
	c->at = reader_error(&r) ? c->end : c->at + r.offset;
	d->bad |= reader_error(&r) ? 1u << column : 0;
	return value;
}

/* Returns 0 if no varint follows, and records the fault in `bad`. */
static inline uint64_t take_varint(struct events_decoder *d, enum events_column column)
{
	struct column_cursor *c = &d->column[column];
	const uint8_t *at = c->at;
	uint64_t value;

	if (c->end - at < 3)
		return take_long(d, column);
	value = at[0];
	if (value < 0x80) {
		c->at = at + 1;
		return value;
	}
	value = (value & 0x7f) | (uint64_t)at[1] << 7;
	if (at[1] < 0x80) {
		c->at = at + 2;
		return value;
	}
	value = (value & 0x3fff) | (uint64_t)at[2] << 14;
	if (at[2] < 0x80) {
		c->at = at + 3;
		return value;
	}
	return take_long(d, column);
}

/* Decodes a value of a column whose values differ in length; see varint_of_word. */
static inline uint64_t take_mixed(struct events_decoder *d, enum events_column column)
{
	struct column_cursor *c = &d->column[column];
	uint64_t value;
	unsigned length;

	if (c->end - c->at < VARINT_WORD || !varint_of_word(c->at, &value, &length))
		return take_long(d, column);
	c->at += length;
	return value;
}

static inline int64_t take_zigzag(struct events_decoder *d, enum events_column column)
{
	return unzigzag(take_mixed(d, column));
}

/* Returns the length of a run, at most the number of remaining events; 0 if it is invalid. */
static uint32_t take_run(struct events_decoder *d, enum events_column column)
{
	uint64_t run = take_varint(d, column);

	return run <= d->count - d->index ? (uint32_t)run : 0;
}

static __attribute__((noinline)) int next_tick(struct events_decoder *d, struct err_text *err)
{
	int64_t time;

	d->time_left = take_run(d, EVENTS_TIME_RUN);
	if (!d->time_left)
		return columns_damaged(d, EVENTS_TIME_RUN, "no length of a run", err);
	if (__builtin_add_overflow(d->ticks, take_zigzag(d, EVENTS_TIME), &d->ticks) ||
	    __builtin_mul_overflow(d->ticks, (int64_t)d->tick_ns, &time) ||
	    d->base_ns > INT64_MAX || __builtin_add_overflow(time, (int64_t)d->base_ns, &time))
		return columns_damaged(d, EVENTS_TIME, "out of range", err);
	if (time < 0)
		return columns_damaged(d, EVENTS_TIME, "before the start of the stream", err);
	d->time_ns = (uint64_t)time;
	return 0;
}

static __attribute__((noinline)) int next_thread(struct events_decoder *d, struct err_text *err)
{
	uint64_t thread = take_varint(d, EVENTS_THREAD);

	if (d->bad & 1u << EVENTS_THREAD)
		return columns_damaged(d, EVENTS_THREAD, "ends too early", err);
	if (!thread || thread > UINT32_MAX)
		return columns_damaged(d, EVENTS_THREAD, "no number of a thread", err);
	d->thread = (uint32_t)thread;
	d->slot = &d->state->slot[d->thread % d->slots];
	d->thread_left = take_run(d, EVENTS_THREAD_RUN);
	if (!d->thread_left)
		return columns_damaged(d, EVENTS_THREAD_RUN, "no length of a run", err);
	return 0;
}

/* Starts new runs where the current ones have ended. */
static inline int take_runs(struct events_decoder *d, struct err_text *err)
{
	int r = 0;

	if (!d->thread_left)
		r = next_thread(d, err);
	if (!r && !d->time_left)
		r = next_tick(d, err);
	if (r < 0)
		return r;
	d->thread_left--;
	d->time_left--;
	return 0;
}

/* Decodes the shifted address of a block that ends. Sets `*ret_block` only if the block is known.
 */
static inline int columns_take_death(struct events_decoder *d, enum events_column column,
				     uint64_t *ret_address, addresses_block *ret_block,
				     struct err_text *err)
{
	uint64_t code = take_varint(d, column), number;
	struct addresses_slot *s = d->slot;

	if (code == DEATH_NONE)
		return 0;
	if (code == DEATH_EXPLICIT) {
		*ret_address = s->death += (uint64_t)take_zigzag(d, EVENTS_ADDRESS);
		return 0;
	}
	number = s->number + (uint64_t)unzigzag(code - DEATH_NUMBERED);
	if (!number || number > d->state->births || !d->state->born[number])
		return columns_damaged(d, column, "no number of a block", err);
	s->number = (uint32_t)number;
	*ret_block = d->state->born[number];
	*ret_address = s->death = addresses_of_block(*ret_block);
	return 0;
}

static inline int columns_take_birth(struct events_decoder *d, uint64_t size, uint64_t old,
				     uint64_t *ret_address, struct err_text *err)
{
	struct column_cursor *c = &d->column[EVENTS_BIRTH];
	struct addresses_slot *s = d->slot;
	unsigned class = addresses_class(size);
	uint64_t address = 0;

	if (c->at == c->end)
		return columns_damaged(d, EVENTS_BIRTH, "ends too early", err);
	switch (*c->at++) {
	case BIRTH_IN_PLACE:
		address = old;
		break;
	case BIRTH_TOP:
		if (class == ADDRESSES_CLASSES)
			return columns_damaged(d, EVENTS_BIRTH, "the top of no stack", err);
		address = *addresses_top(s, class);
		addresses_pop(s, class);
		break;
	case BIRTH_NEXT:
		address = s->next;
		break;
	case BIRTH_EXPLICIT:
		address = s->birth + (uint64_t)take_zigzag(d, EVENTS_ADDRESS);
		break;
	default:
		return columns_damaged(d, EVENTS_BIRTH, "no way to an address", err);
	}
	addresses_born(s, address, size, d->shift);
	d->state->born[++d->state->births] = addresses_block_of(address, class);
	*ret_address = address;
	return 0;
}

static inline int take_addresses(struct events_decoder *d, struct event *e, struct err_text *err)
{
	uint64_t address = 0, old = 0;
	addresses_block block = 0;
	int r = 0;

	if (e->class == EVENT_CLASS_FREE)
		r = columns_take_death(d, EVENTS_DEATH, &address, &block, err);
	else if (e->class == EVENT_CLASS_REALLOCATION)
		r = columns_take_death(d, EVENTS_OLD, &old, &block, err);
	if (!r && e->class != EVENT_CLASS_FREE)
		r = columns_take_birth(d, e->size, old, &address, err);
	if (r < 0)
		return r;
	if (e->class == EVENT_CLASS_FREE || address != old)
		addresses_push(d->slot, block);
	if (address > UINT64_MAX >> d->shift || old > UINT64_MAX >> d->shift)
		return columns_damaged(d, EVENTS_ADDRESS, "out of range", err);
	e->address = address << d->shift;
	e->old_address = old << d->shift;
	return 0;
}

static inline void take_size(struct events_decoder *d, struct event *e, bool sized)
{
	uint64_t size = sized ? take_varint(d, EVENTS_SIZE) : 0,
		 weight = sized && d->weighted ? take_varint(d, EVENTS_WEIGHT) : 0;

	e->size = size;
	e->weight = weight ? weight : size;
}

static int short_column(const struct events_decoder *d, struct err_text *err)
{
	return columns_damaged(d, (enum events_column)__builtin_ctz(d->bad),
			       "ends too early, or is no varint", err);
}

/*
 * Writes each field directly to its place. Copying a struct that was just written field by field
 * would stall on store forwarding.
 */
static inline __attribute__((always_inline)) int take_event(struct events_decoder *d,
							    struct event *e, struct err_text *err)
{
	const uint8_t kind = d->kind[d->index];
	const struct event_traits traits = event_traits[kind];
	uint64_t stack;
	int r;

	if (traits.class == EVENT_CLASS_NONE)
		return columns_damaged(d, EVENTS_KIND, "a kind that this version does not know",
				       err);
	e->kind = kind;
	e->class = (enum event_class)traits.class;
	r = take_runs(d, err);
	if (r < 0)
		return r;
	e->thread = d->thread;
	e->time_ns = d->time_ns;
	stack = take_varint(d, EVENTS_STACK);
	if (stack > UINT32_MAX)
		return columns_damaged(d, EVENTS_STACK, "no number of a node", err);
	e->stack = (uint32_t)stack;
	take_size(d, e, traits.sized);
	r = take_addresses(d, e, err);
	if (r < 0)
		return r;
	e->call_time_ns = 0;
	if (traits.class == EVENT_CLASS_REALLOCATION &&
	    __builtin_mul_overflow(take_varint(d, EVENTS_CALL_TIME), d->tick_ns, &e->call_time_ns))
		return columns_damaged(d, EVENTS_CALL_TIME, "out of range", err);
	if (d->bad)
		return short_column(d, err);
	d->index++;
	return 1;
}

int events_decoder_next(struct events_decoder *d, struct event *ret_event, struct err_text *err)
{
	return d->index < d->count ? take_event(d, ret_event, err) : columns_ended(d, err);
}

int events_decoder_all(struct events_decoder *d, struct event *events, struct err_text *err)
{
	struct event one;
	int r = 1;

	while (d->index < d->count && r == 1)
		r = take_event(d, events ? &events[d->index] : &one, err);
	return r < 0 ? r : columns_ended(d, err);
}

/* Divides the memory in proportion to `weight`. Every column gets a minimum. */
static void divide(struct events_encoder *e, const size_t *weight)
{
	size_t least = e->size / 64, rest = e->size - EVENTS_COLUMNS * least, sum = 0;
	uint8_t *at = e->memory;

	for (unsigned i = 0; i < EVENTS_COLUMNS; i++)
		sum += weight[i];
	for (unsigned i = 0; i < EVENTS_COLUMNS; i++) {
		size_t share = rest / sum * weight[i];

		e->column[i] = (struct column){.data = at, .capacity = least + share};
		at += e->column[i].capacity;
	}
}

/*
 * Returns the largest power of two, at most `most`, of items of `size` bytes that fit into `room`
 * bytes.
 */
static uint32_t power_of_two(size_t room, size_t size, uint32_t most)
{
	while (most > 1 && most * size > room)
		most /= 2;
	return most;
}

void events_encoder_init(struct events_encoder *e, void *memory, size_t size, void *state,
			 size_t state_size, uint32_t limit, uint32_t tick_ns)
{
	size_t weight[EVENTS_COLUMNS], slots;
	uint32_t known;

	*e = (struct events_encoder){.memory = memory,
				     .size = size,
				     .slot = state,
				     .tick_ns = tick_ns,
				     .limit = limit,
				     .shift_limit = 4};
	e->slots = power_of_two(state_size * 11 / 20, sizeof(*e->slot), 16);
	slots = e->slots * sizeof(*e->slot);
	known = power_of_two(state_size - slots, sizeof(*e->known), 4096);
	e->known = (struct addresses_known *)((uint8_t *)state + slots);
	e->known_shift = (uint32_t)__builtin_clzll(known) + 1;
	for (unsigned i = 0; i < EVENTS_COLUMNS; i++)
		weight[i] = column_shares[i];
	divide(e, weight);
	events_encoder_clear(e);
}

void events_encoder_clear(struct events_encoder *e)
{
	size_t weight[EVENTS_COLUMNS];

	for (unsigned i = 0; i < EVENTS_COLUMNS; i++)
		weight[i] = e->column[i].length;
	if (e->count >= ADAPT_EVENTS)
		divide(e, weight);
	for (unsigned i = 0; i < EVENTS_COLUMNS; i++)
		e->column[i].length = 0;
	memset(e->slot, 0, e->slots * sizeof(*e->slot));
	memset(e->known, 0, sizeof(*e->known) << (64 - e->known_shift));
	e->births = e->thread = 0;
	e->last_tick_ns = UINT64_C(1) << 63;
	e->count = e->until = 0;
	events_set_shift(e);
}

/* Reserves room for the current runs, which events_encoder_fill writes. */
uint32_t events_encoder_room(const struct events_encoder *e)
{
	size_t least = e->limit - e->count;

	for (unsigned i = 0; i < EVENTS_COLUMNS; i++) {
		size_t length = i == EVENTS_KIND ? e->count : e->column[i].length,
		       left = e->column[i].capacity - length,
		       events = left > VARINT_MAX ? (left - VARINT_MAX) / VARINT_MAX : 0;

		/* A reallocation may have two explicit addresses. */
		events = i == EVENTS_ADDRESS ? events / 2 : events;
		least = events < least ? events : least;
	}
	return (uint32_t)least;
}

int events_encoder_put(struct events_encoder *e, const struct event *event)
{
	struct event known = *event;

	known.class = (enum event_class)event_traits[event->kind].class;
	return known.class == EVENT_CLASS_NONE ? -EINVAL : events_encoder_put_inline(e, &known);
}

int events_encoder_weigh(struct events_encoder *e)
{
	struct column *weights = &e->column[EVENTS_WEIGHT];
	size_t sized = 0;

	for (uint32_t i = 0; i < e->count; i++)
		sized += event_traits[e->column[EVENTS_KIND].data[i]].sized;
	if (weights->length || sized > weights->capacity)
		return weights->length ? 0 : -ENOSPC;
	memset(weights->data, 0, sized);
	weights->length = sized;
	e->until = e->count;
	return 0;
}

void events_encoder_fill(struct events_encoder *e, Heapcast__Events *ret)
{
	if (e->count) {
		column_put_exact(&e->column[EVENTS_THREAD_RUN], e->count - e->thread_from);
		column_put_exact(&e->column[EVENTS_TIME_RUN], e->count - e->time_from);
	}
	e->column[EVENTS_KIND].length = e->count;
	heapcast__events__init(ret);
	ret->count = e->count;
	ret->base_ns = e->base_tick * e->tick_ns;
	ret->tick_ns = e->tick_ns;
	ret->address_shift = e->shift;
	ret->address_slots = e->slots;
	ret->kind = column_data(&e->column[EVENTS_KIND]);
	ret->thread = column_data(&e->column[EVENTS_THREAD]);
	ret->thread_run = column_data(&e->column[EVENTS_THREAD_RUN]);
	ret->time = column_data(&e->column[EVENTS_TIME]);
	ret->time_run = column_data(&e->column[EVENTS_TIME_RUN]);
	ret->birth = column_data(&e->column[EVENTS_BIRTH]);
	ret->death = column_data(&e->column[EVENTS_DEATH]);
	ret->old = column_data(&e->column[EVENTS_OLD]);
	ret->address = column_data(&e->column[EVENTS_ADDRESS]);
	ret->size = column_data(&e->column[EVENTS_SIZE]);
	ret->stack = column_data(&e->column[EVENTS_STACK]);
	ret->call_time = column_data(&e->column[EVENTS_CALL_TIME]);
	ret->weight = column_data(&e->column[EVENTS_WEIGHT]);
}
