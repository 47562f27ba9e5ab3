#pragma once
/* Selects the processes that `agent attach` records. */
#include <stdbool.h>
#include <sys/types.h>

struct err_text;

#define ATTACH_PIDS_MAX 64

/* A control group, including its descendants. */
struct attach_cgroup {
	int version;	   /* of its hierarchy; 0: any */
	char options[512]; /* version 1: the mount options of the hierarchy, which include its
			    * controllers */
	char path[4096];   /* as /proc/PID/cgroup shows it */
};

struct attach_want {
	pid_t pid[ATTACH_PIDS_MAX];
	unsigned pids;
	const char *comm; /* NULL: any name */
	bool has_cgroup;
	struct attach_cgroup cgroup;
	bool all;
};

/* Parses "1,2,3". Returns 0, or -EINVAL with the reason. */
int attach_parse_pids(struct attach_want *want, const char *text, struct err_text *err);
/* Returns true if processes are also selected by other means than their pid; new ones may then
 * appear later. */
static inline bool attach_looks(const struct attach_want *want)
{
	return want->comm || want->has_cgroup || want->all;
}
/* Reads a folder of a mounted hierarchy, or a path as /proc/PID/cgroup shows it
 * (attach_cgroup.c). */
void attach_cgroup_read(const char *path, struct attach_cgroup *ret);
bool attach_cgroup_has(const struct attach_cgroup *cgroup, pid_t pid);
/* Returns true if the process is an agent, or the collector next to it. They are never recorded,
 * because their work for the recording would be recorded, too, without end. */
bool attach_is_ours(pid_t pid);
/* Returns true if the process is wanted. False for kernel threads and zombies. */
bool attach_wants(const struct attach_want *want, pid_t pid);
/* Calls `found` for each process of the system. */
void attach_each(void (*found)(void *context, pid_t pid), void *context);
