#pragma once
/*
 * Both ends of the protocol on loopback: a collector, and an agent made for the test, a thread with
 * plain sockets that speaks the protocol, or breaks it, as its script says.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <uv.h>

#include "base/error.h"
#include "base/secure/secure.h"
#include "collector/catalogue/store.h"
#include "collector/ingest/ingest.h"
#include "proto/message.h"
#include "tests/unit/store/builder.h"

#define PATIENCE_MS 8000

struct collector {
	uv_loop_t loop;
	uv_timer_t timer;
	struct store *store;
	struct ingest *ingest;
	const char *folder;
	unsigned counts[INGEST_WARNING + 1]; /* of each kind of event */
	char last_text[256];
	enum ingest_event_kind until;
	unsigned until_count;
	bool timed_out, stopping;
};

/* Ingest into a folder; it runs until there have been `until_count` events of kind `until`, or
 * patience ends. */
void collector_begin(struct collector *c, const char *folder, const char *const *peers,
		     size_t count, bool discover, enum ingest_event_kind until,
		     unsigned until_count);
/* Likewise one that listens only, has these keys by pairing, and takes plain links, too. */
void collector_begin_paired(struct collector *c, const char *folder, const struct secret *keys,
			    size_t count, enum ingest_event_kind until, unsigned until_count);
void collector_run(struct collector *c);

struct agent {
	int listener;
	char address[32];
	struct builder b;
	uint8_t id[STREAM_ID_SIZE];
	uint32_t incarnation; /* that it says to be in */
	struct message_reader *messages;
	pthread_t thread;
	void (*script)(struct agent *a);
	/* what the script saw */
	uint64_t subscribed[4], acked;
	unsigned connections;
	bool failed;
	uint16_t dial; /* port of the collector, for scripts that dial */
	struct buf in;
	/* of agent_dial */
	int fd;
	struct secure *secure;
	struct secure_session *session; /* NULL: plain */
};

/* Listens, and has a stream of ten batches with 1800 events; agent_start runs the script. */
void agent_begin(struct agent *a, void (*script)(struct agent *a));
void agent_start(struct agent *a);
void agent_join(struct agent *a);
void agent_done(struct agent *a);

/* What scripts are made of. */
int agent_accept(struct agent *a);
void agent_send(int fd, const void *data, size_t length);
void agent_greet(struct agent *a, int fd, uint32_t protocol);
/* Frames `from` to `to` (not included) of the stream. */
void agent_frames(struct agent *a, int fd, size_t from, size_t to);
/* The next order; NULL: the collector is gone, or has said nothing for as long as the socket waits.
 * Valid until the next call. */
const Heapcast__Order *next_order(struct agent *a, int fd);
/* Waits for the subscription; its `next` is noted. */
bool agent_subscribed(struct agent *a, int fd);
void agent_until_acked(struct agent *a, int fd, uint64_t number);
/* Dials the collector, and speaks TLS with this key (NULL: plain) over `fd`. Tells whether it was
 * let in. */
bool agent_dial(struct agent *a, const struct secret *key);
void agent_leave(struct agent *a);
/* Somebody with the id `id` dials, with this key (NULL: plain), and says to have the stream of `a`
 * in this incarnation. Tells whether he is asked for it. Ends by agent_claim_done. */
bool agent_claims(struct agent *a, struct agent *ret_other, uint8_t id, uint32_t incarnation,
		  const struct secret *key);
void agent_claim_done(struct agent *other);
/* Tells whether the collector has closed the connection, and not just said nothing. */
bool agent_is_hung_up(struct agent *a);
/* A whole delivery: one connection, all frames, acknowledged. */
void agent_deliver(struct agent *a);

/* The agent's stream, whole and balanced, is all that the folder holds. */
void expect_recording(const struct agent *a, const char *folder);
