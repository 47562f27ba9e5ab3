#pragma once
/* Which processes `agent attach` is to record. */
#include <stdbool.h>
#include <sys/types.h>

struct err_text;

#define ATTACH_PIDS_MAX 64

/* A control group, and those below it. */
struct attach_cgroup {
	int version;	   /* of its hierarchy; 0: any will do */
	char options[512]; /* of version 1: what the hierarchy was mounted with, its controllers
			      among them */
	char path[4096];   /* as /proc/PID/cgroup shows it */
};

struct attach_want {
	pid_t pid[ATTACH_PIDS_MAX];
	unsigned pids;
	const char *comm; /* NULL: any */
	bool has_cgroup;
	struct attach_cgroup cgroup;
	bool all;
};

/* Reads "1,2,3". 0; -EINVAL with the reason. */
int attach_parse_pids(struct attach_want *want, const char *text, struct err_text *err);
/* More than those that were named by number, now and later. */
static inline bool attach_looks(const struct attach_want *want)
{
	return want->comm || want->has_cgroup || want->all;
}
/* attach_cgroup.c. A folder of a mounted hierarchy, or a path as /proc/PID/cgroup shows it. */
void attach_cgroup_read(const char *path, struct attach_cgroup *ret);
bool attach_cgroup_has(const struct attach_cgroup *cgroup, pid_t pid);
/* Is it an agent, or the collector beside it? What these do for a recording would be on record, and
 * so on without end. */
bool attach_is_ours(pid_t pid);
/* Is it one of those that are looked for? Never kernel threads or zombies. */
bool attach_wants(const struct attach_want *want, pid_t pid);
/* Calls `found` for each process there is. */
void attach_each(void (*found)(void *context, pid_t pid), void *context);
