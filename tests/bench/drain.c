/*
 * What the agent's drain thread costs, without the noise of a program beside it. The words that a
 * real program published are recorded once. Then they are replayed into a stream as often as one
 * likes, in one process and one thread.
 *
 *   bench-drain record FILE LIBRARY CMD [ARG...]
 *     what CMD under LIBRARY (libheapcast.so) writes into a ring, as it came
 *   bench-drain replay FILE [ROUNDS [OUTPUT]]
 *     CPU and bytes an event; OUTPUT gets the frames: a recording
 *
 * FILE is a row of struct chunk, each followed by its bytes. A round has what the module channel
 * had by then, and after that all slices' new words: the agent reads in this order. Stamps are of
 * this machine since its start, so replay on the same machine. Slices are never freed while
 * recording, so a program may have as many threads as there are slices.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/serve/ring_stream.h"
#include "base/error.h"
#include "proto/ring_handshake.h"
#include "heapcast.pb-c.h"

#define LIMIT	   (8u << 20)
#define PAUSE_NS   100000
#define ROUNDS_MAX 100

enum chunk_kind { CHUNK_MODULES, CHUNK_SLICE, CHUNK_ROUND };

struct chunk {
	uint32_t kind;
	uint32_t index; /* of the slice */
	uint32_t tid;
	uint32_t state;
	uint64_t claim_stamp;
	uint64_t thread_first;
	uint64_t events;
	uint64_t from; /* position: of words, or of bytes in the channel */
	uint64_t bytes;
};

static struct budget division(void)
{
	struct err_text err;
	struct budget b;

	if (budget_divide(&b, LIMIT, 1, &err) < 0)
		errx(1, "%s", err.text);
	return b;
}

static const struct ring_settings ring_settings = {.mode = RING_FULL,
						   .block_max_ms = 100000,
						   .frees_have_stacks = 1,
						   .depth_limit = 256,
						   .verify = 1};

struct recorder {
	struct ring_memory *ring;
	struct ring_reader *reader;
	uint64_t modules_tail;
	FILE *file;
};

static void put_bytes(struct recorder *r, const void *data, size_t size)
{
	if (size && fwrite(data, size, 1, r->file) != 1)
		err(1, "write");
}

/* `from` to `to` of a ring of `size` (a power of two) bytes. */
static void put_piece(struct recorder *r, const struct chunk *chunk, const uint8_t *data,
		      uint64_t size, uint64_t from)
{
	uint64_t at = from & (size - 1),
		 first = size - at < chunk->bytes ? size - at : chunk->bytes;

	put_bytes(r, chunk, sizeof(*chunk));
	put_bytes(r, data + at, first);
	put_bytes(r, data, chunk->bytes - first);
}

static void record_modules(struct recorder *r)
{
	struct ring_header *h = r->ring->header;
	uint64_t head = __atomic_load_n(&h->modules_head, __ATOMIC_ACQUIRE);
	struct chunk chunk = {
		.kind = CHUNK_MODULES, .from = r->modules_tail, .bytes = head - r->modules_tail};

	if (!chunk.bytes)
		return;
	put_piece(r, &chunk, r->ring->modules, r->ring->modules_size, chunk.from);
	r->modules_tail = head;
	__atomic_store_n(&h->modules_tail, head, __ATOMIC_RELEASE);
}

static void look_at_slice(struct recorder *r, uint32_t i)
{
	struct ring_slice *slice = &r->ring->slices[i];
	struct ring_reader *reader = &r->reader[i];

	if (__atomic_load_n(&slice->state, __ATOMIC_ACQUIRE) < RING_SLICE_OWNED)
		return;
	if (!reader->slice)
		ring_reader_init(reader, slice,
				 (uint8_t *)r->ring->header + r->ring->extent[i].offset,
				 r->ring->extent[i].words);
	if (ring_reader_look(reader) < 0)
		errx(1, "slice %u is damaged", i);
}

static void record_slice(struct recorder *r, uint32_t i)
{
	struct ring_reader *reader = &r->reader[i];
	const struct ring_slice *slice = reader->slice;
	struct chunk chunk = {.kind = CHUNK_SLICE, .index = i};

	if (!slice || reader->tail == reader->head)
		return;
	chunk.tid = slice->owner_tid;
	chunk.state = RING_SLICE_OWNED;
	chunk.claim_stamp = slice->claim_stamp;
	chunk.thread_first = slice->thread_first;
	chunk.events = slice->events;
	chunk.from = reader->tail;
	chunk.bytes = (reader->head - reader->tail) * 8;
	put_piece(r, &chunk, (const uint8_t *)reader->data, reader->words * 8, chunk.from * 8);
	reader->tail = reader->head;
	ring_reader_release(reader);
}

static void record_round(struct recorder *r)
{
	struct chunk end = {.kind = CHUNK_ROUND};

	__atomic_fetch_add(&r->ring->header->heartbeat, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < r->ring->slice_count; i++)
		look_at_slice(r, i);
	record_modules(r);
	for (uint32_t i = 0; i < r->ring->slice_count; i++)
		record_slice(r, i);
	put_bytes(r, &end, sizeof(end));
}

/* The child, with its end of the handshake in HEAPCAST_FD. */
static pid_t start(char **argv, const char *library, int *ret_fd)
{
	char text[64];
	struct stat st;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 || fstat(pair[1], &st) < 0)
		err(1, "socketpair");
	snprintf(text, sizeof(text), "%d:%" PRIu64, pair[1], (uint64_t)st.st_ino);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		setenv("HEAPCAST_FD", text, 1);
		setenv("LD_PRELOAD", library, 1);
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	close(pair[1]);
	*ret_fd = pair[0];
	return pid;
}

static void answer(int fd, const struct ring_memory *ring)
{
	struct ring_answer text = {.magic = RING_MAGIC,
				   .version = RING_VERSION,
				   .kind = RING_ACCEPTED,
				   .size = ring->size};
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {&text, sizeof(text)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	struct ring_hello hello;

	if (recv(fd, &hello, sizeof(hello), 0) != sizeof(hello))
		errx(1, "no hello: is the library there, and the program not static?");
	*head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
				 .cmsg_level = SOL_SOCKET,
				 .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(head), &ring->fd, sizeof(int));
	if (sendmsg(fd, &message, 0) < 0)
		err(1, "sendmsg");
}

static int record(const char *path, const char *library, char **argv)
{
	struct budget b = division();
	struct ring_settings settings = ring_settings;
	struct recorder r = {.ring = calloc(1, ring_memory_struct_size(&b.shape)),
			     .reader = calloc(ring_slice_count(&b.shape, 1), sizeof(*r.reader)),
			     .file = fopen(path, "w")};
	int fd, status;
	pid_t pid;

	settings.counter = clock_counter_kind();
	if (!r.ring || !r.reader || !r.file || ring_memory_open(r.ring, &b.shape, &settings) < 0)
		err(1, "%s", path);
	pid = start(argv, library, &fd);
	answer(fd, r.ring);
	close(fd);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		record_round(&r);
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	record_round(&r);
	ring_memory_close(r.ring);
	free(r.ring);
	free(r.reader);
	return fclose(r.file) || status;
}

struct player {
	struct budget budget;
	struct arena arena;
	struct packer packer;
	struct clock clock;
	struct stream stream;
	struct ring_source ring;
	const uint8_t *at, *end;
	uint64_t cpu_ns, events, bytes;
	FILE *output;
};

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void get_piece(struct player *p, const struct chunk *chunk, uint8_t *data, uint64_t size,
		      uint64_t from)
{
	uint64_t at = from & (size - 1),
		 first = size - at < chunk->bytes ? size - at : chunk->bytes;

	memcpy(data + at, p->at, first);
	memcpy(data, p->at + first, chunk->bytes - first);
	p->at += chunk->bytes;
}

/* Stream time 0 is just before the first stamp. */
static void play_slice(struct player *p, const struct chunk *chunk)
{
	struct ring_memory *ring = p->ring.ring;
	struct ring_slice *slice = &ring->slices[chunk->index];
	const struct ring_extent *extent = &ring->extent[chunk->index];

	if (!p->events)
		p->ring.start_ns = clock_ns(&p->clock, chunk->claim_stamp) - 1000;
	p->events += chunk->events - slice->events;
	get_piece(p, chunk, (uint8_t *)ring->header + extent->offset, extent->words * 8,
		  chunk->from * 8);
	slice->owner_tid = chunk->tid;
	slice->claim_stamp = chunk->claim_stamp;
	slice->thread_first = chunk->thread_first;
	slice->events = chunk->events;
	if (slice->state != chunk->state) /* or the agent would search all slices in each round */
		ring->header->claims++;
	slice->state = chunk->state;
	slice->head = chunk->from + chunk->bytes / 8;
}

/* The file sink's part: frames leave the spool. */
static void take_frames(struct player *p)
{
	struct spool *spool = &p->stream.spool;
	const uint8_t *frame;
	size_t length;

	for (uint64_t n = spool->acked + 1; n < spool->next; n++) {
		frame = spool_get(spool, n, &length);
		if (p->output && fwrite(frame, length, 1, p->output) != 1)
			err(1, "write");
		p->bytes += length;
	}
	spool_ack(spool, spool->next - 1, spool->next - 1);
}

static void drain(struct player *p)
{
	enum stream_work work;

	do {
		uint64_t before = cpu_now();

		work = stream_drain(&p->stream);
		p->cpu_ns += cpu_now() - before;
		take_frames(p);
	} while (work != STREAM_IDLE);
}

static void play(struct player *p)
{
	struct chunk chunk;

	while (p->at < p->end) {
		memcpy(&chunk, p->at, sizeof(chunk));
		p->at += sizeof(chunk);
		if (chunk.kind == CHUNK_SLICE) {
			play_slice(p, &chunk);
		} else if (chunk.kind == CHUNK_MODULES) {
			get_piece(p, &chunk, p->ring.ring->modules, p->ring.ring->modules_size,
				  chunk.from);
			p->ring.ring->header->modules_head = chunk.from + chunk.bytes;
		} else {
			drain(p);
		}
	}
	stream_end(&p->stream,
		   &(struct target_end){.kind = HEAPCAST__END_KIND__END_EXITED, .status = 0});
	while (stream_state(&p->stream) != STREAM_ENDED)
		drain(p);
	take_frames(p);
}

static void replay_once(struct player *p, const uint8_t *data, size_t size)
{
	static const uint8_t agent_id[STREAM_ID_SIZE];
	struct stream_settings settings = {.agent_id = agent_id};
	struct ring_header *header;
	struct target_info target;

	if (target_read(getpid(), &target) < 0 ||
	    ring_stream_open(&p->stream, &p->ring, &target, &settings, &ring_settings) < 0)
		errx(1, "no stream");
	header = p->ring.ring->header;
	header->byte_order = 0x01020304;
	header->clock = p->clock.kind;
	p->at = data;
	p->end = data + size;
	p->cpu_ns = p->events = p->bytes = 0;
	play(p);
	if (p->stream.lost.events)
		warnx("%" PRIu64 " of %" PRIu64 " events were lost", p->stream.lost.events,
		      p->events);
	stream_close(&p->stream);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int replay(const char *path, int rounds, const char *output)
{
	struct player p = {.budget = division()};
	double ns[ROUNDS_MAX];
	struct stat st;
	void *data;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", path);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED || arena_open(&p.arena, budget_private(&p.budget) + 65536) < 0 ||
	    packer_init(&p.packer, &p.arena, p.budget.message, p.budget.scratch) < 0)
		err(1, "no memory");
	clock_init(&p.clock, clock_counter_kind());
	if (ring_source_init(&p.ring, &p.arena, &p.budget.shape, &p.clock) < 0 ||
	    stream_init(&p.stream, &p.arena, &p.budget, ring_settings.depth_limit, &p.packer) < 0)
		errx(1, "no memory");
	for (int i = 0; i < rounds; i++) {
		p.output = output && !i ? fopen(output, "w") : NULL;
		replay_once(&p, data, (size_t)st.st_size);
		if (p.output)
			fclose(p.output);
		ns[i] = (double)p.cpu_ns / (double)p.events;
	}
	qsort(ns, (size_t)rounds, sizeof(ns[0]), compare);
	printf("%" PRIu64
	       " events  least %.1f  median %.1f ns of CPU an event  %.3f bytes an event\n",
	       p.events, ns[0], ns[rounds / 2], (double)p.bytes / (double)p.events);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[3]) : 5;

	if (argc > 4 && !strcmp(argv[1], "record"))
		return record(argv[2], argv[3], argv + 4);
	if (argc > 2 && argc < 6 && !strcmp(argv[1], "replay") && rounds > 0 &&
	    rounds <= ROUNDS_MAX)
		return replay(argv[2], rounds, argc > 4 ? argv[4] : NULL);
	fprintf(stderr, "usage: bench-drain record FILE LIBRARY CMD [ARG...] | replay FILE [ROUNDS "
			"[OUTPUT]]\n");
	return 2;
}
