#pragma once
/*
 * Files below /proc/PID. A descriptor of the folder /proc/PID means one process for good: when the
 * process is gone, its files can't be opened any more, even if another process has the pid by then.
 * So whoever reads several files of a process opens the folder first. Nothing here allocates.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns a descriptor of /proc/PID; -ESRCH if there is no such process; or another negative
 * errno. */
int proc_open(pid_t pid);
/* Opens a file of the folder for reading. A path from the root needs no folder. Returns a
 * descriptor or a negative errno: -ENOENT also if the process is gone. */
int proc_open_file(int folder, const char *name);
/* Opens the file behind the mapping from `start` to `end`, with these flags of open(2). Returns a
 * descriptor or a negative errno. It takes CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. */
int proc_open_mapped(int folder, uint64_t start, uint64_t end, int flags);
/* Reads the beginning of a file, at most `size` - 1 bytes, and ends it with a NUL. Returns the
 * number of bytes or a negative errno. `out` is empty after an error. */
long proc_read(int folder, const char *name, char *out, size_t size);
/* Returns the next process in the open folder /proc, or 0 at the end. */
pid_t proc_next(DIR *proc);
