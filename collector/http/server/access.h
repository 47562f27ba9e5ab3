#pragma once
/*
 * Who may ask what (docs/rest-api.md, "Who may ask"). Knows headers as texts, and nothing of
 * connections.
 *
 *                           a question            an order
 *   loopback                whoever is here       the token: others share this machine
 *   elsewhere, by a proxy   the token, or the cookie of the login page
 *
 * In front of both stands what keeps foreign web pages out: the Host must be a name of this machine
 * on loopback, and one of those that were given behind a proxy, so that nobody reaches it through a
 * name that was bent to its address; and what is neither GET nor HEAD has our own Origin, or none.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/http/server/logins.h"
#include "collector/http/server/tries.h"

struct err_text;

struct access {
	const char *token;
	bool token_made; /* by this process, which has printed it; else it is of a file */
	bool local;	 /* only this machine reaches us */
	bool https;	 /* browsers reach us by TLS, which is ours or a proxy's */
	const char *const
		*hosts; /* behind a proxy: by which names, NULL-terminated; NULL: no proxy */
	uint16_t port;	/* in the cookie's name: cookies do not know of ports */
	struct logins logins;
	struct tries tries;
};

/* What a request says of who asks; NULL: it has no such header. */
struct claim {
	const char *host, *origin, *authorization, *cookie, *forwarded_for;
	struct stranger_address from; /* whose connection it is */
	bool reads;		      /* GET or HEAD */
	bool needs_token;	      /* also on loopback: an order */
	bool brings_token;	      /* to the login page: nothing else is asked for */
};

/* 0; or a negative errno, with the HTTP status and a sentence that says what to bring. */
int access_check(struct access *access, const struct claim *claim, uint64_t now_ms, int *ret_status,
		 struct err_text *err);
/* Would it be allowed an order, too? Of a request that was allowed to ask. false: `ret_why` says
 * what to bring. */
bool access_may_order(struct access *access, const struct claim *claim, uint64_t now_ms,
		      struct err_text *ret_why);
/* Has it come by the cookie of a login that holds? */
bool access_is_logged_in(const struct access *access, const struct claim *claim, uint64_t now_ms);
/* Is it the token? As above. Of one address so many wrong ones are looked at (tries.h). */
int access_try(struct access *access, const char *token, const struct stranger_address *from,
	       uint64_t now_ms, int *ret_status, struct err_text *err);
/* Who asks: behind a proxy the last address of X-Forwarded-For, which the proxy has written; else
 * whose connection it is. */
struct stranger_address access_from(const struct access *access, const struct claim *claim);

#define COOKIE_MAX 160
/* The header that gives a login to a browser, or with "" takes it back. */
void access_write_cookie(const struct access *access, const char *login,
			 char ret_cookie[COOKIE_MAX]);
/* The login that a request's cookie holds, whether it is known or not; empty: none. */
void access_read_cookie(const struct access *access, const struct claim *claim,
			char ret_login[LOGIN_TEXT]);
