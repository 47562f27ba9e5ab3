#pragma once
/* `agent attach`, in parts: attach.c has the command, attach_find.c says which processes are
 * wanted, attach_follow.c hears of new ones, attach_lock.c keeps two agents from one process. All
 * of it runs in the main loop. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/cli/attach_find.h"
#include "agent/cli/options.h"
#include "agent/ebpf/capture/hub.h"
#include "agent/serve/agent.h"

#define ATTACH_KNOWN_MAX   1024
#define ATTACH_WAITING_MAX 64

struct attach {
	struct agent agent;
	struct options options;
	struct hub hub;
	struct attach_want want;
	uv_signal_t signal[3];
	uv_timer_t tick, until, soon;
	uv_poll_t bell;
	unsigned ticks;
	uint32_t reports;
	uint32_t attached;
	bool children_wanted; /* there may be new ones */
	bool full;	      /* said that there are no more places */
	/* Processes that were looked at, so that none is tried twice. */
	struct attach_known {
		pid_t pid;
		uint64_t start;
	} known[ATTACH_KNOWN_MAX];
	unsigned next_known;
	/* Processes that begin: their allocator is not mapped yet. */
	struct attach_waiting {
		pid_t pid; /* 0: none */
		uint64_t start, since_ns;
		uint8_t parent[STREAM_ID_SIZE];
		bool is_child;
	} waiting[ATTACH_WAITING_MAX];
};

/* attach.c. Records this process; `parent`: the stream of its parent, or NULL. 0; -ENOENT: no
 * allocator is mapped; -ENOSPC; -EEXIST; others. */
int attach_one(struct attach *attach, pid_t pid, const uint8_t *parent, struct err_text *err);

/* attach_follow.c */
/* Before the loop runs. */
void attach_begin_following(struct attach *attach);
/* The kernel has news of processes. */
void attach_hear(struct attach *attach);
/* Probes for processes that are recorded, whose mappings have changed. */
void attach_look_again(struct attach *attach);
/* At all processes, for those that are wanted and not recorded. */
void attach_look_around(struct attach *attach);

/* attach_lock.c */
/* No other agent records this process, and from here on none will: `ret_lock` is to be given to
 * attach_unlock, and goes with this process in any case. 0; -EEXIST: another one does. */
int attach_lock(pid_t pid, int *ret_lock, struct err_text *err);
void attach_unlock(int lock);
