#pragma once
/* Removes all system calls that reading a file does not need. */

/*
 * Applies to the calling process for the rest of its life. Calls that are not allowed fail with
 * EPERM, and files can be opened for reading only. Requires PR_SET_NO_NEW_PRIVS. Returns 0, or a
 * negative errno if the kernel or the processor is not supported.
 */
int seccomp_read_only(void);
