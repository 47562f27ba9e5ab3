#pragma once
/*
 * Reads files below /proc/PID. A descriptor of the folder /proc/PID refers to one process for good.
 * After the process has ended, opening a file through the descriptor fails, even if another process
 * has taken the pid. Code that reads several files of a process therefore opens the folder first.
 * These functions do not allocate.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens /proc/PID. Returns a descriptor that the caller closes, -ESRCH if the process does not
 * exist, or another negative errno. */
int proc_open(pid_t pid);
/* Opens a file of the folder for reading. An absolute path needs no folder. Returns a descriptor or
 * a negative errno, which is -ENOENT also if the process is gone. */
int proc_open_file(int folder, const char *name);
/* Opens the file that is mapped from `start` to `end`, with these flags of open(2). The caller
 * needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. Returns a descriptor or a negative errno. */
int proc_open_mapped(int folder, uint64_t start, uint64_t end, int flags);
/* Reads at most the first `size` - 1 bytes of a file and appends a NUL. Returns the number of bytes
 * or a negative errno. After an error `out` is empty. */
long proc_read(int folder, const char *name, char *out, size_t size);
/* Returns the next process in the open folder /proc, or 0 at the end. */
pid_t proc_next(DIR *proc);
