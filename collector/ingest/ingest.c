/* Start, periodic work and orderly shutdown of ingest. ingest.h describes the interface. */
#include "collector/ingest/ingest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/ingest/state.h"
#include "base/ban.h"

/* ---- events for the caller ---- */

void ingest_tell(struct ingest *ingest, const struct ingest_event *event)
{
	if (ingest->event)
		ingest->event(ingest->context, event);
}

void ingest_warn(struct ingest *ingest, const char *format, ...)
{
	char text[800];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ingest_tell(ingest, &(struct ingest_event){.kind = INGEST_WARNING, .text = text});
}

char *address_format(char out[ADDRESS_TEXT], const struct sockaddr *address)
{
	struct sockaddr_storage plain = {0};
	char host[NI_MAXHOST] = "?", port[8] = "0"; /* large enough for a link-local address, which
						     * has its interface behind a % */

	memcpy(&plain, address,
	       address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in));
	discovery_unmap(&plain);
	getnameinfo((const struct sockaddr *)&plain, sizeof(plain), host, sizeof(host), port,
		    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(out, ADDRESS_TEXT, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	return out;
}

uint64_t id_key(const struct ingest *ingest, const uint8_t id[STREAM_ID_SIZE])
{
	uint64_t key = XXH3_64bits_withSeed(id, STREAM_ID_SIZE, ingest->seed);

	return key == MAP_NO_KEY ? 0 : key;
}

struct ingest_totals ingest_totals(const struct ingest *ingest)
{
	struct ingest_totals t = {.events = ingest->events,
				  .bytes = ingest->bytes,
				  .beacons = ingest->beacons,
				  .turned_away = ingest->turned_away_count,
				  .beacons_refused = ingest->beacons_refused,
				  .beacons_unproven = ingest->beacons_unproven};

	t.links = ingest->open_count;
	for (const struct intake *s = ingest->intakes; s; s = s->next)
		t.live_streams += s->link && !s->ended;
	return t;
}

const char *ingest_where(const struct ingest *ingest)
{
	return ingest->where[0] ? ingest->where : "nowhere";
}

uint16_t ingest_port(const struct ingest *ingest)
{
	return ingest->listen_port;
}

/* ---- shutdown ---- */

static void ingest_free(struct ingest *ingest)
{
	void (*stopped)(void *) = ingest->stopped;
	void *context = ingest->stopped_context;

	intakes_free(ingest);
	files_done(ingest);
	replies_done(ingest);
	peers_free(ingest);
	room_done(ingest);
	compress_done(ingest);
	frame_encoder_free(ingest->encoder);
	message_reader_free(ingest->messages);
	secure_close(ingest->secure);
	free(ingest);
	if (stopped)
		stopped(context);
}

static void ingest_on_closed(uv_handle_t *handle)
{
	ingest_released(handle->data);
}

static void on_pool_closed(void *context)
{
	ingest_released(context);
}

/* The second half of the shutdown, when everything that could be made durable is durable. */
static void ingest_part(struct ingest *ingest)
{
	ingest->parting = true;
	for (struct link *l = ingest->links, *next; l; l = next) {
		next = l->next;
		link_goodbye(l);
	}
	discovery_stop(ingest);
	if (ingest->has_listener)
		uv_close((uv_handle_t *)&ingest->listener, ingest_on_closed);
	uv_close((uv_handle_t *)&ingest->tick, ingest_on_closed);
	uv_close((uv_handle_t *)&ingest->turning, ingest_on_closed);
	pool_close(ingest->durability, on_pool_closed, ingest);
	pool_close(ingest->derivation, on_pool_closed, ingest);
	pool_close(ingest->compressing.pool, on_pool_closed, ingest);
}

void ingest_released(struct ingest *ingest)
{
	ingest->pending--;
	if (ingest->stopping && !ingest->parting && !intake_busy(ingest))
		ingest_part(ingest);
	else if (ingest->parting && !ingest->pending)
		ingest_free(ingest);
}

static void ingest_on_connection(uv_stream_t *listener, int status);

static void on_tick(uv_timer_t *timer)
{
	struct ingest *ingest = timer->data;
	uint64_t now_ms = uv_now(ingest->loop);

	if (ingest->accept_waits && !ingest->stopping)
		ingest_on_connection((uv_stream_t *)&ingest->listener, 0);
	intake_tick(ingest, now_ms);
	files_tick(ingest, now_ms);
	replies_tick(ingest, now_ms);
	if (!ingest->stopping)
		links_tick(ingest, now_ms);
	if (!ingest->stopping)
		retain_tick(ingest, now_ms);
	if (!ingest->stopping)
		compress_tick(ingest, now_ms);
	if (!ingest->stopping) {
		probe_tick(ingest, now_ms);
		peer_tick(ingest, now_ms);
		room_tick(ingest, now_ms);
		anew_tick(ingest);
	} else if (!ingest->parting && !intake_busy(ingest)) {
		ingest_part(ingest);
	}
}

static void on_turn(uv_prepare_t *turning)
{
	((struct ingest *)turning->data)->turn++;
}

void ingest_stop(struct ingest *ingest, void (*stopped)(void *), void *context)
{
	if (ingest->stopping)
		return;
	__atomic_store_n(&ingest->stopping, true, __ATOMIC_RELAXED);
	ingest->stopped = stopped;
	ingest->stopped_context = context;
	/* Input stops. The next ticks make everything received durable. */
	for (struct link *l = ingest->links; l; l = l->next)
		if (l->state == LINK_OPEN || l->state == LINK_HELLO)
			uv_read_stop((uv_stream_t *)&l->tcp);
	uv_timer_start(&ingest->tick, on_tick, 0, TICK_MS);
}

/* ---- start ---- */

/* Reads our id, which stays the same as long as the folder exists, so that agents recognize us. */
static int ingest_read_id(struct ingest *ingest, struct err_text *err)
{
	cleanup(cleanup_close) int fd = -1;
	char path[4096];

	snprintf(path, sizeof(path), "%s/collector-id", store_path(ingest->store));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (pread(fd, ingest->id, sizeof(ingest->id), 0) == sizeof(ingest->id))
		return 0;
	if (getrandom(ingest->id, sizeof(ingest->id), 0) != sizeof(ingest->id))
		return -EIO;
	if (pwrite(fd, ingest->id, sizeof(ingest->id), 0) != sizeof(ingest->id))
		return err_set(err, -EIO, "cannot write %s", path);
	return 0;
}

static void ingest_on_connection(uv_stream_t *listener, int status)
{
	struct ingest *ingest = listener->data;

	if (status < 0)
		return;
	/*
	 * libuv keeps the connection that is not accepted now, and the kernel keeps those behind
	 * it.
	 */
	ingest->accept_waits = !strangers_admit(&ingest->strangers, uv_now(ingest->loop));
	if (!ingest->accept_waits)
		link_accept(ingest);
}

static int listen_error(int r, const char *where, struct err_text *err)
{
	if (r == UV_EADDRINUSE)
		return err_set(err, r,
			       "TCP %s is taken by another program ('ss -ltnp' shows which); give "
			       "another place with --listen ADDR:PORT",
			       where);
	return err_set(err, r, "cannot listen on TCP %s: %s", where, uv_strerror(r));
}

/* Parses "ADDR:PORT", "[ADDR6]:PORT", "ADDR" or ":PORT"; port 0: any free one. */
static int listen_address(const char *text, struct sockaddr_storage *ret_address,
			  struct err_text *err)
{
	const char *colon = strrchr(text, ':');
	bool has_port =
		colon && !strchr(colon, ']') && (text[0] == '[' || strchr(text, ':') == colon);
	size_t length = has_port ? (size_t)(colon - text) : strlen(text);
	uint64_t port = LISTEN_PORT;
	char host[64] = "0.0.0.0";

	if (length >= sizeof(host) ||
	    (has_port && (parse_u64(colon + 1, &port) < 0 || port > UINT16_MAX)))
		return err_set(err, -EINVAL, "--listen takes ADDR:PORT, not '%.200s'", text);
	if (length > 2 && text[0] == '[' && text[length - 1] == ']')
		snprintf(host, sizeof(host), "%.*s", (int)length - 2, text + 1);
	else if (length)
		snprintf(host, sizeof(host), "%.*s", (int)length, text);
	if (uv_ip4_addr(host, (int)port, (struct sockaddr_in *)ret_address) &&
	    uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)ret_address))
		return err_set(err, -EINVAL,
			       "--listen takes the address of an interface of this host, not '%s'",
			       host);
	return 0;
}

static void note_listener(struct ingest *ingest)
{
	struct sockaddr_storage address;
	int length = sizeof(address);
	char text[ADDRESS_TEXT];
	size_t used = strlen(ingest->where);

	if (uv_tcp_getsockname(&ingest->listener, (struct sockaddr *)&address, &length) < 0)
		return;
	ingest->listen_port = ntohs(((struct sockaddr_in *)&address)->sin_port);
	snprintf(ingest->where + used, sizeof(ingest->where) - used,
		 "%sTCP %s for agents that dial in", used ? ", " : "",
		 address_format(text, (struct sockaddr *)&address));
}

static int listen_start(struct ingest *ingest, const char *where, struct err_text *err)
{
	struct sockaddr_storage address = {0};
	int r = listen_address(where, &address, err);

	if (r < 0)
		return r;
	r = uv_tcp_init(ingest->loop, &ingest->listener);
	if (r < 0)
		return listen_error(r, where, err);
	ingest->listener.data = ingest;
	ingest->has_listener = true;
	ingest->pending++;
	r = uv_tcp_bind(&ingest->listener, (const struct sockaddr *)&address, 0);
	if (!r)
		r = uv_listen((uv_stream_t *)&ingest->listener, LISTEN_BACKLOG,
			      ingest_on_connection);
	if (r < 0)
		return listen_error(r, where, err);
	note_listener(ingest);
	return 0;
}

/* Formats the default place: any address of the host, or the interface's. */
static void default_place(const char *interface, char *out, size_t size)
{
	struct sockaddr_storage address;
	char host[ADDRESS_TEXT];
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(out, size, fd < 0 ? "0.0.0.0:%d" : "[::]:%d", LISTEN_PORT);
	if (fd >= 0)
		close(fd);
	if (!interface || !discovery_interface_address(interface, &address))
		return;
	address_format(host, (const struct sockaddr *)&address);
	*strrchr(host, ':') = '\0';
	snprintf(out, size, "%s:%d", host, LISTEN_PORT);
}

/* The default place is a convenience, so a failure (another collector has it) is only a warning. */
static int listen_default(struct ingest *ingest, const char *interface)
{
	struct err_text err = {0};
	char place[ADDRESS_TEXT + 8];
	int r;

	default_place(interface, place, sizeof(place));
	r = listen_start(ingest, place, &err);
	if (r < 0)
		ingest_warn(ingest, "agents can't dial in here: %s", err_get(&err, r));
	return 0;
}

static int listen_as_told(struct ingest *ingest, const struct ingest_options *options,
			  struct err_text *err)
{
	if (!options->listen)
		return listen_default(ingest, options->interface);
	return strcmp(options->listen, "off") ? listen_start(ingest, options->listen, err) : 0;
}

static int secure_start(struct ingest *ingest, const struct ingest_options *options,
			struct err_text *err)
{
	const struct secure_options secure = {.secrets = options->secrets,
					      .secret_count = options->secret_count,
					      .paired = options->paired,
					      .cert = options->cert,
					      .cert_key = options->cert_key,
					      .ca = options->ca};
	int r;

	ingest->paired = options->paired;
	ingest->strict = options->paired_only || (secure_wanted(&secure) && !options->paired);
	ingest->proven = options->paired_only || (options->secret_count && !options->paired);
	if (options->paired && !options->paired_only && !options->secret_count)
		return 0; /* the context is made once there is a key */
	r = secure_wanted(&secure) || options->paired ? secure_open(&secure, &ingest->secure, err)
						      : 0;

	if (!r && ingest->secure && secure_remark(ingest->secure))
		ingest_warn(ingest, "%s", secure_remark(ingest->secure));
	return r;
}

/*
 * Agents wait for the acknowledgement of durable data, so no other work may occupy the threads that
 * sync.
 */
static int pools_start(struct ingest *ingest, const struct ingest_options *options)
{
	int r = pool_new(ingest->loop, DURABILITY_THREADS, false, &ingest->durability);

	ingest->pending += !r;
	if (!r) {
		r = pool_new(ingest->loop, DERIVATION_THREADS, true, &ingest->derivation);
		ingest->pending += !r;
	}
	if (!r) {
		r = compress_start(ingest, options);
		ingest->pending += ingest->compressing.pool != NULL;
	}
	return r;
}

static bool is_stopping(void *context)
{
	return __atomic_load_n(&((const struct ingest *)context)->stopping, __ATOMIC_RELAXED);
}

static void do_settle(struct pool_work *work)
{
	store_sum_up_some(((struct ingest *)work->data)->store, is_stopping, work->data);
}

static void on_settled(struct pool_work *work)
{
	ingest_released(work->data);
}

static void ingest_settle(struct ingest *ingest)
{
	ingest->settling.data = ingest;
	ingest->pending++;
	pool_queue(ingest->derivation, &ingest->settling, do_settle, on_settled);
}

static int start(struct ingest *ingest, const struct ingest_options *options, struct err_text *err)
{
	struct sockaddr_storage address;
	int r = secure_start(ingest, options, err);

	room_init(ingest, options);
	if (!r && getrandom(&ingest->seed, sizeof(ingest->seed), 0) != sizeof(ingest->seed))
		r = -EIO;
	if (!r)
		r = pools_start(ingest, options);
	if (!r)
		r = ingest_read_id(ingest, err);

	ingest->encoder = frame_encoder_new();
	ingest->messages = message_reader_new();
	if (!r && (!ingest->encoder || !ingest->messages))
		r = -ENOMEM;
	files_init(ingest, options);
	if (!r && options->interface && !discovery_interface_address(options->interface, &address))
		r = err_set(err, -ENODEV,
			    "there is no interface '%s' with an address that is up (ip address "
			    "shows all)",
			    options->interface);
	if (!r && options->discover)
		r = discovery_start(ingest, options->interface, err);
	if (!r)
		r = listen_as_told(ingest, options, err);
	for (size_t i = 0; !r && i < options->peer_count; i++)
		r = peer_add_fixed(ingest, options->peers[i], err);
	if (!r)
		r = uv_timer_start(&ingest->tick, on_tick, 0, TICK_MS);
	if (!r)
		ingest_settle(ingest);
	return r;
}

static int make_secure(struct ingest *ingest, const struct secret *secrets, size_t count,
		       struct err_text *err)
{
	const struct secure_options options = {
		.secrets = secrets, .secret_count = count, .paired = true};

	return count ? secure_open(&options, &ingest->secure, err) : 0;
}

int ingest_rekey(struct ingest *ingest, const struct secret *secrets, size_t count,
		 struct err_text *err)
{
	int r = ingest->secure ? secure_rekey(ingest->secure, secrets, count, err)
			       : make_secure(ingest, secrets, count, err);

	ingest->secrets = secrets;
	ingest->secret_count = r < 0 ? 0 : count;
	ingest->told_key = false;
	if (r < 0)
		return r;
	links_drop_unknown(ingest);
	ingest->prober.next_ms = ingest->prober.pause_ms = 0; /* send new probes at once */
	return 0;
}

int ingest_start(uv_loop_t *loop, struct store *store, const struct ingest_options *options,
		 struct ingest **ret_ingest, struct err_text *err)
{
	struct ingest *ingest = calloc(1, sizeof(*ingest));
	int r;

	if (!ingest)
		return -ENOMEM;
	*ingest = (struct ingest){.loop = loop,
				  .store = store,
				  .event = options->event,
				  .context = options->context,
				  .keep_ns = options->keep_ns,
				  .keep_bytes = options->keep_bytes,
				  .waits = options->waits,
				  .secrets = options->secrets,
				  .secret_count = options->secret_count};
	uv_timer_init(loop, &ingest->tick);
	uv_prepare_init(loop, &ingest->turning);
	uv_prepare_start(&ingest->turning, on_turn);
	ingest->tick.data = ingest->turning.data = ingest;
	ingest->pending = 2;
	r = start(ingest, options, err);
	if (r < 0) {
		/* The loop's next turns close the handles. The caller gets no events. */
		ingest->event = NULL;
		ingest_stop(ingest, NULL, NULL);
		return r;
	}
	*ret_ingest = ingest;
	return 0;
}
