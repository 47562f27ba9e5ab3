#pragma once
/*
 * Takes up rings: a daemon that was killed and restarted continues to record the programs of its
 * predecessor.
 *
 * A program keeps its ring only as a mapping, so the agent reaches the ring through
 * /proc/PID/map_files. Opening such a file takes CAP_SYS_ADMIN, or from Linux 5.9 on
 * CAP_CHECKPOINT_RESTORE, in the initial user namespace. So the daemon must run as root or have
 * CAP_CHECKPOINT_RESTORE. Without the capability the programs run on unrecorded until they are
 * restarted. Every other way needs the program's help, and a program must not be made to issue
 * system calls in the middle of its work.
 *
 * Any process can map a file with our name. The agent opens only a file in the kernel's memfd file
 * system, because opening it neither waits nor has side effects. The agent then checks that the
 * file is sealed, that its agent is dead (its lock is free), and at last the header
 * (ring_memory.h).
 */
#include <stdint.h>

struct agent;

struct takeup_report {
	uint32_t taken;	   /* recorded again */
	uint32_t busy;	   /* their agent is alive */
	uint32_t others;   /* rings of another size or home (home.h), or malformed ones; each was
			    * logged */
	uint32_t no_right; /* no permission to open them */
};

/* Looks at every process once and takes up its ring if possible. Only the main loop calls this. */
struct takeup_report takeup_all(struct agent *agent);
