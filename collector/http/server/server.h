#pragma once
/*
 * The HTTP server: accepts connections, builds requests, and sends answers in slices. Only this
 * code and hangup.c use libwebsockets. It runs on the caller's event loop and on no other thread.
 */
#include <uv.h>

#include "collector/http/server/access.h"

struct err_text;
struct exchange;
struct server;
struct sources;
struct workers;

struct server_options {
	int listen_fd;
	struct access access;
	const char *tls_cert, *tls_key; /* files, PEM; NULL: plain HTTP */
};

/* Takes over `listen_fd`. The strings in `options` must live as long as the server. */
int server_new(uv_loop_t *loop, const struct server_options *options, struct sources *sources,
	       struct workers *workers, struct server **ret_server, struct err_text *err);
/* Sends the output of `x` after one of its steps has returned. */
void server_ready(struct exchange *x);
/* Closes all connections, after which the loop ends. The caller then frees the server. */
void server_close(struct server *server);
void server_free(struct server *server);
