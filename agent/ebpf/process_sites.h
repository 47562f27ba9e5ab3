#pragma once
/*
 * The sites of a process as it is now: its mapped files that hold code, each looked through once,
 * and which sites are chosen. For a look at a process (check.h); who attaches follows the process'
 * modules by his own means, and calls sites_find and sites_choose.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/ebpf/sites.h"

#define PROCESS_MODULES_MAX 1024

struct process_module {
	char path[512]; /* as in /proc/PID/maps */
	struct sites sites;
	bool known;		/* it could be read */
	struct err_text reason; /* if not */
};

struct process_sites {
	struct process_module *module;
	uint32_t count;
	bool overflow; /* there are more modules */
	bool go;       /* its main program is Go's */
	struct sites_choice *choice;
	size_t chosen;
};

/* 0 or a negative errno (-ESRCH: there is no such process). process_sites_done in any case. */
int process_sites_find(pid_t pid, struct process_sites *ret);
void process_sites_done(struct process_sites *sites);
