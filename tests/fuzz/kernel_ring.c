/*
 * The kernel's ring buffer as the agent reads it: in its records lie words of a stranger's stack,
 * registers and arguments. The input is a row of steps. The agent must not be hurt, and what it
 * makes of them must be a stream that a collector can read.
 *
 *   step: operation 1, length 2 (little-endian), `length` bytes
 *     0  a record with an event: struct capture_record from its `kind` on, and program counters
 *     1  a record with a stack to walk: struct capture_raw from there on
 *     2  a record of these bytes, whatever they are
 *     3  the same, with a length in front (4) that may be wrong, busy or thrown away
 *     4  what the programs count of a thread: its number (1), bytes over struct capture_thread
 *     5  the agent looks
 * The process is this one: it has maps, and memory that can be read.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "agent/ebpf/capture/hub.h"
#include "agent/stream/stream.h"
#include "bpf/walk_shared.h"
#include "proto/frame.h"
#include "tests/fuzz/drained.h"

#define LIMIT	(2u << 20)
#define RING	(64u << 10)
#define THREADS 8

static struct budget budget;
static struct arena arena;
static struct packer packer;
static struct stream stream;
static struct frame_decoder *decoder;
static struct hub hub;
static struct watch watch;
static struct watch_lane lanes[THREADS];
static struct capture_thread threads[THREADS];
static struct capture_stream shared;
static uint64_t batches;
static size_t page;

/* In place of what has the kernel on its other side. */
void programs_fds(const struct hub *of, struct capture_fds *ret)
{
	(void)of;
	memset(ret, 0xff, sizeof(*ret));
}

void watch_detach(struct watch *w)
{
	w->detached = true;
}

void watch_forget_blocks(struct watch *w, bool earlier)
{
	(void)w;
	(void)earlier;
}

void watch_free(struct watch *w)
{
	ebpf_modules_done(&w->modules);
}

/* A page that the agent writes, one that the kernel does, and the data, twice in a row. */
static void open_ring(struct ring *ring)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	uint8_t *at =
		mmap(NULL, 2 * page + 2 * RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(fd >= 0 && at != MAP_FAILED && !ftruncate(fd, (off_t)(2 * page + RING)));
	must(mmap(at, 2 * page + RING, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	     at);
	must(mmap(at + 2 * page + RING, RING, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		  (off_t)(2 * page)) == at + 2 * page + RING);
	close(fd);
	*ring = (struct ring){.fd = -1, .size = RING, .consumer = at, .producer = at + page};
}

static void open_all(void)
{
	const struct remotes_options options = {
		.rows_fd = -1, .spaces_fd = -1, .lines = 1u << WALK_BITS_MIN, .spaces = 1};
	struct err_text err;

	page = (size_t)sysconf(_SC_PAGESIZE);
	decoder = frame_decoder_new();
	must(decoder && !budget_divide(&budget, LIMIT, 1, &err) &&
	     !arena_open(&arena, budget_private(&budget) + 65536) &&
	     !packer_init(&packer, &arena, budget.message, budget.scratch) &&
	     !stream_init(&stream, &arena, &budget, 64, &packer) &&
	     !remotes_new(&options, &hub.remotes, &err));
	must(!remote_new(hub.remotes, getpid(), &watch.remote, &err));
	pthread_mutex_init(&hub.remotes_lock, NULL);
	hub.settings = (struct hub_settings){.watches = 1, .threads = THREADS, .ring_bytes = RING};
	hub.threads = threads;
	hub.streams = &shared;
	open_ring(&watch.ring);
}

static void begin(void)
{
	static const uint8_t agent_id[STREAM_ID_SIZE];
	struct stream_settings settings = {.mode = RING_FULL, .agent_id = agent_id};
	struct target_info target;
	struct remote *remote;
	struct ring ring;

	if (!decoder)
		open_all();
	remote = watch.remote;
	ring = watch.ring;
	ring.position = ring.released = 0;
	memset(ring.consumer, 0, page);
	memset(ring.producer, 0, page);
	memset(threads, 0, sizeof(threads));
	memset(lanes, 0, sizeof(lanes));
	for (uint32_t i = 0; i < THREADS; i++)
		threads[i] = (struct capture_thread){
			.tid = 100 + i, .tgid = (uint32_t)getpid(), .state = CAPTURE_THREAD_USED};
	shared = (struct capture_stream){.tgid = (uint32_t)getpid(),
					 .ready = 1,
					 .mode = CAPTURE_FULL,
					 .wake_bytes = RING / 4};
	watch = (struct watch){.source.ops = &watch_ops,
			       .hub = &hub,
			       .pid = getpid(),
			       .ring = ring,
			       .shared = &shared,
			       .epoch = 1,
			       .remote = remote,
			       .lane = lanes,
			       .look_ns = UINT64_MAX /
					  2, /* its own maps are many: not at each input */
			       .modules_due = true};
	must(!target_read(getpid(), &target) && !stream_prepare(&stream, &target, &settings));
	stream_begin(&stream, &watch.source, 1);
	watch.stream = &stream;
	watch.start_ns = stream.start_ns;
	batches = 0;
}

static void look(void)
{
	drained(&stream, decoder, &batches, NULL);
}

/* As the kernel does: not without room. `word` is what the head says. */
static void put(const uint8_t *front, size_t front_size, const uint8_t *data, size_t size,
		uint32_t word)
{
	unsigned long *end = (unsigned long *)(void *)watch.ring.producer;
	size_t length = front_size + size, whole = (length + BPF_RINGBUF_HDR_SZ + 7) & ~(size_t)7;
	uint8_t *head = watch.ring.producer + page + (*end & (RING - 1));

	if (whole > RING - (*end - watch.ring.released))
		look();
	if (whole > RING - (*end - watch.ring.released))
		return;
	memset(head, 0, whole);
	memcpy(head, &word, sizeof(word));
	memcpy(head + BPF_RINGBUF_HDR_SZ, front, front_size);
	if (size)
		memcpy(head + BPF_RINGBUF_HDR_SZ + front_size, data, size);
	__atomic_store_n(end, *end + whole, __ATOMIC_RELEASE);
}

static void put_typed(uint8_t type, const uint8_t *data, size_t size, size_t least)
{
	static uint8_t record[UINT16_MAX + sizeof(struct capture_raw)];
	size_t length = 1 + size < least ? least : 1 + size;

	memset(record, 0, least);
	record[0] = type;
	memcpy(record + 1, data, size);
	put(record, length, NULL, 0, (uint32_t)length);
}

static void step(uint8_t operation, const uint8_t *data, size_t size)
{
	uint32_t word = 0;

	switch (operation % 6) {
	case 0:
		put_typed(CAPTURE_EVENT, data, size, sizeof(struct capture_record));
		break;
	case 1:
		put_typed(CAPTURE_RAW, data, size, sizeof(struct capture_raw));
		break;
	case 2:
		put(data, size, NULL, 0, (uint32_t)size);
		break;
	case 3:
		if (size < sizeof(word))
			break;
		memcpy(&word, data, sizeof(word));
		put(data + sizeof(word), size - sizeof(word), NULL, 0, word);
		break;
	case 4:
		if (size)
			memcpy(&threads[*data % THREADS], data + 1,
			       size - 1 < sizeof(*threads) ? size - 1 : sizeof(*threads));
		break;
	default:
		look();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin();
	while (size >= 3) {
		size_t length = data[1] | data[2] << 8u;

		length = length < size - 3 ? length : size - 3;
		step(data[0], data + 3, length);
		data += 3 + length;
		size -= 3 + length;
	}
	look();
	stream_close(&stream);
	ebpf_modules_done(&watch.modules);
	return 0;
}
