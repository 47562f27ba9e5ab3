/*
 * Requests (client.h). All of them are POST over HTTP/1.1. The server is told to finish the query
 * before it answers (wait_end_of_query), so that a status 200 means that all went well.
 *
 * libcurl silently sends a request again if a connection that it had kept dies without an answer.
 * The server may have executed it. So an INSERT can't be rewound: libcurl gives up, and the outcome
 * is unknown.
 */
#include "collector/clickhouse/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "collector/clickhouse/client_parts.h"
#include "collector/clickhouse/failure.h"

#include "base/ban.h"

#define CONNECT_MS 5000
#define ALL_MS	   60000
/* Servers close what is idle for 3 s (18.16) or more. */
#define IDLE_MAX_S 2
/* What the server may buffer in memory of its answer, in place of a file. */
#define ANSWER_BUFFER "1048576"
/* Of an answer that is an error. */
#define ERROR_MAX (64u << 10)
/* Since when servers know async_insert, which collects the INSERTs of many: ours are batches. */
#define ASYNC_INSERT_SINCE 22

/* Numbers of a question: a form with a file in it, which the server makes a table of. They stand
 * there as lines of digits, so none of them can look like the form's end. */
#define FORM_BOUNDARY "heapcast-numbers"
#define FORM_BEGIN                                                                                 \
	"--" FORM_BOUNDARY "\r\nContent-Disposition: form-data; name=\"numbers\"; "                \
	"filename=\"numbers\"\r\n\r\n"
#define FORM_END     "\r\n--" FORM_BOUNDARY "--\r\n"
#define FORM_ADDRESS "&numbers_structure=number+UInt64&numbers_format=TabSeparated"

/* What the body of a request is: a statement, or rows or numbers of one that is in the address. */
enum request_body { REQUEST_STATEMENT, REQUEST_ROWS, REQUEST_NUMBERS };

struct request {
	struct clickhouse *client;
	struct clickhouse_server *server;
	const struct clickhouse_host *host;
	const char *sql;
	bool inside; /* of the URL's database */
	enum request_body kind;
	const uint8_t *body;
	size_t length, sent;
	struct buf *answer;
	struct buf failed; /* the body of an answer that is an error */
	bool too_large;
	char why[CURL_ERROR_SIZE];
};

static size_t request_read(char *to, size_t size, size_t count, void *context)
{
	struct request *r = context;
	size_t n = r->length - r->sent, most = size * count;

	if (n > most)
		n = most;
	memcpy(to, r->body + r->sent, n);
	r->sent += n;
	return n;
}

static int request_seek(void *context, curl_off_t offset, int origin)
{
	struct request *r = context;

	if (r->kind == REQUEST_ROWS || origin != SEEK_SET || offset < 0 ||
	    (size_t)offset > r->length)
		return CURL_SEEKFUNC_FAIL;
	r->sent = (size_t)offset;
	return CURL_SEEKFUNC_OK;
}

static size_t request_write(char *data, size_t size, size_t count, void *context)
{
	struct request *r = context;
	size_t n = size * count;
	long status = 0;

	r->client->curl->curl_easy_getinfo(r->server->handle, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200) {
		if (r->failed.length < ERROR_MAX)
			buf_append(&r->failed, data, n);
		return n;
	}
	if (!r->answer)
		return n;
	buf_append(r->answer, data, n);
	r->too_large = buf_error(r->answer) == -EMSGSIZE;
	return buf_error(r->answer) ? 0 : n;
}

static bool client_is_stopped(const struct clickhouse *c)
{
	return atomic_load(&c->stopped) || (c->cancelled && atomic_load(c->cancelled));
}

static int request_watch(void *context, curl_off_t all, curl_off_t got, curl_off_t whole,
			 curl_off_t sent)
{
	const struct request *r = context;

	(void)all;
	(void)got;
	(void)whole;
	(void)sent;
	return client_is_stopped(r->client);
}

static int client_header(struct clickhouse *c, struct curl_slist **list, const char *name,
			 const char *value)
{
	char line[64 + CLICKHOUSE_PASSWORD_MAX];
	struct curl_slist *more;

	snprintf(line, sizeof(line), "%s%s", name, value);
	more = c->curl->curl_slist_append(*list, line);
	explicit_bzero(line, sizeof(line));
	if (!more)
		return -ENOMEM;
	*list = more;
	return 0;
}

static int client_headers(struct clickhouse *c, struct curl_slist **list, const char *type)
{
	const char *user = *c->url.user ? c->url.user : "default";
	int r = client_header(c, list, "Expect:", ""); /* don't wait for a "100 Continue" */

	if (!r)
		r = client_header(c, list, "Content-Type: ", type);
	if (!r)
		r = client_header(c, list, "X-ClickHouse-User: ", user);
	if (!r && *c->url.password)
		r = client_header(c, list, "X-ClickHouse-Key: ", c->url.password);
	return r;
}

static void client_wipe_headers(struct clickhouse *c, struct curl_slist *list)
{
	for (struct curl_slist *h = list; h; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	if (list)
		c->curl->curl_slist_free_all(list);
}

int clickhouse_open(const struct clickhouse_url *url, struct clickhouse **ret_client,
		    struct err_text *err)
{
	cleanup(cleanup_clickhouse_close) struct clickhouse *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->url = *url;
	c->connect_ms = CONNECT_MS;
	c->all_ms = ALL_MS;
	for (size_t i = 0; i < CLICKHOUSE_HOSTS_MAX; i++)
		c->servers[i].shard = SHARD_UNKNOWN;
	c->curl = curl_load(err);
	if (!c->curl)
		return -ENOENT;
	r = client_headers(c, &c->headers, "application/octet-stream");
	if (!r)
		r = client_headers(c, &c->form_headers,
				   "multipart/form-data; boundary=" FORM_BOUNDARY);
	if (r < 0)
		return r;
	*ret_client = take_ptr(c);
	return 0;
}

void clickhouse_close(struct clickhouse *client)
{
	if (!client)
		return;
	for (size_t i = 0; i < client->url.count; i++)
		if (client->servers[i].handle)
			client->curl->curl_easy_cleanup(client->servers[i].handle);
	client_wipe_headers(client, client->headers);
	client_wipe_headers(client, client->form_headers);
	clickhouse_url_clear(&client->url);
	free(client);
}

void clickhouse_stop(struct clickhouse *client)
{
	atomic_store(&client->stopped, true);
}

void clickhouse_set_cancelled(struct clickhouse *client, const atomic_bool *cancelled)
{
	client->cancelled = cancelled;
}

void clickhouse_set_looking(struct clickhouse *client)
{
	client->looks = true;
}

void clickhouse_set_patience(struct clickhouse *client, uint64_t connect_ms, uint64_t all_ms)
{
	client->connect_ms = (long)connect_ms;
	client->all_ms = (long)all_ms;
}

const struct clickhouse_url *clickhouse_url_of(const struct clickhouse *client)
{
	return &client->url;
}

size_t clickhouse_servers(const struct clickhouse *client)
{
	return client->url.count;
}

int clickhouse_code(const struct clickhouse *client)
{
	return client->code;
}

/* What does not change between the requests to a server. */
static int client_connect(struct clickhouse *c, struct clickhouse_server *server)
{
	const struct curl *curl = c->curl;
	CURL *handle;

	if (server->handle)
		return 0;
	handle = server->handle = curl->curl_easy_init();
	if (!handle)
		return -ENOMEM;
	curl->curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl->curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl->curl_easy_setopt(handle, CURLOPT_PROXY, ""); /* nor one of the environment */
	curl->curl_easy_setopt(handle, CURLOPT_MAXAGE_CONN, (long)IDLE_MAX_S);
	curl->curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
	curl->curl_easy_setopt(handle, CURLOPT_POST, 1L);
	curl->curl_easy_setopt(handle, CURLOPT_READFUNCTION, request_read);
	curl->curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, request_seek);
	curl->curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, request_write);
	curl->curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, request_watch);
	curl->curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
	if (*c->url.ca)
		curl->curl_easy_setopt(handle, CURLOPT_CAINFO, c->url.ca);
	return 0;
}

void clickhouse_set_batch(struct clickhouse *client, uint64_t batch)
{
	client->batch = batch;
}

/* Writes a statement into the address. */
static int request_address_sql(const struct request *r, struct buf *ret)
{
	const struct clickhouse *c = r->client;
	char *escaped = c->curl->curl_easy_escape(r->server->handle, r->sql, 0);

	if (!escaped)
		return -ENOMEM;
	buf_printf(ret, "&query=%s", escaped);
	c->curl->curl_free(escaped);
	if (r->kind == REQUEST_NUMBERS)
		buf_string(ret, FORM_ADDRESS);
	else if (c->batch)
		buf_printf(ret, "&query_id=" BATCH_QUERY, c->batch);
	if (r->kind == REQUEST_ROWS && r->server->major >= ASYNC_INSERT_SINCE)
		buf_string(ret, "&async_insert=0");
	return 0;
}

static int request_address(const struct request *r, struct buf *ret)
{
	const struct clickhouse *c = r->client;
	char host[CLICKHOUSE_HOST_TEXT];
	int e = 0;

	buf_printf(ret, "%s://%s/?wait_end_of_query=1&buffer_size=%s",
		   c->url.tls ? "https" : "http", clickhouse_host_format(r->host, host),
		   ANSWER_BUFFER);
	if (r->inside)
		buf_printf(ret, "&database=%s", c->url.database);
	if (r->kind != REQUEST_STATEMENT)
		e = request_address_sql(r, ret);
	return !e && buf_text(ret) ? 0 : -ENOMEM;
}

static CURLcode request_perform(struct request *r, const char *address)
{
	const struct curl *curl = r->client->curl;
	CURL *handle = r->server->handle;
	CURLcode result;

	curl->curl_easy_setopt(handle, CURLOPT_URL, address);
	curl->curl_easy_setopt(handle, CURLOPT_HTTPHEADER,
			       r->kind == REQUEST_NUMBERS ? r->client->form_headers
							  : r->client->headers);
	curl->curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, r->client->connect_ms);
	curl->curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, r->client->all_ms);
	curl->curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->length);
	curl->curl_easy_setopt(handle, CURLOPT_READDATA, r);
	curl->curl_easy_setopt(handle, CURLOPT_SEEKDATA, r);
	curl->curl_easy_setopt(handle, CURLOPT_WRITEDATA, r);
	curl->curl_easy_setopt(handle, CURLOPT_XFERINFODATA, r);
	curl->curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, r->why);
	result = curl->curl_easy_perform(handle);
	curl->curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, NULL);
	return result;
}

/* No answer, or only a part of one. */
static int request_broken(const struct request *r, CURLcode result, struct err_text *err)
{
	const struct curl *curl = r->client->curl;
	char host[CLICKHOUSE_HOST_TEXT], why[FAILURE_TEXT];
	const char *text = *r->why ? r->why : curl->curl_easy_strerror(result);
	long bytes = 0;

	clickhouse_host_format(r->host, host);
	if (result == CURLE_ABORTED_BY_CALLBACK)
		return err_set(err, -ECANCELED, "ClickHouse at %s: stopped", host);
	if (r->too_large)
		return err_set(err, -EMSGSIZE,
			       "ClickHouse at %s answers with more than %zu bytes; ask for less",
			       host, r->answer->limit);
	if (result == CURLE_OUT_OF_MEMORY || (r->answer && buf_error(r->answer)))
		return -ENOMEM;
	failure_show(text, strlen(text), why);
	curl->curl_easy_getinfo(r->server->handle, CURLINFO_REQUEST_SIZE, &bytes);
	if (!bytes &&
	    (result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE))
		return err_set(
			err, -EKEYREJECTED,
			"ClickHouse at %s: its certificate is not trusted: %s; ca=PATH in the "
			"URL names those to trust, and the host there must be the "
			"certificate's",
			host, why);
	if (!bytes)
		return err_set(err, -EHOSTUNREACH, "ClickHouse at %s can't be reached: %s", host,
			       why);
	if (result == CURLE_WEIRD_SERVER_REPLY || result == CURLE_UNSUPPORTED_PROTOCOL)
		return err_set(err, -EPROTO, "no ClickHouse server answers at %s: %s", host, why);
	if (r->kind == REQUEST_ROWS)
		return err_set(
			err, -ETIMEDOUT,
			"ClickHouse at %s: it is not known whether what was sent has arrived: %s",
			host, why);
	if (result == CURLE_OPERATION_TIMEDOUT)
		return err_set(err, -ETIMEDOUT, "ClickHouse at %s does not answer (%ld s)", host,
			       (r->client->all_ms + 999) / 1000);
	return err_set(err, -ETIMEDOUT,
		       "ClickHouse at %s gave no answer (its port of HTTP is 8123): %s", host, why);
}

/* A proxy might repeat what it got. */
static void client_hide_password(const struct clickhouse *c, char text[FAILURE_TEXT])
{
	if (*c->url.password && strstr(text, c->url.password))
		snprintf(text, FAILURE_TEXT, "(its answer has the password in it)");
}

static int request_refused(const struct request *r, long status, struct err_text *err)
{
	const char *body = r->failed.data ? (const char *)r->failed.data : "";
	char host[CLICKHOUSE_HOST_TEXT], text[FAILURE_TEXT];
	int code = failure_exception(body, r->failed.length, text);

	clickhouse_host_format(r->host, host);
	r->client->code = code;
	if (!code)
		failure_show(body, r->failed.length, text);
	client_hide_password(r->client, text);
	if (code)
		return err_set(err, failure_of_code(code), "ClickHouse at %s: %s (code %d)%s", host,
			       text, code, failure_advice(code));
	return err_set(err, failure_of_status(status),
		       "ClickHouse at %s answers with HTTP status %ld%s%s%s", host, status,
		       *text ? ": " : "", text, failure_status_advice(status));
}

static int request_judge(const struct request *r, CURLcode result, size_t before,
			 struct err_text *err)
{
	char host[CLICKHOUSE_HOST_TEXT], text[FAILURE_TEXT];
	long status = 0;
	int code;

	if (result)
		return request_broken(r, result, err);
	r->client->curl->curl_easy_getinfo(r->server->handle, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return request_refused(r, status, err);
	if (!r->answer || r->answer->length == before)
		return 0;
	code = failure_appended((const char *)r->answer->data + before, r->answer->length - before,
				text);
	if (!code)
		return 0;
	r->client->code = code;
	client_hide_password(r->client, text);
	return err_set(err, failure_of_code(code), "ClickHouse at %s: %s (code %d)%s",
		       clickhouse_host_format(r->host, host), text, code, failure_advice(code));
}

/* Sends what `r` says: sql, inside, kind, body and length are set. */
static int client_request(struct clickhouse *c, size_t server, struct request *r,
			  struct buf *answer, struct err_text *err)
{
	cleanup(buf_done) struct buf address = {.data = NULL};
	size_t before = answer ? answer->length : 0;
	int error;

	assert(!answer || answer->limit);
	r->client = c;
	r->server = &c->servers[server];
	r->host = &c->url.hosts[server];
	r->answer = answer;
	c->code = 0;
	if (client_is_stopped(c))
		return -ECANCELED;
	error = client_connect(c, r->server);
	if (!error)
		error = request_address(r, &address);
	if (!error)
		error = request_judge(r, request_perform(r, buf_text(&address)), before, err);
	buf_done(&r->failed);
	if (error < 0 && answer) {
		answer->length = before;
		answer->error = 0;
	}
	return error;
}

static struct request request_of(const char *sql, bool inside)
{
	return (struct request){
		.sql = sql, .inside = inside, .body = (const void *)sql, .length = strlen(sql)};
}

int clickhouse_query(struct clickhouse *client, size_t server, const char *sql, const void *body,
		     size_t length, struct buf *answer, struct err_text *err)
{
	struct request r = request_of(sql, true);

	if (body) {
		r.kind = REQUEST_ROWS;
		r.body = body;
		r.length = length;
	}
	return client_request(client, server, &r, answer, err);
}

int clickhouse_query_about(struct clickhouse *client, size_t server, const char *sql,
			   const uint64_t *numbers, size_t count, struct buf *answer,
			   struct err_text *err)
{
	cleanup(buf_done) struct buf form = {.data = NULL};
	struct request r = request_of(sql, true);

	buf_string(&form, FORM_BEGIN);
	for (size_t i = 0; i < count; i++)
		buf_printf(&form, "%" PRIu64 "\n", numbers[i]);
	buf_string(&form, FORM_END);
	if (buf_error(&form))
		return buf_error(&form);
	r.kind = REQUEST_NUMBERS;
	r.body = form.data;
	r.length = form.length;
	return client_request(client, server, &r, answer, err);
}

int clickhouse_query_outside(struct clickhouse *client, size_t server, const char *sql,
			     struct buf *answer, struct err_text *err)
{
	struct request r = request_of(sql, false);

	return client_request(client, server, &r, answer, err);
}
