#pragma once
/*
 * The sites of a process at this moment: searches each mapped file that holds code, and chooses the
 * sites to probe. It serves reports about a process (check.h). Code that attaches tracks the
 * process's modules itself, and calls sites_find and sites_choose.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/ebpf/sites.h"

#define PROCESS_MODULES_MAX 1024

struct process_module {
	char path[512]; /* as in /proc/PID/maps */
	struct sites sites;
	bool known;		/* the file could be read */
	struct err_text reason; /* why it could not */
};

struct process_sites {
	struct process_module *module;
	uint32_t count;
	bool overflow; /* further modules were dropped */
	bool go;       /* its main program is a Go program */
	struct sites_choice *choice;
	size_t chosen;
};

/* Returns 0, or a negative errno (-ESRCH: no such process). Call process_sites_done in any case. */
int process_sites_find(pid_t pid, struct process_sites *ret);
void process_sites_done(struct process_sites *sites);
