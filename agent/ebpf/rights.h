#pragma once
/*
 * What this host permits an agent that attaches by eBPF, found out by trying it (trial.h), and if
 * something is missing what that is and what to do: capabilities, the kernel's age and
 * configuration, a container's filter, lockdown. Versions of kernels are only named in what is
 * said: distributors carry features back, and forbid others.
 */
#include <stdbool.h>

enum right {
	RIGHT_PROGRAMS,	   /* maps and programs can be loaded */
	RIGHT_RING_BUFFER, /* 5.8 */
	RIGHT_EVENT,	   /* uprobes by perf events */
	RIGHT_COOKIE,	   /* 5.15: they say which one it was */
	RIGHT_MULTI,	   /* 6.6: many by one link */
	RIGHT_SESSION,	   /* 6.13: entry and return by one program */
	RIGHT_FILTERED,	 /* returns of functions can be probed in a program that is behind a seccomp
			    filter */
	RIGHT_PROCESSES, /* memory and maps of processes of other users */
	RIGHTS,
};

struct right_answer {
	bool yes;
	int error;	    /* negative errno of what was tried */
	const char *reason; /* a sentence: what is missing, and what to do; NULL: nothing is */
};

struct rights {
	struct right_answer of[RIGHTS];
	bool enough; /* attaching works: programs, a ring buffer, and events or sessions that fire
		      */
};

/* Takes up to a second: the kernel lets go of probes slowly. Has a child for a moment, which it
 * waits for. */
void rights_try(struct rights *ret);

const char *right_name(enum right right);

/* Why attaching does not work, and what to do; NULL: it does, as far as the host is concerned. */
const char *rights_lacking(const struct rights *rights);

/* Is the process behind a seccomp filter? Then its returns are only probed with RIGHT_FILTERED: it
 * would be killed. */
bool rights_is_filtered(int pid);

/* Why nobody can attach to it, whatever his rights: a zombie, a thread of the kernel's, a namespace
 * inside of ours that the kernel does not tell of. NULL: that is not so. */
const char *rights_unfit(int pid);

/* A process that is to be attached to can be read: 0; else a negative errno, and `ret_reason` says
 * what to do. */
int rights_to_read(int pid, const char **ret_reason);
