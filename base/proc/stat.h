#pragma once
/* Reads /proc/PID/stat: numbers about a process that any user may read, except where noted. */
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state; /* 'Z': a zombie, 'X': dead */
	pid_t parent;
	uint32_t flags; /* PF_ of include/linux/sched.h */
	uint64_t minor_faults, major_faults;
	uint64_t minor_faults_of_children, major_faults_of_children; /* that were waited for */
	uint32_t threads;
	uint64_t start_ticks; /* since boot; together with the pid, it identifies the process */
	/* Addresses that the kernel chose at the last exec; 0 if we may not see them. */
	uint64_t stack, arguments;
	int exit_code; /* of a zombie, coded as in wait(2); 0 if we may not see it */
};

/* Reads the stat file of the process of a folder (proc_open). Returns 0, -ESRCH if the process is
 * gone, -EBADMSG if the line is malformed, or another negative errno. */
int proc_stat_read(int folder, struct proc_stat *ret_stat);
/* Parses a line that ends with a NUL. Returns 0 or -EBADMSG. */
int proc_stat_parse(const char *line, struct proc_stat *ret_stat);
