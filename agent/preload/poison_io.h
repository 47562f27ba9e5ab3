#pragma once
/* Forbids stdio, cancellation points, and functions that create a thread or a process. */
#pragma GCC poison strdup strndup asprintf printf fprintf snprintf fopen opendir getline setenv    \
	putenv
#pragma GCC poison read write open openat close connect recvmsg sendmsg poll ppoll waitpid         \
	nanosleep usleep fork vfork system
#pragma GCC poison pthread_create pthread_getattr_np sysconf getpwuid
