#pragma once
/* Opens the file behind a mapping of a process. */
#include <sys/types.h>

#include "agent/ebpf/maps.h"

/*
 * Opens exactly the mapped file for reading, even if its name was reused or removed since, or means
 * something else in the process's mount namespace. It uses the mapping itself, which needs
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN (proc(5), map_files); or else the name, if the file of
 * this name is the mapped one. Returns a descriptor that the caller owns; -ESTALE if another file
 * or none has the name; -ENOENT if the mapping is no file that can be read; or the errno of open().
 */
int mapped_open(pid_t pid, const struct process_map *map);

/* Returns a text that explains a negative result. */
const char *mapped_reason(int error);
