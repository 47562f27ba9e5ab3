#pragma once
/*
 * What the files of collector/ingest share.
 *
 *   struct ingest    all of it
 *   struct peer      an agent that we want a link to: from a beacon or from the command line
 * (peer.c) struct link      one TCP connection, ours or theirs (link.c) struct intake    one stream
 * that is being received (intake.c)
 *
 * Ownership: ingest owns all three by lists. A link borrows its peer; an intake borrows its link
 * (NULL: nobody brings it now). `pending` counts what libuv still has of ours (handles, requests);
 * ingest is freed when it is stopping and pending is 0.
 */
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "base/secure/secure.h"
#include "base/secure/strangers.h"
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
#define TURNED_AWAY_NAMED 8  /* lines at a time */
#define PEERS_EACH	  64 /* of one address, without a link */
#define STREAMS_A_LINK	  1024
#define TICK_MS		  100
#define HELLO_TIMEOUT_MS  10000
/* that have dialled in, and not said who they are; as many are dialled */
#define HALF_OPEN_MAX	64
#define HALF_OPEN_EACH	32	    /* from one address */
#define HALF_OPEN_BYTES (64u << 10) /* of each */
/* so much of each link is taken in turn, some 2 ms of work */
#define RAW_SIZE (64u << 10)
/* a link as silent as that gives way to a newer one of the same agent */
#define IDLE_MS		 5000
#define GOODBYE_MS	 2000 /* for the last acknowledgements to leave */
#define BACKOFF_FIRST_MS 250
#define BACKOFF_MAX_MS	 5000
#define BACKOFF_OTHER_MS 1000  /* who is at the address is being found out */
#define FORGET_MS	 30000 /* a peer without beacons */
/* an address without beacons is not the agent's any more, if there are some from another one */
#define MOVED_MS	   2500
#define LOOK_MS		   1000 /* at the interfaces */
#define NONCES		   16
#define FRESH_MS	   15000 /* a probe can be answered for so long */
#define UNPROVEN_MAX	   8
#define UNPROVEN_MS	   2500 /* each of an agent's keys has its beacon within a second */
#define CHALLENGES_MAX	   64	/* probes to single agents in a second, */
#define CHALLENGES_EACH	   4	/* to one address */
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
	char host[256]; /* fixed: what to resolve */
	uint16_t port;
	uint8_t agent[STREAM_ID_SIZE]; /* from its beacon, or its Hello */
	bool has_agent;
	bool answers; /* a probe of ours has come to its address */
	struct sockaddr_storage address;
	struct stranger_address from; /* that of its first beacon */
	struct link *link;
	uint64_t sequence; /* of its last beacon that was believed */
	uint32_t streams;  /* live ones, as that said */
	uint64_t next_try_ms, seen_ms;
	uint64_t address_seen_ms; /* a beacon came from that address */
	bool failed;		  /* it could not be reached there */
	unsigned backoff_ms;
	unsigned tries; /* of the addresses of its name */
	bool resolving, warned;
	bool keyed;			/* its beacon was proven by a key, */
	uint8_t key_id[SECRET_ID_SIZE]; /* this one */
	size_t key;			/* fixed: number of the one that is tried, or fits */
	bool plain;			/* fixed, where both are spoken: it speaks no TLS */
	bool turned;			/* that was found out just now */
	uv_getaddrinfo_t resolve;
};

/* Who has dialled in shows how it speaks by its first bytes. */
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
	unsigned handles; /* open ones of the two */
	enum link_kind kind;
	struct secure_session *session; /* NULL: plain, or it has not begun */
	bool secured;			/* its handshake is done */
	bool try_next;			/* it does not have this key: with another one, at once */
	size_t came;			/* bytes before that */
	struct stranger who;
	struct buf in;
	char address[ADDRESS_TEXT];
	uint8_t agent[STREAM_ID_SIZE];
	char host[64]; /* as it says, cleaned */
	uint64_t window_bytes;
	uint64_t heard_ms;
	uint64_t turn; /* in which it was read last */
	unsigned streams;
	bool busy; /* room.c */
	bool held; /* the disk refused the frame at the front of `in`: nothing is read until it
		      takes that */
	uint64_t retry_ms;
};

struct intake {
	struct intake *next;
	struct ingest *ingest;
	struct link *link;
	struct stream_id id;
	struct stream_writer *writer;
	char *executable;
	uint32_t pid, incarnation; /* as the one whose link it is says */
	uint64_t unsynced_bytes, dirty_since_ms, left_ms;
	struct stream_position durable; /* next: the last safe batch */
	bool dirty, working, ended, told_ended, complete_at_start;
	int work_error;
	struct err_text work_text;
	bool finishing;
	struct pool_work work;
	/* Rows are derived beside that, from what is durable. */
	bool deriving, underived, finish_due;
	bool parks;	     /* not to hold memory afterwards */
	uint64_t held_bytes; /* memory that deriving holds; 0: parked */
	uint64_t derived_ms; /* when it was derived last */
	uint64_t summed_ms;  /* what is in use was summed up then, by the monotonic clock; the
				worker's */
	bool ack_due;	     /* its end waits for files_modules_deciding */
	bool abandoned; /* the disk has refused to make it durable: to be closed when nothing is
			   being derived */
	int derive_result;
	struct pool_work derive_work;
};

#define INTERVAL_MAX ((uint64_t)1 << 32) /* of samples, as proto/ring.h has it */

/* An order that waits for its reply (replies.c). */
struct given {
	struct given *next;
	struct ingest *ingest;
	struct link *link;
	struct stream_id stream;
	uint64_t id, until_ms;
};

/* A symbol file that is asked for (files.c). */
struct transfer {
	struct transfer *next;
	struct ingest *ingest;
	struct ingest_file file;
	struct link *link; /* who was asked, and has not answered to the end; NULL: nobody */
	uint8_t tried[TRANSFER_TRIES][STREAM_ID_SIZE]; /* agents that have refused it */
	unsigned tries, restarts;
	const char *why; /* what they said; NULL: nothing */
	uint64_t began_ms, heard_ms, not_before_ms;
	int fd; /* -1: nothing came yet */
	char *path;
	uint64_t total, received, identity;
	uint32_t crc;
	bool working; /* the whole file is being checked */
	int work_error;
	struct err_text work_text;
	uv_work_t work;
};

/* A module that was announced, and may be looked for (files_modules.c). */
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

/* What the disk refuses. */
#define REFUSED_APPEND 1u
#define REFUSED_SYNC   2u

/* A beacon that makes sense. */
struct beacon_seen {
	uint8_t agent[STREAM_ID_SIZE];
	uint16_t port;
	uint64_t sequence;
	uint32_t streams;
	bool keyed, answers;
	uint8_t key_id[SECRET_ID_SIZE];	     /* keyed */
	uint8_t nonce[DISCOVERY_NONCE_SIZE]; /* answers: a probe that had this one */
};

/* An agent whose beacons nobody here has a key for, so far. */
struct unproven {
	uint8_t agent[STREAM_ID_SIZE];
	uint64_t since_ms; /* 0: no agent */
};

/* Asking who is there (probe.c). */
struct prober {
	struct {
		uint8_t bytes[DISCOVERY_NONCE_SIZE];
		uint64_t sent_ms;
	} nonce[NONCES];
	unsigned last; /* the newest */
	bool any;
	uint64_t next_ms, pause_ms; /* to all */
	uint64_t look_ms;
	uint64_t second; /* that `challenges` are of */
	unsigned challenges;
	struct stranger_address challenged[CHALLENGES_MAX];
};

struct ingest {
	uv_loop_t *loop;
	struct store *store;
	void (*event)(void *, const struct ingest_event *);
	void *context;
	uint8_t id[STREAM_ID_SIZE]; /* ours */
	char where[512];
	const struct secret *secrets; /* keys of the agents that are believed */
	size_t secret_count;
	struct discovery_net net;
	uv_poll_t udp[DISCOVERY_SOCKETS];
	struct prober prober;
	uv_tcp_t listener;
	uv_timer_t tick;
	uv_prepare_t turning;
	uint64_t turn; /* of the loop */
	bool has_udp, has_listener;
	bool accept_waits;     /* somebody has dialled in; too many did in too short a time */
	struct secure *secure; /* NULL: links are plain */
	bool paired;	       /* keys come and go, */
	bool strict;	       /* links are TLS only, */
	bool proven;	       /* and beacons that are not proven by a key are passed over */
	struct strangers strangers;
	uint8_t raw[RAW_SIZE]; /* what was read last, by any link */
	struct unproven unproven[UNPROVEN_MAX];
	bool told_key; /* that there are agents with another key, or any */
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
		uint64_t bytes;		      /* that have come, or are coming */
		struct map seen;	      /* modules by build id */
		struct candidate *candidates; /* not looked for yet */
		struct candidate *looking;    /* by the worker */
		uv_work_t look;
	} files;
	struct given *given;
	uint32_t given_count;
	uint32_t peer_count, link_count, intake_count;
	uint32_t open_count; /* links that are open */
	uint32_t agents_max, streams_max;
	bool told_streams_max;
	unsigned told_lost; /* catalogues */
	bool filling;
	uv_work_t fill_work;
	struct turned_away *turned_away;
	uint32_t turned_away_count, noted_count; /* noted: as the store's note says */
	uint64_t noted_ms;
	uint64_t seed;		       /* of what follows */
	struct map intake_of, peer_of; /* by stream, by agent (id_key) */
	uint64_t events, bytes, beacons, beacons_refused, beacons_unproven;
	unsigned pending;
	struct pool *durability, *derivation;
	uint64_t memory_limit;	   /* of what deriving holds, of all streams */
	struct pool_work settling; /* of streams that a collector before us has left */
	uint64_t held_bytes;
	uint64_t keep_ns, keep_bytes;
	uint64_t retained_ms; /* when that was looked after last; 0: never */
	bool retaining;
	struct buf removed; /* what the worker has to say, lines */
	uv_work_t retain_work;
	bool stopping, parting;
	unsigned refused; /* REFUSED_...: the disk does, and it was said */
	void (*stopped)(void *);
	void *stopped_context;
};

/* files.c */
void files_init(struct ingest *ingest, const struct ingest_options *options);
void files_done(struct ingest *ingest);
/* A piece has come, or a refusal. 0; a negative errno with the reason to close the link. */
int files_piece(struct link *link, const Heapcast__FilePiece *piece, struct err_text *err);
void files_link_gone(struct link *link);
void files_tick(struct ingest *ingest, uint64_t now_ms);

/* files_modules.c */
/* Modules that a batch of a stream announces. */
void files_modules(struct ingest *ingest, const Heapcast__Batch *batch);
void files_modules_tick(struct ingest *ingest);
void files_modules_done(struct ingest *ingest);
/* Is it still open which files are wanted of modules that were announced? An agent may end once the
 * end of its stream is acknowledged: it is asked before that. */
bool files_modules_deciding(const struct ingest *ingest);

/* ingest.c */
void ingest_tell(struct ingest *ingest, const struct ingest_event *event);
void ingest_warn(struct ingest *ingest, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* After anything of `pending` has ended. */
void ingest_released(struct ingest *ingest);
char *address_format(char out[ADDRESS_TEXT], const struct sockaddr *address);
/* Where an id stands in a map. Nobody outside can make two of them meet. */
uint64_t id_key(const struct ingest *ingest, const uint8_t id[STREAM_ID_SIZE]);

/* discovery.c */
int discovery_start(struct ingest *ingest, const char *interface, struct err_text *err);
void discovery_stop(struct ingest *ingest);
/* 0: it is a beacon that makes sense; -EBADMSG. */
int beacon_parse(const uint8_t *data, size_t length, struct beacon_seen *ret_beacon);

/* probe.c */
/* To all, when it is time. */
void probe_tick(struct ingest *ingest, uint64_t now_ms);
/* Somebody was turned away who may be there: whoever answers gets a place. */
void probe_soon(struct ingest *ingest);
/* To one, by this key (NULL: none): prove that this is you, and now. */
void probe_one(struct ingest *ingest, const struct secret *secret,
	       const struct sockaddr_storage *to);
/* Was this nonce in a recent probe of ours? */
bool probe_is_fresh(const struct ingest *ingest, const uint8_t nonce[DISCOVERY_NONCE_SIZE]);

/* peer.c */
int peer_add_fixed(struct ingest *ingest, const char *text, struct err_text *err);
/* True if the beacon says something that an answer to a probe would prove: an agent that is not
 * known yet, or not at this address, or has not answered yet. */
bool peer_is_news(const struct ingest *ingest, const struct beacon_seen *beacon,
		  const struct sockaddr_storage *from);
/* `answers`: a recent probe of ours. */
void peer_beacon(struct ingest *ingest, const struct beacon_seen *beacon,
		 const struct sockaddr_storage *from, bool answers);
/* Has this agent proved itself, by a beacon or on a link? */
bool peer_is_proven(const struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE]);
/* It is this one. */
void peer_set_agent(struct peer *peer, const uint8_t agent[STREAM_ID_SIZE]);
void peer_tick(struct ingest *ingest, uint64_t now_ms);
/* Its link is gone (or never came): `good` if the handshake had been done. */
void peer_link_gone(struct peer *peer, bool good);
/* How it is to be talked to. */
enum link_kind peer_kind(const struct peer *peer);
void peers_free(struct ingest *ingest);

/* link.c */
int link_connect(struct ingest *ingest, struct peer *peer, const struct sockaddr *address);
void link_accept(struct ingest *ingest);
void link_close(struct link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lets what is written leave, then closes. */
void link_goodbye(struct link *link);
/* Tries again what the disk has refused. */
void links_tick(struct ingest *ingest, uint64_t now_ms);
/* True if a link to the agent is open (`keyed`: by which it has proved itself; else anybody can say
 * to be it); or if there is one, in whatever state, with the address. */
bool link_by_agent(const struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE], bool keyed);
struct link *link_by_address(const struct ingest *ingest, const char *address);

/* link_secure.c */
/* Begins TLS with an agent that we have dialled. As link_secure_input. */
int link_secure_start(struct link *link, struct err_text *err);
/* What has come goes to link->in. 0; a negative errno with the reason to close. */
int link_secure_input(struct link *link, const void *data, size_t length, struct err_text *err);
/* Sends, encrypted or not. 0 or a negative errno. */
int link_write(struct link *link, const void *data, size_t length);
/* A named agent, where both kinds are spoken, is not of this kind: the other one is tried. True: at
 * once. */
bool link_turn_kind(struct link *link, bool plain);
/* Closes links of keys that are ours no more. */
void links_drop_unknown(struct ingest *ingest);
/* It has dialled in, and not said who it is. */
bool link_is_stranger(const struct link *link);
/* Lets somebody go, if a newcomer's place is taken. */
void links_make_room(struct ingest *ingest, const struct stranger_address *from);
/* A place among those that are dialled, for one whom nobody named: a beacon may name anything, so
 * who has answered a probe goes first. False: it has to wait. */
bool links_make_room_to_dial(struct ingest *ingest, const struct peer *peer,
			     const struct stranger_address *to);

/* orders.c: bytes as they are; 0 or a negative errno. Then: each sends one order; a link that does
 * not take it is closed. */
int link_write_raw(struct link *link, const void *data, size_t length);
void order_hello(struct link *link);
void order_subscribe(struct link *link, const struct stream_id *id,
		     struct stream_position position);
/* Asks for the file from what is here of it on; NULL: for none any more. */
void order_file(struct link *link, const struct transfer *transfer);
/* `given` has the number; its link, and with it itself, may be gone afterwards. */
void order_control(struct link *link, const struct given *given, const struct ingest_order *order);
void order_ack(struct link *link, const struct stream_id *id, struct stream_position last);

/* replies.c */
void replies_take(struct link *link, const Heapcast__Reply *reply);
void replies_link_gone(struct link *link);
void replies_tick(struct ingest *ingest, uint64_t now_ms);
void replies_done(struct ingest *ingest);

/* room.c */
void room_init(struct ingest *ingest, const struct ingest_options *options);
void room_done(struct ingest *ingest);
void room_tick(struct ingest *ingest, uint64_t now_ms);
/* Is there a place for an agent that would be dialled; or for one that has greeted, and brings
 * streams that go on or not? Else it is counted as turned away. */
bool room_to_dial(struct ingest *ingest, const struct peer *peer);
bool room_for_link(struct link *link, bool brings);

/* anew.c */
void anew_tick(struct ingest *ingest);

/* retain.c */
void retain_tick(struct ingest *ingest, uint64_t now_ms);

/* intake.c */
/* What an agent says of a stream: opens it and subscribes. */
void intake_state(struct link *link, const Heapcast__StreamState *state);
/* It has ended, and all of it is stored, by what the catalogue says. */
bool intake_is_here(const struct ingest *ingest, const Heapcast__StreamState *state);
/* A frame with a batch of a stream. 0; 1: the disk has no room for it: come again with the same
 * frame; or negative errno with a sentence: close the link. */
int intake_frame(struct link *link, const uint8_t *frame, size_t length,
		 const Heapcast__Batch *batch, struct err_text *err);
/* Who brings the stream now. 0; -ENOENT, -ESRCH, -ENOTCONN as ingest_order. */
int intake_link(const struct ingest *ingest, const struct stream_id *id, struct link **ret_link);
void intake_link_gone(struct link *link);
/* Of the streams that have waited for files_modules_deciding. */
void intake_acknowledge_ends(struct ingest *ingest);
void intake_tick(struct ingest *ingest, uint64_t now_ms);
/* True if some of what was received is not durable yet and can be made so. */
bool intake_busy(const struct ingest *ingest);
void intakes_free(struct ingest *ingest);
