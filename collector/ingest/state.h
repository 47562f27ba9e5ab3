#pragma once
/*
 * State that the files of collector/ingest share.
 *
 *   struct ingest    the whole
 *   struct peer      an agent that we want a link to, from a beacon or the command line (peer.c)
 *   struct link      a TCP connection, dialled or accepted (link.c)
 *   struct intake    a stream that is being received (intake.c, intake_work.c)
 *
 * Ownership: ingest owns all three, in lists. A link borrows its peer. An intake borrows its link,
 * which is NULL while no agent sends the stream. `pending` counts libuv handles and requests in
 * use; ingest is freed when it is stopping and `pending` is 0.
 */
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "base/secure/secure.h"
#include "base/secure/strangers.h"
#include "collector/catalogue/compress_streams.h"
#include "collector/catalogue/store.h"
#include "collector/ingest/ingest.h"
#include "collector/ingest/pool.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "proto/columns.h"
#include "proto/discovery.h"
#include "proto/discovery_net.h"
#include "proto/discovery_proof.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "heapcast.pb-c.h"

#define TURNED_AWAY_MAX	  4096
#define TURNED_AWAY_NAMED 8  /* names in the log at a time */
#define PEERS_EACH	  64 /* peers of one address, without a link */
#define STREAMS_A_LINK	  1024
#define TICK_MS		  100
#define HELLO_TIMEOUT_MS  10000
/* limit of accepted connections that have not identified themselves, and of dialled ones */
#define HALF_OPEN_MAX	64
#define HALF_OPEN_EACH	32	    /* the same from one address */
#define HALF_OPEN_BYTES (64u << 10) /* bytes from each of them */
/* bytes read from a link per turn, about 2 ms of work */
#define RAW_SIZE (64u << 10)
/* a link this silent yields to a newer one of the same agent */
#define IDLE_MS		 5000
#define GOODBYE_MS	 2000 /* time for the last acknowledgements to leave */
#define BACKOFF_FIRST_MS 250
#define BACKOFF_MAX_MS	 5000
#define BACKOFF_OTHER_MS 1000  /* while it is unknown which agent is at the address */
#define FORGET_MS	 30000 /* a peer without beacons */
/*
 * If an agent's address sends no beacons for this long and another address does, the agent has
 * moved there.
 */
#define MOVED_MS	   2500
#define LOOK_MS		   1000 /* interval of checks of the interfaces */
#define NONCES		   16
#define FRESH_MS	   15000 /* how long a probe can be answered */
#define UNPROVEN_MAX	   8
#define UNPROVEN_MS	   2500 /* within this time each of an agent's keys has had a beacon */
#define CHALLENGES_MAX	   64	/* maximum number of probes to single agents per second */
#define CHALLENGES_EACH	   4	/* the same to one address */
#define ACK_MS		   1000
#define RETRY_APPEND_MS	   1000
#define WRITE_QUEUE_MAX	   (1u << 20)
#define DEFAULT_WINDOW	   (1u << 20)
#define ADDRESS_TEXT	   80
#define LISTEN_PORT	   43513
#define DURABILITY_THREADS 2
#define DERIVATION_THREADS 2
#define TRANSFER_TRIES	   16
#define LISTEN_BACKLOG	   64

struct peer {
	struct peer *next;
	struct ingest *ingest;
	bool fixed;	/* from the command line: never forgotten */
	char host[256]; /* fixed: the name to resolve */
	uint16_t port;
	uint8_t agent[STREAM_ID_SIZE]; /* the agent's id, from its beacon or its Hello */
	bool has_agent;
	bool answers; /* it has answered a probe at its address */
	struct sockaddr_storage address;
	struct stranger_address from; /* address of its first beacon */
	struct link *link;
	uint64_t sequence; /* sequence number of its last accepted beacon */
	uint32_t streams;  /* live streams, according to that beacon */
	uint64_t next_try_ms, seen_ms;
	uint64_t address_seen_ms; /* last beacon from that address */
	bool failed;		  /* connecting to that address failed */
	unsigned backoff_ms;
	unsigned tries; /* counts attempts, to rotate through the addresses of its name */
	bool resolving, warned;
	bool keyed;			/* its beacon was proven by a key */
	uint8_t key_id[SECRET_ID_SIZE]; /* if keyed: this key */
	size_t key;			/* fixed: index of the key that is being tried, or that
					 * fits */
	bool plain;			/* fixed, if we speak both: this peer speaks no TLS */
	bool turned;			/* `plain` has just changed */
	uv_getaddrinfo_t resolve;
};

/* How a link speaks. The first bytes of an accepted connection decide. */
enum link_kind { LINK_UNDECIDED, LINK_PLAIN, LINK_TLS };
enum link_state { LINK_CONNECTING, LINK_HELLO, LINK_OPEN, LINK_GOODBYE, LINK_CLOSING };

struct link {
	struct link *next;
	struct ingest *ingest;
	struct peer *peer; /* NULL: it dialled in */
	enum link_state state;
	uv_tcp_t tcp;
	uv_timer_t timer;
	uv_connect_t connect;
	uv_shutdown_t shutdown;
	unsigned handles; /* number of open libuv handles (tcp, timer) */
	enum link_kind kind;
	struct secure_session *session; /* NULL: plain, or not begun */
	bool secured;			/* the TLS handshake is done */
	bool try_next;			/* the peer does not have this key: try the next one at
					 * once */
	size_t came;			/* bytes received before the handshake was done */
	struct stranger who;
	struct buf in;
	char address[ADDRESS_TEXT];
	uint8_t agent[STREAM_ID_SIZE];
	char host[64]; /* as the agent says; safe to display */
	uint64_t window_bytes;
	uint64_t heard_ms;
	uint64_t turn; /* the turn in which it was last read */
	unsigned streams;
	unsigned lists; /* number of lists of its streams that it has sent */
	bool busy;	/* used in room.c */
	bool held;	/* the disk refused the frame at the front of `in`; reading waits for it */
	uint64_t retry_ms;
	bool told_refusal; /* the agent knows that the disk refuses what it sends */
};

struct intake {
	struct intake *next;
	struct ingest *ingest;
	struct link *link;
	struct stream_id id;
	struct stream_writer *writer;
	char *executable;
	uint32_t pid, incarnation; /* as the agent on its link states */
	unsigned listed;	   /* number of the link's last list that named it */
	bool keyed;		   /* it was received over a link with a key (claims.c) */
	uint64_t unsynced_bytes, dirty_since_ms, left_ms;
	struct stream_position durable; /* everything before it is durable */
	bool dirty, working, ended, told_ended, complete_at_start;
	int work_error;
	struct err_text work_text;
	bool finishing;
	struct pool_work work;
	/* Rows are derived from durable frames, independently of syncing. */
	bool deriving, underived, finish_due;
	bool parks;	     /* release the memory after the run */
	uint64_t held_bytes; /* memory that deriving holds; 0: parked */
	uint64_t derived_ms; /* last time of deriving */
	uint64_t summed_ms;  /* last time that the live heap was summed up, by the monotonic clock;
			      * owned by the worker */
	bool ack_due;	     /* the acknowledgement of its end waits for files_modules_deciding */
	bool abandoned;	     /* a sync failed; the writer is closed when no thread derives */
	int derive_result;
	struct pool_work derive_work;
};

#define INTERVAL_MAX ((uint64_t)1 << 32) /* maximum sampling interval, as in proto/ring.h */

/* An order that waits for its reply (replies.c). */
struct given {
	struct given *next;
	struct ingest *ingest;
	struct link *link;
	struct stream_id stream;
	uint64_t id, until_ms;
};

/* A requested symbol file (files.c). */
struct transfer {
	struct transfer *next;
	struct ingest *ingest;
	struct ingest_file file;
	struct link *link; /* the agent that was asked and has not finished; NULL: none */
	uint8_t tried[TRANSFER_TRIES][STREAM_ID_SIZE]; /* agents that have refused it */
	unsigned tries, restarts;
	const char *why; /* the reason that they gave; NULL: none */
	uint64_t began_ms, heard_ms, not_before_ms;
	int fd; /* -1: no piece has arrived */
	char *path;
	uint64_t total, received, identity;
	uint32_t crc;
	bool working; /* the whole file is being checked */
	int work_error;
	struct err_text work_text;
	uv_work_t work;
};

/* A module that was announced and may be wanted (files_modules.c). */
struct candidate {
	struct candidate *next;
	struct ingest_file file;
	bool wanted;
	char path[];
};

/* An agent for which there is no place (room.c). */
struct turned_away {
	struct turned_away *next;
	uint8_t agent[STREAM_ID_SIZE];
	char host[64], address[ADDRESS_TEXT];
	uint64_t seen_ms;
};

/* Operations that the disk may refuse. */
#define REFUSED_APPEND 1u
#define REFUSED_SYNC   2u

/* A valid beacon. */
struct beacon_seen {
	uint8_t agent[STREAM_ID_SIZE];
	uint16_t port;
	uint64_t sequence;
	uint32_t streams;
	bool keyed, answers;
	uint8_t key_id[SECRET_ID_SIZE];	     /* if keyed */
	uint8_t nonce[DISCOVERY_NONCE_SIZE]; /* if answers: nonce of the probe */
};

/* An agent for whose beacons we have no key so far. */
struct unproven {
	uint8_t agent[STREAM_ID_SIZE];
	uint64_t since_ms; /* 0: empty entry */
};

/* Probing for agents (probe.c). */
struct prober {
	struct {
		uint8_t bytes[DISCOVERY_NONCE_SIZE];
		uint64_t sent_ms;
	} nonce[NONCES];
	unsigned last; /* index of the newest nonce */
	bool any;
	uint64_t next_ms, pause_ms; /* times of probes to all */
	uint64_t look_ms;
	uint64_t second; /* the second that `challenges` counts */
	unsigned challenges;
	struct stranger_address challenged[CHALLENGES_MAX];
};

/* The thread that compresses streams. The members above `pool` belong to it while it is busy. */
struct compressing {
	struct compression settings;
	struct err_text err;
	int error;
	struct pool *pool; /* NULL: nothing is compressed */
	struct pool_work work;
	bool busy;
	uint64_t next_ms;
};

struct ingest {
	uv_loop_t *loop;
	struct store *store;
	void (*event)(void *, const struct ingest_event *);
	void *context;
	uint8_t id[STREAM_ID_SIZE]; /* our own */
	char where[512];
	const struct secret *secrets; /* keys of trusted agents */
	size_t secret_count;
	struct discovery_net net;
	uv_poll_t udp[DISCOVERY_SOCKETS];
	struct prober prober;
	uv_tcp_t listener;
	uv_timer_t tick;
	uv_prepare_t turning;
	uint64_t turn; /* turn of the loop */
	bool has_udp, has_listener;
	bool accept_waits;     /* connections are pending: too many arrived in a short time, or
				* there was no memory for one */
	struct secure *secure; /* NULL: links are plain */
	bool paired;	       /* keys may change */
	bool strict;	       /* links are TLS only */
	bool proven;	       /* beacons without a proof are ignored */
	struct strangers strangers;
	uint8_t raw[RAW_SIZE]; /* the buffer into which all links read */
	struct unproven unproven[UNPROVEN_MAX];
	bool told_key; /* agents with another key, or with any key, were reported */
	uint16_t listen_port;
	struct frame_encoder *encoder;
	struct message_reader *messages;
	struct peer *peers;
	struct link *links;
	struct intake *intakes;
	struct files {
		const char *folder; /* NULL: none */
		bool of_modules;
		bool (*wanted)(void *, const struct ingest_file *, const char *);
		int (*came)(void *, const struct ingest_file *, const char *, struct err_text *);
		struct transfer *transfers;
		uint32_t count;
		uint64_t bytes;		      /* bytes that have arrived or are arriving */
		struct map seen;	      /* modules by build id */
		struct candidate *candidates; /* not examined yet */
		struct candidate *looking;    /* being examined by the worker */
		uv_work_t look;
	} files;
	struct given *given;
	uint32_t given_count;
	uint32_t peer_count, link_count, intake_count;
	uint32_t open_count; /* open links */
	uint32_t agents_max, streams_max;
	bool told_streams_max;
	unsigned told_lost; /* number of lost catalogues that were reported */
	bool filling;
	uv_work_t fill_work;
	struct turned_away *turned_away;
	uint32_t turned_away_count, noted_count; /* noted_count: the number in the store's note */
	uint64_t noted_ms;
	uint64_t seed;		       /* seed of the maps below */
	struct map intake_of, peer_of; /* by stream and by agent (id_key) */
	uint64_t events, bytes, beacons, beacons_refused, beacons_unproven;
	unsigned pending;
	struct pool *durability, *derivation;
	uint64_t memory_limit;	   /* limit for all memory that deriving holds */
	struct pool_work settling; /* sums up streams that an earlier collector left behind */
	uint64_t held_bytes;
	uint64_t keep_ns, keep_bytes;
	bool (*waits)(void *context, const struct stream_id *stream);
	uint64_t retained_ms; /* last check; 0: never */
	bool retaining;
	struct buf removed; /* lines that the worker reports */
	uv_work_t retain_work;
	struct compressing compressing;
	bool stopping, parting;
	unsigned refused; /* REFUSED_...: the disk refuses it, and this was reported */
	void (*stopped)(void *);
	void *stopped_context;
};

/* Defined in files.c. */
void files_init(struct ingest *ingest, const struct ingest_options *options);
void files_done(struct ingest *ingest);
/* Takes a piece or a refusal. Returns 0, or a negative errno with the reason to close the link. */
int files_piece(struct link *link, const Heapcast__FilePiece *piece, struct err_text *err);
void files_link_gone(struct link *link);
void files_tick(struct ingest *ingest, uint64_t now_ms);

/* Defined in files_modules.c. */
/* Takes the modules that a batch of a stream announces. */
void files_modules(struct ingest *ingest, const Heapcast__Batch *batch);
void files_modules_tick(struct ingest *ingest);
void files_modules_done(struct ingest *ingest);
/*
 * Tells whether it is still undecided which files of announced modules are wanted. An agent may
 * exit once the end of its stream is acknowledged, so files are requested before that.
 */
bool files_modules_deciding(const struct ingest *ingest);

/* Defined in ingest.c. */
void ingest_tell(struct ingest *ingest, const struct ingest_event *event);
void ingest_warn(struct ingest *ingest, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Called after a handle or request counted by `pending` has ended. */
void ingest_released(struct ingest *ingest);
char *address_format(char out[ADDRESS_TEXT], const struct sockaddr *address);
/* Returns the map key of an id. It is seeded, so peers cannot construct collisions. */
uint64_t id_key(const struct ingest *ingest, const uint8_t id[STREAM_ID_SIZE]);

/* Defined in discovery.c. */
int discovery_start(struct ingest *ingest, const char *interface, struct err_text *err);
void discovery_stop(struct ingest *ingest);
/* Parses a beacon. Returns 0 or -EBADMSG. */
int beacon_parse(const uint8_t *data, size_t length, struct beacon_seen *ret_beacon);

/* Defined in probe.c. */
/* Probes all agents when it is time. */
void probe_tick(struct ingest *ingest, uint64_t now_ms);
/*
 * Schedules a probe because an agent that was turned away may be present; an agent that answers
 * gets a place.
 */
void probe_soon(struct ingest *ingest);
/* Probes one agent, with this key (NULL: none), to prove its identity at present. */
void probe_one(struct ingest *ingest, const struct secret *secret,
	       const struct sockaddr_storage *to);
/* Tells whether a recent probe had this nonce. */
bool probe_is_fresh(const struct ingest *ingest, const uint8_t nonce[DISCOVERY_NONCE_SIZE]);

/* Defined in peer.c. */
int peer_add_fixed(struct ingest *ingest, const char *text, struct err_text *err);
/*
 * Tells whether the beacon says something that an answer to a probe would prove: the agent is
 * unknown, unknown at this address, or has not answered yet.
 */
bool peer_is_news(const struct ingest *ingest, const struct beacon_seen *beacon,
		  const struct sockaddr_storage *from);
/* `answers`: the beacon answers a recent probe. */
void peer_beacon(struct ingest *ingest, const struct beacon_seen *beacon,
		 const struct sockaddr_storage *from, bool answers);
/* Tells whether this agent has authenticated, by a beacon or on a link. */
bool peer_is_proven(const struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE]);
/* Sets the peer's agent. */
void peer_set_agent(struct peer *peer, const uint8_t agent[STREAM_ID_SIZE]);
void peer_tick(struct ingest *ingest, uint64_t now_ms);
/* The peer's link is gone or never came up. `good`: the handshake was done. */
void peer_link_gone(struct peer *peer, bool good);
/* Returns how to speak with the peer. */
enum link_kind peer_kind(const struct peer *peer);
void peers_free(struct ingest *ingest);

/* Defined in link.c. */
int link_connect(struct ingest *ingest, struct peer *peer, const struct sockaddr *address);
void link_accept(struct ingest *ingest);
void link_close(struct link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sends pending output, then closes. */
void link_goodbye(struct link *link);
/* Retries what the disk has refused. */
void links_tick(struct ingest *ingest, uint64_t now_ms);
/*
 * link_by_agent tells whether a link to the agent is open. With `keyed`, the agent must have
 * authenticated on it, because otherwise any peer can claim the id. link_by_address returns the
 * link with the address, in whatever state.
 */
bool link_by_agent(const struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE], bool keyed);
struct link *link_by_address(const struct ingest *ingest, const char *address);

/* Defined in link_secure.c. */
/* Begins TLS on a dialled link. Returns the same values as link_secure_input. */
int link_secure_start(struct link *link, struct err_text *err);
/* Decrypts input to link->in. Returns 0, or a negative errno with the reason to close the link. */
int link_secure_input(struct link *link, const void *data, size_t length, struct err_text *err);
/* Sends bytes, encrypted if necessary. Returns 0 or a negative errno. */
int link_write(struct link *link, const void *data, size_t length);
/*
 * Switches a named peer between TLS and plain, if we speak both. Returns true if the other kind is
 * tried at once.
 */
bool link_turn_kind(struct link *link, bool plain);
/* Closes links whose keys are no longer ours. */
void links_drop_unknown(struct ingest *ingest);
/* Tells whether a link was accepted and has not identified itself. */
bool link_is_stranger(const struct link *link);
/* Closes a link if there is no place for a newcomer. */
void links_make_room(struct ingest *ingest, const struct stranger_address *from);
/*
 * Makes room among the dialled links for a peer from a beacon. A beacon may be forged, so a peer
 * that has answered a probe has priority. Returns false if the peer has to wait.
 */
bool links_make_room_to_dial(struct ingest *ingest, const struct peer *peer,
			     const struct stranger_address *to);

/*
 * Defined in orders.c. link_write_raw sends bytes as they are and returns 0 or a negative errno.
 * Each of the other functions sends one order, and closes the link on failure.
 */
int link_write_raw(struct link *link, const void *data, size_t length);
void order_hello(struct link *link);
void order_subscribe(struct link *link, const struct stream_id *id,
		     struct stream_position position);
/* Requests a file from the bytes received so far on; NULL: cancels the request. */
void order_file(struct link *link, const struct transfer *transfer);
/* Sends an order under the number in `given`. Afterwards its link, and with it `given`, may be
 * gone. */
void order_control(struct link *link, const struct given *given, const struct ingest_order *order);
/* Acknowledges all batches before `durable`, at least one. */
void order_ack(struct link *link, const struct stream_id *id, struct stream_position durable);
/* Says that the disk refuses what comes on this link, with this negative errno: once, until
 * something is stored. */
void order_refusal(struct link *link, int error);

/* Defined in replies.c. */
void replies_take(struct link *link, const Heapcast__Reply *reply);
void replies_link_gone(struct link *link);
void replies_tick(struct ingest *ingest, uint64_t now_ms);
void replies_done(struct ingest *ingest);

/* Defined in room.c. */
void room_init(struct ingest *ingest, const struct ingest_options *options);
void room_done(struct ingest *ingest);
void room_tick(struct ingest *ingest, uint64_t now_ms);
/*
 * room_to_dial tells whether there is a place for an agent to be dialled; room_for_link, for an
 * agent that has sent its Hello, with live streams (`brings`) or without. If not, the agent counts
 * as turned away.
 */
bool room_to_dial(struct ingest *ingest, const struct peer *peer);
bool room_for_link(struct link *link, bool brings);

/* Defined in anew.c. */
void anew_tick(struct ingest *ingest);

/* Defined in compress.c. compress_start returns 0 or a negative errno. */
int compress_start(struct ingest *ingest, const struct ingest_options *options);
void compress_tick(struct ingest *ingest, uint64_t now_ms);
void compress_done(struct ingest *ingest);
/* Defined in retain.c. */
void retain_tick(struct ingest *ingest, uint64_t now_ms);

/* Defined in claims.c. */
/* Tells whether the stream's link, which is open, has another key than this link. */
bool claim_has_other_key(const struct intake *intake, const struct link *link);
/*
 * Returns true if this link must not have the stream that its agent claims in this incarnation. The
 * first of two links keeps a stream, even before its first batch. Three kinds of links take it
 * over: a link of the same agent, a link with a later incarnation, and a link with a key if the
 * first has none. A stream that has come with a key is never taken over without one.
 */
bool claim_is_void(const struct intake *intake, const struct link *link, uint32_t incarnation);

/* Defined in intake.c. */
/*
 * Takes an agent's list of its streams, if there is one: opens them and subscribes. Streams that
 * have ended and are not in the list are forgotten.
 */
void intake_states(struct link *link, const Heapcast__Link *list);
/* Tells whether the stream has ended and is stored completely, according to the catalogue. */
bool intake_is_here(const struct ingest *ingest, const Heapcast__StreamState *state);
/*
 * Takes a frame with a batch of a stream. Returns 0; 1 if the disk has no room, and the caller
 * retries with the same frame; or a negative errno with a sentence: the caller closes the link.
 */
int intake_frame(struct link *link, const uint8_t *frame, size_t length,
		 const Heapcast__Batch *batch, struct err_text *err);
/*
 * Returns the link that delivers the stream. Returns 0, or -ENOENT, -ESRCH or -ENOTCONN as
 * ingest_order does.
 */
int intake_link(const struct ingest *ingest, const struct stream_id *id, struct link **ret_link);
void intake_link_gone(struct link *link);
/* Tells the observer about the stream. */
void intake_tell(struct intake *intake, enum ingest_event_kind kind);
void intake_tick(struct ingest *ingest, uint64_t now_ms);
/* Tells whether received data is not durable yet and can be made so. */
bool intake_busy(const struct ingest *ingest);
void intakes_free(struct ingest *ingest);

/* Defined in intake_work.c. */
/* The disk has refused, or accepts again, what `what` names (REFUSED_*). Both log it once. */
void disk_refused(struct ingest *ingest, unsigned what, const char *why);
bool disk_has_no_room(int error);
void disk_accepted(struct ingest *ingest, unsigned what);
/* Begins a sync if enough data is not durable, or has not been for long enough. */
void intake_sync_if_due(struct intake *intake);
/* Begins to derive rows if there are enough frames. */
void intake_derive_if_due(struct intake *intake);
/* Tells whether there are frames to derive, or memory to release of a stream without an agent. */
bool intake_wants_deriving(const struct intake *intake);
/* Sets how much memory deriving holds for this stream. */
void intake_hold(struct intake *intake, uint64_t bytes);
/* Tells whether the stream has ended and is being completed: nothing can be appended. */
bool intake_is_finishing(const struct intake *intake);
/* Acknowledges the ends of streams that waited for files_modules_deciding. */
void intake_acknowledge_ends(struct ingest *ingest);
