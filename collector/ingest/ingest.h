#pragma once
/*
 * Ingest: finds agents, connects, and brings what they send safely into the store.
 *
 *   beacons (UDP) --> peers --> links (TCP) --> frames, checked --> stream_writer_append
 *   HOST:PORT args ---^           ^ |                                     | fdatasync in a worker
 *   agents that dial in ----------+ +<-- Hello, Subscribe, Ack <----------+
 *
 * All of it runs on the caller's libuv loop, in one thread; what waits for the disk and what
 * derives rows runs in threads of its own (pool.h). It neither symbolises nor answers questions.
 * Everybody who sends something is assumed to lie: sizes, numbers and counts are bounded, a silent
 * or nonsensical peer is let go.
 *
 * Life: ingest_start; events until ingest_stop; its callback is the last that is heard, and frees
 * it. The store outlives it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

struct err_text;
struct ingest;
struct secret;

enum ingest_event_kind {
	INGEST_FOUND,	     /* a beacon of an agent that was not known: address */
	INGEST_CONNECTED,    /* after the handshake: address, host, version */
	INGEST_DISCONNECTED, /* address, text: why */
	INGEST_STREAM_BEGAN, /* stream, executable, pid; events: what the store has of it already */
	INGEST_STREAM_ENDED, /* stream, executable, pid, events, bytes: its end is safe on the disk
				and acknowledged */
	INGEST_STREAM_LEFT,  /* the link that brought it is gone before its end; it goes on if the
				agent comes back */
	INGEST_FILE,  /* file; complete: it is there now, text: a remark, or empty; else why not */
	INGEST_REPLY, /* stream, reply: what became of an order */
	INGEST_WARNING, /* text: something a person should know */
};

/* An order for the agent of a stream. */
struct ingest_order {
	uint64_t id;	       /* the caller's, for the reply; each once */
	uint32_t action, mode; /* enum Action, enum Mode */
	uint64_t value;	       /* as in message Control */
	const char *text;      /* of a mark, UTF-8 */
	uint64_t wait_ms;      /* for the reply */
};

#define INGEST_REPLY_NONE UINT32_MAX

struct ingest_reply {
	uint64_t id;
	uint32_t status; /* enum ReplyStatus; INGEST_REPLY_NONE: none came */
	uint32_t mode;
	uint64_t time_ns, sample_interval, snapshot;
	const char *text; /* one line, never NULL */
};

struct ingest_event {
	enum ingest_event_kind kind;
	const char *address; /* "10.0.0.7:8100" */
	const char *key;     /* CONNECTED: id of the key, in hexadecimal, that the agent has proved;
				empty: none */
	const char *host;    /* as the agent says */
	const char *version;
	const char *text;
	const struct stream_id *stream;
	const char *executable;
	uint32_t pid;
	uint64_t events, bytes;
	bool complete; /* STREAM_BEGAN: the store has all of it already */
	const struct ingest_file *file;
	const struct ingest_reply *reply;
};

#define INGEST_BUILD_ID_MAX 32

/* A symbol file, named by the build id of its module. */
struct ingest_file {
	uint8_t build_id[INGEST_BUILD_ID_MAX];
	uint32_t build_id_length;
};

#define INGEST_MEMORY (512ull << 20)

struct ingest_options {
	bool discover;	       /* ask for agents, and listen for their beacons */
	const char *interface; /* beacons from the networks of this interface only, and listen
				  there; NULL: any */
	const char *listen; /* "ADDR:PORT" for agents that dial in; NULL: the default; "off": not at
			       all */
	const char *const *peers; /* "HOST" or "HOST:PORT" to connect to, again and again */
	size_t peer_count;
	/* Links by TLS only, with these keys (any of them; beacons must be proven by them, too) or
	 * with certificates; none: plain. `secrets` live until the end, or until ingest_rekey. */
	const struct secret *secrets;
	size_t secret_count;
	bool paired; /* these are keys by pairing: agents that have none of them are met, too, in
			plain, */
	bool paired_only;		  /* unless that is said */
	const char *cert, *cert_key, *ca; /* files */
	const char *files; /* folder in which symbol files from agents are put together, under names
			      that begin with INGEST_FILE_PREFIX; NULL: none are asked for. Used
			      until the end */
	bool fetch_modules; /* ask for those of all modules that `file_wanted` names */
	/* Both run in a worker thread, one at a time. Is a file for this module wanted? */
	bool (*file_wanted)(void *context, const struct ingest_file *file, const char *path);
	/* The whole file lies at `path`: checks it and moves it to its place. 0 (`err`: a remark,
	 * or empty), or a negative errno with the reason. */
	int (*file_came)(void *context, const struct ingest_file *file, const char *path,
			 struct err_text *err);
	uint32_t agents_max;   /* connected at a time; 0: as many as descriptors and memory allow */
	uint64_t memory_limit; /* bytes for the streams that are received; deriving rows holds half
				  of it; 0: INGEST_MEMORY */
	uint64_t keep_ns, keep_bytes; /* streams that have ended go when they are older, or all are
					 more (store_retain); 0: stay */
	void (*event)(void *context, const struct ingest_event *event);
	void *context;
};

/* -EADDRINUSE and the like with a sentence that says what to do. */
int ingest_start(uv_loop_t *loop, struct store *store, const struct ingest_options *options,
		 struct ingest **ret_ingest, struct err_text *err);
/* Ends in order: what was received is made durable and acknowledged, links are closed, then
 * `stopped` is called (once). */
void ingest_stop(struct ingest *ingest, void (*stopped)(void *context), void *context);

/* With options.paired: other keys from now on, which live until the next call, or the end. Links of
 * keys that are gone are closed. 0; a negative errno with a sentence: the keys are those of before,
 * and nobody new comes by them. */
int ingest_rekey(struct ingest *ingest, const struct secret *secrets, size_t count,
		 struct err_text *err);

#define INGEST_FILE_PREFIX ".receiving-"

/* Asks agents for a symbol file; INGEST_FILE says what became of it. 0 (also if it was asked for
 * before, and is on its way); -ENOTCONN: there is no agent to ask; -EBUSY: too many are asked for;
 * -ENOTSUP: options.files was not given. */
int ingest_fetch(struct ingest *ingest, const struct ingest_file *file);
/* How much of a file that was asked for is here; total 0: not known yet. False: it is not on its
 * way. */
bool ingest_fetching(const struct ingest *ingest, const struct ingest_file *file,
		     uint64_t *ret_received, uint64_t *ret_total);
/* How many files are on their way, or may be wanted. */
uint32_t ingest_files(const struct ingest *ingest);

/* Gives an order. 0: INGEST_REPLY with this id follows, at latest when time is over (and perhaps
 * before this returns); -ENOENT: the stream is not being received; -ENOTCONN: it was, and its agent
 * is not connected now; -ESRCH: it has ended; -EBUSY. */
int ingest_order(struct ingest *ingest, const struct stream_id *stream,
		 const struct ingest_order *order);
/* Calls for each stream that is being received and has not ended, with the host as its agent names
 * it. */
void ingest_live(const struct ingest *ingest,
		 void (*each)(void *context, const struct stream_id *stream, const char *host),
		 void *context);

/* Sums since the start, for a progress line. */
struct ingest_totals {
	uint32_t links, live_streams;
	uint32_t turned_away; /* agents for which there is no place now */
	uint64_t events, bytes;
	uint64_t beacons, beacons_refused;
	uint64_t beacons_unproven; /* of agents that have none of our keys, or have one while we
				      have none */
};
struct ingest_totals ingest_totals(const struct ingest *ingest);
/* Where it listens, in words, for the person who waits in vain: "UDP port 43513 for beacons, TCP
 * ...". */
const char *ingest_where(const struct ingest *ingest);
/* Where agents can dial in; 0: nowhere. */
uint16_t ingest_port(const struct ingest *ingest);
