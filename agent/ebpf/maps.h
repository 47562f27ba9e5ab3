#pragma once
/* Collects the mappings of a process (base/proc/maps.h) in a list, as far as code and stacks need
 * them. The process chooses the paths in the list. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct process_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t device; /* as in st_dev */
	uint64_t inode;	 /* 0: no file */
	bool readable;
	bool executable;
	char *path; /* NULL: none; "[vdso]" and the like are no files */
};

/* Reads at most PROCESS_MAPS_MAX lines, sorted by address; drops further lines. Returns 0, -ESRCH,
 * -EACCES or -ENOMEM. */
#define PROCESS_MAPS_MAX 65536
int process_maps_read(pid_t pid, struct process_map **ret, uint32_t *ret_count);
void process_maps_free(struct process_map *maps, uint32_t count);
