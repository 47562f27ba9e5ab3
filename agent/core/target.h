#pragma once
/* The recorded process as the kernel shows it: who it is, and how it ended. Reads /proc and pidfds,
 * all bounded. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TARGET_PATH_MAX	     1024
#define TARGET_NAME_MAX	     64
#define TARGET_ARGUMENTS_MAX 4096

struct target_info {
	pid_t pid, parent;
	uid_t uid;
	uint64_t start_ticks; /* with the pid, names the process once and for all */
	char comm[16];
	char name[TARGET_NAME_MAX]; /* what people call it */
	char executable[TARGET_PATH_MAX];
	char arguments[TARGET_ARGUMENTS_MAX]; /* as in /proc/PID/cmdline: each ends with NUL */
	uint32_t arguments_length;
	const char *architecture; /* static string */
	uint32_t pointer_bits;
	bool big_endian;
	uint32_t page_size;
	bool emulated; /* its file is for another processor than it says to be on */
};

/* What a program says of its own processor (struct ring_hello). Where an emulator runs it, its file
 * is the emulator's, and /proc knows no better. */
struct target_said {
	uint32_t machine; /* e_machine of ELF; 0: it has not said */
	uint32_t pointer_bits;
	uint32_t page_size;
	bool big_endian;
};

/* How a process ended: enum EndKind and what goes with it. */
struct target_end {
	uint64_t rss_peak; /* most resident memory over all its life, in bytes; 0: nobody could say
			    */
	int kind;
	uint32_t status;
	bool core_dumped;
	int source;	 /* enum EndSource */
	int oom_counter; /* enum OomCounter */
};

/* 0; -ESRCH: there is no such process. */
int target_read(pid_t pid, struct target_info *ret_info);
/* Takes of it what makes sense. */
void target_believe(struct target_info *info, const struct target_said *said);
/* Its working folder, now. Empty if that can't be known. */
void target_folder(pid_t pid, char *out, size_t size);
/* Does a name mean the same file to it as to us? False also if that can't be known. */
bool target_sees_files(pid_t pid);
/* Only parent and start time. 0 or -ESRCH. */
int target_identity(pid_t pid, pid_t *ret_parent, uint64_t *ret_start_ticks);
/* The name of a thread, NUL-terminated. 0 or -ESRCH. */
int target_thread_name(pid_t pid, pid_t tid, char ret_name[16]);
/* How many threads the process has; 0: it is gone. */
uint32_t target_threads(pid_t pid);
/* How many processes have this "NAME=value" in the environment that they were started with, as far
 * as we may look. */
uint32_t target_count_with(const char *variable);
/* True while this thread of the process exists. */
bool target_thread_exists(pid_t pid, pid_t tid);
/* From a wait status, which `source` (enum EndSource) has given. */
struct target_end target_end_of_status(int status, int source);
/* Of a process of user `uid` that is not our child, by its pidfd and pid. 0; -EAGAIN: it lives, or
 * cannot be told yet. */
int target_end_by_pidfd(int pidfd, pid_t pid, uid_t uid, struct target_end *ret_end);
int target_pidfd(pid_t pid); /* a descriptor or a negative errno */
/* What people call it: the last part of what it was called by, which for a link or one of many
 * programs in a file is not that of the file; the file's where it has given itself another
 * title. */
const char *target_name(const struct target_info *info);
