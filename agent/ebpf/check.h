#pragma once
/* Reports for `agent attach --check` what attaching by eBPF can do on this host, what a probe
 * costs, and what would be recorded of a process. */
#include <stdio.h>
#include <sys/types.h>

/* Prints the report in lines of at most 80 columns. `pid` 0: the host only. Returns 0 if attaching
 * would work; 1 if not, and the report says what is missing. */
int attach_check(FILE *out, pid_t pid);
