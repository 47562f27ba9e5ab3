/* The two ends of the protocol that the tests of ingest share; see peers.h. */
#include "tests/unit/ingest/support/peers.h"

#include <arpa/inet.h>
#include <errno.h>

static void stop(struct collector *c)
{
	if (c->stopping)
		return;
	c->stopping = true;
	ingest_stop(c->ingest, NULL, NULL);
	uv_close((uv_handle_t *)&c->timer, NULL);
}

static void on_event(void *context, const struct ingest_event *e)
{
	struct collector *c = context;

	c->counts[e->kind]++;
	if (e->text)
		snprintf(c->last_text, sizeof(c->last_text), "%s", e->text);
	if (c->counts[c->until] >= c->until_count)
		stop(c);
}

static void on_timeout(uv_timer_t *timer)
{
	struct collector *c = timer->data;

	c->timed_out = true;
	stop(c);
}

static void begin(struct collector *c, const char *folder, struct ingest_options *options,
		  enum ingest_event_kind until, unsigned until_count)
{
	struct err_text err = {0};
	int r;

	memset(c, 0, sizeof(*c));
	options->listen = "127.0.0.1:0";
	options->event = on_event;
	options->context = c;
	c->until = until;
	c->until_count = until_count;
	assert_int_equal(uv_loop_init(&c->loop), 0);
	assert_int_equal(store_open(folder, STORE_WRITE, &c->store, &err), 0);
	r = ingest_start(&c->loop, c->store, options, &c->ingest, &err);
	if (r < 0)
		fail_msg("%s", err_get(&err, r));
	uv_timer_init(&c->loop, &c->timer);
	c->timer.data = c;
	uv_timer_start(&c->timer, on_timeout, PATIENCE_MS, 0);
}

void collector_begin(struct collector *c, const char *folder, const char *const *peers,
		     size_t count, bool discover, enum ingest_event_kind until,
		     unsigned until_count)
{
	struct ingest_options options = {.peers = peers,
					 .peer_count = count,
					 .discover = discover,
					 .interface = discover ? "lo" : NULL};

	begin(c, folder, &options, until, until_count);
}

void collector_begin_paired(struct collector *c, const char *folder, const struct secret *keys,
			    size_t count, enum ingest_event_kind until, unsigned until_count)
{
	struct ingest_options options = {.secrets = keys, .secret_count = count, .paired = true};

	begin(c, folder, &options, until, until_count);
}

void collector_run(struct collector *c)
{
	uv_run(&c->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&c->loop), 0);
	store_close(c->store);
}

/* The agent's side. */

static void *agent_main(void *a)
{
	((struct agent *)a)->script(a);
	return NULL;
}

void agent_begin(struct agent *a, void (*script)(struct agent *a))
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(any);

	memset(a, 0, sizeof(*a));
	a->script = script;
	memset(a->id, 0x77, sizeof(a->id));
	a->incarnation = 1;
	a->messages = message_reader_new();
	a->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(a->listener, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(a->listener, 8), 0);
	getsockname(a->listener, (struct sockaddr *)&any, &length);
	snprintf(a->address, sizeof(a->address), "127.0.0.1:%u", ntohs(any.sin_port));
	builder_init(&a->b, 0x42);
	for (unsigned i = 0; i < 9; i++) {
		for (unsigned k = 0; k < 200; k++)
			builder_malloc(&a->b, 1000 * i + k, 1, 0x1000 + 16 * (200 * i + k),
				       (200 * i + k) * 2654435761u >> 16);
		builder_close(&a->b, 1000 * i + 500);
	}
	builder_end(&a->b, 0);
}

void agent_start(struct agent *a)
{
	assert_int_equal(pthread_create(&a->thread, NULL, agent_main, a), 0);
}

void agent_join(struct agent *a)
{
	pthread_join(a->thread, NULL);
	close(a->listener);
	assert_false(a->failed);
}

void agent_done(struct agent *a)
{
	builder_done(&a->b);
	buf_done(&a->in);
	message_reader_free(a->messages);
}

int agent_accept(struct agent *a)
{
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd;

	setsockopt(a->listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	fd = accept(a->listener, NULL, NULL);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	a->connections++;
	buf_clear(&a->in);
	return fd;
}

void agent_send(int fd, const void *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = send(fd, (const char *)data + done, length - done, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		done += (size_t)n;
	}
}

static void flush(struct agent *a, int fd)
{
	size_t length;

	for (const uint8_t *data; data = secure_output(a->session, &length), length;) {
		agent_send(fd, data, length);
		secure_sent(a->session, length);
	}
}

/* As agent_send, over TLS if the agent has a key. */
static void put(struct agent *a, int fd, const void *data, size_t length)
{
	if (!a->session) {
		agent_send(fd, data, length);
		return;
	}
	for (size_t at = 0; at < length;) {
		ssize_t n = secure_write(a->session, (const char *)data + at, length - at);

		if (n < 0)
			return;
		at += (size_t)n;
		flush(a, fd);
	}
}

static void send_message(struct agent *a, int fd, Heapcast__Link *link)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	struct builder frame = {.frames = a->b.frames};

	batch.link = link;
	builder_frame(&frame, &batch);
	put(a, fd, frame.file.data, frame.file.length);
	buf_done(&frame.file);
}

void agent_greet(struct agent *a, int fd, uint32_t protocol)
{
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Hello hello = HEAPCAST__HELLO__INIT;
	Heapcast__StreamState state = HEAPCAST__STREAM_STATE__INIT, *states[] = {&state};
	static char host[] = "board7", version[] = "test";

	hello.protocol = protocol;
	hello.id = builder_bytes(a->id, sizeof(a->id));
	hello.host = host;
	hello.version = version;
	hello.window_bytes = 8192;
	state.stream = builder_bytes(a->b.id, sizeof(a->b.id));
	state.incarnation = a->incarnation;
	state.first = 1;
	state.next = a->b.number + 1;
	state.ended = true;
	link.hello = &hello;
	link.stream = states;
	link.n_stream = 1;
	send_message(a, fd, &link);
}

/* Adds what the session was fed with to `in`. */
static void decrypt(struct agent *a)
{
	ssize_t n;

	while ((n = secure_read(a->session, buf_reserve(&a->in, 4096), 4096, NULL)) > 0)
		a->in.length += (size_t)n;
}

static void take(struct agent *a, const uint8_t *raw, size_t length)
{
	if (a->session) {
		secure_feed(a->session, raw, length);
		decrypt(a);
		return;
	}
	memcpy(buf_reserve(&a->in, length), raw, length);
	a->in.length += length;
}

const Heapcast__Order *next_order(struct agent *a, int fd)
{
	uint8_t raw[4096];

	for (;;) {
		ProtobufCMessage *message;
		size_t length;
		ssize_t n;

		if (frame_length(a->in.data, a->in.length, &length, NULL) == 1) {
			int r = message_reader_open(a->messages, &heapcast__order__descriptor,
						    a->in.data, length, &message, NULL);

			buf_consume(&a->in, length);
			return r == 0 ? (const Heapcast__Order *)message : NULL;
		}
		n = recv(fd, raw, sizeof(raw), 0);
		if (n <= 0)
			return NULL;
		take(a, raw, (size_t)n);
	}
}

/* What came with the last bytes of the handshake is taken, too. */
static bool shake(struct agent *a, int fd)
{
	uint8_t raw[4096];
	ssize_t n;
	int r;

	while ((r = secure_shake(a->session, NULL)) == 1) {
		flush(a, fd);
		if (secure_blocked(a->session))
			continue;
		n = recv(fd, raw, sizeof(raw), 0);
		if (n <= 0)
			return false;
		secure_feed(a->session, raw, (size_t)n);
	}
	flush(a, fd);
	if (!r)
		decrypt(a);
	return !r;
}

bool agent_dial(struct agent *a, const struct secret *key)
{
	struct secure_options options = {.secrets = key, .secret_count = 1};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(a->dial),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};

	buf_clear(&a->in);
	a->connections++;
	a->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(a->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(a->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return false;
	if (!key)
		return true;
	if (secure_open(&options, &a->secure, NULL) < 0)
		return false;
	a->session = secure_session_new(a->secure, false, 0);
	return a->session && shake(a, a->fd);
}

void agent_leave(struct agent *a)
{
	secure_session_free(a->session);
	secure_close(a->secure);
	a->session = NULL;
	a->secure = NULL;
	close(a->fd);
}

bool agent_claims(struct agent *a, struct agent *ret_other, uint8_t id, uint32_t incarnation,
		  const struct secret *key)
{
	const struct timeval moment = {.tv_usec = 300000};
	const Heapcast__Order *order;

	*ret_other = (struct agent){
		.b = a->b, .messages = a->messages, .dial = a->dial, .incarnation = incarnation};
	memset(ret_other->id, id, sizeof(ret_other->id));
	a->failed |= !agent_dial(ret_other, key);
	setsockopt(ret_other->fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
	agent_greet(ret_other, ret_other->fd, 1);
	while ((order = next_order(ret_other, ret_other->fd)))
		if (order->subscribe)
			return true;
	return false;
}

bool agent_is_hung_up(struct agent *a)
{
	uint8_t byte;

	while (next_order(a, a->fd))
		;
	return recv(a->fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

void agent_claim_done(struct agent *other)
{
	agent_leave(other);
	buf_done(&other->in);
}

bool agent_subscribed(struct agent *a, int fd)
{
	const Heapcast__Order *order;

	while ((order = next_order(a, fd))) {
		if (order->ack)
			a->acked = order->ack->number;
		if (!order->subscribe)
			continue;
		a->subscribed[a->connections - 1] = order->subscribe->next;
		return true;
	}
	return false;
}

void agent_frames(struct agent *a, int fd, size_t from, size_t to)
{
	size_t start = from ? a->b.ends[from - 1] : 0;

	put(a, fd, a->b.file.data + start, a->b.ends[to - 1] - start);
}

void agent_until_acked(struct agent *a, int fd, uint64_t number)
{
	const Heapcast__Order *order;

	while (a->acked < number && (order = next_order(a, fd)))
		if (order->ack)
			a->acked = order->ack->number;
}

void agent_deliver(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	if (agent_subscribed(a, fd))
		agent_frames(a, fd, 0, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

void expect_recording(const struct agent *a, const char *folder)
{
	struct stream_summary *list;
	struct recording *r;
	struct store *store;
	char *path;
	size_t count;

	assert_int_equal(store_open(folder, STORE_READ, &store, NULL), 0);
	assert_int_equal(store_list(store, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].state, STREAM_ENDED);
	assert_int_equal(list[0].events, 1800);
	assert_int_equal(list[0].recording_bytes, a->b.file.length);
	store_list_free(list, count);
	assert_int_equal(store_find(store, "last", &path, NULL), 0);
	assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
	assert_true(recording_adds_up(r, NULL));
	assert_int_equal(recording_rows(r), 1800);
	recording_close(r);
	free(path);
	store_close(store);
}
