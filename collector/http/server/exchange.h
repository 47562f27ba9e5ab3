#pragma once
/*
 * A request and its answer. The event loop's thread owns the connection. A worker thread produces
 * the answer in steps. Each step appends a part of the body, and the next step runs after the loop
 * has sent that part. So a slow client occupies no thread, and at most the memory of one step, and
 * an answer may have any length.
 *
 *	WAITING -> RUNNING (worker) -> SENDING -> WAITING ... -> SENDING -> end
 *
 * When a connection closes, it sets `cancelled`, which ends the query. The exchange is freed after
 * its running step has returned.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "collector/http/server/access.h"
#include "collector/http/server/request.h"
#include "collector/http/server/route.h"
#include "collector/query/query.h"
#include "collector/recording/completeness.h"

struct page_asset;
struct source;
struct sources;

enum exchange_state { EXCHANGE_WAITING, EXCHANGE_LATER, EXCHANGE_RUNNING, EXCHANGE_SENDING };

struct exchange {
	struct request request;
	struct route route; /* the route that the path names; its path is NULL if there is none */
	char id[256];	    /* ID of /data/ID/..., else "" */
	char host[256];	    /* where the client has asked: the header Host; "": none, or too long */
	const char *rest;   /* what follows the route's path ("flame.svg" of export/flamegraph, the
			       number of backtrace/7), or "" */
	/* The answer. Steps write it; the loop reads it between steps. */
	int status;
	const char *content_type;
	const char *file_name; /* NULL: the browser shows the answer instead of saving it */
	const struct page_asset *asset; /* a file of the page; NULL: the answer is in `out` */
	struct buf out;
	struct err_text err;
	char parameter[64];
	char incomplete[2 * COMPLETENESS_LINE]; /* what the recording lacks: sent as a header, and
						   as a member of JSON objects */
	uint64_t find_ns; /* time to resolve the recording; 0: the request names no recording */
	exchange_step *step;
	uint64_t again_ms; /* delay of the next call after -EAGAIN; 0: soon */
	struct sources *sources;
	struct source *source; /* a reference is held; NULL: not found yet */
	void *work;	       /* the route's state, freed by work_free */
	void (*work_free)(void *work);
	atomic_bool cancelled;
	struct progress progress; /* progress of the query; the loop reads it while a step runs */
	/* Only the loop's thread uses the members below. */
	struct workers *workers; /* NULL: not submitted yet */
	struct exchange *next_of_all;
	uint64_t begun_ms, begun_ns; /* begun_ms: time of the loop; begun_ns: uv_hrtime */
	void *connection;	     /* NULL: closed */
	struct access *access;
	struct stranger_address from; /* the client's address */
	char login[LOGIN_TEXT];	      /* the login in the request's cookie; "": no login */
	char set_cookie[COOKIE_MAX];  /* a header of the answer; "": not sent */
	char *location;		      /* a header of the answer, freed with it; NULL: not sent */
	bool is_login_page;
	bool may_order, logged_in; /* the client's rights; set for /rights only */
	struct err_text why_not;   /* likewise: why the client may not give orders */
	int upload;		   /* descriptor of the file to import (import.h); -1: no upload */
	void (*upload_end)(struct exchange *x); /* closes it, if there is one */
	enum exchange_state state;
	struct exchange *next;
	uint64_t due_ms; /* in EXCHANGE_LATER: earliest loop time of the next step */
	int result;
	bool head_only, head_sent, old_protocol, chunked, post;
	bool takes_gzip;
	bool browser;	     /* the request says that a browser sent it */
	char known_etag[32]; /* ETag of the browser's cached copy; "": no copy */
	bool runs_sql;	     /* steps of these run one at a time */
	bool asks_shared;    /* and of these, but none of the others waits for them. A step may set
				it, and return -EAGAIN */
	bool runs_beside;    /* the running step was started as one of these */
	size_t body_left;    /* bytes of a POST body still to be received */
	size_t sent;	     /* bytes of `out` already sent */
	uint64_t body_bytes;
};

/* A queue in front of the thread pool. It limits queries to a part of the pool's threads, and SQL
 * statements, which may run long, to one at a time. A question to the data base that collectors
 * share waits for servers, which may hang: one at a time, in a thread beside those. */
struct workers {
	uv_loop_t *loop;
	uv_timer_t again, looking;
	struct exchange *waiting, **waiting_end;
	struct exchange *later;
	struct exchange *all; /* all submitted exchanges that are not freed yet */
	unsigned running;     /* without the one that asks the shared data base */
	bool running_sql, running_shared, closing;
	void (*ready)(struct exchange *x); /* called on the loop after a step has returned */
	void (*look)(struct exchange *x); /* called on the loop from time to time while a step runs:
					     checks that the client is still connected */
};

void workers_init(struct workers *workers, uv_loop_t *loop, void (*ready)(struct exchange *x),
		  void (*look)(struct exchange *x));
/* Stops starting steps. Exchanges are freed as their connections close (exchange_abandon). */
void workers_close(struct workers *workers);
/* Runs the next step of `x` on a worker thread, or at once if the loop itself answers its route
 * (ROUTE_ON_LOOP). */
void workers_submit(struct workers *workers, struct exchange *x);

struct exchange *exchange_new(struct sources *sources, const char *path);
/* Gives up `x` after its connection has closed; frees it now, or after its running step returns. */
void exchange_abandon(struct workers *workers, struct exchange *x);
void exchange_free(struct exchange *x);
/* Writes the error's body after a step failed before the first byte of the answer. */
void exchange_fail(struct exchange *x, int error);
