/*
 * A fleet of agents in one process. Each plays the same recording to a collector as an agent would,
 * in the time that it took.
 *
 *   bench-player RECORDING --agents N --dial HOST:PORT[,...]
 *     each dials in there; of several collectors, its number modulo their number
 *   bench-player RECORDING --agents N --announce PORT
 *     each has an address of its own in 127.0.0.0/8, listens there at PORT, and says so by beacons
 *     to the loopback interface's networks
 *     --spread S      they begin within S seconds (default 1)
 *     --cut N         N links a second are cut, and made again
 *     --cut-last      each link is cut once, right behind the last batch, and made again soon
 *     --window BYTES  what an agent keeps until it is acknowledged (default 256 KiB): whoever has
 *                     more waits
 *     --speed X       so many times as fast as it was recorded (default 1)
 *     --for S         at most so long (default: until all streams have ended and are acknowledged)
 *     --stay          links stay when their streams have ended
 *
 * Each agent has its own host (board-N), whose clock is right: its stream begins when the agent
 * does. It carries out the order "snapshot".
 *
 * Prints NAME VALUE lines:
 *
 *   found            agents that were asked for their stream
 *   found_seconds    when the last one was asked
 *   waited           how long an agent had to keep a due batch back because its window was full, at
 *                    most
 *   acknowledged     time from sending a batch until it was safe
 */
#include <arpa/inet.h>
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "proto/columns.h"
#include "proto/discovery.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "tests/bench/played.h"
#include "tests/bench/player_options.h"
#include "tests/bench/player_told.h"

#define TICK_MS	      10
#define AGAIN_MS      1000 /* after a link has ended */
#define LAST_AGAIN_MS 300  /* while streams wait to be finished */
#define IN_MAX	      (1u << 20)
#define ADDRESS_FIRST 0x7f010001u
#define SNAPSHOTS_MAX 256 /* marks of an agent */

struct sent {
	struct sent *next;
	uv_write_t write;
	uint8_t data[];
};

/* A batch of an agent's stream. */
struct numbered {
	uint64_t sent_ms;
	uint32_t bytes;	   /* as it was sent */
	uint32_t index;	   /* of the recording's batch; of a mark: of the batch before it */
	uint64_t snapshot; /* number of the snapshot that it is the mark of; 0: none */
};

enum state { AWAY, CONNECTING, LINKED };

struct agent {
	uint32_t number;
	enum state state;
	uv_tcp_t tcp;
	uv_connect_t connect;
	bool closing, greeted, asked, found, ended, refused, was_cut;
	uint8_t id[STREAM_ID_SIZE], stream[STREAM_ID_SIZE];
	uint64_t start_ms, again_ms, waits_since_ms, snapshots;
	size_t next, acked; /* batches */
	size_t made;	    /* batches that have a number; those before `next` were sent */
	size_t played;	    /* of them, batches of the recording */
	struct numbered *batches;
	uint64_t kept; /* bytes that are not acknowledged */
	struct buf in;
};

static uv_loop_t *loop;
static uv_tcp_t listener;
static uv_timer_t timer;
static uint64_t began_ms, began_wall_ns, beacon_ms, beacon_number;
static double cuts_due;
static struct agent *agents;
static struct frame_encoder *encoder;
static struct message_reader *reader;
static uint8_t *scratch, *framed;
static size_t scratch_size;

/* ---- sending ---- */

static void hang_up(struct agent *a);

static void on_written(uv_write_t *write, int status)
{
	(void)status;
	free(write->data);
}

static size_t send_message(struct agent *a, uint8_t *message, size_t length)
{
	long n = frame_encode(encoder, message, length, framed, frame_bound(scratch_size));
	struct sent *s = n > 0 ? malloc(sizeof(*s) + (size_t)n) : NULL;
	uv_buf_t buf;

	if (!s)
		errx(1, "cannot frame a message");
	memcpy(s->data, framed, (size_t)n);
	s->write.data = s;
	buf = uv_buf_init((char *)s->data, (unsigned)n);
	if (uv_write(&s->write, (uv_stream_t *)&a->tcp, &buf, 1, on_written) < 0) {
		free(s);
		hang_up(a);
		return 0;
	}
	return (size_t)n;
}

static uint64_t age_ms(const struct agent *a)
{
	uint64_t now = uv_now(loop);

	return now > a->start_ms ? now - a->start_ms : 0;
}

/* Gives numbers to the batches of the recording that are due. */
static void number_due(struct agent *a)
{
	for (; a->played < played.count &&
	       (double)played.batches[a->played].due_ms <= (double)age_ms(a) * wanted.speed;
	     a->played++)
		a->batches[a->made++] = (struct numbered){.index = (uint32_t)a->played};
}

static void host_of(char host[PLAYED_HOST], const struct agent *a)
{
	snprintf(host, PLAYED_HOST, "board-%u", a->number);
}

static void greet(struct agent *a)
{
	static char version[] = "player", architecture[] = "x86_64", executable[] = "/usr/bin/app";
	char host[PLAYED_HOST];
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Hello hello = HEAPCAST__HELLO__INIT;
	Heapcast__StreamState state = HEAPCAST__STREAM_STATE__INIT, *states[] = {&state};
	uint8_t message[FRAME_HEADROOM + 512];

	host_of(host, a);
	number_due(a);
	hello.protocol = PROTOCOL_VERSION;
	hello.id = (ProtobufCBinaryData){STREAM_ID_SIZE, a->id};
	hello.host = host;
	hello.version = version;
	hello.architecture = architecture;
	hello.window_bytes = wanted.window;
	state.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, a->stream};
	state.incarnation = 1;
	state.first = 1;
	state.next = a->made + 1;
	state.ended = a->played == played.count;
	state.executable = (ProtobufCBinaryData){sizeof(executable) - 1, (uint8_t *)executable};
	state.pid = played.pid;
	link.hello = &hello;
	link.stream = states;
	link.n_stream = 1;
	batch.link = &link;
	send_message(a, message + FRAME_HEADROOM,
		     heapcast__batch__pack(&batch, message + FRAME_HEADROOM));
}

static void send_batch(struct agent *a)
{
	struct numbered *b = &a->batches[a->next];
	uint64_t waited = a->waits_since_ms ? uv_now(loop) - a->waits_since_ms : 0, time_ns;
	uint8_t *to = scratch + FRAME_HEADROOM;
	struct played_as as = {.stream = a->stream,
			       .number = a->next + 1,
			       .start_wall_ns = began_wall_ns + (a->start_ms - began_ms) * 1000000};
	size_t length;

	host_of(as.host, a);
	length = b->snapshot ? played_put_mark(b->index, a->stream, a->next + 1, b->snapshot,
					       &time_ns, to)
			     : played_put(b->index, &as, to);
	b->bytes = (uint32_t)send_message(a, to, length);
	b->sent_ms = uv_now(loop);
	a->kept += b->bytes;
	a->next++;
	told.waited_ms = waited > told.waited_ms ? waited : told.waited_ms;
	told.waits += waited != 0;
	a->waits_since_ms = 0;
}

static void send_due(struct agent *a)
{
	number_due(a);
	while (a->state == LINKED && a->next < a->made && a->kept <= wanted.window)
		send_batch(a);
	if (wanted.cut_last && a->next == a->made && a->played == played.count && !a->was_cut) {
		a->was_cut = true;
		hang_up(a);
		a->again_ms = uv_now(loop) + LAST_AGAIN_MS;
		return;
	}
	if (a->next < a->made && !a->waits_since_ms)
		a->waits_since_ms = uv_now(loop);
}

/* ---- what the collector says ---- */

static void subscribed(struct agent *a, const Heapcast__Subscribe *s)
{
	if (s->stream.len != STREAM_ID_SIZE || memcmp(s->stream.data, a->stream, STREAM_ID_SIZE))
		return;
	a->next = s->next > 1 ? s->next - 1 : 0;
	if (a->next < a->acked)
		errx(1, "agent %u: batch %zu was acknowledged, and %zu is asked for", a->number,
		     a->acked, a->next + 1);
	a->kept = 0;
	for (size_t i = a->acked; i < a->next; i++)
		a->kept += a->batches[i].bytes;
	a->asked = true;
	if (!a->found) {
		told.found++;
		told.found_ms = uv_now(loop) - began_ms;
	}
	a->found = true;
}

static void acknowledged(struct agent *a, const Heapcast__Ack *ack)
{
	if (ack->stream.len != STREAM_ID_SIZE ||
	    memcmp(ack->stream.data, a->stream, STREAM_ID_SIZE))
		return;
	if (ack->number > a->next)
		errx(1, "agent %u: batch %llu was acknowledged, and never sent", a->number,
		     (unsigned long long)ack->number);
	for (; a->acked < ack->number; a->acked++) {
		uint64_t took = uv_now(loop) - a->batches[a->acked].sent_ms;

		a->kept -= a->batches[a->acked].bytes;
		told_acknowledged(took);
	}
	if (a->played == played.count && a->acked == a->made && !a->ended) {
		a->ended = true;
		told.ended++;
		told.events += played.events;
		if (!wanted.stays)
			hang_up(a);
	}
}

static void reply(struct agent *a, Heapcast__Reply *answer)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	uint8_t message[FRAME_HEADROOM + 512];

	link.reply = &answer;
	link.n_reply = 1;
	batch.link = &link;
	send_message(a, message + FRAME_HEADROOM,
		     heapcast__batch__pack(&batch, message + FRAME_HEADROOM));
}

/* Carries out the order "snapshot"; others are refused. The mark lies behind what was sent, and
 * what is recorded since goes on when it is due. */
static void ordered(struct agent *a, const Heapcast__Control *order)
{
	Heapcast__Reply answer = HEAPCAST__REPLY__INIT;
	uint8_t mark[1024];

	answer.id = order->id;
	if (order->action != HEAPCAST__ACTION__ACTION_SNAPSHOT)
		answer.status = HEAPCAST__REPLY_STATUS__REPLY_NOT_ALLOWED;
	else if (!a->played || a->next < a->made || a->ended)
		answer.status = HEAPCAST__REPLY_STATUS__REPLY_NO_STREAM;
	else if (a->snapshots == SNAPSHOTS_MAX)
		answer.status = HEAPCAST__REPLY_STATUS__REPLY_TOO_MANY;
	else {
		answer.snapshot = ++a->snapshots;
		answer.status = HEAPCAST__REPLY_STATUS__REPLY_DONE;
		answer.streams = 1;
		answer.mode = HEAPCAST__MODE__MODE_FULL;
		a->batches[a->made++] = (struct numbered){.index = (uint32_t)a->played - 1,
							  .snapshot = answer.snapshot};
		played_put_mark(a->played - 1, a->stream, a->made, answer.snapshot, &answer.time_ns,
				mark);
		send_batch(a);
	}
	reply(a, &answer);
}

static void take_orders(struct agent *a)
{
	struct err_text why = {0};
	size_t at = 0, length;

	while (a->state == LINKED &&
	       frame_length(a->in.data + at, a->in.length - at, &length, &why) == 1) {
		ProtobufCMessage *message;
		const Heapcast__Order *order;

		if (message_reader_open(reader, &heapcast__order__descriptor, a->in.data + at,
					length, &message, &why) < 0)
			errx(1, "agent %u: an order that makes no sense: %s", a->number, why.text);
		order = (const Heapcast__Order *)message;
		a->greeted |= order->hello != NULL;
		if (order->subscribe)
			subscribed(a, order->subscribe);
		if (order->ack)
			acknowledged(a, order->ack);
		if (order->control && a->state == LINKED)
			ordered(a, order->control);
		at += length;
	}
	buf_consume(&a->in, at);
}

/* ---- links ---- */

static void on_closed(uv_handle_t *handle)
{
	struct agent *a = handle->data;

	a->closing = false;
	a->state = AWAY;
}

static void hang_up(struct agent *a)
{
	if (a->state == AWAY || a->closing)
		return;
	if (a->state == LINKED && !a->asked && !a->refused) {
		a->refused = true;
		told.refused++;
	}
	a->closing = true;
	a->state = CONNECTING;
	a->asked = a->greeted = false;
	a->again_ms = uv_now(loop) + AGAIN_MS;
	a->in.length = 0;
	uv_close((uv_handle_t *)&a->tcp, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	struct agent *a = handle->data;
	uint8_t *room = buf_reserve(&a->in, 4096);

	(void)suggested;
	*ret = uv_buf_init((char *)room, room ? 4096 : 0);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
	struct agent *a = stream->data;

	(void)buf;
	if (length < 0) {
		hang_up(a);
		return;
	}
	a->in.length += (size_t)length;
	take_orders(a);
}

static void linked(struct agent *a)
{
	a->state = LINKED;
	told.reconnects += a->found;
	a->tcp.data = a;
	uv_read_start((uv_stream_t *)&a->tcp, on_alloc, on_read);
	greet(a);
}

static void on_connected(uv_connect_t *request, int status)
{
	struct agent *a = request->handle->data;

	if (a->closing)
		return;
	if (status < 0)
		hang_up(a);
	else
		linked(a);
}

static void dial(struct agent *a)
{
	const struct sockaddr_storage *to = &wanted.collectors[a->number % wanted.collector_count];

	uv_tcp_init(loop, &a->tcp);
	a->tcp.data = a;
	a->state = CONNECTING;
	if (uv_tcp_connect(&a->connect, &a->tcp, (const struct sockaddr *)to, on_connected) < 0)
		hang_up(a);
}

static void refuse(uv_handle_t *handle)
{
	free(handle);
}

/* The agent is the one whose address was called. */
static void on_connection(uv_stream_t *server, int status)
{
	struct sockaddr_in address = {0};
	int length = sizeof(address);
	uv_tcp_t *other = malloc(sizeof(*other));
	uv_os_fd_t fd;
	uint32_t n;

	if (!other || status < 0)
		errx(1, "cannot accept: %s", uv_strerror(status));
	uv_tcp_init(loop, other);
	uv_accept(server, (uv_stream_t *)other);
	uv_tcp_getsockname(other, (struct sockaddr *)&address, &length);
	n = ntohl(address.sin_addr.s_addr) - ADDRESS_FIRST;
	if (n < wanted.agents && agents[n].state == AWAY && uv_now(loop) >= agents[n].start_ms &&
	    !uv_fileno((uv_handle_t *)other, &fd)) {
		uv_tcp_init(loop, &agents[n].tcp);
		uv_tcp_open(&agents[n].tcp, dup(fd));
		linked(&agents[n]);
	}
	uv_close((uv_handle_t *)other, refuse);
}

static void announce(struct agent *a)
{
	const struct sockaddr_in from = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(ADDRESS_FIRST + a->number)};
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(0x7fffffff),
				       .sin_port = htons(DISCOVERY_UDP_PORT)};
	Heapcast__Beacon beacon = HEAPCAST__BEACON__INIT;
	const int one = 1;
	uint8_t data[DISCOVERY_BEACON_MAX];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	beacon.magic = DISCOVERY_BEACON_MAGIC;
	beacon.protocol = PROTOCOL_VERSION;
	beacon.agent = (ProtobufCBinaryData){STREAM_ID_SIZE, a->id};
	beacon.port = wanted.port;
	beacon.sequence = ++beacon_number;
	beacon.streams = 1;
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
	if (fd < 0 || bind(fd, (const struct sockaddr *)&from, sizeof(from)) < 0)
		err(1, "cannot send from an address of the loopback interface");
	sendto(fd, data, heapcast__beacon__pack(&beacon, data), 0, (const struct sockaddr *)&to,
	       sizeof(to));
	close(fd);
}

/* ---- time ---- */

static void step(struct agent *a)
{
	uint64_t now = uv_now(loop);

	if (now < a->start_ms || (a->ended && !wanted.stays))
		return;
	if (a->state == AWAY && wanted.dials && now >= a->again_ms)
		dial(a);
	if (a->state == LINKED && a->asked)
		send_due(a);
}

/* Beacons of all, spread over a second. */
static void announce_some(void)
{
	uint64_t until = (uv_now(loop) - began_ms) * wanted.agents / 1000;

	for (; beacon_ms < until; beacon_ms++) {
		struct agent *a = &agents[beacon_ms % wanted.agents];

		if (uv_now(loop) >= a->start_ms && !a->ended)
			announce(a);
	}
}

static void on_tick(uv_timer_t *unused)
{
	uint64_t now = uv_now(loop);

	(void)unused;
	for (unsigned i = 0; i < wanted.agents; i++)
		step(&agents[i]);
	if (!wanted.dials)
		announce_some();
	for (cuts_due += wanted.cut * TICK_MS / 1000; cuts_due >= 1; cuts_due--) {
		struct agent *a = &agents[(unsigned)rand() % wanted.agents];

		if (a->asked && !a->ended)
			hang_up(a);
	}
	if ((wanted.seconds != 0 && now - began_ms > wanted.seconds * 1000) ||
	    (told.ended == wanted.agents && !wanted.stays))
		uv_stop(loop);
}

/* ---- the beginning ---- */

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void make_agents(void)
{
	agents = calloc(wanted.agents, sizeof(*agents));
	for (unsigned i = 0; agents && i < wanted.agents; i++) {
		struct agent *a = &agents[i];

		a->number = i;
		a->start_ms = began_ms + (uint64_t)(wanted.spread * 1000 * i / wanted.agents);
		a->in.limit = IN_MAX;
		a->batches = calloc(played.count + SNAPSHOTS_MAX, sizeof(*a->batches));
		if (!a->batches || getrandom(a->id, sizeof(a->id), 0) < 0 ||
		    getrandom(a->stream, sizeof(a->stream), 0) < 0)
			errx(1, "no memory");
	}
	if (!agents)
		errx(1, "no memory");
}

static void listen_here(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_ANY),
				  .sin_port = htons(wanted.port)};
	int r;

	uv_tcp_init(loop, &listener);
	r = uv_tcp_bind(&listener, (const struct sockaddr *)&any, 0);
	if (!r)
		r = uv_listen((uv_stream_t *)&listener, 4096, on_connection);
	if (r < 0)
		errx(1, "cannot listen at port %u: %s", wanted.port, uv_strerror(r));
}

int main(int argc, char **argv)
{
	struct rlimit limit;

	played_load(player_options(argc, argv));
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	signal(SIGPIPE, SIG_IGN);
	loop = uv_default_loop();
	encoder = frame_encoder_new();
	reader = message_reader_new();
	scratch_size = played.largest > 4096 ? played.largest : 4096;
	scratch = malloc(FRAME_HEADROOM + scratch_size);
	framed = malloc(frame_bound(scratch_size));
	if (!encoder || !reader || !scratch || !framed)
		errx(1, "no memory");
	uv_update_time(loop);
	began_ms = uv_now(loop);
	began_wall_ns = wall_ns();
	make_agents();
	if (!wanted.dials)
		listen_here();
	uv_timer_init(loop, &timer);
	uv_timer_start(&timer, on_tick, 0, TICK_MS);
	uv_run(loop, UV_RUN_DEFAULT);
	told_report(wanted.agents, (double)(uv_now(loop) - began_ms) / 1000);
	return told.ended == wanted.agents ? 0 : 1;
}
