#pragma once
/*
 * Finds out by trial (trial.h) what this host permits an agent that attaches by eBPF. If something
 * is missing, says what it is and what to do: capabilities, the kernel's version and configuration,
 * a container's filter, lockdown. Kernel versions appear only in messages: distributions backport
 * features, and forbid others.
 */
#include <stdbool.h>

enum right {
	RIGHT_PROGRAMS,	   /* maps and programs can be loaded */
	RIGHT_RING_BUFFER, /* Linux 5.8 */
	RIGHT_EVENT,	   /* uprobes by perf events */
	RIGHT_COOKIE,	   /* Linux 5.15: a program learns which probe has fired */
	RIGHT_MULTI,	   /* Linux 6.6: many probes by one link */
	RIGHT_SESSION,	   /* Linux 6.13: entry and return by one program */
	RIGHT_FILTERED,	   /* returns of functions can be probed in a program behind a seccomp
			    * filter */
	RIGHT_PROCESSES,   /* memory and maps of other users' processes are readable */
	RIGHTS,
};

struct right_answer {
	bool yes;
	int error;	    /* negative errno of the trial */
	const char *reason; /* a sentence: what is missing, and what to do; NULL: nothing */
};

struct rights {
	struct right_answer of[RIGHTS];
	bool enough; /* attaching works: programs, a ring buffer, and events or sessions that
		      * fire */
};

/* Takes up to a second, since the kernel removes probes slowly. Forks a child for a moment and
 * waits for it. */
void rights_try(struct rights *ret);

const char *right_name(enum right right);

/* Returns why attaching does not work, and what to do; NULL if the host permits it. */
const char *rights_lacking(const struct rights *rights);

/* Returns true if the process is behind a seccomp filter. Without RIGHT_FILTERED, probing its
 * returns would kill it. */
bool rights_is_filtered(int pid);

/* Returns why no agent can attach to the process, even as root: it ends or has ended, is a kernel
 * thread, or is in an inner pid namespace whose pids the kernel does not report. Returns NULL if
 * none of these is the case. */
const char *rights_unfit(int pid);

/* Tests if the process can be read, as attaching requires. Returns 0, or a negative errno with what
 * to do in *ret_reason. */
int rights_to_read(int pid, const char **ret_reason);
