#pragma once
/*
 * Was it the kernel, for lack of memory? A process that the OOM killer ends has SIGKILL for its
 * status, like one that somebody has killed by hand. What tells them apart is a counter that the
 * kernel raises before it sends the signal: `oom_kill` in
 *
 *   memory.events.local, memory.events   of the process's cgroup (version 2; the former since Linux
 *                                        5.2)
 *   memory.oom_control                   of its cgroup in the hierarchy `memory` (version 1, since
 *                                        4.13)
 *   /proc/vmstat                         of the whole system, where neither can be read (since
 *                                        4.13)
 *
 * So the counter is noted while the process lives, once a second (it may be moved to another
 * cgroup), and read again at its end. Two processes of one cgroup, one ended by the OOM killer and
 * the other by hand within OOM_RECENT_NS, are not told apart.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OOM_LOOK_NS 1000000000
/* from the kernel's decision to the end of the process, at most */
#define OOM_RECENT_NS 10000000000

struct oom_watch {
	int fd;		 /* of the counter's file; -1: none */
	int counter;	 /* enum OomCounter of heapcast.proto */
	uint64_t cgroup; /* what /proc/PID/cgroup said, hashed */
	uint64_t kills;
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	uint64_t rose_ns;   /* when `kills` was last found to have grown; 0: never */
};

/* Begins to watch a process. Never fails: without a counter nothing is told. */
void oom_begin(struct oom_watch *watch, pid_t pid, uint64_t now_ns);
/* It still lives. Looks once in OOM_LOOK_NS, or at once if `at_once`. */
void oom_look(struct oom_watch *watch, pid_t pid, bool at_once, uint64_t now_ns);
/* It has been ended by SIGKILL: by the OOM killer? The counter that says so, an enum OomCounter; 0:
 * it was not. */
int oom_verdict(struct oom_watch *watch, uint64_t now_ns);
void oom_end(struct oom_watch *watch);

/* The folder of a process's memory cgroup (pressure.h looks there, too), and a number that is
 * another one when it was moved. `root` is "" but in tests. */
bool oom_find_cgroup(const char *root, pid_t pid, bool *ret_version_2, uint64_t *ret_hash,
		     char *out, size_t size);

/* Pieces of it, for their test. */

/* The memory cgroup among the lines "NUMBER:CONTROLLERS:PATH" of /proc/PID/cgroup, which are cut at
 * their ends. NULL: none is shown. */
const char *oom_cgroup(char *text, bool *ret_version_2);
/* The folder of cgroup `path` below the mount that a line of mountinfo (proc(5)) describes. false:
 * not below this one. */
bool oom_folder(const char *line, const char *path, bool version_2, char *out, size_t size);
/* The counter in an open file; UINT64_MAX: there is none. */
uint64_t oom_count(int fd);
