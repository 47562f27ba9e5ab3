#pragma once
/*
 * Finds out whether the OOM killer has ended a process. A process that the OOM killer ends has the
 * status SIGKILL, like a process that a user has killed. A counter tells the two apart. The kernel
 * increments it before it sends the signal. It is `oom_kill` in
 *
 *   memory.events.local, memory.events   of the process's cgroup (version 2; the first since
 *                                        Linux 5.2)
 *   memory.oom_control                   of its cgroup in the hierarchy `memory` (version 1, since
 *                                        Linux 4.13)
 *   /proc/vmstat                         of the whole system, if neither is readable (since Linux
 *                                        4.13)
 *
 * The agent reads the counter once a second while the process lives, because the process may move
 * to another cgroup, and again when it has ended. If the OOM killer ends one process of a cgroup
 * and a user kills another one within OOM_RECENT_NS, the agent can't tell them apart.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OOM_LOOK_NS 1000000000
/* Longest time from the kernel's decision to the end of the process. */
#define OOM_RECENT_NS 10000000000

struct oom_watch {
	int fd;		 /* of the counter's file; -1: none */
	int counter;	 /* enum OomCounter of heapcast.proto */
	uint64_t cgroup; /* hash of /proc/PID/cgroup */
	uint64_t kills;
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	uint64_t rose_ns;   /* when `kills` was last found to have grown; 0: never */
};

/* Begins to watch a process. Never fails: without a counter, oom_verdict returns 0. */
void oom_begin(struct oom_watch *watch, pid_t pid, uint64_t now_ns);
/* Call this while the process lives. Reads the counter once in OOM_LOOK_NS, or now if `at_once`. */
void oom_look(struct oom_watch *watch, pid_t pid, bool at_once, uint64_t now_ns);
/* Call this when SIGKILL has ended the process. Returns the counter that shows that the OOM killer
 * did it (enum OomCounter), or 0 if it did not. */
int oom_verdict(struct oom_watch *watch, uint64_t now_ns);
void oom_end(struct oom_watch *watch);

/* Finds the folder of a process's memory cgroup (also for pressure.h), and a hash that changes when
 * the process moves to another cgroup. `root` is "" except in tests. Returns false if no folder is
 * found. */
bool oom_find_cgroup(const char *root, pid_t pid, bool *ret_version_2, uint64_t *ret_hash,
		     char *out, size_t size);

/* The following functions are public for their test. */

/* Finds the memory cgroup in the lines "NUMBER:CONTROLLERS:PATH" of /proc/PID/cgroup. Splits `text`
 * in place. Returns NULL if there is none. */
const char *oom_cgroup(char *text, bool *ret_version_2);
/* Gets the folder of cgroup `path` below the mount that a line of mountinfo (proc(5)) describes.
 * Splits the line in place. Returns false if the cgroup is not below this mount. */
bool oom_folder(char *line, const char *path, bool version_2, char *out, size_t size);
/* Reads the counter from an open file. Returns UINT64_MAX if the file has none. */
uint64_t oom_count(int fd);
