#pragma once
/*
 * What the tests of culling and of the flight recorder share, event by event: two threads, sums,
 * and a batch that may be full. `give` is the test's own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/core/arena.h"
#include "agent/hold/hold_host.h"
#include "heapcast.pb-c.h"
#include "proto/culled.h"

#define US	  UINT64_C(1000)
#define SENT_MOST 4096
#define MALLOC	  HEAPCAST__EVENT_KIND__EVENT_MALLOC
#define REALLOC	  HEAPCAST__EVENT_KIND__EVENT_REALLOC
#define FREE	  HEAPCAST__EVENT_KIND__EVENT_FREE

static struct arena arena;
static struct threads threads;
static struct stacks stacks;
static struct stacks_path path;
static struct sums sums;

static struct event sent[SENT_MOST];
static unsigned sent_count;
static unsigned room; /* events that the batch has room for */

static int take_event(void *context, struct thread *thread, const struct event *event)
{
	assert_ptr_equal(context, &sent);
	assert_int_equal(thread->number, event->thread);
	if (!room)
		return -EAGAIN;
	room--;
	assert_true(sent_count < SENT_MOST);
	sent[sent_count++] = *event;
	return 0;
}

static const struct hold_host host = {.threads = &threads,
				      .stacks = &stacks,
				      .sums = &sums,
				      .send = take_event,
				      .context = &sent};

static inline void hold_open(void)
{
	stacks = (struct stacks){.base = 1000};
	sent_count = 0;
	room = UINT32_MAX;
	assert_int_equal(arena_open(&arena, 128 << 10), 0);
	assert_int_equal(threads_init(&threads, &arena, 4), 0);
	assert_non_null(threads_add(&threads, 77, 0));
	assert_non_null(threads_add(&threads, 78, 0));
	assert_int_equal(sums_init(&sums, &arena, 1 << 20), 0);
}

static inline int hold_close(void **state)
{
	(void)state;
	arena_close(&arena);
	return 0;
}

static int give(unsigned thread, const struct event *e);

static inline void birth(unsigned thread, uint64_t address, uint64_t at_us)
{
	const struct event e = {
		.kind = MALLOC, .address = address, .size = 24, .time_ns = at_us * US};

	assert_int_equal(give(thread, &e), 0);
}

static inline void death(unsigned thread, uint64_t address, uint64_t at_us)
{
	const struct event e = {.kind = FREE, .address = address, .time_ns = at_us * US};

	assert_int_equal(give(thread, &e), 0);
}

static inline void growth(unsigned thread, uint64_t from, uint64_t to, uint64_t at_us,
			  uint64_t call_us)
{
	const struct event e = {.kind = REALLOC,
				.address = to,
				.old_address = from,
				.size = 48,
				.time_ns = at_us * US,
				.call_time_ns = call_us * US};

	assert_int_equal(give(thread, &e), 0);
}

static inline void assert_sent(unsigned index, unsigned kind, uint64_t address, uint64_t at_us)
{
	assert_in_range(index + 1, 1, sent_count);
	assert_int_equal(sent[index].kind, kind);
	assert_int_equal(sent[index].address, address);
	assert_int_equal(sent[index].time_ns, at_us * US);
}
