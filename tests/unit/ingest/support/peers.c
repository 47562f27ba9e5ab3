/* The two ends of the protocol that the tests of ingest share; see peers.h. */
#include "tests/unit/ingest/support/peers.h"

#include <arpa/inet.h>

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

void collector_begin(struct collector *c, const char *folder, const char *const *peers,
		     size_t count, bool discover, enum ingest_event_kind until,
		     unsigned until_count)
{
	const struct ingest_options options = {.peers = peers,
					       .peer_count = count,
					       .discover = discover,
					       .interface = discover ? "lo" : NULL,
					       .listen = "127.0.0.1:0",
					       .event = on_event,
					       .context = c};
	struct err_text err = {0};
	int r;

	memset(c, 0, sizeof(*c));
	c->until = until;
	c->until_count = until_count;
	assert_int_equal(uv_loop_init(&c->loop), 0);
	assert_int_equal(store_open(folder, STORE_WRITE, &c->store, &err), 0);
	r = ingest_start(&c->loop, c->store, &options, &c->ingest, &err);
	if (r < 0)
		fail_msg("%s", err_get(&err, r));
	uv_timer_init(&c->loop, &c->timer);
	c->timer.data = c;
	uv_timer_start(&c->timer, on_timeout, PATIENCE_MS, 0);
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

static void send_message(struct agent *a, int fd, Heapcast__Link *link)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	struct builder frame = {.frames = a->b.frames};

	batch.link = link;
	builder_frame(&frame, &batch);
	agent_send(fd, frame.file.data, frame.file.length);
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
	state.incarnation = 1;
	state.first = 1;
	state.next = a->b.number + 1;
	state.ended = true;
	link.hello = &hello;
	link.stream = states;
	link.n_stream = 1;
	send_message(a, fd, &link);
}

const Heapcast__Order *next_order(struct agent *a, int fd)
{
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
		n = recv(fd, buf_reserve(&a->in, 4096), 4096, 0);
		if (n <= 0)
			return NULL;
		a->in.length += (size_t)n;
	}
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

	agent_send(fd, a->b.file.data + start, a->b.ends[to - 1] - start);
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
