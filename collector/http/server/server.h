#pragma once
/*
 * HTTP itself: connections in, requests made of them, answers out in slices. With hangup.c the only
 * file that knows libwebsockets; it runs on the loop that it is given and on no other thread.
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
	const char *tls_cert, *tls_key; /* files, PEM; NULL: it speaks no TLS */
};

/* Takes over `listen_fd`. The texts of the options live until the end. */
int server_new(uv_loop_t *loop, const struct server_options *options, struct sources *sources,
	       struct workers *workers, struct server **ret_server, struct err_text *err);
/* A step of x has returned: sends what there is. */
void server_ready(struct exchange *x);
/* Closes all connections; the loop ends when they are closed. Free it after that. */
void server_close(struct server *server);
void server_free(struct server *server);
