#pragma once
/*
 * A link is a connection with a collector, which either side may have opened. The agent sends a
 * hello and a list of its streams. The collector sends a hello, subscribes and acknowledges. The
 * agent sends batches in order. Frames go directly from the spool into the socket, without a copy,
 * under the stream's lock and without blocking. Only hellos, lists, catch-ups and pieces of symbol
 * files use the link's own buffer. With TLS (link_io.h), frames are copied once, a record at a
 * time.
 *
 * If a frame is dropped while only a part of it was sent (room was needed, and a faster collector
 * had acknowledged it), the link closes. The collector reconnects and is told what it missed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "agent/stream/batch.h"
#include "agent/net/collectors.h"
#include "agent/net/link_io.h"
#include "agent/spool/orphans.h"
#include "agent/net/replies.h"
#include "agent/stream/stream.h"
#include "agent/net/symbol_files.h"

/* The agent closes a link if nothing that it sent has arrived for this time. A collector that is
 * behind also has this time for a sign of life after another collector has everything. */
#define LINK_SILENT_MS 12000

struct link;

/* The part of the agent that links use. */
struct link_host {
	uv_loop_t *loop;
	struct stream *const *stream;
	uint32_t streams;
	/* Streams that earlier agents have left. They are sent in turn with the other streams, and
	 * before the continuation of the same stream. */
	struct orphans *orphans;
	struct packer *packer; /* the main loop's */
	struct frame_decoder *decoder;
	const uint8_t *agent_id;
	uint64_t window_bytes;
	struct symbol_files *files; /* symbol files for collectors; NULL: none */
	struct link *links;	    /* all links */
	uint32_t link_count;
	uint32_t generation; /* incremented when a stream begins or ends */
	/* It is logged that a collector wants TLS and the agent has no key. */
	bool told_of_tls;
	/* Called when the collector has sent its hello. Returns the collector's index
	 * (collectors.h). */
	uint32_t (*welcomed)(void *context, const struct link *link,
			     const struct collector_greeting *greeting);
	/* Called when the collector subscribes to this stream. It has everything up to `number`.
	 * Returns up to which batch another collector has the stream from which this one takes it
	 * over (these batches are not sent again), else 0. */
	uint64_t (*subscribed)(void *context, const struct link *link, const struct stream *stream,
			       uint64_t number);
	/* Called when the collector has acknowledged batch `number` of this stream, which was sent
	 * to it. */
	void (*acknowledged)(void *context, const struct link *link, const struct stream *stream,
			     uint64_t number);
	/* Called when the collector says that its disk takes nothing more (enum DiskRefusal). */
	void (*refused)(void *context, const struct link *link, int refusal);
	void (*closed)(void *context, struct link *link);
	enum order_policy orders; /* which orders of collectors are obeyed */
	/* Called when an order was obeyed: the open batches must be sent now. */
	void (*ordered)(void *context);
	void *context;
};

struct subscription {
	bool active;
	bool catching;
	bool fresh; /* the collector has never had a batch of the stream */
	struct catch_up catch_up;
	uint64_t next; /* number of the next batch to send */
	size_t sent;   /* bytes of that batch that were sent */
	uint64_t acked;
	uint64_t from;	   /* last batch that the collector needs no acknowledgement for */
	uint64_t since_ns; /* CLOCK_MONOTONIC of the subscription */
};

struct link {
	struct link_host *host;
	uv_poll_t poll;
	int fd; /* of `io`; -1: the link is free */
	struct link_io io;
	bool closing;
	bool greeted;  /* the other side has sent its hello */
	bool has_id;   /* the hello of the other side has an id */
	uint32_t who;  /* the collector's index, from host->welcomed */
	uint32_t told; /* host->generation of the last list */
	uint32_t turn;
	uint32_t acks; /* acknowledgements of something new */
	uint8_t *in;
	size_t in_size, in_length;
	uint8_t *out;
	size_t out_size, out_length, out_sent;
	bool wants_room;
	struct replies replies;
	struct subscription *subscription; /* array with one entry per slot */
	char peer[64];
	char address[COLLECTOR_ADDRESS]; /* of the other side, without a port */
};

/* Takes the memory, once. Returns 0 or -ENOMEM. */
int link_init(struct link *link, struct link_host *host, struct arena *arena,
	      const struct budget *budget);
/* Starts a link on a connected, non-blocking socket, which it owns from now on. Returns 0 or a
 * negative errno; the socket is closed then. */
int link_open(struct link *link, int fd, const char *peer);
/* Like link_open, for a socket that may use TLS. Its handshake is done, and data may already have
 * arrived. */
int link_take(struct link *link, struct link_io *io, const char *peer);
/* Sends waiting data until the socket is full or the turn is over. */
void link_pump(struct link *link);
/* Closes the connection. The link becomes free later, when the event loop has released its
 * handle. */
void link_close(struct link *link);
/* Returns true if the collector has asked for batches that it has not acknowledged. */
bool link_owes(const struct link *link);
/* Drops the subscription to the old stream of a slot that has a new stream. */
void link_forget(struct link *link, uint32_t slot);
static inline bool link_free(const struct link *link)
{
	return link->fd < 0 && !link->closing;
}
static inline uint32_t link_number(const struct link *link)
{
	return (uint32_t)(link - link->host->links);
}

/* ---- link_send.c, for link.c ---- */
/* Makes the list of streams, with a hello if `hello`. Returns 0 or a negative errno. */
int link_list(struct link *link, bool hello);
/* Sends the next bytes. Returns their number (or 1 if a frame was made); 0 if nothing waits to be
 * sent, or if the socket is full (`wants_room`); or a negative errno. */
ssize_t link_send_next(struct link *link);
