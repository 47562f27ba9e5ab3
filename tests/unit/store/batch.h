#pragma once
/* What the tests of batches share: batches without a file, which are handed over as they are. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/steps.h"
#include "collector/recording/recording.h"
#include "proto/event.h"
#include "proto/thinning.h"

#define A 0x1000

static uint8_t id[STREAM_ID_SIZE] = {7, 7, 7};
static struct recording *r;

static inline int begin(void **state)
{
	(void)state;
	return recording_new(&r);
}

static inline int end(void **state)
{
	(void)state;
	recording_close(r);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static inline Heapcast__Batch batch_of(uint32_t incarnation, uint64_t number)
{
	Heapcast__Batch b = HEAPCAST__BATCH__INIT;

	b.stream = (ProtobufCBinaryData){sizeof(id), id};
	b.incarnation = incarnation;
	b.number = number;
	return b;
}

/* With these events, as if they had been in its columns. */
static inline int take(Heapcast__Batch *b, struct event *events, uint32_t count)
{
	struct decoded d = {.item.batch = b, .events = events, .event_count = count, .tried = true};

	for (uint32_t i = 0; i < count; i++)
		events[i].class = event_class(events[i].kind);
	return recording_take(r, &d, NULL);
}

static inline void took(Heapcast__Batch *b, struct event *events, uint32_t count)
{
	assert_int_equal(take(b, events, count), 0);
}

static inline Heapcast__Mark mark_of(Heapcast__MarkKind kind, uint64_t time_ns, uint32_t thread,
				     uint32_t place)
{
	Heapcast__Mark m = HEAPCAST__MARK__INIT;

	m.kind = kind;
	m.time_ns = time_ns;
	m.thread = thread;
	m.place = place;
	return m;
}
