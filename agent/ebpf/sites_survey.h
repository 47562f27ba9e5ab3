#pragma once
/*
 * Examines a process once, for reports about it (check.h): searches each mapped file that holds
 * code, and chooses the sites that would be probed. Code that attaches tracks the process's modules
 * itself, and calls sites_find and sites_choose.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/ebpf/sites.h"

#define SURVEY_MODULES_MAX 1024

struct surveyed_module {
	char path[512]; /* as in /proc/PID/maps */
	struct sites sites;
	bool known;		/* the file could be read */
	struct err_text reason; /* why the file could not be read */
};

struct sites_survey {
	struct surveyed_module *module;
	uint32_t count;
	bool overflow; /* further modules were dropped */
	bool go;       /* the main program is a Go program */
	struct sites_choice *choice;
	size_t chosen;
};

/* Returns 0, or a negative errno (-ESRCH: no such process). Call sites_survey_done in any case. */
int sites_survey_run(pid_t pid, struct sites_survey *ret);
void sites_survey_done(struct sites_survey *sites);
