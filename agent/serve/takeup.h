#pragma once
/*
 * Taking up: a daemon that was killed and started again goes on with the programs that the one
 * before it recorded.
 *
 * A program keeps its ring by its mapping alone, so the way there is /proc/PID/map_files. To open
 * what lies there takes CAP_SYS_ADMIN, or from Linux 5.9 on CAP_CHECKPOINT_RESTORE, in the first
 * user namespace: root, or a daemon that was given the latter. Without it the programs go on
 * unrecorded until they are started anew: every other way needs the program's help, and a program
 * is not made to call the system in the middle of its work.
 *
 * Anybody can map a file with the name of ours. What is opened must lie where the kernel keeps
 * memfds (so that opening it neither waits nor does anything), be sealed, and have the lock of a
 * dead agent; then its header is checked (ring_memory.h).
 */
#include <stdint.h>

struct agent;

struct takeup_report {
	uint32_t taken;	 /* recorded again */
	uint32_t busy;	 /* their agent lives */
	uint32_t others; /* rings of another size or home (home.h), or that made no sense; each one
			    was logged */
	uint32_t no_right; /* we may not open them */
};

/* Looks at every process, once. In the main loop's thread. */
struct takeup_report takeup_all(struct agent *agent);
