#pragma once
/*
 * The agent: slots for the programs being recorded, the drain thread that fills their spools, and
 * the main loop that empties the spools into a file or into links to collectors. agent_open
 * reserves all memory; afterwards only libuv and the C library allocate, in small amounts, when a
 * peer connects.
 *
 *   program --handshake--> session --ring--> [drain thread] --spool--> [main loop] --> file, links
 *   running program <--session_attach--'   (another source than a ring: agent/core/capture.h)
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "agent/serve/access.h"
#include "agent/net/beacon.h"
#include "agent/stream/budget.h"
#include "agent/serve/cells.h"
#include "agent/core/clock.h"
#include "agent/net/collectors.h"
#include "agent/serve/control_socket.h"
#include "agent/stream/drain.h"
#include "agent/spool/file_name.h"
#include "agent/stream/file_sink.h"
#include "agent/net/pending_peers.h"
#include "agent/net/handshake.h"
#include "agent/serve/home.h"
#include "agent/net/link.h"
#include "agent/net/listener.h"
#include "agent/ring/ring_source.h"
#include "agent/stream/observer.h"
#include "agent/watch/oom.h"
#include "agent/watch/pressure.h"
#include "agent/stream/stream.h"
#include "agent/net/symbol_files.h"
#include "base/error.h"
#include "base/secure/pairs.h"
#include "base/secure/secure.h"

/* The settings of one program. */
struct session_settings {
	const char *output; /* pattern of file names; NULL: write a file only if no collector takes
			     * the stream */
	bool own_output;    /* the program named `output`; a relative name starts in the program's
			     * working folder */
	uid_t output_owner; /* owner of new files; -1: the agent's own user */
	bool follow;	    /* record its children, too */
	uint64_t cull_ns;
	struct tags tags;     /* of every program of this agent */
	struct tags own_tags; /* that the program has set itself; these count more */
	struct observer_settings observe;
	struct ring_settings ring;
};

/*
 * Applies the settings in a program's environment. `text` holds NAME=VALUE strings, each with its
 * terminating zero. *io holds the agent's settings on entry and the program's settings on return;
 * pointers in it point into `text`. `same_files` says that the program runs as the agent's user and
 * sees the same files. Returns 0, with a sentence in `say` if a setting is not honoured. Returns
 * -EINVAL with the reason if the program must not be recorded.
 */
typedef int agent_settle(void *context, const char *text, size_t length, bool same_files,
			 struct session_settings *io, struct err_text *say);

struct agent_settings {
	uint64_t memory_limit;
	struct session_settings each; /* the settings of a program that sets nothing itself */
	agent_settle *settle;	      /* NULL: a program's environment is ignored */
	void *settle_context;
	const char *home; /* name of the socket where programs ask to be recorded; NULL: this agent
			   * takes up no rings of other agents, and no agent takes up its rings */
	bool beside_target; /* relative file names start in the working folder in which the program
			     * was started */
	const char *folder; /* without `beside_target`, relative file names start here; NULL: the
			     * agent's working folder */
	bool announce;
	const char *collector; /* HOST:PORT; NULL: none */
	const char *interface; /* NULL: all interfaces */
	const char *listen;    /* ADDR:PORT; "": first free port; NULL: do not listen */
	int listen_fd;	       /* use this listening TCP socket instead; the agent owns it; 0:
				* none */
	uint16_t base_port;    /* first port to try; 0: the default */
	uint64_t linger_ns;   /* how long to wait for a collector after a program has ended, and for
			       * followed children that outlive the program */
	uint64_t idle_ns;     /* exit after being idle for this long; 0: never */
	const char *spool;    /* folder for batches that wait for a collector; NULL: memory only */
	uint64_t spool_limit; /* bytes that the folder may hold */
	enum order_policy orders;   /* which collectors' orders are obeyed */
	uint64_t stop_ns;	    /* time to deliver after the agent was told to stop */
	bool many;		    /* the agent records more than one process at a time */
	bool no_rings;		    /* events come from another source (session_attach) */
	struct access access;	    /* users whose programs may be recorded */
	enum symbol_policy symbols; /* which files collectors get */
	struct cull_settings cull;  /* culling and the flight recorder exclude each other */
	struct flight_settings flight;
	struct pressure_settings pressure; /* memory pressure that triggers the flight recorder */
	struct secure_options secure;	   /* empty: links are plain; its pointers must outlive the
					    * agent */
	const struct secret *secret;	   /* owner of the recordings (home.h); NULL: no owner */
	struct pairs *pairs; /* folder of keys that come and go by pairing; used if `secure.paired`
			      * is set; NULL: none */
};

static inline struct home agent_home(const struct agent_settings *s)
{
	return (struct home){.socket = s->home, .secret = s->secret, .authority = s->secure.ca};
}

/* The outcome of one recording, for agent.finished. */
struct session_report {
	const struct target_info *target;
	struct target_end end;
	struct stream_ledger ledger;
	uint64_t batches;
	uint64_t bytes; /* of frames */
	uint64_t allocations;
	uint64_t stacks_cut;
	uint32_t nodes;
	const char *path;     /* of the file; empty: no file */
	bool lingered;	      /* the file was written because no collector came */
	bool rest;	      /* the file starts after what a collector has */
	const char *taken_by; /* names of collectors that have the whole stream, for people; empty:
			       * none */
	const char *lacking;  /* names of collectors that have only a part of the stream */
	bool rest_for_away;   /* the file holds what the collectors in `lacking` miss; others have
			       * the whole stream */
	bool rest_cut;	      /* a part of the rest was dropped earlier to make room */
	bool given_up;	      /* nothing took the end of the stream: events after `saved` are
			       * lost */
	int file_error; /* negative errno: writing the file failed, and the file holds only `saved`
			 * events */
	uint64_t saved;
	uint64_t unread;       /* malformed records */
	uint64_t no_place;     /* lost events of threads that got no slice */
	uint32_t modules_lost; /* libraries for which the module table had no room: their frames
				* have no names */
};

struct agent;

/* The progress of one collector in one stream. See collectors.h. */
struct cursor {
	bool active; /* the spool keeps what this collector lacks */
	bool begun;  /* the collector connected and subscribed to this stream */
	uint64_t acked;
	uint64_t most;	      /* highest acknowledged batch; a later subscription may start below
			       * it */
	uint64_t progress_ns; /* CLOCK_MONOTONIC when `most` last rose */
};

struct session {
	struct stream stream;
	struct ring_source ring; /* the stream's source, if the program writes a ring */
	struct agent *agent;
	uint32_t slot;
	int pidfd;
	uv_poll_t pidfd_poll;
	bool watching, closing;
	bool gone; /* the process is gone, but how it ended is not known yet */
	uint64_t gone_ns;
	struct oom_watch oom;
	struct pressure pressure;
	bool detaching;
	struct session_settings settings;
	char output[RING_OUTPUT_MAX]; /* storage of settings.output if the program named it */
	char folder[TARGET_PATH_MAX]; /* where relative file names start; empty: in the agent's
				       * working folder */
	struct file_sink file;
	bool lingered;
	bool waits_for_room; /* the wait was logged */
	bool given_up;
	int file_error;
	uint64_t saved;			      /* events delivered before giving up */
	struct cursor cursor[COLLECTORS_MAX]; /* by the collector's place */
	uint64_t link_acked;		      /* highest batch that any collector has
					       * acknowledged */
	struct stream_part taker;	      /* the collector that acknowledged `link_acked` */
	uint64_t whole_ns;    /* when a collector had acknowledged the whole ended stream; 0: not
			       * yet */
	bool waits_for_away;  /* the wait was logged */
	bool for_away;	      /* the file is for absent collectors: others have the whole stream */
	bool away_cut;	      /* a part of what the file should hold was dropped earlier */
	uint64_t progress_ns; /* when a collector last acknowledged, or the process ended */
	struct handshake_client *waiting; /* the process called exec, and its new image asks for the
					   * ring */
	uint32_t patches;		  /* functions that its images were told to patch */
};

/* Returns the header of the session's ring, or NULL if its events come from another source. */
static inline struct ring_header *session_ring(const struct session *s)
{
	return s->stream.source == &s->ring.source ? s->ring.ring->header : NULL;
}

#define AGENT_HELD HANDSHAKE_CLIENTS
#define AGENT_TOLD 64

/* A process that was told which settings are not honoured. After an exec it is still the same
 * process. */
struct agent_told {
	pid_t pid;
	uint64_t start_ticks;
};

/* A pending program: it asked to be recorded and waits for a slot that is about to become free. */
struct agent_held {
	struct handshake_client *client; /* NULL: this entry is free */
	struct ring_hello hello;
	uint64_t since_ns;
};

struct agent {
	struct agent_settings settings;
	struct budget budget;
	struct arena arena;
	struct arena places; /* address space of sessions and of slots that grow */
	uint32_t touched;    /* number of sessions ever used; the memory of the sessions themselves
			      * is never given back */
	struct clock clock;
	struct packer drain_packer, link_packer;
	struct drain drain;
	struct spool_folder spool;
	char spool_path[TARGET_PATH_MAX]; /* settings.spool, or a folder in it */
	struct orphans orphans;		  /* streams that an earlier agent left there */
	struct observer observer;
	uint8_t id[STREAM_ID_SIZE];
	uv_loop_t loop;
	uv_async_t news;
	uv_timer_t tick;
	uv_signal_t trigger;
	struct handshake handshake;
	struct link_host host;
	struct link *link;
	struct collectors collectors;
	struct symbol_files files;
	struct secure *secure; /* NULL: links are plain */
	struct beacon_keys keys;
	uint64_t pairs_ns;	     /* when the folder of keys was last checked */
	bool pairs_told;	     /* a warning was logged that the agent started before its first
				      * pairing */
	struct err_text keys_remark; /* the last problem that the check of the folder reported */
	struct pending_peers pending_peers;
	struct listener listener;
	struct dialer dialer;
	char noted[DIAL_NAME]; /* the collector that the file beside the socket names */
	struct beacon beacon;
	struct control_socket control_socket;
	bool to_links;
	struct session *session;
	struct stream *stream[BUDGET_SLOTS_MAX];
	uint32_t recordings;	      /* recordings started so far */
	uint8_t mark[RING_MARK_SIZE]; /* identifies this agent's rings: home.h */
	struct file_number file_number;
	struct agent_told told[AGENT_TOLD];
	uint32_t told_next;
	uint64_t idle_since_ns;
	struct agent_held held[AGENT_HELD];
	struct cell cell[CELLS_MAX];
	struct cell_told cell_told[CELLS_TOLD];
	uint32_t turned_away; /* processes that asked when no slot was free */
	uint32_t unheard;     /* processes that ended before the agent read their request */
	uint32_t
		unfollowed; /* run: programs that children started, and asked in vain (no follow) */
	uint32_t unready;   /* fork children that could not be recorded */
	bool stopping;
	bool hurried; /* told to stop a second time */
	bool stopped;
	uint64_t stop_ns;
	uint64_t undelivered;	 /* number of events that stopping has lost */
	uint32_t undelivered_of; /* number of programs that have lost them */
	uint8_t *file_out;
	pid_t only;	 /* run: the only process that may be recorded (with `follow`, its children,
			  * too); 0: any */
	bool ringless;	 /* a program was turned away because its ring could not be created */
	bool unwritable; /* a program was turned away because its file could not be created */
	bool only_ended; /* run: the process `only` has ended */
	struct target_end only_end;
	/* The following members are for run with `follow`, after `only` has ended. */
	/* "NAME=value" in the environment of each child; NULL: unknown */
	const char *children_carry;
	uint32_t children; /* children that still run, as of children_ns */
	uint64_t children_ns;
	uint64_t children_since_ns; /* when the wait for them began; 0: not yet */
	bool children_told;	    /* the wait was logged */
	void (*finished)(void *context, const struct session_report *report);
	void *context;
};

/* Opens the agent. Programs may ask at the socket `listen_fd`, which the agent owns from now on;
 * -1: none. Returns 0, or a negative errno with the reason. */
int agent_open(struct agent *agent, const struct agent_settings *settings, int listen_fd,
	       struct err_text *err);
/* Computes how an agent with these settings would divide its memory among `slots` programs (0: as
 * many as fit). Returns 0, or -EINVAL with the reason. */
int agent_divide(const struct agent_settings *settings, uint32_t slots, struct budget *ret_budget,
		 struct err_text *err);
/* Returns true if an agent with these settings may talk to collectors. */
bool agent_has_links(const struct agent_settings *settings);
/* Sends everything that the flight recorders hold; `cause` is recorded as the reason. */
void agent_trigger(struct agent *agent, enum flight_cause cause);
/* Prepares a ring for a program that was just started. The agent does the slow work while the
 * program loads its libraries, so that the program waits less for the answer. Call this before any
 * program has asked. */
void agent_expect(struct agent *agent);
/* Checks that agent_open would accept these addresses. Returns 0, or -EINVAL with the reason. */
int agent_check(const struct agent_settings *settings, struct err_text *err);
/* Replaces the settings for programs that ask from now on, for access control, and for the
 * collector to dial. Settings that determine the division of memory or the sockets keep their
 * values: memory limit, stack depth, listening, announcing. `settings` must have passed
 * agent_check, and its pointers must outlive the agent. */
void agent_change(struct agent *agent, const struct agent_settings *settings);
/* Returns the number of programs that are being recorded. */
uint32_t agent_live(const struct agent *agent);
/* Returns the path of the file to which the process is recorded, or NULL. */
const char *agent_file_of(const struct agent *agent, pid_t pid);
/* Runs the event loop until nothing is left to do. */
void agent_loop(struct agent *agent);
/* Stops the agent. Recorded programs run on unrecorded, and new ones are turned away. The agent
 * delivers the events that it has within settings.stop_ns. A second call ends this time at once.
 * When agent_loop returns, `undelivered` counts the events that could not be delivered. */
void agent_stop(struct agent *agent);
/* Reports that the agent's own child has ended, with its wait status. `rss_peak` has the unit of
 * struct target_end. */
void agent_child_ended(struct agent *agent, pid_t pid, int status, uint64_t rss_peak);
void agent_close(struct agent *agent);

/* control_answer.c */
/* Opens the control socket next to the socket `socket`, where programs ask. Returns 0 or a negative
 * errno; the agent works without a control socket. */
int agent_open_control_socket(struct agent *agent, const char *socket);

/* agent_memory.c */
/* Divides the memory limit, finds what earlier agents have left in the spool folder, and reserves
 * all memory. Returns 0, or a negative errno with the reason. */
int agent_open_memory(struct agent *agent, struct err_text *err);

/* agent_links.c */
/* Listens for collectors, announces the agent and dials, as the settings say. Returns 0, or a
 * negative errno with the reason. */
int agent_open_links(struct agent *agent, struct err_text *err);
/* Shares the links out as the settings say: the last one belongs to the dialler if `collector` is
 * set; all other links serve collectors that connect. */
void agent_share_links(struct agent *agent);
/* Dials the collector that the settings name now, instead of the previous one. */
void agent_turn_links(struct agent *agent);

/* agent_keys.c */
/* Opens the keys or certificates for links as the settings say. Call it before everything else that
 * takes memory, because the memory of TLS is subtracted from the limit. Returns 0 or a negative
 * errno with the reason. */
int agent_open_keys(struct agent *agent, struct err_text *err);
/* Checks once a second whether the keys by pairing have changed. If so, uses the new keys and
 * closes links whose keys are gone. */
void agent_look_for_keys(struct agent *agent);

/* session_place.c */
/* Takes a free session with the initial memory of a new recording. Returns NULL if no session is
 * free or its memory is not available. */
struct session *session_take(struct agent *agent);
/* Gives the session's memory back. Its stream must be free. */
void session_give(struct session *session);
/* Initializes a session of a fixed slot, once, with all its memory. Returns 0 or -ENOMEM. */
int session_init(struct agent *agent, struct session *session);

/* session.c */
/* Answers a program that asks to be recorded, or holds it while a slot is about to become free. */
void session_ask(struct agent *agent, struct handshake_client *client,
		 const struct ring_hello *hello);
/* Continues the stream of a program whose agent is gone; `lock` as in ring_stream_take_up. Returns
 * 0; -ENOSPC if all slots are taken; -EPERM if the program's user may not be recorded; -EEXIST if
 * another session has this stream; -EIO if there is no place for the output; or another negative
 * errno. */
int session_take_up(struct agent *agent, const struct target_info *target, int lock);
/* Records a running program from the source `capture`. `parent` is the stream id of the program's
 * parent, or NULL. Returns 0; -EEXIST if the program is recorded already; -ENOSPC if all slots are
 * taken; -EIO if there is no place for the output; or another negative errno. On success the stream
 * owns `capture` and closes it. */
int session_attach(struct agent *agent, const struct target_info *target,
		   struct capture_source *capture, const uint8_t *parent);
/* Answers pending programs: those for which a slot is free now, and those that have waited long
 * enough. */
void session_admit(struct agent *agent);
/* Does all work that is due for this session. */
void session_work(struct session *session);
void session_ended(struct session *session, const struct target_end *end);
void session_detach(struct session *session);
/* Returns the number of events that are neither in a file nor acknowledged by a collector. */
uint64_t session_unsaved(struct session *session);

/* session_accept.c */
/* Gives the program its ring, and tells it which functions of an allocator in its own file to
 * patch. */
void session_accept(struct session *session, struct handshake_client *client);
/* Logs a warning if the program patched fewer functions than it was told to. The ring must still
 * exist. */
void session_check_patches(const struct session *session);

/* session_settle.c */
/* Determines the settings of the program that asks. Returns 0, with a sentence in `say` if a
 * setting is not honoured; or -EINVAL with the reason. */
int session_settle(struct agent *agent, struct session *session,
		   const struct handshake_client *client, struct err_text *say);
/* Logs `say`, and has the program write it to its standard error. A process writes it once; a fork
 * child does not write it. */
void session_say(struct agent *agent, struct handshake_client *client, struct err_text *say);
/* session_note writes the settings into the ring. session_recall reads them back. */
void session_note(const struct session *session);
/* Gives the session's stream its settings, and its tags alone. The caller holds the stream's
 * lock. */
void session_settle_stream(struct session *session);
void session_tag(struct session *session);
void session_recall(struct agent *agent, struct session *session);

/* session_file.c */
/* Creates the session's file. It starts with batch `first`, or with the oldest batch that the spool
 * still has. Returns 0, or a negative errno with the reason. */
int session_open_file(struct session *session, uint64_t first, struct err_text *err);
/* Tests whether a file could be created for this program if it started now, and leaves nothing
 * behind. Returns 0, or a negative errno with the reason. */
int session_try_file(const struct agent_settings *settings, const char *program,
		     struct err_text *err);

/* agent_collectors.c */
/* Connects the links to the sessions: links report what collectors do. */
void agent_serve_collectors(struct agent *agent);
/* Forgets collectors that have been away too long. */
void agent_forget_collectors(struct agent *agent);
/* Starts the cursors of a new stream. The stream keeps what a collector lacks if the collector is
 * connected or was connected recently. */
void session_begin_cursors(struct session *session);
/* ---- session_parts.c ---- */
/* Notes that this collector has acknowledged the highest batch so far. */
void session_taken_by(struct session *session, uint32_t place);
/* The collector at `place`, which has everything up to `number`, subscribes by `link`. Returns up
 * to which batch the collector before it has the stream, if it takes over from that one; else 0. */
uint64_t session_taken_over(struct session *session, const struct link *link, uint64_t number);
/* ---- agent_links.c ---- */
/* Notes in a file beside the socket with which of several collectors the agent is connected. The
 * next agent there begins with it: what it takes up has its last part there. */
void agent_note_collector(struct agent *agent);
/* Removes the note: nothing was left to take up. */
void agent_forget_note(struct agent *agent);
/* ---- session_parts.c ---- */
/* Returns true if a stream takes no more from its program, because its batches have no room. */
bool agent_has_stalled(struct agent *agent);
/* Appends the names of the collectors before the present one: "desk (10.0.0.5), then ". Returns the
 * length. */
size_t session_name_parts(const struct session *session, char *out, size_t size);
/* ---- agent_collectors.c ---- */
/* Returns the highest batch that all collectors have; UINT64_MAX if no collector is known. */
uint64_t session_kept(const struct session *session);
/* Returns true if the end of a stream still waits for a collector, although another has
 * acknowledged the whole stream. It waits for a collector that is connected and keeps
 * acknowledging, and for one that was disconnected a moment ago and may come back. Collectors that
 * subscribe only now, or come and go, delay the end by no more than the linger time in total. Call
 * it with the stream's lock held. */
bool session_has_laggard(struct session *session);
/* Returns true if a named collector has a part of the stream and is away. A file should then keep
 * the part that it lacks. Call it with the stream's lock held. */
bool session_has_absent(const struct session *session);
/* Returns the number of the first batch that one of these collectors lacks. */
uint64_t session_absent_from(const struct session *session);
/* Writes a list of collectors for people: those that have the whole stream, or, if `all` is false,
 * those that began it and lack a part. */
void session_name_collectors(const struct session *session, bool all, char *out, size_t size);

/* session_deliver.c */
/* Delivers batches. When all are delivered or given up, reports the outcome and frees the slot. */
void session_deliver(struct session *session);
