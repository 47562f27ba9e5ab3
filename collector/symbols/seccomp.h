#pragma once
/* Takes from the calling process every system call that reading a file does not need. */

/* 0, or a negative errno: the kernel or the processor is none that we know how to do it on. For the
 * rest of the process's life; calls that are not allowed fail with EPERM, and opening is for
 * reading only. Needs PR_SET_NO_NEW_PRIVS. */
int seccomp_read_only(void);
