#pragma once
/* /proc/PID/maps, as far as it is about code and stacks. The file is the kernel's, the names in it
 * are the process's. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct process_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t device; /* as st_dev has it */
	uint64_t inode;	 /* 0: no file */
	bool readable;
	bool executable;
	char *path; /* NULL: none. "[vdso]" and the like are no files */
};

/* At most `PROCESS_MAPS_MAX` lines, sorted by address; what is beyond is left out. 0; -ESRCH;
 * -EACCES; -ENOMEM. */
#define PROCESS_MAPS_MAX 65536
int process_maps_read(pid_t pid, struct process_map **ret, uint32_t *ret_count);
void process_maps_free(struct process_map *maps, uint32_t count);
