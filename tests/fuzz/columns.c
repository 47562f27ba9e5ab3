/*
 * The columns of a batch, both ways. As a collector reads them: the input is a protobuf message,
 * Events or Stacks by its first byte. As an agent writes them: the input is a row of events, which
 * must come out again as they went in, their times rounded down to the tick.
 */
#include "proto/columns.h"
#include "proto/stack_columns.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "proto/event.h"
#include "tests/fuzz/fuzz.h"

#define TICK_NS	   1000
#define MEMORY	   (64u << 10)
#define EVENTS_MAX 1000

static void read_events(const uint8_t *data, size_t size)
{
	Heapcast__Events *events = heapcast__events__unpack(NULL, size, data);
	struct events_decoder decoder;
	struct event event;
	uint32_t count = 0;
	int r;

	if (events && !events_decoder_init(&decoder, events, NULL)) {
		while ((r = events_decoder_next(&decoder, &event, NULL)) == 1) {
			must(event.thread && event.kind && event_class(event.kind) == event.class);
			must(++count <= events->count && count <= EVENTS_MAX_COUNT);
		}
		events_decoder_done(&decoder);
		must(!events_decoder_init(&decoder, events, NULL));
		must(events_decoder_all(&decoder, NULL, NULL) == r);
		events_decoder_done(&decoder);
	}
	if (events)
		heapcast__events__free_unpacked(events, NULL);
}

static void read_stacks(const uint8_t *data, size_t size)
{
	Heapcast__Stacks *stacks = heapcast__stacks__unpack(NULL, size, data);
	struct stacks_decoder decoder;
	struct stack_node node;
	uint32_t number, last = 0;

	if (stacks && !stacks_decoder_init(&decoder, stacks, NULL)) {
		while (stacks_decoder_next(&decoder, &number, &node, NULL) == 1) {
			must(node.parent < number && number > last);
			last = number;
		}
	}
	if (stacks)
		heapcast__stacks__free_unpacked(stacks, NULL);
}

/* An event that a source could bring: times go on, and what a kind has no use for is 0. */
static bool next_event(struct reader *r, uint64_t *time_ns, struct event *event)
{
	uint8_t kind = (uint8_t)(reader_u8(r) % EVENT_KIND_LIMIT);
	bool sized = event_has_size(kind), again;

	*event = (struct event){.kind = kind, .class = event_class(kind)};
	again = event->class == EVENT_CLASS_REALLOCATION;
	*time_ns += reader_varint(r) & 0xffffffff;
	event->time_ns = *time_ns;
	event->thread = 1 + (uint32_t)reader_varint(r) % 100000;
	event->address = reader_varint(r);
	event->stack = (uint32_t)reader_varint(r);
	event->size = sized ? reader_varint(r) : 0;
	event->old_address = again ? reader_varint(r) : 0;
	event->call_time_ns = again ? (reader_varint(r) & 0xffffff) / TICK_NS * TICK_NS : 0;
	event->weight = sized && event->class != EVENT_CLASS_FREE ? event->size : 0;
	return event->class != EVENT_CLASS_NONE && !reader_error(r);
}

static void check(struct events_encoder *encoder, const struct event *put)
{
	Heapcast__Events message = HEAPCAST__EVENTS__INIT;
	struct events_decoder decoder;
	struct event got;

	events_encoder_fill(encoder, &message);
	must(!events_decoder_init(&decoder, &message, NULL));
	for (uint32_t i = 0; i < encoder->count; i++) {
		must(events_decoder_next(&decoder, &got, NULL) == 1);
		must(got.kind == put[i].kind && got.thread == put[i].thread &&
		     got.size == put[i].size && got.stack == put[i].stack &&
		     got.address == put[i].address && got.old_address == put[i].old_address &&
		     got.time_ns == put[i].time_ns / TICK_NS * TICK_NS &&
		     got.call_time_ns == put[i].call_time_ns);
	}
	must(events_decoder_next(&decoder, &got, NULL) == 0);
	events_decoder_done(&decoder);
}

static void write_events(const uint8_t *data, size_t size)
{
	static struct event put[EVENTS_MAX];
	static uint8_t memory[MEMORY];
	static uint64_t state[EVENTS_STATE_MIN / 8];
	struct reader r = reader_of(data, size);
	struct events_encoder encoder;
	uint64_t time_ns = 0;
	struct event event;

	events_encoder_init(&encoder, memory, sizeof(memory), state, sizeof(state), EVENTS_MAX,
			    TICK_NS);
	while (reader_more(&r) && next_event(&r, &time_ns, &event)) {
		int e = events_encoder_put(&encoder, &event);

		if (e == -ENOSPC || e == -EAGAIN) {
			check(&encoder, put);
			events_encoder_clear(&encoder);
			e = events_encoder_put(&encoder, &event);
		}
		must(!e);
		put[encoder.count - 1] = event;
	}
	check(&encoder, put);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_events(data + 1, size - 1);
		break;
	case 1:
		read_stacks(data + 1, size - 1);
		break;
	default:
		write_events(data + 1, size - 1);
	}
	return 0;
}
