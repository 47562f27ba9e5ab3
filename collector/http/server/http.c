/* Runs the server in a thread of its own: starts it, and stops it in order. See http.h. */
#include "collector/http/server/http.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/secure/pair_code.h"
#include "collector/http/server/exchange.h"
#include "collector/http/server/fleet.h"
#include "collector/http/server/hangup.h"
#include "collector/http/server/listener.h"
#include "collector/http/server/server.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

struct http {
	uv_loop_t loop;
	uv_async_t stop;
	pthread_t thread;
	struct fleet *fleet;
	struct sources *sources;
	struct workers workers;
	struct server *server;
	struct server_options serving;
	uint16_t port;
	char made_token[PAIR_CODE_LETTERS + 1]; /* set if the user gave no token */
	char url[160];
};

static void on_stop(uv_async_t *stop)
{
	struct http *http = stop->data;

	uv_close((uv_handle_t *)&http->stop, NULL);
	server_close(http->server);
	workers_close(&http->workers);
}

static void *http_run(void *argument)
{
	struct http *http = argument;
	sigset_t all;

	/* The thread that started the server handles the signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_setname_np(pthread_self(), "http");
	uv_run(&http->loop, UV_RUN_DEFAULT);
	return NULL;
}

static void write_url(struct http *http, const char *address)
{
	const char *open = strchr(address, ':') ? "[" : "", *close = open[0] ? "]" : "";

	snprintf(http->url, sizeof(http->url), "%s://%s%.80s%s:%u/%s%s",
		 http->serving.tls_cert ? "https" : "http", open, address, close, http->port,
		 http->made_token[0] ? "#token=" : "", http->made_token);
}

/* Uses the given token, or makes one of 128 bits for this run. The printed address has the token
 * behind "#", a part that browsers do not send. */
static int choose_token(struct http *http, const struct http_options *options, struct err_text *err)
{
	int r = options->token ? 0 : pair_code_make(http->made_token);

	http->serving.access.token = options->token ? options->token : http->made_token;
	http->serving.access.token_made = !options->token;
	http->serving.access.port = http->port;
	return r < 0 ? err_set(err, r, "the system has no random numbers for a token") : 0;
}

/* Runs what a failed or stopped server left on the loop, then closes the loop. */
static void end_loop(struct http *http)
{
	uv_run(&http->loop, UV_RUN_DEFAULT);
	uv_loop_close(&http->loop);
}

static int start_thread(struct http *http, struct err_text *err)
{
	int r;

	uv_loop_init(&http->loop);
	workers_init(&http->workers, &http->loop, server_ready, hangup_look);
	uv_async_init(&http->loop, &http->stop, on_stop);
	http->stop.data = http;
	r = server_new(&http->loop, &http->serving, http->sources, &http->workers, &http->server,
		       err);
	if (!r) {
		http->serving.listen_fd = -1;
		r = -pthread_create(&http->thread, NULL, http_run, http);
		if (!r)
			return 0;
		err_set(err, r, "starting a thread: %s", strerror(-r));
		server_close(http->server);
	}
	uv_close((uv_handle_t *)&http->stop, NULL);
	workers_close(&http->workers);
	end_loop(http);
	server_free(http->server);
	return r;
}

static const char *http_address_of(const struct http_options *options)
{
	return options->address ? options->address : HTTP_DEFAULT_ADDRESS;
}

/* Checks what the server needs to be reached from other machines. */
static int check_beyond(const struct http_options *options, struct err_text *err)
{
	if (!options->token)
		return err_set(err, -EPERM,
			       "everybody who reaches %s could read all that is recorded: give "
			       "--token FILE (made with: umask 077; openssl rand -hex 32 >FILE)%s",
			       options->allow_hosts ? "the proxy" : http_address_of(options),
			       options->allow_hosts ? "" : ", or serve on 127.0.0.1");
	if (!options->tls_cert && !options->allow_hosts)
		return err_set(err, -EPERM,
			       "whoever is on the way to %s could read the token, and all that is "
			       "answered: give --tls-cert FILE and --tls-key FILE; or "
			       "--behind-proxy and --allow-host NAME, if a proxy speaks TLS; or "
			       "serve on 127.0.0.1",
			       http_address_of(options));
	return 0;
}

static int listen_at(const struct http_options *options, int *ret_fd, uint16_t *ret_port,
		     bool *ret_loopback, struct err_text *err)
{
	int r = listener_open(http_address_of(options), options->port, ret_fd, ret_port,
			      ret_loopback, err);

	if (!r && (!*ret_loopback || options->allow_hosts))
		r = check_beyond(options, err);
	if (r < 0) {
		cleanup_close(ret_fd);
		*ret_fd = -1;
	}
	return r;
}

int http_may_start(const struct http_options *options, struct err_text *err)
{
	cleanup(cleanup_close) int fd = -1;
	uint16_t port;
	bool loopback;

	return listen_at(options, &fd, &port, &loopback, err);
}

int http_start(const struct http_options *options, struct http **ret_http, struct err_text *err)
{
	struct http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return err_set(err, -ENOMEM, "out of memory");
	http->fleet = fleet_new();
	http->serving =
		(struct server_options){.listen_fd = -1,
					.access.https = options->tls_cert || options->allow_hosts,
					.access.hosts = options->allow_hosts,
					.tls_cert = options->tls_cert,
					.tls_key = options->tls_key};
	r = listen_at(options, &http->serving.listen_fd, &http->port, &http->serving.access.local,
		      err);
	http->serving.access.local &=
		!options->allow_hosts; /* with a proxy, requests come from other machines */
	if (!r)
		r = choose_token(http, options, err);
	if (!r)
		r = http->fleet ? 0 : err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = sources_new(options, http->fleet, &http->sources, err);
	if (!r)
		r = start_thread(http, err);
	if (r < 0) {
		cleanup_close(&http->serving.listen_fd);
		sources_free(http->sources);
		fleet_free(http->fleet);
		free(http);
		return r;
	}
	write_url(http, http_address_of(options));
	*ret_http = http;
	return 0;
}

const char *http_url(const struct http *http)
{
	return http->url;
}

uint16_t http_port(const struct http *http)
{
	return http->port;
}

void http_stop(struct http *http)
{
	if (!http)
		return;
	uv_async_send(&http->stop);
	pthread_join(http->thread, NULL);
	end_loop(http);
	server_free(http->server);
	sources_free(http->sources);
	fleet_free(http->fleet);
	free(http);
}
