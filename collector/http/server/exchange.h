#pragma once
/*
 * A request and its answer. The loop's thread owns the connection, a worker thread makes the answer
 * in steps: each step appends some of the body, the loop sends it, and only then the next step
 * runs. So a slow reader holds neither a thread nor more than a step's memory, and an answer of any
 * length can be given.
 *
 *	WAITING -> RUNNING (worker) -> SENDING -> WAITING ... -> SENDING -> end
 *
 * A connection that closes sets `cancelled`, which ends the query, and the exchange is freed when
 * its step has returned.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "collector/http/server/access.h"
#include "collector/http/server/request.h"
#include "collector/query/query.h"
#include "collector/recording/completeness.h"

struct exchange;
struct page_asset;
struct source;
struct sources;

/* A step returns 0: the answer is complete; 1: there is more; -EAGAIN: nothing yet, ask again in a
 * moment, or after `again_ms` if it is set; another negative errno: it failed, `err` says why (and
 * `parameter` of what). Before the first byte of the body this gives an error as JSON, after it the
 * connection is closed. */
typedef int exchange_step(struct exchange *x);

enum exchange_state { EXCHANGE_WAITING, EXCHANGE_LATER, EXCHANGE_RUNNING, EXCHANGE_SENDING };

struct exchange {
	struct request request;
	/* The answer: written by steps, read by the loop in between. */
	int status;
	const char *content_type;
	const char *file_name;		/* NULL: shown, not saved */
	const struct page_asset *asset; /* NULL: the answer is no file of the page */
	struct buf out;
	struct err_text err;
	char parameter[64];
	char incomplete[2 * COMPLETENESS_LINE]; /* what the recording does not hold: a header, and
						   in objects a member */
	uint64_t find_ns; /* until it was known which recording is meant; 0: none was asked for */
	exchange_step *step;
	uint64_t again_ms; /* 0: soon. For one return of -EAGAIN */
	struct sources *sources;
	struct source *source; /* held; NULL: none yet */
	void *work;	       /* the route's own, freed by work_free */
	void (*work_free)(void *work);
	atomic_bool cancelled;
	struct progress progress; /* of the question: read by the loop meanwhile */
	/* The loop's own. */
	struct workers *workers; /* NULL: not submitted yet */
	struct exchange *next_of_all;
	uint64_t begun_ms, begun_ns; /* the loop's time; uv_hrtime */
	void *connection;	     /* NULL: closed */
	struct access *access;
	struct stranger_address from; /* who asks */
	char login[LOGIN_TEXT];	      /* that its cookie holds; empty: none */
	char set_cookie[COOKIE_MAX];  /* a header of the answer; empty: none */
	const char *location;	      /* likewise; NULL: none */
	bool is_login_page;
	bool may_order, logged_in; /* of /rights alone: who asks */
	struct err_text why_not;   /* likewise: why it may not */
	int upload;		   /* the file that is imported (import.h); -1: none */
	enum exchange_state state;
	struct exchange *next;
	uint64_t due_ms; /* EXCHANGE_LATER: not before, in the loop's time */
	int result;
	bool head_only, head_sent, old_protocol, chunked, post;
	bool takes_gzip;
	bool browser;	     /* one asks, so it says */
	char known_etag[32]; /* what the browser has of the page's file; "": nothing */
	bool runs_sql;	     /* steps of these run one at a time */
	size_t body_left;    /* of a POST, that has not come yet */
	size_t sent;	     /* of out */
	uint64_t body_bytes;
};

/* The workers' side of http.c: a queue in front of the thread pool, so that queries never take all
 * of its threads, and statements of SQL, which may take long, never all that queries have. */
struct workers {
	uv_loop_t *loop;
	uv_timer_t again, looking;
	struct exchange *waiting, **waiting_end;
	struct exchange *later;
	struct exchange *all; /* that were submitted and are there still */
	unsigned running;
	bool running_sql, closing;
	void (*ready)(struct exchange *x); /* on the loop: a step has returned */
	void (*look)(struct exchange *x);  /* on the loop, now and then until one has: is there
					      anybody still? */
};

void workers_init(struct workers *workers, uv_loop_t *loop, void (*ready)(struct exchange *x),
		  void (*look)(struct exchange *x));
/* No step starts any more. Exchanges are freed as their connections close (exchange_abandon). */
void workers_close(struct workers *workers);
/* Runs the next step of x: on a worker thread, or at once if its route is answered by the loop
 * itself (route_on_loop). */
void workers_submit(struct workers *workers, struct exchange *x);

struct exchange *exchange_new(struct sources *sources, const char *path);
/* The connection is gone: x is freed now or when its step has returned. */
void exchange_abandon(struct workers *workers, struct exchange *x);
void exchange_free(struct exchange *x);
/* After a step that failed before the body: makes the body of the error. */
void exchange_fail(struct exchange *x, int error);
