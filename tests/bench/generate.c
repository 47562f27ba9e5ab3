/*
 * Makes a recording of as many allocations as one likes, with the stacks, sizes, lifetimes, threads
 * and pauses of a real one.
 *
 *   bench-generate SOURCE ALLOCATIONS OUTPUT
 *
 * SOURCE is a recording that an agent wrote. Its events are put into the order of their times and
 * replayed round after round, later and in other addresses each time. The agent's own code packs
 * and frames them (proto/columns.h, proto/frame.h), in batches of the agent's size. What a round
 * leaves allocated is freed bit by bit, LAG rounds later, except one block in KEPT. So there are
 * blocks that live long, in any number, and a heap that goes on growing slowly.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/parse.h"
#include "collector/recording/scan.h"
#include "proto/columns.h"
#include "proto/frame.h"

#define MEMORY	     (4u << 20)
#define BATCH_EVENTS 32768
#define TICK_NS	     1000
#define LAG	     4
#define KEPT	     100
#define THREADS_MAX  1024
#define PAUSE_NS     1000000 /* between rounds */

struct leftover {
	uint64_t address, time_ns; /* when it is freed, in its round */
	uint32_t thread, stack;
};

static struct {
	struct event *events;
	uint32_t count, capacity;
	uint64_t births, first_ns, length_ns, least_address, span;
	struct leftover *left;
	uint32_t left_count, left_capacity;
	uint32_t threads;
} source;

static struct {
	int fd;
	struct frame_encoder *frames;
	struct events_encoder encoder;
	uint8_t *memory, *state;
	uint64_t number, delivered, last_ns, births;
	uint64_t of_thread[THREADS_MAX + 1];
	uint8_t id[16];
} out;

/* ---- the source ---- */

static void put_out(const uint8_t *data, size_t length)
{
	while (length) {
		ssize_t n = write(out.fd, data, length);

		if (n <= 0)
			err(1, "cannot write");
		data += n;
		length -= (size_t)n;
	}
}

static uint8_t *ledger_columns(Heapcast__Ledger *l, uint8_t *to)
{
	ProtobufCBinaryData *column[] = {&l->thread, &l->thread_produced, &l->thread_delivered,
					 &l->thread_lost};

	for (unsigned c = 0; c < 4; c++) {
		uint8_t *from = to;

		for (uint32_t i = 1; i <= THREADS_MAX; i++)
			if (out.of_thread[i])
				to = varint_put(to, c == 0 ? i : c == 3 ? 0 : out.of_thread[i]);
		*column[c] = (ProtobufCBinaryData){(size_t)(to - from), from};
	}
	return to;
}

static void put_batch(Heapcast__Batch *batch)
{
	static uint8_t columns[THREADS_MAX * 4 * VARINT_MAX];
	Heapcast__Ledger ledger = HEAPCAST__LEDGER__INIT;
	size_t length, bound;
	uint8_t *message, *frame;
	long n;

	batch->stream = (ProtobufCBinaryData){sizeof(out.id), out.id};
	batch->incarnation = 1;
	batch->number = ++out.number;
	batch->time_ns = batch->watermark_ns = out.last_ns;
	ledger.produced = ledger.delivered = out.delivered;
	ledger_columns(&ledger, columns);
	batch->ledger = &ledger;
	length = heapcast__batch__get_packed_size(batch);
	bound = frame_bound(length);
	message = malloc(FRAME_HEADROOM + length);
	frame = malloc(bound);
	if (!message || !frame)
		errx(1, "no memory");
	heapcast__batch__pack(batch, message + FRAME_HEADROOM);
	n = frame_encode(out.frames, message + FRAME_HEADROOM, length, frame, bound);
	if (n < 0)
		errx(1, "cannot frame a batch");
	put_out(frame, (size_t)n);
	free(message);
	free(frame);
}

static void take_events(const Heapcast__Events *events)
{
	struct events_decoder decoder;
	struct event e;

	if (events_decoder_init(&decoder, events, NULL) < 0)
		errx(1, "damaged events");
	while (events_decoder_next(&decoder, &e, NULL) == 1) {
		if (event_space(e.kind) != EVENT_SPACE_HEAP)
			continue;
		if (array_reserve(&source.events, &source.capacity, (uint64_t)source.count + 1,
				  sizeof(e)) < 0)
			errx(1, "no memory");
		source.events[source.count++] = e;
		source.births += e.class != EVENT_CLASS_FREE && e.address;
		if (e.thread > THREADS_MAX)
			errx(1, "more than %u threads", THREADS_MAX);
		if (e.thread > source.threads)
			source.threads = e.thread;
	}
	events_decoder_done(&decoder);
}

/* Definitions go on as they are. */
static void take_batch(const Heapcast__Batch *from)
{
	Heapcast__Batch batch = *from;

	if (from->events)
		take_events(from->events);
	if (!from->process && !from->n_module && !from->n_thread && !from->stacks)
		return;
	memcpy(out.id, from->stream.data, sizeof(out.id));
	batch.events = NULL;
	batch.end = NULL;
	batch.ledger = NULL;
	batch.n_gap = batch.n_mark = batch.n_unload = batch.n_figures = 0;
	batch.allocator = NULL;
	batch.maps = NULL;
	batch.catch_up = false;
	put_batch(&batch);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? -1 : 1) : x < y ? -1 : x > y;
}

static void note_address(uint64_t address, uint64_t *most)
{
	if (!address)
		return;
	source.least_address = address < source.least_address ? address : source.least_address;
	*most = address > *most ? address : *most;
}

/* What lives at the end of a round, and where its addresses lie. */
static void survey(void)
{
	struct map live = {0};
	uint64_t most = 0;

	source.least_address = UINT64_MAX;
	for (uint32_t i = 0; i < source.count; i++) {
		const struct event *e = &source.events[i];

		note_address(e->address, &most);
		if (e->class == EVENT_CLASS_FREE || (e->old_address && e->address))
			map_remove(&live, e->old_address ? e->old_address : e->address, NULL);
		if (e->class != EVENT_CLASS_FREE && e->address)
			*map_put(&live, e->address, NULL) = i;
	}
	source.first_ns = source.events[0].time_ns;
	source.length_ns = source.events[source.count - 1].time_ns - source.first_ns + PAUSE_NS;
	source.span = (most - source.least_address + (1u << 20)) & ~0xfffffull;
	map_each(&live, at)
	{
		const struct event *e = &source.events[at->value];

		if (at->value % KEPT == 0)
			continue;
		if (array_reserve(&source.left, &source.left_capacity,
				  (uint64_t)source.left_count + 1, sizeof(*source.left)) < 0)
			errx(1, "no memory");
		source.left[source.left_count++] =
			(struct leftover){e->address, 0, e->thread, e->stack};
	}
	map_done(&live);
	for (uint32_t i = 0; i < source.left_count; i++)
		source.left[i].time_ns =
			source.first_ns + source.length_ns / (source.left_count + 1) * (i + 1);
}

static void read_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct scan_item item;
	struct scan scan;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || scan_init(&scan, fd, 0, NULL) < 0)
		err(1, "cannot read %s", path);
	while (scan_next(&scan, (uint64_t)st.st_size, &item) == 1)
		take_batch(item.batch);
	scan_done(&scan);
	close(fd);
	if (!source.births)
		errx(1, "%s has no allocations", path);
	qsort(source.events, source.count, sizeof(*source.events), by_time);
	survey();
}

/* ---- rounds ---- */

static void close_batch(Heapcast__End *end)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Events events;

	if (out.encoder.count) {
		events_encoder_fill(&out.encoder, &events);
		batch.events = &events;
	}
	batch.end = end;
	put_batch(&batch);
	events_encoder_clear(&out.encoder);
}

static void put_event(const struct event *event)
{
	int r = events_encoder_put(&out.encoder, event);

	if (r == -ENOSPC || r == -EAGAIN) {
		close_batch(NULL);
		r = events_encoder_put(&out.encoder, event);
	}
	if (r < 0)
		errx(1, "an event does not fit");
	out.delivered++;
	out.of_thread[event->thread]++;
	out.last_ns = event->time_ns > out.last_ns ? event->time_ns : out.last_ns;
	out.births += event->class != EVENT_CLASS_FREE && event->address;
}

static uint64_t moved(uint64_t address, uint64_t round)
{
	return address ? address + round % (LAG + 1) * source.span : 0;
}

static void free_leftover(const struct leftover *l, uint64_t round)
{
	struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_FREE,
			  .class = EVENT_CLASS_FREE,
			  .thread = l->thread,
			  .stack = l->stack,
			  .time_ns = l->time_ns + round * source.length_ns,
			  .address = moved(l->address, round - LAG)};

	put_event(&e);
}

static void put_round(uint64_t round, uint64_t allocations)
{
	uint32_t left = round < LAG ? source.left_count : 0;

	for (uint32_t i = 0; i < source.count && out.births < allocations; i++) {
		struct event e = source.events[i];

		while (left < source.left_count && source.left[left].time_ns < e.time_ns)
			free_leftover(&source.left[left++], round);
		e.time_ns += round * source.length_ns;
		e.address = moved(e.address, round);
		e.old_address = moved(e.old_address, round);
		put_event(&e);
	}
	while (left < source.left_count && out.births < allocations)
		free_leftover(&source.left[left++], round);
}

int main(int argc, char **argv)
{
	Heapcast__End end = HEAPCAST__END__INIT;
	uint64_t allocations;

	if (argc != 4 || parse_u64(argv[2], &allocations) < 0)
		errx(2, "usage: bench-generate SOURCE ALLOCATIONS OUTPUT");
	out.fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	out.frames = frame_encoder_new();
	out.memory = malloc(MEMORY);
	out.state = malloc(EVENTS_STATE_BEST);
	if (out.fd < 0 || !out.frames || !out.memory || !out.state)
		err(1, "cannot write %s", argv[3]);
	events_encoder_init(&out.encoder, out.memory, MEMORY, out.state, EVENTS_STATE_BEST,
			    BATCH_EVENTS, TICK_NS);
	read_source(argv[1]);
	for (uint64_t round = 0; out.births < allocations; round++)
		put_round(round, allocations);
	end.time_ns = out.last_ns;
	end.kind = HEAPCAST__END_KIND__END_EXITED;
	close_batch(&end);
	printf("allocations %llu\nevents %llu\n", (unsigned long long)out.births,
	       (unsigned long long)out.delivered);
	return close(out.fd) < 0;
}
