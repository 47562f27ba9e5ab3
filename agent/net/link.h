#pragma once
/*
 * A connection with a collector, whoever opened it. The agent says hello and lists its streams; the
 * collector says hello, subscribes and acknowledges; batches go out in order. Frames are sent
 * straight from the spool, without a copy: under the stream's lock, never blocking. Only hellos,
 * lists, catch-ups and pieces of symbol files go through the link's own buffer. Under TLS
 * (link_io.h) they are copied once, a record at a time.
 *
 * A frame that is dropped while half of it is on its way (there was no room, and a faster collector
 * has acknowledged it) ends the connection; the collector comes back and is told what it missed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "agent/stream/batch.h"
#include "agent/net/collectors.h"
#include "agent/net/link_io.h"
#include "agent/serve/orphans.h"
#include "agent/net/replies.h"
#include "agent/stream/stream.h"
#include "agent/net/symbol_files.h"

/* A link is cut if nothing of what was sent has arrived for so long; and as long has a collector
 * that is behind for a sign of life once another one has all. */
#define LINK_SILENT_MS 12000

struct link;

/* What links need of the agent. */
struct link_host {
	uv_loop_t *loop;
	struct stream *const *stream;
	uint32_t streams;
	struct orphans *orphans; /* what goes out beside them, and before */
	struct packer *packer;	 /* the main loop's */
	struct frame_decoder *decoder;
	const uint8_t *agent_id;
	uint64_t window_bytes;
	struct symbol_files *files; /* what collectors may ask for; NULL: nothing */
	struct link *links;	    /* all of them */
	uint32_t link_count;
	uint32_t generation; /* raised when a stream begins or ends */
	bool told_of_tls;    /* that a collector wants it, and we have no key */
	/* It has said hello. A number that tells collectors apart (collectors.h). */
	uint32_t (*welcomed)(void *context, const struct link *link,
			     const struct collector_greeting *greeting);
	/* It takes this stream, and says that it has everything up to `number`. */
	void (*subscribed)(void *context, const struct link *link, const struct stream *stream,
			   uint64_t number);
	/* It has everything of this stream up to `number`, which was sent to it. */
	void (*acknowledged)(void *context, const struct link *link, const struct stream *stream,
			     uint64_t number);
	void (*closed)(void *context, struct link *link);
	enum order_policy orders; /* of collectors, that are obeyed */
	/* One was: a stream's batch is to be sent at once. */
	void (*ordered)(void *context);
	void *context;
};

struct subscription {
	bool active;
	bool catching;
	bool fresh; /* it has none of the stream's batches yet, and never had */
	struct catch_up catch_up;
	uint64_t next; /* batch that is sent next */
	size_t sent;   /* bytes of it that are */
	uint64_t acked;
	uint64_t since_ns; /* CLOCK_MONOTONIC when it began */
};

struct link {
	struct link_host *host;
	uv_poll_t poll;
	int fd; /* of `io`; -1: the place is free */
	struct link_io io;
	bool closing;
	bool greeted;  /* the other side has said hello */
	bool has_id;   /* and has one */
	uint32_t who;  /* as host->welcomed says */
	uint32_t told; /* host->generation of the last list */
	uint32_t turn;
	uint8_t *in;
	size_t in_size, in_length;
	uint8_t *out;
	size_t out_size, out_length, out_sent;
	bool wants_room;
	struct replies replies;
	struct subscription *subscription; /* one a slot */
	char peer[64];
	char address[COLLECTOR_ADDRESS]; /* of the other end, without a port */
};

/* Memory, once. 0 or -ENOMEM. */
int link_init(struct link *link, struct link_host *host, struct arena *arena,
	      const struct budget *budget);
/* Takes over a connected, non-blocking socket. 0 or a negative errno (the socket is closed
 * then). */
int link_open(struct link *link, int fd, const char *peer);
/* The same with one that may speak TLS, whose handshake is done, and have something to say
 * already. */
int link_take(struct link *link, struct link_io *io, const char *peer);
/* There may be more to send. */
void link_pump(struct link *link);
void link_close(struct link *link);
/* The slot has got another stream. */
void link_forget(struct link *link, uint32_t slot);
static inline bool link_free(const struct link *link)
{
	return link->fd < 0 && !link->closing;
}
static inline uint32_t link_number(const struct link *link)
{
	return (uint32_t)(link - link->host->links);
}

/* link_send.c, for link.c */
/* Makes hello (the first time) and the list of streams. 0 or a negative errno. */
int link_list(struct link *link, bool hello);
/* Sends the next bytes there are. How many (or 1: something was made); 0: nothing, or no room
 * (`wants_room`); a negative errno. */
ssize_t link_send_next(struct link *link);
