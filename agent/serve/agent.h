#pragma once
/*
 * The agent: slots for recorded processes, the drain thread that fills their spools, and the main
 * loop that empties them into a file or links. All memory is set aside in agent_open; afterwards
 * only libuv and the C library allocate, small things, when somebody connects.
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
#include "agent/core/budget.h"
#include "agent/serve/cells.h"
#include "agent/core/clock.h"
#include "agent/net/collectors.h"
#include "agent/serve/control_socket.h"
#include "agent/stream/drain.h"
#include "agent/spool/file_name.h"
#include "agent/stream/file_sink.h"
#include "agent/net/pending_peers.h"
#include "agent/net/handshake.h"
#include "agent/net/link.h"
#include "agent/net/listener.h"
#include "agent/watch/observer.h"
#include "agent/watch/oom.h"
#include "agent/watch/pressure.h"
#include "agent/stream/stream.h"
#include "agent/net/symbol_files.h"
#include "base/error.h"
#include "base/secure/pairs.h"
#include "base/secure/secure.h"

/* What holds for one program. */
struct session_settings {
	const char *
		output; /* pattern of file names; NULL: a file only if nothing goes to collectors */
	bool own_output; /* the program has named it, and it begins in the program's working folder
			  */
	uid_t output_owner; /* of files; -1: the agent's own */
	bool follow;	    /* its children, too */
	uint64_t cull_ns;
	struct observer_settings observe;
	struct ring_settings ring;
};

/*
 * What the environment of a program asks for: `text` is NAME=VALUE, each with its zero. *io is what
 * the agent has for each, and becomes what holds for this one; what it points to is in `text`.
 * `same_files`: it is of the agent's own user and sees the same files. 0, with a sentence in `say`
 * if something is not honoured; -EINVAL with what is wrong: it is not recorded.
 */
typedef int agent_settle(void *context, const char *text, size_t length, bool same_files,
			 struct session_settings *io, struct err_text *say);

struct agent_settings {
	uint64_t memory_limit;
	struct session_settings each; /* program that says nothing else */
	agent_settle *settle;	      /* NULL: programs have no say */
	void *settle_context;
	const char *home; /* the name of the socket that programs ask at; NULL: nobody else's rings
			     are ours, nor ours anybody's */
	bool beside_target; /* relative names of files begin in the working folder that a program is
			       started in */
	const char *folder; /* where they begin else; NULL: the agent's working folder */
	bool announce;
	const char *collector; /* HOST:PORT; NULL: none */
	const char *interface; /* NULL: all */
	const char *listen;    /* ADDR:PORT; "": first free port; NULL: not */
	int listen_fd;	       /* a TCP socket that listens already, instead; taken over. 0: none */
	uint16_t base_port;    /* from here; 0: the usual one */
	uint64_t linger_ns; /* for a collector, once a program has ended; for followed children that
			       outlive it */
	uint64_t idle_ns;   /* end when nothing is recorded for so long; 0: never */
	const char *spool;  /* folder for batches that wait for a collector; NULL: memory only */
	uint64_t spool_limit;	    /* bytes there */
	enum order_policy orders;   /* of collectors, that are obeyed */
	uint64_t stop_ns;	    /* for delivering, once told to stop */
	bool many;		    /* more than one process at a time */
	bool no_rings;		    /* another source records (session_attach) */
	struct access access;	    /* whose programs */
	enum symbol_policy symbols; /* which files collectors get */
	struct cull_settings cull;  /* of this and the next one is used at most */
	struct flight_settings flight;
	struct pressure_settings pressure; /* what triggers it */
	struct secure_options secure;	   /* none: links are plain. What it points to lives on */
	const struct secret *secret; /* what is recorded belongs to it (home.h); NULL: to nobody */
	struct pairs *pairs; /* a folder of keys, which may come and go: if `secure` says so they
				are used; NULL: none */
};

/* What became of one recorded process. */
struct session_report {
	const struct target_info *target;
	struct target_end end;
	struct stream_ledger ledger;
	uint64_t batches;
	uint64_t bytes; /* in frames */
	uint64_t allocations;
	uint64_t stacks_cut;
	uint32_t nodes;
	const char *path;     /* of the file; empty: none */
	bool lingered;	      /* the file was written because no collector came */
	bool rest;	      /* it begins behind what a collector has */
	const char *taken_by; /* the collectors that have all of it, for people; empty: none */
	const char *lacking;  /* and those that have only a part */
	bool rest_for_away;   /* the file holds what they lack: others have all of it */
	bool rest_cut;	      /* some of that was dropped before, as it had no room */
	bool given_up;	      /* nobody took the end of it: events beyond `saved` are lost */
	int file_error; /* negative errno: the file could not be written any more, and has `saved`
			   events only */
	uint64_t saved;
	uint64_t unread;       /* records that made no sense */
	uint64_t no_place;     /* events of threads without a slice, lost */
	uint32_t modules_lost; /* libraries that found no room: frames in them have no names */
};

struct agent;

/* How far a collector is with one stream: see collectors.h. */
struct cursor {
	bool active; /* what it lacks is kept */
	bool begun;  /* it was connected, and wanted this stream */
	uint64_t acked;
	uint64_t most;	      /* that it has ever acknowledged; it may ask for less again */
	uint64_t progress_ns; /* CLOCK_MONOTONIC: when that rose */
};

struct session {
	struct stream stream;
	struct agent *agent;
	uint32_t slot;
	int pidfd;
	uv_poll_t pidfd_poll;
	bool watching, closing;
	bool gone; /* the process is; how it ended is not known yet */
	uint64_t gone_ns;
	struct oom_watch oom;
	struct pressure pressure;
	bool detaching;
	struct session_settings settings;
	char output[RING_OUTPUT_MAX]; /* what settings.output points to, if the program has named it
				       */
	char folder[TARGET_PATH_MAX]; /* where relative names of files begin; empty: in the agent's
				       */
	struct file_sink file;
	bool lingered;
	bool waits_for_room; /* said so */
	bool given_up;
	int file_error;
	uint64_t saved;			      /* events that were delivered before giving up */
	struct cursor cursor[COLLECTORS_MAX]; /* by a collector's place */
	uint64_t link_acked;		      /* most of what they have acknowledged */
	uint64_t whole_ns; /* when all of the stream, which has ended, had been acknowledged; 0: not
			      yet */
	bool waits_for_away;  /* said so */
	bool for_away;	      /* the file is for collectors that are away: others have all of it */
	bool away_cut;	      /* but for what was dropped before */
	uint64_t progress_ns; /* when a collector last acknowledged, or the process ended */
	struct handshake_client *waiting; /* the next image of the process asks for its ring */
	uint32_t patches;		  /* functions that its images were told to patch */
};

#define AGENT_HELD HANDSHAKE_CLIENTS
#define AGENT_TOLD 64

/* Processes that were told what is not honoured: an exec makes none of them a new one. */
struct agent_told {
	pid_t pid;
	uint64_t start_ticks;
};

/* Asks, and waits for a place that is about to be free. */
struct agent_held {
	struct handshake_client *client; /* NULL: nobody */
	struct ring_hello hello;
	uint64_t since_ns;
};

struct agent {
	struct agent_settings settings;
	struct budget budget;
	struct arena arena;
	struct arena places; /* address space of sessions, and of places that grow */
	uint32_t touched;    /* sessions that were ever used: their own memory stays */
	struct clock clock;
	struct packer drain_packer, link_packer;
	struct drain drain;
	struct spool_folder spool;
	char spool_path[TARGET_PATH_MAX]; /* settings.spool, or a folder in it */
	struct orphans orphans;		  /* what was found there */
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
	uint64_t pairs_ns;	     /* when the folder was looked at */
	bool pairs_told;	     /* that this agent began before its first pairing */
	struct err_text keys_remark; /* what was wrong with it then */
	struct pending_peers pending_peers;
	struct listener listener;
	struct dialer dialer;
	struct beacon beacon;
	struct control_socket control_socket;
	bool to_links;
	struct session *session;
	struct stream *stream[BUDGET_SLOTS_MAX];
	uint32_t recordings;	      /* begun so far */
	uint8_t mark[RING_MARK_SIZE]; /* of its rings: home.h */
	struct file_number file_number;
	struct agent_told told[AGENT_TOLD];
	uint32_t told_next;
	uint64_t idle_since_ns;
	struct agent_held held[AGENT_HELD];
	struct cell cell[CELLS_MAX];
	struct cell_told cell_told[CELLS_TOLD];
	uint32_t turned_away; /* processes that asked when there was no place */
	uint32_t unheard;     /* that were over before they were heard */
	uint32_t unready;     /* fork children that could not be recorded */
	bool stopping;
	bool hurried; /* told to stop a second time */
	bool stopped;
	uint64_t stop_ns;
	uint64_t undelivered;	 /* events that stopping has cost, */
	uint32_t undelivered_of; /* of so many programs */
	uint8_t *file_out;
	pid_t only; /* run: the only process that may be recorded (its children with `follow`); 0:
		       any */
	bool ringless;	 /* a program was turned away because no ring could be made for it */
	bool unwritable; /* a program was turned away because no file could be made for it */
	bool only_ended; /* run: that one is gone */
	struct target_end only_end;
	/* run, with `follow`: once that one is gone */
	const char *
		children_carry; /* "NAME=value" that is in the environment of each; NULL: unknown */
	uint32_t children;	/* how many run on, as of children_ns */
	uint64_t children_ns;
	uint64_t children_since_ns; /* waited for since; 0: not yet */
	bool children_told;	    /* and it was said */
	void (*finished)(void *context, const struct session_report *report);
	void *context;
};

/* Sets everything up; programs may ask at `listen_fd` (taken over; -1: none). 0; a negative errno
 * with the reason. */
int agent_open(struct agent *agent, const struct agent_settings *settings, int listen_fd,
	       struct err_text *err);
/* How such an agent would divide its memory, with `slots` places for programs (0: as many as there
 * is room for). 0; -EINVAL with the reason. */
int agent_divide(const struct agent_settings *settings, uint32_t slots, struct budget *ret_budget,
		 struct err_text *err);
/* Does such an agent talk to collectors at all? */
bool agent_has_links(const struct agent_settings *settings);
/* All that the flight recorders hold is to be sent, for this reason. */
void agent_trigger(struct agent *agent, enum flight_cause cause);
/* A program was just started that will ask: what takes time is done while it loads its libraries,
 * so that it waits the less for the answer. Nobody may have asked before. */
void agent_expect(struct agent *agent);
/* Would agent_open understand these addresses? 0; -EINVAL with the reason. */
int agent_check(const struct agent_settings *settings, struct err_text *err);
/* From here on these settings hold: for programs that begin to be recorded, for who may be, for the
 * collector that is dialled. What agent_open has divided memory by or listens on stays: memory
 * limit, depth, listening, announcing. They have passed agent_check, and what they point to lives
 * on. */
void agent_change(struct agent *agent, const struct agent_settings *settings);
/* How many programs are being recorded. */
uint32_t agent_live(const struct agent *agent);
/* Serves until there is nothing left to do. */
void agent_loop(struct agent *agent);
/* Programs that are recorded go on unrecorded, others are turned away; what there is is delivered
 * within settings.stop_ns; at once when called again. What could not be is in `undelivered` when
 * agent_loop returns. */
void agent_stop(struct agent *agent);
/* Our child has ended so. `rss_peak` as of struct target_end. */
void agent_child_ended(struct agent *agent, pid_t pid, int status, uint64_t rss_peak);
void agent_close(struct agent *agent);

/* control_answer.c */
/* Serves a control socket beside the socket of that name, where programs ask. 0 or a negative
 * errno: the agent does without. */
int agent_open_control_socket(struct agent *agent, const char *socket);

/* agent_keys.c */
/* What links prove themselves by, as the settings say. It is the first that takes memory, as all
 * else is divided by what it leaves. */
int agent_open_keys(struct agent *agent, struct err_text *err);
/* Once a second: are there other keys by pairing? Then those hold, and links of keys that are gone
 * are closed. */
void agent_look_for_keys(struct agent *agent);

/* session_place.c */
/* One that is free, with the memory of a young process; NULL: there is none. */
struct session *session_take(struct agent *agent);
/* Its stream is free again: its memory goes back. */
void session_give(struct session *session);
/* All of its own, where places are fixed, once. 0 or -ENOMEM. */
int session_init(struct agent *agent, struct session *session);

/* session.c */
void session_ask(struct agent *agent, struct handshake_client *client,
		 const struct ring_hello *hello);
/* Goes on with the stream of a program whose agent is gone; `lock` as in stream_take_up. 0;
 * -ENOSPC: all places are taken; -EPERM: it is of another user; -EIO: there is nowhere to put it;
 * or another negative errno. */
int session_take_up(struct agent *agent, const struct target_info *target, int lock);
/* Records a program that runs already, from this source; the child of the program of the stream
 * `parent`, if that is not NULL. 0; -EEXIST: it is recorded; -ENOSPC: all places are taken; -EIO:
 * there is nowhere to put it; or another negative errno. From then on the stream closes the
 * source. */
int session_attach(struct agent *agent, const struct target_info *target,
		   struct capture_source *capture, const uint8_t *parent);
/* Answers those who wait for a place, if there is one now or they have waited long enough. */
void session_admit(struct agent *agent);
/* Does what can be done for it now. */
void session_work(struct session *session);
void session_ended(struct session *session, const struct target_end *end);
void session_detach(struct session *session);
/* Events that are neither in a file nor acknowledged by a collector. */
uint64_t session_unsaved(struct session *session);

/* session_accept.c */
/* Gives the program its ring, and says what is to be done to an allocator inside of it. */
void session_accept(struct session *session, struct handshake_client *client);
/* Says so if less was done. While the ring is there. */
void session_check_patches(const struct session *session);

/* session_settle.c */
/* What holds for the program that asks. 0, with a sentence if not all that it wants; -EINVAL with
 * what is wrong. */
int session_settle(struct agent *agent, struct session *session,
		   const struct handshake_client *client, struct err_text *say);
/* Has a program write that to its standard error, once, unless it is a fork child; and the log. */
void session_say(struct agent *agent, struct handshake_client *client, struct err_text *say);
/* Into the ring, and back. */
void session_note(const struct session *session);
void session_recall(struct agent *agent, struct session *session);

/* session_file.c */
/* Makes the session's file, which begins with batch `first`, or the oldest that is here. 0 or a
 * negative errno with the reason. */
int session_open_file(struct session *session, uint64_t first, struct err_text *err);
/* Could a file be made for this program, if it were started now? Tries, and leaves nothing behind.
 * 0; a negative errno with the reason. */
int session_try_file(const struct agent_settings *settings, const char *program,
		     struct err_text *err);

/* agent_collectors.c */
/* Links tell the sessions what collectors do. */
void agent_serve_collectors(struct agent *agent);
/* Those that have been away too long. */
void agent_forget_collectors(struct agent *agent);
/* The stream begins: what collectors lack that are here, or were a while ago, is kept. */
void session_begin_cursors(struct session *session);
/* Up to here all collectors have it; UINT64_MAX: there are none. */
uint64_t session_kept(const struct session *session);
/* Everything has been taken by somebody. What the end waits for all the same: a collector that is
 * connected and goes on taking it; one that was cut off a moment ago and may come back. Whoever
 * comes only now, or comes and goes, puts the end off for the linger time in all. With the stream's
 * lock held. */
bool session_has_laggard(struct session *session);
/* A collector that is waited for has a part of it, and is away: what it lacks is to be kept in a
 * file. With the stream's lock held. */
bool session_has_absent(const struct session *session);
/* Number of the first batch that one of them lacks. */
uint64_t session_absent_from(const struct session *session);
/* Who has all of the stream, or (`all` false) is away with a part of it, for people. */
void session_name_collectors(const struct session *session, bool all, char *out, size_t size);

/* session_end.c */
/* Moves batches on; when all are where they belong, or given up, reports and frees the slot. */
void session_deliver(struct session *session);
