#pragma once
/*
 * Access control of the HTTP server (docs/rest-api.md, "Who may ask"). This code sees headers as
 * strings and knows nothing about connections.
 *
 *                           a question            an order
 *   loopback                any local client      the token: other users share this machine
 *   elsewhere, by a proxy   the token, or the cookie of the login page
 *
 * Two checks come first and keep foreign web pages out. The Host header must be a name of this
 * machine on loopback, or one of the configured names behind a proxy; this defeats DNS rebinding. A
 * request that is neither GET nor HEAD must carry our own Origin, or no Origin.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/http/server/logins.h"
#include "collector/http/server/tries.h"

struct err_text;

struct access {
	const char *token;
	bool token_made; /* this process made and printed the token; false: configured */
	bool local;	 /* only clients on this machine can reach the server */
	bool https;	 /* browsers connect by TLS, to this server or to a proxy */
	const char *const
		*hosts; /* allowed names behind a proxy, NULL-terminated; NULL: no proxy */
	uint16_t port; /* part of the cookie's name: browsers send cookies to all ports of a host */
	struct logins logins;
	struct tries tries;
};

/* What a request says about its sender. A string is NULL if the request lacks that header. */
struct claim {
	const char *host, *origin, *authorization, *cookie, *forwarded_for;
	struct stranger_address from; /* the peer of the connection */
	bool reads;		      /* GET or HEAD */
	bool needs_token;	      /* an order: needs the token on loopback, too */
	bool brings_token;	      /* a login form: no other credential is required */
};

/* Returns 0, or a negative errno with the HTTP status and a message that says what to send. */
int access_check(struct access *access, const struct claim *claim, uint64_t now_ms, int *ret_status,
		 struct err_text *err);
/* Tells whether a request that passed access_check for a question may give orders, too. If it
 * returns false, `ret_why` says what to send. */
bool access_may_order(struct access *access, const struct claim *claim, uint64_t now_ms,
		      struct err_text *ret_why);
/* Tells whether the request carries the cookie of a valid login. */
bool access_is_logged_in(const struct access *access, const struct claim *claim, uint64_t now_ms);
/* Checks `token`; returns as access_check does. Wrong tokens are rate-limited per address
 * (tries.h). */
int access_try(struct access *access, const char *token, const struct stranger_address *from,
	       uint64_t now_ms, int *ret_status, struct err_text *err);
/* Returns the client's address: behind a proxy the last address of X-Forwarded-For, which the proxy
 * has written, otherwise the peer of the connection. */
struct stranger_address access_from(const struct access *access, const struct claim *claim);

#define COOKIE_MAX 160
/* Writes the header that sets the login cookie in a browser; a `login` of "" removes the cookie. */
void access_write_cookie(const struct access *access, const char *login,
			 char ret_cookie[COOKIE_MAX]);
/* Reads the login from the request's cookie without checking it; "" if the cookie is absent. */
void access_read_cookie(const struct access *access, const struct claim *claim,
			char ret_login[LOGIN_TEXT]);
