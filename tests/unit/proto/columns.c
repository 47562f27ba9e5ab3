/* Columns of events: what goes in comes out, and the bytes of the format stay. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32.h"
#include "base/error.h"
#include "base/exponential.h"
#include "proto/columns.h"
#include "proto/columns_put.h"
#include "tests/unit/proto/columns_random.h"

static uint64_t state[EVENTS_STATE_MIN / 8];

/* Of some use to predictions: an address that was there before, what lies behind the last one, or
 * any. */
static uint64_t random_address(uint64_t size)
{
	static uint64_t recent[32], next;
	uint64_t *old = &recent[random_u64() % 32], address;

	switch (random_u64() % 4) {
	case 0:
	case 1:
		address = *old;
		break;
	case 2:
		address = next;
		break;
	default:
		address = random_u64() >> (16 + random_u64() % 40) << 4;
	}
	*old = address;
	next = address + addresses_chunk(size);
	return address;
}

static struct event random_event(uint64_t *time)
{
	static const uint8_t kinds[] = {1, 2, 3, 4, 7, 10, 13, 32, 33, 35, 36, 40, 48};
	struct event e = {.kind = kinds[random_u64() % sizeof(kinds)]};

	*time += random_u64() % 50000;
	e.class = event_class(e.kind);
	e.thread = 1 + (uint32_t)(random_u64() % 5);
	e.time_ns = *time - random_u64() % 3000;
	e.stack = (uint32_t)(random_u64() >> 40);
	if (event_has_size(e.kind))
		e.size = e.weight = random_u64() % 4 ? random_u64() % 4 * 300
						     : random_u64() >> random_u64() % 64;
	e.address = random_address(e.size) & UINT64_MAX >> 8;
	if (e.class == EVENT_CLASS_REALLOCATION) {
		e.old_address = random_u64() % 3 ? random_address(16) & UINT64_MAX >> 8 : 0;
		if (random_u64() % 4 == 0)
			e.old_address = e.address;
		e.call_time_ns = random_u64() % 1000000;
	}
	return e;
}

static void assert_same(const struct event *got, const struct event *want, uint32_t tick)
{
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->class, want->class);
	assert_int_equal(got->thread, want->thread);
	assert_int_equal(got->time_ns, want->time_ns / tick * tick);
	assert_int_equal(got->address, want->address);
	assert_int_equal(got->size, want->size);
	assert_int_equal(got->stack, want->stack);
	assert_int_equal(got->old_address, want->old_address);
	assert_int_equal(got->call_time_ns, want->call_time_ns / tick * tick);
	assert_int_equal(got->weight, want->weight);
}

static void round_trip(uint32_t tick, unsigned weighted)
{
	static uint8_t memory[MEMORY];
	static struct event sent[4096];
	struct events_encoder encoder;
	struct events_decoder decoder;
	Heapcast__Events message;
	struct err_text err = {{0}};
	struct event got;
	uint64_t time = 5000000000;
	unsigned n = 0;

	events_encoder_init(&encoder, memory, sizeof(memory), state, sizeof(state), 4096, tick);
	for (unsigned round = 0; round < 3; round++) {
		events_encoder_clear(&encoder);
		for (n = 0; n < 4096; n++) {
			sent[n] = random_event(&time);
			if (weighted && event_has_size(sent[n].kind) &&
			    (!encoder.column[EVENTS_SIZE].length || random_u64() % 2))
				sent[n].weight = sent[n].size / 2 + 4711;
			if (events_encoder_put(&encoder, &sent[n]))
				break;
		}
		assert_true(n > 500);
		events_encoder_fill(&encoder, &message);
		assert_int_equal(message.count, n);
		assert_int_equal(events_decoder_init(&decoder, &message, &err), 0);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(events_decoder_next(&decoder, &got, &err), 1);
			assert_same(&got, &sent[i], tick);
		}
		assert_int_equal(events_decoder_next(&decoder, &got, &err), 0);
		events_decoder_done(&decoder);
	}
}

static void test_round_trip(void **unused)
{
	(void)unused;
	round_trip(1, 0);
	round_trip(1000, 0);
	round_trip(1000, 1);
}

/* An allocator as the prediction thinks that they are: what was freed last comes first, else what
 * lies behind. */
struct allocator {
	uint64_t free[4][8];
	unsigned count[4];
	uint64_t next;
	struct {
		uint64_t address, size;
	} live[64];
	unsigned alive;
};

static const uint64_t sizes[4] = {8, 100, 600, 5000};

static uint64_t allocate(struct allocator *a, unsigned class)
{
	uint64_t address = a->next;

	if (a->count[class])
		return a->free[class][--a->count[class]];
	a->next += addresses_chunk(sizes[class]);
	return address;
}

static void give_back(struct allocator *a, uint64_t address, uint64_t size)
{
	for (unsigned class = 0; class < 3; class ++)
		if (sizes[class] == size && a->count[class] < 7)
			a->free[class][a->count[class]++] = address;
}

static struct event allocator_event(struct allocator *a, uint32_t thread, uint64_t *time)
{
	unsigned class = (unsigned)(random_u64() % 4), at = (unsigned)(random_u64() % 64);
	struct event e = {.thread = thread, .time_ns = *time += random_u64() % 3000};

	if (a->alive == 64 || (a->alive && random_u64() % 2)) {
		at %= a->alive;
		e.kind = random_u64() % 8 ? 32 : 3;
		e.old_address = a->live[at].address;
		if (e.kind == 3)
			e.address = allocate(a, class);
		give_back(a, e.old_address, a->live[at].size);
		a->live[at] = a->live[--a->alive];
		if (e.kind == 32) {
			e.address = e.old_address;
			e.old_address = 0;
		}
	} else {
		e.kind = 1;
		e.address = allocate(a, class);
	}
	e.class = event_class(e.kind);
	if (e.kind != 32) {
		e.size = e.weight = sizes[class];
		a->live[a->alive].address = e.address;
		a->live[a->alive++].size = e.size;
	}
	return e;
}

static void test_prediction(void **unused)
{
	static struct allocator allocators[2] = {{.next = 0x10000}, {.next = 0x7f0000000000}};
	static struct event sent[8192];
	size_t state_size = EVENTS_STATE_BEST;
	uint8_t *memory = malloc(1 << 20), *large = malloc(state_size);
	struct events_encoder encoder;
	struct events_decoder decoder;
	Heapcast__Events message;
	struct err_text err = {{0}};
	uint64_t time = 1000;
	struct event got;

	(void)unused;
	events_encoder_init(&encoder, memory, 1 << 20, large, state_size, 8192, 1000);
	for (unsigned round = 0; round < 3; round++) {
		events_encoder_clear(&encoder);
		for (unsigned i = 0; i < 8192; i++) {
			unsigned thread = random_u64() % 4 == 0;

			sent[i] = allocator_event(&allocators[thread], 1 + thread, &time);
			assert_int_equal(events_encoder_put(&encoder, &sent[i]), 0);
		}
		events_encoder_fill(&encoder, &message);
		/* What lived before this batch has to be said, and some that stacks forgot. */
		assert_in_range(message.address.len, 0,
				6500); /* each as a difference: 16,000 and more */
		assert_int_equal(events_decoder_init(&decoder, &message, &err), 0);
		for (unsigned i = 0; i < 8192; i++) {
			assert_int_equal(events_decoder_next(&decoder, &got, &err), 1);
			assert_same(&got, &sent[i], 1000);
		}
		assert_int_equal(events_decoder_next(&decoder, &got, &err), 0);
		events_decoder_done(&decoder);
	}
	free(memory);
	free(large);
}

/* Two events a day apart in one batch, at a tick of a nanosecond. */
static void test_far_apart(void **unused)
{
	static uint8_t memory[MEMORY];
	struct event sent[] = {
		{.kind = 1,
		 .class = EVENT_CLASS_ALLOCATION,
		 .thread = 1,
		 .time_ns = 1,
		 .address = 16,
		 .size = 8,
		 .weight = 8},
		{.kind = 3,
		 .class = EVENT_CLASS_REALLOCATION,
		 .thread = 1,
		 .time_ns = 86400000000000,
		 .address = 32,
		 .size = 9,
		 .weight = 9,
		 .old_address = 16,
		 .call_time_ns = 86300000000000},
	};
	struct events_encoder encoder;
	struct events_decoder decoder;
	Heapcast__Events message;
	struct err_text err = {{0}};
	struct event got;

	(void)unused;
	events_encoder_init(&encoder, memory, sizeof(memory), state, sizeof(state), 16, 1);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(events_encoder_put(&encoder, &sent[i]), 0);
	events_encoder_fill(&encoder, &message);
	assert_int_equal(events_decoder_init(&decoder, &message, &err), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(events_decoder_next(&decoder, &got, &err), 1);
		assert_same(&got, &sent[i], 1);
	}
	assert_int_equal(events_decoder_next(&decoder, &got, &err), 0);
	events_decoder_done(&decoder);
}

static void test_parameters(void **unused)
{
	static uint8_t memory[MEMORY];
	struct events_encoder e;
	struct event odd = {.kind = 1, .thread = 1, .address = 0x1004, .size = 3, .weight = 3};
	struct event sampled = {
		.kind = 1, .thread = 1, .address = 0x1010, .size = 3, .weight = 500};
	struct event even = {.kind = 1, .thread = 1, .address = 0x1010, .size = 3, .weight = 3};

	(void)unused;
	events_encoder_init(&e, memory, sizeof(memory), state, sizeof(state), 3, 1000);
	assert_int_equal(events_encoder_put(&e, &even), 0);
	assert_int_equal(events_encoder_put(&e, &odd), -EAGAIN);
	events_encoder_clear(&e);
	assert_int_equal(events_encoder_put(&e, &odd), 0);
	assert_int_equal(e.shift, 2);
	assert_int_equal(events_encoder_put(&e, &sampled), -EAGAIN);
	events_encoder_clear(&e);
	assert_int_equal(events_encoder_put(&e, &sampled), 0);
	assert_int_equal(events_encoder_put(&e, &even), 0);
	assert_int_equal(events_encoder_put(&e, &even), 0);
	assert_int_equal(events_encoder_put(&e, &even), -ENOSPC);
	even.kind = 99;
	events_encoder_clear(&e);
	assert_int_equal(events_encoder_put(&e, &even), -EINVAL);
}

static uint32_t sum_column(uint32_t sum, ProtobufCBinaryData column)
{
	const uint8_t length[] = {(uint8_t)column.len, (uint8_t)(column.len >> 8)};

	return crc32_add(crc32_add(sum, length, sizeof(length)), column.data, column.len);
}

/* Of all that a message holds. */
static uint32_t sum_events(uint32_t sum, const Heapcast__Events *m)
{
	const ProtobufCBinaryData columns[] = {
		m->kind, m->thread,  m->thread_run, m->time,  m->time_run,  m->birth, m->death,
		m->old,	 m->address, m->size,	    m->stack, m->call_time, m->weight};
	const uint64_t numbers[] = {m->count, m->tick_ns, m->base_ns, m->address_shift,
				    m->address_slots};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const uint8_t bytes[] = {(uint8_t)numbers[i], (uint8_t)(numbers[i] >> 8),
					 (uint8_t)(numbers[i] >> 16), (uint8_t)(numbers[i] >> 24),
					 (uint8_t)(numbers[i] >> 32)};

		sum = crc32_add(sum, bytes, sizeof(bytes));
	}
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		sum = sum_column(sum, columns[i]);
	return sum;
}

/* The same with every compiler: each number is drawn by itself. */
static struct event fixed_event(uint64_t *random, uint64_t *time)
{
	static const uint8_t kinds[] = {1, 2, 3, 4, 7, 10, 13, 32, 33, 35, 36, 40, 48};
	uint64_t a = random_next(random), b = random_next(random), c = random_next(random);
	struct event e = {.kind = kinds[a % sizeof(kinds)]};

	*time += (a >> 8) % 50000;
	e.class = event_class(e.kind);
	e.thread = 1 + (uint32_t)((a >> 32) % 5);
	e.time_ns = *time - (a >> 40) % 3000;
	e.stack = (uint32_t)(b >> 40);
	if (event_has_size(e.kind))
		e.size = e.weight = c % 4 ? c % 4 * 300 : c >> (b % 64);
	e.address = UINT64_C(0x7f0000000000) + (b >> 8) % 64 * 0x148;
	if (e.class == EVENT_CLASS_REALLOCATION) {
		e.old_address = c >> 8 & 7 ? UINT64_C(0x7f0000000000) + (c >> 11) % 64 * 0x148 : 0;
		e.call_time_ns = (c >> 20) % 1000000;
	}
	return e;
}

/*
 * The bytes of the format stay: agents and collectors of different versions talk, and a batch that
 * another prediction or a longer number made larger is read back all the same. Who changes the
 * encoder on purpose puts the new sums here.
 */
static void test_bytes(void **unused)
{
	static uint8_t memory[MEMORY];
	static const struct {
		uint32_t tick;
		unsigned weighted, shift;
		uint32_t sum;
	} cases[] = {
		{1, 0, 0, 0x4f4fe545},
		{1000, 0, 4, 0xf45c3707},
		{1000, 1, 4, 0x28f536cc},
		{7, 1, 2, 0xae20a85c},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct events_encoder encoder;
		Heapcast__Events message;
		uint64_t time = 5000000000, random = 7 + i;
		uint32_t sum = 0;

		events_encoder_init(&encoder, memory, sizeof(memory), state, sizeof(state), 4096,
				    cases[i].tick);
		for (unsigned round = 0; round < 3; round++) {
			events_encoder_clear(&encoder);
			for (unsigned n = 0; n < 4096; n++) {
				struct event e = fixed_event(&random, &time);

				e.address &= UINT64_MAX << cases[i].shift;
				e.old_address &= UINT64_MAX << cases[i].shift;
				if (cases[i].weighted && event_has_size(e.kind) && n % 3)
					e.weight = e.size + n;
				if (events_encoder_put(&encoder, &e))
					break;
			}
			events_encoder_fill(&encoder, &message);
			sum = sum_events(sum, &message);
		}
		if (sum != cases[i].sum)
			fail_msg("the sum of case %zu is 0x%08x", i, sum);
	}
}

/* Varints at each length, with the fewest bytes. */
static void test_varints(void **unused)
{
	(void)unused;
	for (unsigned bit = 0; bit < 64; bit++)
		for (int more = -1; more <= 1; more++) {
			uint64_t value = (UINT64_C(1) << bit) + (uint64_t)more;
			uint8_t data[16] = {0}, expected[VARINT_MAX], small[16] = {0};
			struct column c = {.data = data}, s = {.data = small};
			size_t length = (size_t)(varint_put(expected, value) - expected);

			column_put(&c, value);
			column_put_small(&s, value);
			assert_int_equal(c.length, length);
			assert_memory_equal(data, expected, length);
			assert_int_equal(s.length, length);
			assert_memory_equal(small, expected, length);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_prediction),
		cmocka_unit_test(test_far_apart),  cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_bytes),	   cmocka_unit_test(test_varints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
