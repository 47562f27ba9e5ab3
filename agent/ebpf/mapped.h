#pragma once
/* The file behind a mapping of a process. */
#include <sys/types.h>

#include "agent/ebpf/maps.h"

/*
 * That very file, open for reading: also where its name has been given to another one since, was
 * taken away, or means something else in the process's namespace. By the mapping itself, which
 * needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN (proc(5), map_files); else by its name, if what has
 * that name now is what is mapped. A descriptor, the caller's. -ESTALE: another one has its name
 * now, or none; -ENOENT: it is no file that can be read; else what open() says.
 */
int mapped_open(pid_t pid, const struct process_map *map);

/* What to say of a negative result. */
const char *mapped_reason(int error);
