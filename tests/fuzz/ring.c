/*
 * A hostile program in front of the agent: the input is what it writes into its ring, as a row of
 * steps. The agent must not be hurt, and what it makes of it must be a stream that a collector can
 * read, with a ledger that balances.
 *
 *   step: operation 1, index 1, length 2 (little-endian), `length` bytes
 *     0  words behind what the slice published so far, then published; claims it first if it is
 *        free
 *     1  bytes into the module channel, published
 *     2  bytes over the head of the slice's struct, from its head on: positions, counters, state
 *     3  the slice's owner dies
 *     4  bytes over the header's part that the program sets
 *     5  the agent looks; with an odd index a flight recorder is told to send all
 * With the highest bit set: the agent is killed, and another one takes the ring up, or refuses it
 * and makes a new one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/serve/ring_stream.h"
#include "base/error.h"
#include "proto/culled.h"
#include "proto/frame.h"
#include "tests/fuzz/drained.h"

#define LIMIT	   (2u << 20)
#define WIDE	   (8u << 20)
#define CULL_NS	   1000000
#define FLIGHT_NS  1000000
#define OWNER_DIED 0x40000000u

static struct budget budget;
static struct arena arena;
static struct packer packer;
static struct clock plain = {.kind = RING_CLOCK_MONOTONIC, .slope = 1};
static struct stream fixed, growing, *stream = &fixed;
static struct ring_source of_fixed, of_growing;
static struct budget wide;
static struct arena place;
static struct frame_decoder *decoder;
static uint64_t batches, culled;
static size_t before_holding; /* of the arena */
static enum holding { HOLDING_NOTHING, HOLDING_CULLS, HOLDING_FLIGHT, HOLDINGS } holding;

static struct ring_source *source(void)
{
	return stream == &fixed ? &of_fixed : &of_growing;
}

/* The memory for what is held back serves one kind after the other. */
static void hold(void)
{
	arena.used = before_holding;
	stream->cull = (struct cull){0};
	stream->flight = (struct flight){0};
	if (holding == HOLDING_CULLS)
		must(!stream_use_culling(stream, &arena, &budget,
					 &(struct cull_settings){.time_ns = CULL_NS}));
	else if (holding == HOLDING_FLIGHT)
		must(!stream_use_flight(stream, &arena, &budget,
					&(struct flight_settings){.window_ns = FLIGHT_NS}));
}

/* A place that is young, in room for some levels. */
static void take_place(void)
{
	struct err_text err;

	if (!place.memory)
		must(!budget_divide_elastic(&wide, WIDE, 66, false, false, &err) &&
		     !arena_open_sparse(&place, wide.virtual));
	wide.room.used = wide.room.grown = 0;
	place.used = 0;
	arena_drop(&place);
	must(room_take(&wide.room, wide.place[0].cost, ROOM_YOUNG) &&
	     !ring_source_init(&of_growing, &place, &wide.shape, &plain) &&
	     !stream_init_place(stream, &place, &wide, 64, &packer));
}

static void begin(void)
{
	static const uint8_t agent_id[STREAM_ID_SIZE];
	struct stream_settings settings = {.agent_id = agent_id};
	struct ring_settings ring = {.mode = RING_FULL, .depth_limit = 64};
	static struct target_info target;
	struct err_text err;

	if (!decoder) {
		decoder = frame_decoder_new();
		must(decoder &&
		     !budget_divide_holding(&budget, LIMIT + LIMIT / 2, 1, LIMIT / 2, "culling",
					    &err) &&
		     !arena_open(&arena, budget_private(&budget) + 65536) &&
		     !packer_init(&packer, &arena, budget.message, budget.scratch) &&
		     !ring_source_init(&of_fixed, &arena, &budget.shape, &plain) &&
		     !stream_init(&fixed, &arena, &budget, 64, &packer) &&
		     !target_read(getpid(), &target));
		before_holding = arena.used;
	}
	if (stream == &fixed)
		hold();
	else
		take_place();
	must(!ring_stream_open(stream, source(), &target, &settings, &ring));
	__atomic_store_n(&source()->ring->header->byte_order, RING_ORDER_MARK, __ATOMIC_RELAXED);
	__atomic_store_n(&source()->ring->header->clock, RING_CLOCK_MONOTONIC, __ATOMIC_RELAXED);
	batches = culled = 0;
}

static void check_culled(const Heapcast__Culled *sums)
{
	struct culled_decoder d;
	struct culled_row row;

	must(!culled_decoder_init(&d, sums, NULL));
	for (uint32_t i = 0; i < sums->count; i++)
		must(culled_decoder_next(&d, &row, NULL) == 1);
	must(!culled_decoder_next(&d, &row, NULL));
	culled += sums->allocations + sums->frees;
}

static void check_batch(const Heapcast__Batch *b)
{
	must(b->ledger->produced == b->ledger->delivered + b->ledger->culled +
					    b->ledger->not_sampled + b->ledger->lost +
					    b->ledger->pending);
	if (b->culled)
		check_culled(b->culled);
	must(b->ledger->culled == culled);
}

static void drain(void)
{
	drained(stream, decoder, &batches, check_batch);
}

/* Into a ring of `size` bytes (a power of two), from `position` on. */
static void put(uint8_t *ring, uint64_t size, uint64_t position, const uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		ring[(position + i) & (size - 1)] = data[i];
}

static void add(uint64_t *counter, uint64_t by)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + by,
			 __ATOMIC_RELAXED);
}

static void publish(struct ring_slice *slice, const struct ring_extent *extent, const uint8_t *data,
		    size_t length)
{
	if (slice->state == RING_SLICE_FREE) {
		__atomic_store_n(&slice->owner_tid, 1000, __ATOMIC_RELAXED);
		__atomic_store_n(&slice->state, RING_SLICE_OWNED, __ATOMIC_RELAXED);
		__atomic_fetch_add(&source()->ring->header->claims, 1, __ATOMIC_RELEASE);
	}
	put((uint8_t *)source()->ring->header + extent->offset, extent->words * 8,
	    __atomic_load_n(&slice->head, __ATOMIC_RELAXED) * 8, data, length / 8 * 8);
	add(&slice->events, length / 40);
	add(&slice->head, length / 8);
}

static void announce(const uint8_t *data, size_t length)
{
	struct ring_memory *ring = source()->ring;

	put(ring->modules, ring->modules_size,
	    __atomic_load_n(&ring->header->modules_head, __ATOMIC_RELAXED), data, length);
	add(&ring->header->modules_head, length & ~(size_t)7);
}

static void overwrite(void *to, size_t size, const uint8_t *data, size_t length)
{
	memcpy(to, data, length < size ? length : size);
}

/* As /proc/PID/map_files gives it. */
static int open_again(void)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", source()->ring->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

static void change_agents(void)
{
	static const uint8_t agent_id[STREAM_ID_SIZE];
	struct target_info target;
	int fd = open_again();

	stream_close(stream);
	if (stream == &growing)
		take_place();
	must(!ring_memory_lock(fd) && !target_read(getpid(), &target));
	batches = culled = 0;
	if (ring_stream_take_up(stream, source(), &target, fd, (const uint8_t[RING_MARK_SIZE]){0},
				agent_id) < 0)
		begin();
}

static void step(unsigned operation, unsigned index, const uint8_t *data, size_t length)
{
	struct ring_memory *ring = source()->ring;
	struct ring_slice *slice = &ring->slices[index % ring->slice_count];
	struct ring_header *h = ring->header;
	uint32_t died = OWNER_DIED;

	if (operation & 0x80) {
		change_agents();
		return;
	}
	switch (operation % 6) {
	case 0:
		publish(slice, &ring->extent[index % ring->slice_count], data, length);
		break;
	case 1:
		announce(data, length);
		break;
	case 2:
		overwrite(&slice->head, sizeof(*slice) - offsetof(struct ring_slice, head), data,
			  length);
		break;
	case 3:
		memcpy(slice->owner, &died, sizeof(died));
		break;
	case 4:
		overwrite(&h->byte_order, sizeof(*h) - offsetof(struct ring_header, byte_order),
			  data, length);
		break;
	default:
		if (index & 1)
			flight_trigger(&stream->flight, FLIGHT_SIGNAL, stream_now(stream));
		drain();
	}
}

static void run(const uint8_t *data, size_t size)
{
	struct target_end end = {.kind = 1};

	begin();
	while (size >= 4) {
		size_t length = (size_t)data[2] | (size_t)data[3] << 8;

		if (length > size - 4)
			length = size - 4;
		step(data[0], data[1], data + 4, length);
		data += 4 + length;
		size -= 4 + length;
	}
	stream_end(stream, &end);
	for (int turn = 0; stream_state(stream) != STREAM_ENDED; turn++) {
		must(turn < DRAINED_TURNS_MAX);
		drain();
	}
	stream_close(stream);
}

/* Each input with everything sent as it comes, with culling, by the flight recorder,
 * and in a ring that grows. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (holding = HOLDING_NOTHING; holding < HOLDINGS; holding++)
		run(data, size);
	holding = HOLDING_NOTHING;
	stream = &growing;
	run(data, size);
	stream = &fixed;
	return 0;
}
