#pragma once
/*
 * Ingest: finds agents, connects, and brings what they send safely into the store.
 *
 *   beacons (UDP) --> peers --> links (TCP) --> frames, checked --> stream_writer_append
 *   HOST:PORT args ---^           ^ |                                     | fdatasync in a worker
 *   agents that dial in ----------+ +<-- Hello, Subscribe, Ack <----------+
 *
 * All of it runs on the caller's libuv loop, in one thread; only syncs run in libuv's workers. It
 * neither symbolises nor answers questions. Everybody who sends something is assumed to lie: sizes,
 * numbers and counts are bounded, a silent or nonsensical peer is let go.
 *
 * Life: ingest_start; events until ingest_stop; its callback is the last that is heard, and frees
 * it. The store outlives it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "collector/store/store.h"

struct err_text;
struct ingest;

enum ingest_event_kind {
	INGEST_FOUND,	     /* a beacon of an agent that was not known: address */
	INGEST_CONNECTED,    /* after the handshake: address, host, version */
	INGEST_DISCONNECTED, /* address, text: why */
	INGEST_STREAM_BEGAN, /* stream, executable, pid; events: what the store has of it already */
	INGEST_STREAM_ENDED, /* stream, executable, pid, events, bytes: its end is safe on the disk
				and acknowledged */
	INGEST_STREAM_LEFT,  /* the link that brought it is gone before its end; it goes on if the
				agent comes back */
	INGEST_WARNING,	     /* text: something a person should know */
};

struct ingest_event {
	enum ingest_event_kind kind;
	const char *address; /* "10.0.0.7:8100" */
	const char *host;    /* as the agent says */
	const char *version;
	const char *text;
	const struct stream_id *stream;
	const char *executable;
	uint32_t pid;
	uint64_t events, bytes;
	bool complete; /* STREAM_BEGAN: the store has all of it already */
};

struct ingest_options {
	bool discover;	       /* listen for beacons */
	const char *interface; /* beacons from the networks of this interface only, and listen
				  there; NULL: any */
	const char *listen; /* "ADDR:PORT" for agents that dial in; NULL: the default; "off": not at
			       all */
	const char *const *peers; /* "HOST" or "HOST:PORT" to connect to, again and again */
	size_t peer_count;
	void (*event)(void *context, const struct ingest_event *event);
	void *context;
};

/* -EADDRINUSE and the like with a sentence that says what to do. */
int ingest_start(uv_loop_t *loop, struct store *store, const struct ingest_options *options,
		 struct ingest **ret_ingest, struct err_text *err);
/* Ends in order: what was received is made durable and acknowledged, links are closed, then
 * `stopped` is called (once). */
void ingest_stop(struct ingest *ingest, void (*stopped)(void *context), void *context);

/* Sums since the start, for a progress line. */
struct ingest_totals {
	uint32_t links, live_streams;
	uint64_t events, bytes;
	uint64_t beacons, beacons_refused;
};
struct ingest_totals ingest_totals(const struct ingest *ingest);
/* Where it listens, in words, for the person who waits in vain: "UDP 0.0.0.0:43513 for beacons, TCP
 * ...". */
const char *ingest_where(const struct ingest *ingest);
/* Where agents can dial in; 0: nowhere. */
uint16_t ingest_port(const struct ingest *ingest);
