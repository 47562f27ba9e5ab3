/* Runs libwebsockets on the caller's libuv loop. See server.h. */
#include "collector/http/server/server.h"

#include <errno.h>
#include <libwebsockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "collector/http/server/admission.h"
#include "collector/http/server/askers.h"
#include "collector/http/server/exchange.h"
#include "collector/http/server/greeting.h"
#include "collector/http/server/headers.h"
#include "collector/http/server/import.h"
#include "collector/http/server/routes.h"

#include "base/ban.h"

#define REQUEST_BYTES_MAX 16384 /* for all header lines together; a longer request is refused */
#define SLICE_BYTES	  65536
#define BODY_SECONDS	  10
#define HEAD_BYTES	  4096
#define STALL_SECONDS	  60 /* a client that reads nothing for so long is disconnected */
#define AUTHORIZATION_MAX 2048
#define FORWARDED_MAX	  1024
/* A host name has up to 253 bytes. An Origin also has a scheme and a port. */
#define HOST_MAX	300
#define LEAVING_MAX	64 /* connections that the library has not closed yet */
#define TLS_READ_BYTES	(16384 + 512)
#define CHUNK_FRAME_MAX 16 /* "10000\r\n" in front, "\r\n" behind */

struct server {
	struct lws_context *context;
	struct workers *workers;
	struct sources *sources;
	uv_poll_t listener;
	struct greetings greetings;
	struct askers askers;
	struct asker *arriving; /* connection given to the library, until the library calls back for
				   it the first time */
	int listen_fd;
	struct access access;
	unsigned char slice[LWS_PRE + CHUNK_FRAME_MAX + SLICE_BYTES + CHUNK_FRAME_MAX];
};

/* The memory that libwebsockets keeps for each connection. */
struct session {
	struct exchange *x;
};

/* ---- answers ---- */

static struct asker *asker_of(const struct server *server, struct lws *wsi)
{
	struct asker *asker = lws_get_opaque_user_data(wsi);

	return asker ? asker : server->arriving;
}

static void set_busy(const struct server *server, struct lws *wsi, bool busy)
{
	struct asker *asker = asker_of(server, wsi);

	if (!asker)
		return;
	asker->busy = busy;
	asker->who.since_ms = uv_now(server->listener.loop);
}

static int server_finish(struct server *server, struct lws *wsi, struct session *session)
{
	struct exchange *x = session->x;
	bool unread = x->body_left != 0;

	set_busy(server, wsi, false);
	session->x = NULL;
	exchange_free(x);
	if (unread) /* the body was not read, so the next request would begin inside it */
		return -1;
	return lws_http_transaction_completed(wsi) ? -1 : 0;
}

struct head {
	struct lws *wsi;
	unsigned char *at, *end;
};

static int add_header(void *context, const char *name, const char *value)
{
	struct head *head = context;

	return lws_add_http_header_by_name(head->wsi, (const unsigned char *)name,
					   (const unsigned char *)value, (int)strlen(value),
					   &head->at, head->end);
}

/* Writes status, type and length. lws_add_http_common_headers would close the connection after an
 * answer of unknown length, which chunks make unnecessary. */
static int add_status(struct head *head, const struct exchange *x)
{
	if (!x->chunked)
		return lws_add_http_common_headers(head->wsi, (unsigned)x->status, x->content_type,
						   x->result <= 0 ? x->out.length
								  : LWS_ILLEGAL_HTTP_CONTENT_LEN,
						   &head->at, head->end);
	return lws_add_http_header_status(head->wsi, (unsigned)x->status, &head->at, head->end) ||
	       add_header(head, "content-type:", x->content_type) ||
	       add_header(head, "transfer-encoding:", "chunked");
}

static int send_head(struct lws *wsi, struct exchange *x)
{
	unsigned char bytes[LWS_PRE + HEAD_BYTES], *start = bytes + LWS_PRE;
	struct head head = {wsi, start, bytes + sizeof(bytes) - 1};

	x->chunked = x->result > 0 && !x->old_protocol;
	if (add_status(&head, x) || headers_put(x, add_header, &head) ||
	    lws_finalize_write_http_header(wsi, start, &head.at, head.end))
		return -1;
	x->head_sent = true;
	return 0;
}

/* Sends one slice of the body, framed as a chunk if the length was not known at the start. */
static int send_slice(struct server *server, struct lws *wsi, struct exchange *x)
{
	unsigned char *body = server->slice + LWS_PRE + CHUNK_FRAME_MAX, *start = body, *end;
	size_t length = x->out.length - x->sent;
	bool last;
	char line[CHUNK_FRAME_MAX];

	if (length > SLICE_BYTES)
		length = SLICE_BYTES;
	memcpy(body, x->out.data + x->sent, length);
	end = body + length;
	x->sent += length;
	last = x->result <= 0 && x->sent == x->out.length;
	if (x->chunked && length) {
		int n = snprintf(line, sizeof(line), "%zx\r\n", length);

		start -= n;
		memcpy(start, line, (size_t)n);
		memcpy(end, "\r\n", 2);
		end += 2;
	}
	if (x->chunked && last) {
		memcpy(end, "0\r\n\r\n", 5);
		end += 5;
	}
	if (end == start)
		return 0;
	return lws_write(wsi, start, (size_t)(end - start),
			 last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0
		       ? -1
		       : 0;
}

static int on_writable(struct server *server, struct lws *wsi, struct session *session)
{
	struct exchange *x = session->x;

	if (!x || x->state != EXCHANGE_SENDING)
		return 0;
	lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, STALL_SECONDS);
	if (!x->head_sent) {
		if (x->result < 0)
			exchange_fail(x, x->result);
		if (send_head(wsi, x) < 0)
			return -1;
		if (x->head_only || (x->result <= 0 && !x->out.length))
			return server_finish(server, wsi, session);
		lws_callback_on_writable(wsi);
		return 0;
	}
	/* The head has been sent, so closing the connection is the only way to show a failure. */
	if (x->result < 0 && x->status < 400)
		return -1;
	if (send_slice(server, wsi, x) < 0)
		return -1;
	if (x->sent < x->out.length) {
		lws_callback_on_writable(wsi);
		return 0;
	}
	if (x->result <= 0)
		return server_finish(server, wsi, session);
	buf_clear(&x->out);
	x->sent = 0;
	lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
	workers_submit(server->workers, x);
	return 0;
}

void server_ready(struct exchange *x)
{
	lws_callback_on_writable(x->connection);
}

/* ---- requests ---- */

static int read_arguments(struct lws *wsi, struct exchange *x)
{
	char text[REQUEST_BYTES_MAX];
	int some = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS);

	for (int i = 0; some > 0; i++) {
		int length = lws_hdr_fragment_length(wsi, WSI_TOKEN_HTTP_URI_ARGS, i);
		int n = lws_hdr_copy_fragment(wsi, text, sizeof(text), WSI_TOKEN_HTTP_URI_ARGS, i);

		if (!length && n < 0)
			break; /* an empty parameter, as in "a=1&&b=2", is not the last one */
		if (n < 0 || (size_t)n != strlen(text))
			return admission_refuse(x, 400, -EINVAL,
						"a parameter is too long or has a NUL in it");
		greeting_restore(text);
		if (!length || !strcmp(text, "/"))
			continue; /* libwebsockets makes "path?/" of "path?" */
		n = asked_add(&x->request, text);
		if (n == -E2BIG)
			return admission_refuse(x, 400, n, "too many parameters");
		if (n < 0)
			return n;
	}
	return 0;
}

/* Returns the header, or NULL if it is absent, or "" if it is too long. */
static const char *header(struct lws *wsi, enum lws_token_indexes which, char *out, size_t size)
{
	if (!lws_hdr_total_length(wsi, which))
		return NULL;
	if (lws_hdr_copy(wsi, out, (int)size, which) <= 0)
		out[0] = 0;
	return out;
}

/* Reads the request from the library. Returns 0, or a negative errno with the answer. */
static int server_read_request(struct server *server, struct lws *wsi, struct exchange *x,
			       size_t path_length)
{
	char host[HOST_MAX], origin[HOST_MAX], authorization[AUTHORIZATION_MAX],
		cookie[REQUEST_BYTES_MAX], forwarded[FORWARDED_MAX], type[64], length[24],
		accept[1024], version[16] = "", codings[128] = "", agent[512] = "";
	const struct asker *asker = asker_of(server, wsi);
	struct arrival arrival = {
		.claim = {.host = header(wsi, WSI_TOKEN_HOST, host, sizeof(host)),
			  .origin = header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof(origin)),
			  .authorization = header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, authorization,
						  sizeof(authorization)),
			  .cookie = header(wsi, WSI_TOKEN_HTTP_COOKIE, cookie, sizeof(cookie)),
			  .forwarded_for = header(wsi, WSI_TOKEN_X_FORWARDED_FOR, forwarded,
						  sizeof(forwarded))},
		.now_ms = uv_now(server->listener.loop),
		.path_length = path_length,
		/* Otherwise the library took %0A for the end of the line. */
		.has_version = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP) > 0,
		.type = header(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE, type, sizeof(type)),
		.length = header(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, length, sizeof(length)),
		.accepted = header(wsi, WSI_TOKEN_HTTP_ACCEPT, accept, sizeof(accept)),
	};
	int r;

	if (asker)
		arrival.claim.from = asker->who.from;
	header(wsi, WSI_TOKEN_HOST, x->host, sizeof(x->host));
	header(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH, x->known_etag, sizeof(x->known_etag));
	header(wsi, WSI_TOKEN_HTTP_ACCEPT_ENCODING, codings, sizeof(codings));
	header(wsi, WSI_TOKEN_HTTP_USER_AGENT, agent, sizeof(agent));
	header(wsi, WSI_TOKEN_HTTP, version, sizeof(version));
	x->takes_gzip = strstr(codings, "gzip");
	x->browser = strncmp(agent, "Mozilla/", 8) == 0;
	x->old_protocol = strstr(version, "1.0");
	x->head_only = lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0;
	x->post = lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0;
	arrival.claim.reads = x->head_only || lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI);
	r = admission_check(x, &server->access, &arrival);
	if (r < 0)
		return admission_wants_form(x, &arrival) ? login_page(x, "") : r;
	return read_arguments(wsi, x);
}

/* Recognizes a request with a body that arrived before the previous request was answered. The
 * library (4.1) keeps such data in a list, and loops forever when it finds a body there. No request
 * would be answered any more. */
static bool brings_body_early(struct lws *wsi)
{
	bool has_body = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) ||
			lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) ||
			(!lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) &&
			 !lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI));

	/* 0 means that the list is not empty, because of this connection or another one. In either
	 * case this client is disconnected, and asks again. */
	return has_body && !lws_service_adjust_timeout(lws_get_context(wsi), 1, 0);
}

static int on_request(struct server *server, struct lws *wsi, struct session *session,
		      const char *path, size_t length)
{
	struct exchange *x;

	/* A connection has one request at a time. The library holds back further ones. */
	if (session->x || brings_body_early(wsi))
		return -1;
	x = routes_exchange(server->sources, path);
	if (!x)
		return -1;
	session->x = x;
	set_busy(server, wsi, true);
	x->connection = wsi;
	x->result = server_read_request(server, wsi, x, length);
	if (x->result < 0 || x->is_login_page) {
		x->state = EXCHANGE_SENDING;
		lws_callback_on_writable(wsi);
		return 0;
	}
	if (x->post &&
	    x->route.method !=
		    ROUTE_LOGOUT) { /* the library's own time limit holds until the body is there */
		lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, BODY_SECONDS);
		return 0;
	}
	lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
	workers_submit(server->workers, x);
	return 0;
}

/* Writes a part of the file. An upload may take as long as data keeps arriving. The data goes to
 * the page cache; a write waits for the disk only if the disk cannot keep up. */
static int on_file(struct server *server, struct lws *wsi, struct exchange *x, const void *data,
		   size_t length)
{
	x->result = upload_add(x, data, length);
	if (x->result < 0) {
		x->state = EXCHANGE_SENDING;
		lws_callback_on_writable(wsi);
		return 0;
	}
	if (x->body_left) {
		lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, STALL_SECONDS);
		return 0;
	}
	lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
	workers_submit(server->workers, x);
	return 0;
}

static int on_body(struct server *server, struct lws *wsi, struct session *session,
		   const void *data, size_t length)
{
	struct exchange *x = session->x;

	if (!x || !x->post || x->state != EXCHANGE_WAITING || x->workers)
		return 0; /* refused: the answer is on its way */
	if (length > x->body_left)
		return -1;
	x->body_left -= length;
	if (x->upload >= 0)
		return on_file(server, wsi, x, data, length);
	buf_append(&x->request.body, data, length);
	if (x->body_left)
		return 0;
	lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
	workers_submit(server->workers, x);
	return 0;
}

static void server_on_closed(struct server *server, struct session *session)
{
	if (session && session->x)
		exchange_abandon(server->workers, session->x);
	if (session)
		session->x = NULL;
}

static void on_gone(struct server *server, struct lws *wsi)
{
	struct asker *asker = asker_of(server, wsi);

	if (!asker)
		return;
	if (asker == server->arriving)
		server->arriving = NULL;
	askers_remove(&server->askers, asker);
	lws_set_opaque_user_data(wsi, NULL);
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
		    size_t length)
{
	struct server *server = lws_context_user(lws_get_context(wsi));
	struct session *session = user;

	switch (reason) {
	case LWS_CALLBACK_HTTP:
		return on_request(server, wsi, session, in, length);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return on_writable(server, wsi, session);
	case LWS_CALLBACK_HTTP_BODY:
		return on_body(server, wsi, session, in, length);
	case LWS_CALLBACK_HTTP_BODY_COMPLETION:
		return 0;
	case LWS_CALLBACK_CLOSED_HTTP:
	case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
		server_on_closed(server, session);
		return 0;
	/* The library must not answer by itself: no upgrades, no redirects. */
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return -1;
	case LWS_CALLBACK_WSI_DESTROY:
		on_gone(server, wsi);
		return 0;
	default:
		return 0;
	}
}

/* ---- connections ---- */

/* Frees the connection's place at once. The library closes the connection a little later. */
static void let_go(struct server *server, struct asker *asker)
{
	struct lws *wsi = asker->connection;

	lws_set_opaque_user_data(wsi, NULL);
	askers_remove(&server->askers, asker);
	lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, LWS_TO_KILL_SYNC);
}

/* The library closes the connection if it cannot adopt it. */
static void server_adopt(void *context, int fd, const struct stranger_address *from,
			 const void *data, size_t length)
{
	struct server *server = context;
	const struct stranger who = {*from, uv_now(server->listener.loop)};
	struct asker *leaver, *asker = askers_add(&server->askers, &who, &leaver);
	struct lws *wsi;

	if (!asker) {
		close(fd);
		return;
	}
	if (leaver)
		let_go(server, leaver);
	server->arriving = asker;
	wsi = length ? lws_adopt_socket_readbuf(server->context, fd, data, length)
		     : lws_adopt_socket(server->context, fd);
	if (wsi && server->arriving) {
		lws_set_opaque_user_data(wsi, asker);
		asker->connection = wsi;
	} else if (server->arriving) {
		askers_remove(&server->askers, asker);
	}
	server->arriving = NULL;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct server *server = poll->data;

	(void)events;
	for (int i = 0; status >= 0 && i < 16; i++) {
		struct sockaddr_storage from;
		socklen_t length = sizeof(from);
		int fd = accept4(server->listen_fd, (struct sockaddr *)&from, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		/* Head and body are written separately. TCP_NODELAY keeps the body from waiting for
		 * the head's acknowledgement. */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		greetings_add(&server->greetings, fd, (const struct sockaddr *)&from);
	}
}

/* Allows only HTTP/1.1, because the server frames its chunks itself. The buffer takes a whole TLS
 * record (16 KiB), so that no data waits inside the library, where the kernel does not report
 * it. */
static void speak_tls(struct lws_context_creation_info *info, const struct server_options *options)
{
	info->options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	info->ssl_options_set = (long)(SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 |
				       SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	info->ssl_cert_filepath = options->tls_cert;
	info->ssl_private_key_filepath = options->tls_key;
	info->alpn = "http/1.1";
	info->pt_serv_buf_size = TLS_READ_BYTES;
}

int server_new(uv_loop_t *loop, const struct server_options *options, struct sources *sources,
	       struct workers *workers, struct server **ret_server, struct err_text *err)
{
	static const struct lws_protocols protocols[] = {
		{.name = "http",
		 .callback = callback,
		 .per_session_data_size = sizeof(struct session),
		 .tx_packet_size = SLICE_BYTES +
				   64}, /* otherwise a slice is copied and sent in parts of 4 KiB */
		{0}};
	struct server *server = calloc(1, sizeof(*server));
	void *loops[1] = {loop};
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN_SERVER,
		.protocols = protocols,
		.foreign_loops = loops,
		.options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME |
			   LWS_SERVER_OPTION_DISABLE_IPV6,
		.max_http_header_data = REQUEST_BYTES_MAX,
		.max_http_header_pool = ASKERS_MAX,
		.fd_limit_per_thread = ASKERS_MAX + LEAVING_MAX,
		.server_string = "heapcast",
		.timeout_secs = 20,
		.keepalive_timeout = 30,
		.user = server,
	};

	if (!server)
		return err_set(err, -ENOMEM, "out of memory");
	*server = (struct server){.listen_fd = options->listen_fd,
				  .access = options->access,
				  .sources = sources,
				  .workers = workers};
	if (options->tls_cert)
		speak_tls(&info, options);
	lws_set_log_level(0, NULL);
	server->context = lws_create_context(&info);
	if (!server->context) {
		free(server);
		return err_set(err, -EIO,
			       "the HTTP library did not start: is its libuv plugin installed "
			       "(Debian: libwebsockets-evlib-uv)%s?",
			       options->tls_cert ? ", and can its OpenSSL use the certificate"
						 : "");
	}
	greetings_init(&server->greetings, loop, options->tls_cert != NULL, server_adopt, server);
	uv_poll_init(loop, &server->listener, server->listen_fd);
	server->listener.data = server;
	uv_poll_start(&server->listener, UV_READABLE, on_connection);
	*ret_server = server;
	return 0;
}

void server_close(struct server *server)
{
	uv_close((uv_handle_t *)&server->listener, NULL);
	greetings_close(&server->greetings);
	lws_context_destroy(server->context);
}

void server_free(struct server *server)
{
	if (!server)
		return;
	/* The first call began to destroy it. The loop belongs to the caller, so the library frees
	 * the rest in a second call. */
	lws_context_destroy(server->context);
	close(server->listen_fd);
	free(server);
}
