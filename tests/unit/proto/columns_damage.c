/* Columns of events that are damaged: the column is named, and nothing is read outside. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32.h"
#include "base/error.h"
#include "proto/columns.h"
#include "tests/unit/proto/columns_random.h"

static uint64_t state[EVENTS_STATE_MIN / 8];

/* A small batch whose columns a test then damages. */
static void sample_message(Heapcast__Events *message)
{
	static uint8_t memory[MEMORY];
	struct events_encoder e;
	struct event list[] = {
		{.kind = 1,
		 .thread = 1,
		 .time_ns = 10000,
		 .address = 0x5000,
		 .size = 300,
		 .stack = 200},
		{.kind = 3,
		 .thread = 1,
		 .time_ns = 12000,
		 .address = 0x6000,
		 .size = 600,
		 .stack = 200,
		 .old_address = 0x5000,
		 .call_time_ns = 1000},
		{.kind = 32, .thread = 2, .time_ns = 13000, .address = 0x6000, .stack = 201},
	};

	events_encoder_init(&e, memory, sizeof(memory), state, sizeof(state), 10, 1000);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(events_encoder_put(&e, &list[i]), 0);
	events_encoder_fill(&e, message);
}

static int walk_at_once(const Heapcast__Events *message, struct event *events, struct err_text *err)
{
	struct events_decoder d;
	int r = events_decoder_init(&d, message, err);

	if (!r) {
		r = events_decoder_all(&d, events, err);
		events_decoder_done(&d);
	}
	return r;
}

/* One by one, and all at once: the same events, or the same sentence. */
static int walk(const Heapcast__Events *message, struct err_text *err)
{
	static struct event all[1000];
	struct err_text checked = {{0}}, taken = {{0}};
	struct events_decoder d;
	struct event e;
	uint32_t count = 0;
	int r = events_decoder_init(&d, message, err);

	assert_true(message->count <= sizeof(all) / sizeof(all[0]) || r < 0);
	assert_int_equal(walk_at_once(message, all, &taken), walk_at_once(message, NULL, &checked));
	assert_string_equal(taken.text, checked.text);
	if (r < 0)
		return r;
	while (!r && (r = events_decoder_next(&d, &e, err)) == 1) {
		const struct event *a = &all[count++];

		assert_true(a->kind == e.kind && a->class == e.class && a->thread == e.thread &&
			    a->stack == e.stack && a->time_ns == e.time_ns &&
			    a->address == e.address && a->size == e.size &&
			    a->old_address == e.old_address && a->call_time_ns == e.call_time_ns &&
			    a->weight == e.weight);
		r = 0;
	}
	events_decoder_done(&d);
	assert_int_equal(walk_at_once(message, NULL, NULL), r);
	if (r < 0)
		assert_string_equal(err->text, taken.text);
	return r;
}

static void assert_names(const Heapcast__Events *message, const char *name)
{
	struct err_text err = {{0}};

	assert_int_equal(walk(message, &err), -EBADMSG);
	if (!strstr(err.text, name))
		fail_msg("'%s' does not name %s", err.text, name);
}

static void test_damage(void **unused)
{
	Heapcast__Events m;
	uint8_t endless[16], big[] = {0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1};

	(void)unused;
	memset(endless, 0xff, sizeof(endless));
#define DAMAGE(change, name)                                                                       \
	do {                                                                                       \
		sample_message(&m);                                                                \
		change;                                                                            \
		assert_names(&m, name);                                                            \
	} while (0)
	DAMAGE(m.count++, "kind");
	DAMAGE(m.count = 0, "kind");
	DAMAGE(m.tick_ns = 0, "tick");
	DAMAGE(m.tick_ns = UINT32_MAX, "tick");
	DAMAGE(m.address_shift = 64, "shift");
	DAMAGE(m.base_ns = UINT64_MAX, "base");
	DAMAGE(m.kind.data[1] = 77, "kind");
	DAMAGE(m.thread.len--, "thread");
	DAMAGE(m.thread.data[0] = 0, "thread");
	DAMAGE((m.thread.data = big, m.thread.len = sizeof(big)), "thread");
	DAMAGE(m.time.len--, "time");
	DAMAGE((m.time.data = endless, m.time.len = sizeof(endless)), "time");
	DAMAGE(m.base_ns = 0; m.time.data[0] = 3, "time");
	DAMAGE(m.thread_run.len--, "thread_run");
	DAMAGE(m.thread_run.data[0] = 0, "thread_run");
	DAMAGE(m.thread_run.data[0] = 4, "thread_run");
	DAMAGE(m.time_run.data[0] = 0, "time_run");
	DAMAGE(m.time_run.data[0] = 9, "time_run");
	DAMAGE(m.birth.len--, "birth");
	DAMAGE(m.birth.data[0] = BIRTH_CODES, "birth");
	DAMAGE(m.death.len--, "death");
	DAMAGE(m.death.data[0] = 100, "death");
	DAMAGE(m.address.len--, "address");
	DAMAGE(m.address_slots = 0, "states");
	DAMAGE(m.address_slots = ADDRESSES_MAX_SLOTS + 1, "states");
	DAMAGE(m.size.len--, "size");
	DAMAGE(m.stack.len--, "stack");
	DAMAGE(m.old.len--, "old");
	DAMAGE(m.call_time.len--, "call_time");
	DAMAGE((m.weight.data = big, m.weight.len = 1), "weight");
	DAMAGE((m.weight.data = big + 5, m.weight.len = 1), "weight");
#undef DAMAGE
}

static void test_left_over(void **unused)
{
	Heapcast__Events m;
	uint8_t more[64];
	ProtobufCBinaryData *columns[] = {&m.thread, &m.thread_run, &m.time,	 &m.time_run,
					  &m.birth,  &m.death,	    &m.old,	 &m.address,
					  &m.size,   &m.stack,	    &m.call_time};

	(void)unused;
	for (unsigned i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		sample_message(&m);
		memcpy(more, columns[i]->data, columns[i]->len);
		more[columns[i]->len] = 1;
		columns[i]->data = more;
		columns[i]->len++;
		assert_names(&m, "goes on");
	}
}

/* Any bytes at all: an answer, and no read outside (the sanitizers watch). */
static void test_noise(void **unused)
{
	struct err_text err;

	(void)unused;
	for (unsigned round = 0; round < 20000; round++) {
		Heapcast__Events m;
		ProtobufCBinaryData *columns[] = {
			&m.kind,  &m.thread, &m.thread_run, &m.time, &m.time_run, &m.birth,
			&m.death, &m.old,    &m.address,    &m.size, &m.stack,	  &m.call_time};
		ProtobufCBinaryData *hit;

		sample_message(&m);
		hit = columns[random_u64() % 12];
		if (random_u64() % 4)
			hit->data[random_u64() % hit->len] = (uint8_t)random_u64();
		else
			hit->len = random_u64() % (hit->len + 1);
		walk(&m, &err);
	}
}

/*
 * Each byte of each column turned into others, and each column cut at each length: what is said, or
 * what is read, stays as well.
 */
static void test_damage_everywhere(void **unused)
{
	static const uint8_t turned[] = {0x01, 0x02, 0x40, 0x7f, 0x80, 0xff};
	static struct event all[1000];
	uint32_t sum = 0;

	(void)unused;
	for (unsigned column = 0; column < 12; column++)
		for (size_t at = 0; at < 12; at++)
			for (unsigned how = 0; how <= sizeof(turned); how++) {
				struct err_text err = {{0}};
				Heapcast__Events m;
				ProtobufCBinaryData *const columns[] = {
					&m.kind,     &m.thread, &m.thread_run, &m.time,
					&m.time_run, &m.birth,	&m.death,      &m.old,
					&m.address,  &m.size,	&m.stack,      &m.call_time};
				int r;

				sample_message(&m);
				if (at >= columns[column]->len)
					continue;
				if (how < sizeof(turned))
					columns[column]->data[at] ^= turned[how];
				else
					columns[column]->len = at;
				r = walk(&m, &err);
				sum = crc32_add(sum, err.text, strlen(err.text));
				if (r || walk_at_once(&m, all, NULL))
					continue;
				for (uint32_t i = 0; i < m.count; i++) {
					const uint64_t read[] = {htole64(all[i].time_ns),
								 htole64(all[i].address),
								 htole64(all[i].old_address),
								 htole64(all[i].size),
								 htole64(all[i].weight),
								 htole64(all[i].stack),
								 htole64(all[i].thread),
								 htole64(all[i].call_time_ns),
								 htole64(all[i].kind),
								 htole64(all[i].class)};

					sum = crc32_add(sum, read, sizeof(read));
				}
			}
	if (sum != 0xcc1d8d2e)
		fail_msg("the sum is 0x%08x", sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_left_over),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_damage_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
