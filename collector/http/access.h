#pragma once
/*
 * Who may ask what (docs/rest-api.md, "Who may ask"). Knows headers as texts, and nothing of connections.
 *
 *                           a question            an order
 *   loopback                whoever is here       the token: others share this machine
 *   elsewhere, by a proxy   the token             the token
 *
 * In front of both stands what keeps foreign web pages out: the Host must be a name of this machine on loopback, and one of those that were
 * given behind a proxy, so that nobody reaches it through a name that was bent to its address; and what is neither GET nor HEAD has our own
 * Origin, or none.
 */
#include <stdbool.h>

struct err_text;

struct access {
	const char *token;
	bool token_made; /* by this process, which has printed it; else it is of a file */
	bool local;	 /* only this machine reaches us */
	bool https;	 /* browsers reach us by TLS, which is ours or a proxy's */
	const char *const *hosts; /* behind a proxy: by which names, NULL-terminated; NULL: no proxy */
};

/* What a request says of who asks; NULL: it has no such header. */
struct claim {
	const char *host, *origin, *authorization;
	bool reads; /* GET or HEAD */
	bool order;
};

/* 0; or a negative errno, with the HTTP status and a sentence that says what to bring. */
int access_check(const struct access *access, const struct claim *claim, int *ret_status, struct err_text *err);
