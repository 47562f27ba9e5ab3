#pragma once
/* `agent attach --check`: what attaching by eBPF can do here, what a probe costs, and of a process
 * what would be seen and what not. */
#include <stdio.h>
#include <sys/types.h>

/* Prints it, in lines of at most 80 columns; `pid`: 0 for none. 0: attaching would work; 1: it
 * would not, and what is missing was said. */
int attach_check(FILE *out, pid_t pid);
