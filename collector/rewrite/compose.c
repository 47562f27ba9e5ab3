/*
 * Composes batches. compose.h describes the interface.
 *
 * Everything in a batch besides its events is packed as fields into one buffer, in the order of the
 * calls, because fields of a protobuf message may come in any order. A batch is closed when its
 * columns or that buffer are full:
 *
 *        head, process (first), stacks, events, ledger, end (last)  | modules, threads, gaps,
 * marks, | culled, names...
 *
 * Invariant: what an event refers to is defined in its batch or an earlier one.
 */
#include "collector/recording/stream_id.h"
#include "collector/rewrite/compose_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write.h"
#include "proto/columns.h"
#include "proto/frame.h"
#include "proto/stack_columns.h"
#include "base/ban.h"

#define BATCH_EVENTS  32768 /* the same as agents use */
#define EVENTS_MEMORY (BATCH_EVENTS * EVENTS_BYTES_AN_EVENT)
#define TICK_NS	      1000
/* Limit for the bytes of fields, of names and of nodes, each; beyond it the batch is closed. */
#define DEFINITIONS_MAX (1u << 20)
#define NODES_A_BATCH	(DEFINITIONS_MAX / STACKS_NODE_MAX)

int composer_fail(struct composer *c, int error, const char *what)
{
	if (!c->error) {
		c->error = error;
		err_set(&c->why, error, "%s: %s", what, strerror(-error));
	}
	return c->error;
}

/* ---- batches ---- */

int composer_field(struct composer *c, unsigned field, const ProtobufCMessage *message)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	uint8_t *room = buf_reserve(&c->fields, 2 * (size_t)VARINT_MAX + length), *at = room;

	if (!room)
		return composer_no_memory(c);
	at = varint_put(at, (uint64_t)field << 3 | 2);
	at = varint_put(at, length);
	at += protobuf_c_message_pack(message, at);
	c->fields.length += (size_t)(at - room);
	return 0;
}

static int write_batch(struct composer *c, const Heapcast__Batch *batch)
{
	size_t head = heapcast__batch__get_packed_size(batch), length = head + c->fields.length,
	       bound = frame_bound(length);
	long n;
	int r;

	buf_clear(&c->message);
	buf_clear(&c->frame);
	if (!buf_reserve(&c->message, FRAME_HEADROOM + length) || !buf_reserve(&c->frame, bound))
		return composer_no_memory(c);
	heapcast__batch__pack(batch, c->message.data + FRAME_HEADROOM);
	if (c->fields.length)
		memcpy(c->message.data + FRAME_HEADROOM + head, c->fields.data, c->fields.length);
	n = frame_encode(c->frames, c->message.data + FRAME_HEADROOM, length, c->frame.data, bound);
	if (n < 0)
		return composer_fail(c, (int)n, "framing a batch");
	r = write_all(c->fd, c->frame.data, (size_t)n);
	return r < 0 ? composer_fail(c, r, "writing the recording") : 0;
}

/* Encodes the nodes that are new since the last batch into `memory`. */
static void compose_put_stacks(struct composer *c, uint8_t *memory, size_t size,
			       Heapcast__Stacks *stacks)
{
	struct stacks_encoder encoder;

	stacks_encoder_init(&encoder, memory, size, c->nodes_sent + 1);
	for (uint32_t i = c->nodes_sent; i < c->nodes.count; i++)
		stacks_encoder_put(&encoder, &c->nodes.list[i]);
	stacks_encoder_fill(&encoder, stacks);
	c->nodes_sent = c->nodes.count;
}

/*
 * Encodes the rows of threads whose counts have changed, in five columns of `memory`, with
 * VARINT_MAX bytes per number.
 */
static void compose_put_threads(struct composer *c, uint8_t *memory, Heapcast__Ledger *ledger)
{
	ProtobufCBinaryData *column[] = {&ledger->thread, &ledger->thread_produced,
					 &ledger->thread_delivered, &ledger->thread_lost,
					 &ledger->thread_culled};
	const size_t columns = sizeof(column) / sizeof(column[0]);
	uint8_t *at[sizeof(column) / sizeof(column[0])];

	for (size_t k = 0; k < columns; k++)
		column[k]->data = at[k] = memory + k * VARINT_MAX * c->news_count;
	for (uint32_t i = 0; i < c->news_count; i++) {
		struct composed_thread *t = &c->threads[c->news[i] - 1];
		const uint64_t row[] = {c->news[i], t->delivered + t->culled + t->lost,
					t->delivered, t->lost, t->culled};

		for (size_t k = 0; k < columns; k++)
			at[k] = varint_put(at[k], row[k]);
		t->news = false;
	}
	for (size_t k = 0; k < columns; k++)
		column[k]->len = (size_t)(at[k] - column[k]->data);
	c->news_count = 0;
}

static void compose_put_ledger(struct composer *c, uint8_t *memory, Heapcast__Ledger *ledger)
{
	*ledger = c->ledger;
	ledger->produced = ledger->delivered + ledger->culled + ledger->not_sampled + ledger->lost;
	compose_put_threads(c, memory, ledger);
}

static int put_culled(struct composer *c)
{
	Heapcast__Culled culled;
	int r;

	if (!c->culled.count)
		return 0;
	culled_encoder_fill(&c->culled, &culled);
	r = composer_field(c, 20, &culled.base);
	c->ledger.culled += culled.allocations + culled.frees;
	culled_encoder_init(&c->culled, c->culled_memory, COMPOSER_CULLED_ROWS, 0);
	return r;
}

static int put_names(struct composer *c)
{
	Heapcast__Names names;
	int r;

	if (!c->names.places && !c->names.text_count)
		return 0;
	if (names_encoder_fill(&c->names, &names) < 0)
		return composer_no_memory(c);
	r = composer_field(c, 25, &names.base);
	names_encoder_clear(&c->names, c->texts.count + 1);
	return r;
}

static int write_head(struct composer *c, const Heapcast__End *end, uint8_t *scratch)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Ledger ledger;
	Heapcast__Stacks stacks;
	Heapcast__Events events;

	batch.stream = (ProtobufCBinaryData){sizeof(c->id.bytes), c->id.bytes};
	batch.incarnation = 1;
	batch.number = ++c->number;
	batch.time_ns = batch.watermark_ns = c->last_ns;
	batch.wall_ns = c->start_wall_ns + c->last_ns;
	batch.process = c->process_sent ? NULL : c->process;
	compose_put_ledger(c, scratch, &ledger);
	batch.ledger = &ledger;
	if (c->nodes.count > c->nodes_sent) {
		uint8_t *memory = ledger.thread_culled.data + ledger.thread_culled.len;

		compose_put_stacks(c, memory, (c->nodes.count - c->nodes_sent) * STACKS_NODE_MAX,
				   &stacks);
		batch.stacks = &stacks;
	}
	if (c->events.count) {
		events_encoder_fill(&c->events, &events);
		batch.events = &events;
	}
	batch.end = (Heapcast__End *)(uintptr_t)end;
	return write_batch(c, &batch);
}

int composer_close_batch(struct composer *c, const Heapcast__End *end)
{
	size_t threads = (size_t)c->news_count * VARINT_MAX * 5,
	       nodes = (size_t)(c->nodes.count - c->nodes_sent) * STACKS_NODE_MAX;
	cleanup(cleanup_free) uint8_t *scratch = malloc(threads + nodes + 1);
	int r = put_culled(c);

	if (!r)
		r = put_names(c);
	if (!r && !scratch)
		r = composer_no_memory(c);
	if (!r)
		r = write_head(c, end, scratch);
	if (r < 0)
		return r;
	c->process_sent = true;
	events_encoder_clear(&c->events);
	buf_clear(&c->fields);
	return 0;
}

int composer_room(struct composer *c)
{
	if (c->error)
		return c->error;
	if (c->ended)
		return composer_refuse(c, "a recording that has ended");
	if (c->fields.length < DEFINITIONS_MAX && c->nodes.count - c->nodes_sent < NODES_A_BATCH &&
	    names_encoder_size(&c->names) < DEFINITIONS_MAX)
		return 0;
	return composer_close_batch(c, NULL);
}

int composer_ascend(struct composer *c, uint64_t time_ns)
{
	if (time_ns < c->last_ns || time_ns > INT64_MAX)
		return composer_refuse(c, "times that descend");
	c->last_ns = time_ns;
	return 0;
}

/* ---- creation and end ---- */

/* Packing and unpacking makes a deep copy. */
static int copy_process(struct composer *c, const Heapcast__Process *process)
{
	Heapcast__Process with = *process;
	size_t length;
	cleanup(cleanup_free) uint8_t *packed = NULL;

	with.protocol = PROTOCOL_VERSION;
	length = heapcast__process__get_packed_size(&with);
	packed = malloc(length + 1);
	if (!packed)
		return -ENOMEM;
	heapcast__process__pack(&with, packed);
	c->process = heapcast__process__unpack(NULL, length, packed);
	return c->process ? 0 : -ENOMEM;
}

static int init(struct composer *c, const Heapcast__Process *process)
{
	c->frames = frame_encoder_new();
	c->events_memory = malloc(EVENTS_MEMORY);
	c->events_state = malloc(EVENTS_STATE_BEST);
	c->culled_memory = malloc((size_t)COMPOSER_CULLED_ROWS * CULLED_ROW_MAX);
	if (!c->frames || !c->events_memory || !c->events_state || !c->culled_memory)
		return -ENOMEM;
	events_encoder_init(&c->events, c->events_memory, EVENTS_MEMORY, c->events_state,
			    EVENTS_STATE_BEST, BATCH_EVENTS, TICK_NS);
	culled_encoder_init(&c->culled, c->culled_memory, COMPOSER_CULLED_ROWS, 0);
	names_encoder_clear(&c->names, 1);
	heapcast__ledger__init(&c->ledger);
	c->address = COMPOSER_FIRST_ADDRESS;
	c->start_wall_ns = process->start_wall_ns;
	return copy_process(c, process);
}

int composer_tick(struct composer *c, uint32_t tick_ns)
{
	if (c->ledger.delivered || !tick_ns || tick_ns > EVENTS_MAX_TICK_NS)
		return composer_refuse(c, "a unit of times that can't be");
	events_encoder_init(&c->events, c->events_memory, EVENTS_MEMORY, c->events_state,
			    EVENTS_STATE_BEST, BATCH_EVENTS, tick_ns);
	return 0;
}

int composer_new(int fd, const struct stream_id *id, const Heapcast__Process *process,
		 struct composer **ret_composer, struct err_text *err)
{
	struct composer *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "no memory to compose a recording");
	c->fd = fd;
	c->id = *id;
	if (init(c, process) < 0) {
		composer_free(c);
		return err_set(err, -ENOMEM, "no memory to compose a recording");
	}
	*ret_composer = c;
	return 0;
}

void composer_free(struct composer *c)
{
	if (!c)
		return;
	if (c->process)
		heapcast__process__free_unpacked(c->process, NULL);
	frame_encoder_free(c->frames);
	names_encoder_done(&c->names);
	intern_done(&c->texts);
	nodes_done(&c->nodes);
	buf_done(&c->fields);
	buf_done(&c->message);
	buf_done(&c->frame);
	free(c->threads);
	free(c->news);
	free(c->events_memory);
	free(c->events_state);
	free(c->culled_memory);
	free(c);
}

int composer_note(struct composer *c, const char *note)
{
	Heapcast__Origin *origin = c->process->origin;
	char *copy = origin ? strdup(note) : NULL;

	if (!origin)
		return composer_refuse(c,
				       "a note on where a recording is from that is from nowhere");
	if (!copy)
		return composer_no_memory(c);
	if (origin->note != protobuf_c_empty_string)
		free(origin->note);
	origin->note = copy;
	c->process_sent = false;
	return 0;
}

int composer_end(struct composer *c, const Heapcast__End *end, struct err_text *err)
{
	Heapcast__End unknown = HEAPCAST__END__INIT;
	int r = composer_room(c);

	unknown.time_ns = c->last_ns;
	if (!r && end && end->time_ns > c->last_ns)
		r = composer_ascend(c, end->time_ns);
	if (!r)
		r = composer_close_batch(c, end ? end : &unknown);
	c->ended = true;
	return r < 0 ? err_set(err, r, "%s", c->why.text) : 0;
}

uint64_t composer_events(const struct composer *c)
{
	return c->ledger.delivered;
}

uint64_t composer_batches(const struct composer *c)
{
	return c->number;
}

uint64_t composer_last_ns(const struct composer *c)
{
	return c->last_ns;
}
