#pragma once
/*
 * Ingest: finds agents, connects to them, and stores what they send.
 *
 *   beacons (UDP) --> peers --> links (TCP) --> frames, checked --> stream_writer_append
 *   HOST:PORT args ---^           ^ |                                   | fdatasync in a worker
 *   agents that dial in ----------+ +<-- Hello, Subscribe, Ack <--------+
 *
 * Everything runs on the caller's libuv loop, in one thread. Work that waits for the disk and the
 * derivation of rows have threads of their own (pool.h). Ingest neither symbolises nor answers
 * queries. Every peer is untrusted: sizes, numbers and counts are bounded, and a silent or
 * nonsensical peer is disconnected.
 *
 * Life cycle: ingest_start, then events until ingest_stop, whose callback is the last call and
 * after which ingest is freed. The store outlives it.
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
	INGEST_FOUND,	     /* a beacon of an unknown agent: address */
	INGEST_CONNECTED,    /* after the handshake: address, host, version */
	INGEST_DISCONNECTED, /* address, text: the reason */
	INGEST_STREAM_BEGAN, /* stream, executable, pid; events: already in the store */
	INGEST_STREAM_ENDED, /* stream, executable, pid, events, bytes: its end is durable and
			      * acknowledged */
	INGEST_STREAM_LEFT,  /* the link was lost before the stream's end; the stream continues if
			      * the agent returns */
	INGEST_FILE,	/* file; complete: it has arrived, text: a remark or empty; else text: the
			 * reason */
	INGEST_REPLY,	/* stream, reply: the result of an order */
	INGEST_WARNING, /* text: a warning for the user */
};

/* An order for the agent of a stream. */
struct ingest_order {
	uint64_t id;	       /* chosen by the caller, for the reply; unique */
	uint32_t action, mode; /* enum Action, enum Mode */
	uint64_t value;	       /* as in message Control */
	const char *text;      /* text of a mark, UTF-8 */
	uint64_t wait_ms;      /* how long to wait for the reply */
};

#define INGEST_REPLY_NONE UINT32_MAX

struct ingest_reply {
	uint64_t id;
	uint32_t status; /* enum ReplyStatus; INGEST_REPLY_NONE: no reply arrived */
	uint32_t mode;
	uint64_t time_ns, sample_interval, snapshot;
	const char *text; /* one line, never NULL */
};

struct ingest_event {
	enum ingest_event_kind kind;
	const char *address; /* "10.0.0.7:8100" */
	const char *key;     /* CONNECTED: hexadecimal id of the key that authenticated the agent;
			      * empty: no key */
	const char *host;    /* as the agent says */
	const char *version;
	const char *text;
	const struct stream_id *stream;
	const char *executable;
	uint32_t pid;
	uint64_t events, bytes;
	bool complete; /* STREAM_BEGAN: the store already has all of it */
	const struct ingest_file *file;
	const struct ingest_reply *reply;
};

#define INGEST_BUILD_ID_MAX 32

/* A symbol file, identified by the build id of its module. */
struct ingest_file {
	uint8_t build_id[INGEST_BUILD_ID_MAX];
	uint32_t build_id_length;
};

#define INGEST_MEMORY (512ull << 20)

struct ingest_options {
	bool discover;		  /* probe for agents and listen for their beacons */
	const char *interface;	  /* accept beacons only from this interface's networks; listen
				   * there; NULL: any */
	const char *listen;	  /* "ADDR:PORT" for agents that dial in; NULL: the default; "off":
				   * none */
	const char *const *peers; /* "HOST" or "HOST:PORT" to connect to, with retries */
	size_t peer_count;
	/*
	 * Links use TLS only, with any of these keys or with certificates. With keys, beacons must
	 * be proven by one of them, too. Without keys and certificates links are plain. `secrets`
	 * stay valid until the end, or until ingest_rekey.
	 */
	const struct secret *secrets;
	size_t secret_count;
	bool paired;	  /* the keys come from pairing: plain agents without a key are also
			   * accepted */
	bool paired_only; /* with `paired`: they are not accepted */
	const char *cert, *cert_key, *ca; /* names of files */
	const char *files;  /* folder in which symbol files from agents are assembled, under names
			     * that begin with INGEST_FILE_PREFIX; NULL: none are requested. Used
			     * until the end */
	bool fetch_modules; /* request the files of all modules that `file_wanted` accepts */
	/*
	 * Both callbacks run in a worker thread, one at a time. file_wanted tells whether a file
	 * for this module is wanted.
	 */
	bool (*file_wanted)(void *context, const struct ingest_file *file, const char *path);
	/*
	 * The whole file is at `path`. The callback checks it and moves it to its place. Returns 0
	 * (`err`: a remark, or empty), or a negative errno with the reason.
	 */
	int (*file_came)(void *context, const struct ingest_file *file, const char *path,
			 struct err_text *err);
	uint32_t agents_max;   /* maximum number of connected agents; 0: limited by descriptors and
				* memory */
	uint64_t memory_limit; /* bytes for streams that are being received, half of them for
				* deriving rows; 0: INGEST_MEMORY */
	uint64_t keep_ns, keep_bytes; /* limits beyond which ended streams are removed: their age,
				       * and the space of all streams (store_retain); 0: never */
	/* Compress ended streams, so long after their last change (store_compress). */
	bool compress;
	uint64_t compress_after_ns;
	/* Whether an ended stream is still needed, and goes last. Runs in a worker thread. NULL:
	 * none is. */
	bool (*waits)(void *context, const struct stream_id *stream);
	void (*event)(void *context, const struct ingest_event *event);
	void *context;
};

/*
 * Starts ingest. Returns 0, or a negative errno (-EADDRINUSE and others) with a sentence that names
 * the remedy.
 */
int ingest_start(uv_loop_t *loop, struct store *store, const struct ingest_options *options,
		 struct ingest **ret_ingest, struct err_text *err);
/*
 * Stops in order: received data is made durable and acknowledged, links are closed, then `stopped`
 * is called once.
 */
void ingest_stop(struct ingest *ingest, void (*stopped)(void *context), void *context);

/*
 * With options.paired: replaces the keys. The new ones stay valid until the next call or the end.
 * Links whose keys are gone are closed. On failure returns a negative errno with a sentence; the
 * keys are unchanged, and no new agent can connect with the new ones.
 */
int ingest_rekey(struct ingest *ingest, const struct secret *secrets, size_t count,
		 struct err_text *err);

#define INGEST_FILE_PREFIX ".receiving-"

/*
 * Requests a symbol file from agents; INGEST_FILE reports the result. Returns 0 (also if the file
 * was requested before), -ENOTCONN if no agent is connected, -EBUSY if too many files are
 * requested, or -ENOTSUP without options.files.
 */
int ingest_fetch(struct ingest *ingest, const struct ingest_file *file);
/*
 * Returns the progress of a requested file; total 0: unknown so far. Returns false if the file is
 * not requested.
 */
bool ingest_fetching(const struct ingest *ingest, const struct ingest_file *file,
		     uint64_t *ret_received, uint64_t *ret_total);
/* Returns how many files are requested, or may be wanted. */
uint32_t ingest_files(const struct ingest *ingest);

/*
 * Sends an order. Returns 0 if an INGEST_REPLY with this id follows, at the latest after wait_ms,
 * and perhaps before this function returns; -ENOENT if the stream is not being received; -ENOTCONN
 * if its agent is not connected; -ESRCH if it has ended; or -EBUSY.
 */
int ingest_order(struct ingest *ingest, const struct stream_id *stream,
		 const struct ingest_order *order);
/*
 * Calls `each` for every stream that is being received and has not ended, with the host name that
 * its agent states.
 */
void ingest_live(const struct ingest *ingest,
		 void (*each)(void *context, const struct stream_id *stream, const char *host),
		 void *context);

/* Sums since the start, for a progress line. */
struct ingest_totals {
	uint32_t links, live_streams;
	uint32_t turned_away; /* agents for which there is no place at present */
	uint64_t events, bytes;
	uint64_t beacons, beacons_refused;
	uint64_t beacons_unproven; /* from agents that have none of our keys, or that have a key
				    * while we have none */
};
struct ingest_totals ingest_totals(const struct ingest *ingest);
/*
 * Returns in words where ingest listens: "UDP port 43513 for beacons, TCP ...". For a user who
 * waits for agents in vain.
 */
const char *ingest_where(const struct ingest *ingest);
/* Returns the port for agents that dial in; 0: none. */
uint16_t ingest_port(const struct ingest *ingest);
