#pragma once
/*
 * The collector's REST API and web page (docs/rest-api.md), served by a thread of its own. It reads
 * stores and recordings; only imports (server/import.h) write. Orders require a token. On an
 * address that other machines reach, questions require it, too (access.h).
 */
#include <stdint.h>

#include "collector/http/server/options.h"

struct err_text;
struct http;

/* Starts the server. Returns 0; -EPERM if others reach the address, but a token or TLS is missing;
 * -EADDRINUSE, -EACCES, -EADDRNOTAVAIL; -EINVAL if `address` is not an address; -EBADMSG if a file
 * is not a recording; or another negative errno. The error text says what to do. The strings in
 * `options` must live until http_stop. */
int http_start(const struct http_options *options, struct http **ret_http, struct err_text *err);
/* Checks whether http_start could listen on the address. Returns 0 or an error of http_start. */
int http_may_start(const struct http_options *options, struct err_text *err);
/* Returns the URL for a browser: "http://127.0.0.1:8080/#token=TOKEN" if the server made the token,
 * because the user cannot know it otherwise; without the token if the caller gave it. */
const char *http_url(const struct http *http);
uint16_t http_port(const struct http *http);
/* Closes all connections, ends the thread and frees everything. May block until a running query
 * notices. */
void http_stop(struct http *http);
