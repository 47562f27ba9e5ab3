#pragma once
/*
 * Records running programs by the kernel: loads the programs of bpf/capture.bpf.c once, and manages
 * the processes that they watch. Each process is a *watch*: a source of events
 * (agent/core/capture.h) with its own ring buffer.
 *
 *   uprobes --programs--> ring of the watch --drain thread: source.c--> stream
 *   hub: threads' places, rows of the walk, sampled blocks: memory of all watches together
 *
 * The main thread calls these functions, except capture_ops: the drain thread calls those under the
 * stream's lock. Links and maps belong to the agent's process. When it ends, even by a crash, the
 * kernel removes all probes.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/core/capture.h"
#include "agent/ebpf/capture/modules.h"
#include "agent/ebpf/capture/ring.h"
#include "agent/ebpf/remote.h"
#include "base/error.h"
#include "bpf/events.h"

#define HUB_WATCHES_MAX 64
#define HUB_NEWS_BYTES	16384 /* at least a page */
#define HUB_HEAP	64    /* most records that wait for older ones */
/* The kernel's memory for each thread (its last stack and struct capture_thread), for each sampled
 * block, and for each line of rows. */
#define HUB_THREAD_BYTES (34u << 10)
#define HUB_BLOCK_BYTES	 104u
#define HUB_LINE_BYTES	 64u

struct hub_settings {
	uint32_t watches;   /* processes at a time */
	uint32_t threads;   /* of all watches; at most the lanes of a stream */
	size_t ring_bytes;  /* for each watch: a power of two */
	uint32_t lines;	    /* of the map of rows */
	uint32_t blocks;    /* live sampled blocks, of all watches */
	size_t image_bytes; /* memory for images of files, from which stacks are unwound */
	bool block;	    /* make programs wait while their rings are full */
	bool follow;	    /* report forks */
	bool execs;	    /* report every process that calls exec */
};

struct bpf_link;
struct capture;

/* The state of a thread, as the watch has put it into runs. */
struct watch_lane {
	bool begun;
	bool restarts; /* the next event begins a stack history */
	uint32_t tid;
	uint64_t delivered;
	uint64_t produced, not_sampled;			   /* as reported */
	uint64_t lost_allocations, lost_frees, lost_bytes; /* as reported */
	uint64_t unanswered, unanswered_bytes;		   /* as reported */
	bool dead;					   /* as of the last look */
	uint64_t last_ns;				   /* time of its last event */
};

struct watch {
	struct capture_source source;
	struct hub *hub;
	struct stream *stream; /* NULL: not begun; its lock guards `modules` */
	uint32_t number;
	pid_t pid;
	int lock; /* keeps other agents from this process; closed at the end; -1: none */
	bool detached;
	struct ring ring;
	struct capture_stream *shared; /* the kernel's state of the watch */
	uint32_t image;		       /* number of execs that the stream knows */
	uint32_t probed_image;	       /* image for which the program was reported as probed */
	uint64_t image_ns;	       /* when the last exec was processed */
	uint64_t exec_next;  /* the ring was read up to an exec, and records of the next program
			      * start here; 0: no exec */
	uint32_t exec_loads; /* number of loads at the exec */
	bool exec_told;	     /* the stream knows of the exec */
	uint32_t chosen;     /* number of places to probe in the present mappings */
	struct ebpf_modules modules;
	uint32_t epoch;
	struct remote *remote;
	struct bpf_link **link;
	uint32_t links, links_capacity;
	int *multi; /* the same, as descriptors */
	uint32_t multis, multis_capacity;
	uint32_t sites;		  /* probed */
	uint32_t unknown_results; /* functions whose results can't be recorded */
	struct watch_lane *lane;  /* by thread */
	struct watch_pending {
		uint64_t stamp, position;
	} heap[HUB_HEAP]; /* ordered by stamp */
	uint32_t heap_count;
	uint64_t look_ns;  /* when the modules were last read */
	bool look_wanted;  /* read the modules soon */
	bool probe_wanted; /* for the main thread: some modules were not searched for sites yet, or
			    * the loader is not probed yet */
	bool has_loader;   /* the loader is probed: `loads` is valid */
	struct watch_loader {
		uint64_t device, inode, offset;
	} * loader; /* probed loaders; after an exec the loader is usually the same file */
	uint32_t loaders, loaders_capacity;
	uint32_t image_table; /* number of loads when the image's program began */
	uint32_t call;	      /* number of the loader's last call */
	uint32_t table;	      /* number of loads that `modules` reflects */
	bool table_sure;      /* no load came while the modules were read */
	uint64_t limit;	      /* stamp: no older record can follow */
	uint64_t no_thread_allocations, no_thread_frees; /* as reported */
	uint64_t no_thread_ns;
	uint64_t damaged;
	uint64_t waited_ns;    /* as reported */
	uint64_t raws, raw_ns; /* stacks that the agent walked, and the time that this took */
	uint64_t raw_first_ns; /* delay from the first event in `raws` to its walk */
	uint32_t raw_count, raw_flags;
	uint64_t told_ns;	  /* the reported watermark */
	uint32_t round;		  /* records read in this round */
	uint64_t start_ns;	  /* CLOCK_MONOTONIC of the stream's start */
	struct run_module module; /* of the last run */
	bool in_round, round_final;
	bool modules_due; /* some modules may have come or gone */
	bool release_due; /* give the records that were read back to the ring before the next run */
	bool pcs_used;	  /* the last run points to `pcs` */
	uint64_t pcs[UNWIND_MAX_DEPTH + 2]; /* with room for two pseudo frames */
};

struct hub {
	struct hub_settings settings;
	struct capture *object;
	struct capture_thread *threads; /* mapped */
	struct capture_stream *streams;
	struct capture_tally *tallies;
	uint32_t tally_count;
	size_t threads_size, streams_size, tallies_size;
	uint32_t *alone; /* capture_alone */
	struct remotes *remotes;
	pthread_mutex_t remotes_lock; /* remotes are for one thread at a time */
	struct watch *watch[HUB_WATCHES_MAX];
	int epoll; /* readable when a ring must be drained or a watch needs probes */
	int bell;  /* eventfd: a watch needs probes */
	bool has_cookies, has_sessions;
	struct bpf_link *exit_link, *exec_link, *fork_link;
	struct ring news;
};

/* Loads the programs. Returns 0, or a negative errno (-EPERM, for example) with what to do. */
int hub_open(struct hub *hub, const struct hub_settings *settings, struct err_text *err);
void hub_close(struct hub *hub);

/* Sets the probes of a running process. Recording starts with watch_begin. Returns 0; -ESRCH if the
 * process has ended; -ENOENT if it has no allocator that can be probed; -ENOSPC if all watches are
 * taken, or if this processor permits only one; or another negative errno. Errors come with the
 * reason. */
int hub_watch(struct hub *hub, pid_t pid, struct watch **ret, struct err_text *err);
/* Starts the events, in the stream's mode. `stream` must have begun with this watch as its
 * source. */
void watch_begin(struct watch *watch, struct stream *stream);
/* Removes the probes, so the process is as before. Recorded events can still be drained. */
void watch_detach(struct watch *watch);
/* Sets probes in new libraries of the process. The call is cheap if there are none. */
void watch_probe_news(struct watch *watch);
/* Frees the watch. Its stream must have ended, or never have begun. */
void watch_free(struct watch *watch);
/* Forgets live sampled blocks: all of them, or with `earlier` only those of programs before the
 * present one. */
void watch_forget_blocks(struct watch *watch, bool earlier);

/* Tells the kernel which mappings are not the program's own (mappings.c). Call this after each look
 * that has found new modules, and before they are probed. */
void watch_say_theirs(struct watch *watch);
/* Returns true if the module is the program's own file. */
bool watch_is_program(const struct watch *watch, const struct ebpf_module *module);

/* Passes on what the kernel has reported about processes since the last call (follow.c). `told`
 * must not call functions of the hub. */
void hub_news(struct hub *hub, void (*told)(void *context, const struct capture_news *news),
	      void *context);

/* source.c */
/* Returns true if the process has just called exec and its loader is not probed yet, so that its
 * mappings are not reported. */
bool watch_is_beginning(const struct watch *watch, uint64_t now_ns);
extern const struct capture_ops watch_ops;

/* Sets the probes of modules that have none yet (probes.c). Returns 0 or a negative errno. */
int watch_probe(struct watch *watch, struct err_text *err);
void watch_unprobe(struct watch *watch);
/* Probes the loader's breakpoint. Returns 0, -ENOENT if the process has none, or none yet, or
 * another negative errno. */
int watch_probe_loader(struct watch *watch);

/* programs.c: hides the libbpf skeleton. */
struct bpf_program;
struct capture_fds {
	int targets, streams, threads, free, tids, rings, blocks, places, rows, spaces;
};
int programs_open(struct hub *hub, struct err_text *err);
void programs_close(struct hub *hub);
void programs_fds(const struct hub *hub, struct capture_fds *ret);
struct bpf_program *program_entry(const struct hub *hub);
struct bpf_program *program_exit(const struct hub *hub);
struct bpf_program *program_return(const struct hub *hub);
struct bpf_program *program_loader(const struct hub *hub);
int program_session(const struct hub *hub); /* a descriptor */
