#pragma once
/*
 * Recording of running programs by the kernel: the programs of bpf/capture.bpf.c, loaded once, and
 * the processes that they watch. Each process is a *watch*: a source of events
 * (agent/core/capture.h), with a ring buffer of its own.
 *
 *   uprobes --programs--> ring of the watch --drain thread: source.c--> stream
 *   hub: threads' places, rows of the walk, sampled blocks: memory of all watches together
 *
 * Main thread: everything here but what capture_ops do (drain thread, under the stream's lock).
 * Links and maps belong to this process: when it dies, however, the kernel takes all probes out.
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
#define HUB_NEWS_BYTES	16384 /* a page at least */
#define HUB_HEAP	64    /* records that wait for older ones */
/* What the kernel holds: of a thread its last stack, and struct capture_thread; of a sampled block;
 * of a line of rows. */
#define HUB_THREAD_BYTES (34u << 10)
#define HUB_BLOCK_BYTES	 104u
#define HUB_LINE_BYTES	 64u

struct hub_settings {
	uint32_t watches;   /* processes at a time */
	uint32_t threads;   /* of all of them; at most the lanes of a stream */
	size_t ring_bytes;  /* for each watch: a power of two */
	uint32_t lines;	    /* of the rows' map */
	uint32_t blocks;    /* sampled ones that live, of all */
	size_t image_bytes; /* of files that stacks are walked by */
	bool block;	    /* hold programs up while their rings are full */
	bool follow;	    /* tell of forks */
	bool execs;	    /* tell of every process that has another program */
};

struct bpf_link;
struct capture;

/* A thread's place, as this watch has told of it. */
struct watch_lane {
	struct thread *thread; /* NULL: not begun */
	uint32_t tid;
	uint64_t delivered;
	uint64_t produced, not_sampled;			   /* as told */
	uint64_t lost_allocations, lost_frees, lost_bytes; /* likewise */
	uint64_t unanswered, unanswered_bytes;		   /* likewise */
	bool dead;					   /* as of the last look */
	uint64_t last_ns;				   /* stamp of its last event */
};

struct watch {
	struct capture_source source;
	struct hub *hub;
	struct stream *stream; /* NULL: it has not begun. Its lock guards `modules` */
	uint32_t number;
	pid_t pid;
	int lock; /* whoever attached has it so that no other agent does; closed at the end. -1:
		     none */
	bool detached;
	struct ring ring;
	struct capture_stream *shared; /* the kernel's side of it */
	uint32_t image;		       /* execs that the stream knows of */
	uint32_t probed_image;	       /* and of which it was said that there are probes */
	uint64_t image_ns;	       /* when the last one was taken in */
	uint64_t exec_next;  /* the ring is read up to an exec; what is of the next program lies
				here. 0: it is not */
	uint32_t exec_loads; /* number of loads then */
	uint32_t chosen;     /* places to probe in what is mapped now */
	struct ebpf_modules modules;
	uint32_t epoch;
	struct remote *remote;
	struct bpf_link **link;
	uint32_t links, links_capacity;
	int *multi; /* likewise, as descriptors */
	uint32_t multis, multis_capacity;
	uint32_t sites;		  /* probed */
	uint32_t unknown_results; /* functions whose results nobody can tell */
	struct watch_lane *lane;  /* by thread */
	struct watch_pending {
		uint64_t stamp, position;
	} heap[HUB_HEAP]; /* by stamp */
	uint32_t heap_count;
	uint64_t look_ns;  /* when the modules were looked at */
	bool look_wanted;  /* at them */
	bool probe_wanted; /* of the main thread: modules have not been searched for sites, or there
			      is no loader yet */
	bool has_loader;   /* it is probed: `loads` counts */
	struct watch_loader {
		uint64_t device, inode, offset;
	} * loader; /* those that are probed: after an exec it is the same file's, as a rule */
	uint32_t loaders, loaders_capacity;
	uint32_t image_table; /* number of loads when its program began */
	uint32_t call;	      /* of the loader's, the last one */
	uint32_t table;	      /* number of loads that the modules are of */
	bool table_sure;      /* and none came meanwhile */
	uint64_t limit;	      /* stamp: nothing older follows */
	uint64_t no_thread_allocations, no_thread_frees; /* as told */
	uint64_t no_thread_ns;
	uint64_t damaged;
	uint64_t waited_ns;    /* as told */
	uint64_t raws, raw_ns; /* stacks that the agent has walked, and how long that took */
	uint64_t raw_first_ns; /* from the first one's event until then */
	uint64_t raw_position; /* whose stack is in `pcs`; UINT64_MAX: none */
	uint32_t raw_count, raw_flags;
	uint64_t remapped; /* the record of an mremap, of which the first event is delivered: where
			      it lies, plus 1 */
	uint64_t told_ns;  /* the watermark, as told */
	uint64_t pcs[UNWIND_MAX_DEPTH + 2]; /* and two frames that are none */
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
	pthread_mutex_t remotes_lock; /* they are for one thread at a time */
	struct watch *watch[HUB_WATCHES_MAX];
	int epoll; /* becomes readable when a ring wants to be drained, or a watch wants probes */
	int bell;  /* of the latter */
	bool has_cookies, has_sessions;
	struct bpf_link *exit_link, *exec_link, *fork_link;
	struct ring news;
};

/* Loads the programs. 0; -EPERM and others with what to do. */
int hub_open(struct hub *hub, const struct hub_settings *settings, struct err_text *err);
void hub_close(struct hub *hub);

/* Sets the probes of a running process. Nothing is recorded before watch_begin. 0; -ESRCH: it has
 * ended; -ENOENT: there is no allocator in it that could be probed; -ENOSPC; others, with the
 * reason. */
int hub_watch(struct hub *hub, pid_t pid, struct watch **ret, struct err_text *err);
/* From here on events come, in this mode. The stream that has it as its source has begun. */
void watch_begin(struct watch *watch, struct stream *stream);
/* Takes the probes out: the process is as it was. What was recorded can still be drained. */
void watch_detach(struct watch *watch);
/* New libraries of the process have probes after this; cheap where there are none. */
void watch_probe_news(struct watch *watch);
/* Its stream is over, or never began. */
void watch_free(struct watch *watch);
/* Sampled blocks that live: all, or those of programs before this one. */
void watch_forget_blocks(struct watch *watch, bool earlier);

/* mappings.c: whose mappings are not the program's; after each look at the modules that has news,
 * and before new ones are probed. */
void watch_say_theirs(struct watch *watch);
/* Is the module the program's own file? */
bool watch_is_program(const struct watch *watch, const struct ebpf_module *module);

/* follow.c: what the kernel has told of processes since the last call; `told` may not call anything
 * of the hub's. */
void hub_news(struct hub *hub, void (*told)(void *context, const struct capture_news *news),
	      void *context);

/* source.c */
/* It has just called exec, and its loader is not known yet: nobody tells what it maps. */
bool watch_is_beginning(const struct watch *watch, uint64_t now_ns);
extern const struct capture_ops watch_ops;

/* probes.c: sets those of modules that have none yet. 0 or a negative errno. */
int watch_probe(struct watch *watch, struct err_text *err);
void watch_unprobe(struct watch *watch);
/* The loader's breakpoint. -ENOENT: there is none, or not yet. */
int watch_probe_loader(struct watch *watch);

/* programs.c: hides the skeleton. */
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
int program_session(const struct hub *hub); /* its descriptor */
