#pragma once
/* `agent attach` has four parts: attach.c is the command, attach_find.c selects processes,
 * attach_follow.c watches for new processes, and attach_lock.c allows only one agent per process.
 * Everything runs in the main loop. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/cli/attach_find.h"
#include "agent/cli/options/options.h"
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
	bool children_wanted; /* a fork was reported: look for new children */
	bool full;	      /* the lack of free slots was logged */
	/* Processes that were tried; none is tried twice. */
	struct attach_known {
		pid_t pid;
		uint64_t start;
	} known[ATTACH_KNOWN_MAX];
	unsigned next_known;
	/* New processes whose allocator is not mapped yet. */
	struct attach_waiting {
		pid_t pid; /* 0: the entry is free */
		uint64_t start, since_ns;
		uint8_t parent[STREAM_ID_SIZE];
		bool is_child;
	} waiting[ATTACH_WAITING_MAX];
};

/* Records this process (attach.c). `parent` is the stream id of its parent, or NULL. Returns 0;
 * -ENOENT if no allocator is mapped; -ENOSPC if all slots are taken; -EEXIST if the process is
 * recorded already; or another negative errno. Errors come with the reason. */
int attach_one(struct attach *attach, pid_t pid, const uint8_t *parent, struct err_text *err);

/* attach_follow.c */
/* Starts to follow new processes. Call this before the loop runs. */
void attach_begin_following(struct attach *attach);
/* Reads what the kernel reports about processes. */
void attach_hear(struct attach *attach);
/* Sets probes in recorded processes whose mappings have changed. */
void attach_look_again(struct attach *attach);
/* Scans all processes for wanted ones that are not recorded. */
void attach_look_around(struct attach *attach);

/* attach_lock.c */
/* Locks the process against other agents. The caller passes *ret_lock to attach_unlock. The kernel
 * also releases the lock when this agent ends. Returns 0, with *ret_lock -1 if no lock could be
 * taken; or -EEXIST if another agent records the process. */
int attach_lock(pid_t pid, int *ret_lock, struct err_text *err);
void attach_unlock(int lock);
