#pragma once
/* Finds out about a recorded process from the kernel: its identity, and how it ended. Reads /proc
 * and pidfds, with bounded buffers. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TARGET_PATH_MAX	     1024
#define TARGET_NAME_MAX	     64
#define TARGET_ARGUMENTS_MAX 4096
#define TARGET_CGROUP_MAX    256

struct target_info {
	pid_t pid, parent;
	uid_t uid;
	uint64_t start_ticks; /* together with the pid, identifies the process uniquely */
	char comm[16];
	char name[TARGET_NAME_MAX]; /* what users call it (target_name) */
	char executable[TARGET_PATH_MAX];
	char arguments[TARGET_ARGUMENTS_MAX]; /* as in /proc/PID/cmdline: each ends with NUL */
	uint32_t arguments_length;
	char cgroup[TARGET_CGROUP_MAX]; /* path of its control group; "" if unknown or too long */
	const char *architecture;	/* static string */
	uint32_t pointer_bits;
	bool big_endian;
	uint32_t page_size;
	/* The executable is for another processor than the one the program reports, so an emulator
	 * runs it. */
	bool emulated;
};

/* Returns the process if an emulator runs it, else 0. */
static inline pid_t target_emulated(const struct target_info *t)
{
	return t->emulated ? t->pid : 0;
}

/* A program's report about its own processor (struct ring_hello). If an emulator runs the program,
 * /proc describes the emulator's executable instead. */
struct target_said {
	uint32_t machine; /* e_machine of ELF; 0: not reported */
	uint32_t pointer_bits;
	uint32_t page_size;
};

/* How a process ended: enum EndKind and its details. */
struct target_end {
	/* Largest resident memory in the process's life, in bytes. 0: unknown. */
	uint64_t rss_peak;
	int kind;
	uint32_t status;
	bool core_dumped;
	int source;	 /* enum EndSource */
	int oom_counter; /* enum OomCounter */
};

/* Returns 0, or -ESRCH if there is no such process. */
int target_read(pid_t pid, struct target_info *ret_info);
/* Takes over the values of `said` that are plausible. */
void target_believe(struct target_info *info, const struct target_said *said);
/* Gets the process's current working directory; "" if it is unknown. */
void target_folder(pid_t pid, char *out, size_t size);
/* Returns true if a path means the same file to the process as to the agent. False also if that is
 * unknown. */
bool target_sees_files(pid_t pid);
/* Reads only the parent and the start time. Returns 0 or -ESRCH. */
int target_identity(pid_t pid, pid_t *ret_parent, uint64_t *ret_start_ticks);
/* Reads the name of a thread, NUL-terminated. Returns 0 or -ESRCH. */
int target_thread_name(pid_t pid, pid_t tid, char ret_name[16]);
/* Returns the number of threads of the process; 0 if it is gone. */
uint32_t target_threads(pid_t pid);
/* Copies the value of a variable that the process was started with. Returns false if it has none,
 * if the value is too long, or if the agent may not read the environment. */
bool target_variable(pid_t pid, const char *name, char *out, size_t size);
/* Counts the other processes that were started with this "NAME=value" in their environment, among
 * those whose environment the agent may read. */
uint32_t target_count_with(const char *variable);
/* Returns true while this thread of the process exists. */
bool target_thread_exists(pid_t pid, pid_t tid);
/* Converts a wait status that came from `source` (enum EndSource). */
struct target_end target_end_of_status(int status, int source);
/* Finds out by pidfd and pid how a process of user `uid`, which need not be a child of the agent,
 * ended. Returns 0, or -EAGAIN if the process lives or its status is not known yet. */
int target_end_by_pidfd(int pidfd, pid_t pid, uid_t uid, struct target_end *ret_end);
int target_pidfd(pid_t pid); /* returns a descriptor or a negative errno */
/* Returns what users call the program: the last part of argv[0], which differs from the file's name
 * for a link or a multi-call binary; or the script's name if an interpreter runs a script; or the
 * file's name if the process has set itself another title. */
const char *target_name(const struct target_info *info);
