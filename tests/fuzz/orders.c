/*
 * A hostile collector in front of the agent: orders over a link, as bytes come from a socket.
 * Checksums keep a fuzzer from getting past the framing, so the input is what `lz4 -dc` would show,
 * a row of elements `0a LENGTH ORDER`, which are framed here; an input that does not begin with 0a
 * goes to the socket as it is. The stream's id is 16 times 'i'. Between orders the agent closes a
 * batch. It must not be hurt, nor believe that more was delivered than there is.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "agent/net/link.h"
#include "agent/serve/ring_stream.h"
#include "base/bytes.h"
#include "base/error.h"
#include "proto/frame.h"
#include "tests/fuzz/fuzz.h"

#define LIMIT	  (2u << 20)
#define TURNS	  4
#define ORDERS	  64
#define MESSAGE	  (48u << 10)
#define SCRATCH	  (96u << 10)
#define ORDER_MAX (64u << 10)

static struct budget budget;
static struct arena arena;
static struct packer packer, link_packer;
static struct clock plain = {.kind = RING_CLOCK_MONOTONIC, .slope = 1};
static struct stream stream, *streams[] = {&stream};
static struct ring_source source;
static struct link_host host;
static struct symbol_files files;
static struct orphans orphans;
static struct link *collector;
static struct frame_encoder *encoder;
static uv_loop_t loop;
static const uint8_t agent_id[STREAM_ID_SIZE];

static struct collectors collectors;

static uint32_t welcomed(void *context, const struct link *link,
			 const struct collector_greeting *greeting)
{
	bool is_new;

	(void)context;
	must(link == collector);
	return collectors_welcome(&collectors, greeting, &is_new);
}

static uint64_t subscribed(void *context, const struct link *link, const struct stream *of,
			   uint64_t number)
{
	(void)context;
	must(link->who < COLLECTORS_MAX && collectors.at[link->who].links);
	must(of == &stream && number < stream.spool.next);
	return 0;
}

static void acknowledged(void *context, const struct link *link, const struct stream *of,
			 uint64_t number)
{
	(void)context;
	must(link->who < COLLECTORS_MAX && collectors.at[link->who].links);
	must(of == &stream && number < stream.spool.next &&
	     number < collector->subscription[0].next);
	must(spool_ack(&stream.spool, number, number) == 0);
}

static void link_closed(void *context, struct link *link)
{
	(void)context;
	must(link == collector);
	if (link->greeted)
		collectors_left(&collectors, link->who, 1);
}

static void prepare(void)
{
	struct err_text err;

	must(!budget_divide(&budget, LIMIT, 1, &err) &&
	     !arena_open(&arena, budget_private(&budget) + MESSAGE + SCRATCH + SYMBOL_FILES_SIZE +
					 131072) &&
	     !packer_init(&packer, &arena, budget.message, budget.scratch) &&
	     !packer_init(&link_packer, &arena, MESSAGE, SCRATCH) &&
	     !ring_source_init(&source, &arena, &budget.shape, &plain) &&
	     !stream_init(&stream, &arena, &budget, 64, &packer) && !uv_loop_init(&loop));
	host = (struct link_host){.loop = &loop,
				  .stream = streams,
				  .streams = 1,
				  .orphans = &orphans,
				  .packer = &link_packer,
				  .decoder = frame_decoder_new(),
				  .files = &files,
				  .agent_id = agent_id,
				  .window_bytes = 1000,
				  .orders = ORDERS_YES,
				  .welcomed = welcomed,
				  .subscribed = subscribed,
				  .acknowledged = acknowledged,
				  .closed = link_closed};
	must(!symbol_files_init(&files, &arena, &loop, streams, 1, link_pump));
	collector = arena_take(&arena, sizeof(*collector));
	host.links = collector;
	must(collector && !link_init(collector, &host, &arena, &budget));
	encoder = frame_encoder_new();
	must(encoder && host.decoder);
}

static int begin(void)
{
	struct stream_settings settings = {.agent_id = agent_id};
	struct ring_settings ring = {.mode = RING_FULL, .depth_limit = 64};
	static struct target_info target;
	int pair[2];

	if (!encoder) {
		prepare();
		must(!target_read(getpid(), &target));
	}
	must(!ring_stream_open(&stream, &source, &target, &settings, &ring));
	memset(stream.id, 'i', sizeof(stream.id));
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) &&
	     !link_open(collector, pair[0], "fuzz"));
	return pair[1];
}

/* Another batch, then what the loop has to do; what comes back is passed over. */
static void turn(int fd)
{
	static uint8_t rest[65536];

	stream.process_news = true;
	stream.batch.opened_ns = 1;
	stream_drain(&stream);
	for (int i = 0; i < TURNS; i++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		must(collector->subscription[0].next <= stream.spool.next);
		link_pump(collector);
		while (recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
			;
	}
}

static void put(int fd, const uint8_t *data, size_t length)
{
	while (length && !link_free(collector)) {
		ssize_t n = send(fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		turn(fd);
		if (n <= 0)
			return;
		data += n;
		length -= (size_t)n;
	}
}

static void put_framed(int fd, const uint8_t *data, size_t size)
{
	static uint8_t room[FRAME_HEADROOM + ORDER_MAX], frame[ORDER_MAX + (ORDER_MAX >> 6) + 64];
	struct reader r = reader_of(data, size);

	for (int i = 0; i < ORDERS && reader_more(&r) && reader_u8(&r) == 0x0a; i++) {
		size_t length = (size_t)reader_varint(&r);
		const uint8_t *message = reader_bytes(&r, length);
		long n;

		if (!message || !length || length > ORDER_MAX)
			return;
		memcpy(room + FRAME_HEADROOM, message, length);
		n = frame_encode(encoder, room + FRAME_HEADROOM, length, frame, sizeof(frame));
		must(n > 0);
		put(fd, frame, (size_t)n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = begin();

	turn(fd);
	if (size && data[0] == 0x0a)
		put_framed(fd, data, size);
	else
		put(fd, data, size);
	close(fd);
	for (int i = 0; i < TURNS && !link_free(collector); i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	link_close(collector);
	uv_run(&loop, UV_RUN_NOWAIT);
	must(link_free(collector));
	stream_close(&stream);
	return 0;
}
