#pragma once
/*
 * A small agent in the test's own process: makes a ring, starts a program with libheapcast.so
 * preloaded, answers its handshake (and those of its exec'd images, on an abstract socket), drains
 * it, and keeps every event, so that a test can count. It checks what it reads as strictly as
 * proto/ring.h allows to; what is wrong is in `faults`.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/ring.h"
#include "proto/thinning.h"

struct agent_options {
	uint32_t small_slices; /* of 1024 words; default 16 */
	uint32_t big_slices;   /* of 8192 words; default 8 */
	uint32_t mode;	       /* as in the header; default RING_FULL */
	uint32_t policy;
	uint32_t block_max_ms;	   /* default 10000 */
	uint32_t depth_limit;	   /* default 256 */
	uint32_t saved_frames_max; /* default 1000 */
	bool no_free_stacks;
	bool no_verify;
	bool sample_off; /* mode RING_OFF; then the first change comes unasked, after 50 ms */
	uint64_t sample_interval,
		other_interval; /* other: not 0: they alternate, some times a millisecond */
	uint32_t set_lines;	/* of the set of sampled blocks; default 64 */
	bool no_set;
	/* Modes to change to, one after the other, each when the program has said heapcast_mark
	 * with the number of its place here (from 1). It gets SIGRTMIN when that is done. */
	uint32_t then_mode[4];
	uint64_t anew_every;	 /* after so many events it says to be another agent, which knows
				    nothing; 0: never */
	bool idle;		 /* do not drain before the program has ended */
	bool no_heart;		 /* the heartbeat stands still */
	unsigned drain_every_ms; /* 0: as fast as it can */
	unsigned kill_after_ms;	 /* SIGKILL to the program */
	uint64_t kill_after_events;
	unsigned asleep_until_ms; /* neither drains nor beats before */
	bool asleep_until_said;	  /* nor before the program has printed something; after draining
				     it prints "awake 1" behind that */
	bool both_starved;	  /* and the program runs for a tenth of that time only */
	bool refuse;
	bool keep_no_events;		/* count only */
	bool no_socket;			/* neither HEAPCAST_FD nor HEAPCAST_SOCKET */
	const char *preload_more;	/* behind libheapcast.so */
	const char *const *environment; /* more of it: "NAME=value", ended by NULL */
};

struct agent_event {
	uint32_t kind;
	uint32_t tid;
	uint32_t slice;
	uint32_t depth;
	uint64_t address;
	uint64_t size;
	uint64_t stamp;
	uint64_t old_address;
	uint64_t call_stamp;
	uint64_t pc;	   /* innermost; 0: without a stack */
	uint64_t interval; /* sampled with; 0: it stands for itself */
	uint32_t epoch;	   /* of the slice, when it was written */
	unsigned tag;	   /* of tests/targets/target.h; 0: none */
};

struct agent_module {
	uint32_t id;
	uint64_t start;
	uint64_t end;
	bool live;
	uint32_t first_epoch; /* there from this one on, */
	uint32_t incarnation; /* of the agent that was told of it last */
	uint32_t end_epoch;   /* until before this one, if it lives no more */
	bool has_build_id;
	char path[256];
};

struct agent_result {
	int status;	   /* of waitpid */
	char output[4096]; /* what the program wrote to descriptor 1, cut */
	size_t output_length;
	uint64_t output_hash;
	struct agent_event *events;
	size_t count;
	struct agent_module *modules;
	size_t module_count;
	uint32_t handshakes;
	uint64_t produced; /* events that threads began, those passed over included */
	uint64_t not_sampled;
	uint64_t samples_refused;
	uint64_t in_set;	 /* addresses left in the set of sampled blocks */
	uint64_t thinned;	 /* marks that a thread's thinning has changed */
	uint64_t thinned_most;	 /* the largest interval of those */
	uint64_t thinned_back;	 /* such to full mode */
	struct thinning law;	 /* as it was told last */
	unsigned level_most;	 /* the highest one of these */
	uint64_t read;		 /* records of events read */
	struct ring_losses lost; /* of all slices */
	struct ring_losses no_slice;
	uint64_t died_inside; /* events begun, not published, by threads that ended */
	uint64_t lost_records;
	uint64_t epochs;
	uint64_t moves;
	uint64_t restarts;
	uint64_t saves, recalls;    /* stacks that got a number; events that name one */
	uint64_t saved_frames_most; /* of numbered stacks of all threads, as the slices say */
	uint64_t told_again;	    /* modules */
	uint64_t full_waits;
	uint64_t slices_claimed;
	uint64_t marks;
	uint64_t last_mark;
	char last_text[64];
	uint64_t truncated;   /* stacks */
	uint64_t new_frames;  /* program counters in records */
	uint64_t all_frames;  /* of the stacks that they make */
	uint64_t unknown_pcs; /* in no module that was announced */
	uint64_t faults;
	char first_fault[160];
	double seconds; /* that the program took */
};

/* Runs the program to its end, and everything that it left in the ring. The result is freed with
 * agent_result_done. */
void agent_run(const struct agent_options *options, const char *const argv[],
	       struct agent_result *ret_result);
void agent_result_done(struct agent_result *result);

/* Allocations and frees (reallocations count as both), of blocks with this tag. */
struct agent_tally {
	uint64_t allocations;
	uint64_t frees; /* of such blocks */
	uint64_t bytes;
	uint64_t orphans; /* frees of blocks that are not alive, of any size */
	uint64_t twice;	  /* births at an address where a block lives, of any size */
	uint64_t live;
};
void agent_tally(const struct agent_result *result, unsigned tag, struct agent_tally *ret_tally);

/* The value of "name value" in the program's output; fails the test if it is missing. */
unsigned long agent_said(const struct agent_result *result, const char *name);

/* Path of a target program or of the library in the build folder. */
const char *target_path(const char *name);
const char *preload_path(void);
