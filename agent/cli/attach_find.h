#pragma once
/* Which processes `agent attach` is to record. */
#include <stdbool.h>
#include <sys/types.h>

struct err_text;

#define ATTACH_PIDS_MAX 64

struct attach_want {
	pid_t pid[ATTACH_PIDS_MAX];
	unsigned pids;
	const char *comm;   /* NULL: any */
	const char *cgroup; /* as /proc/PID/cgroup shows it; NULL: any */
	bool all;
};

/* Reads "1,2,3". 0; -EINVAL with the reason. */
int attach_parse_pids(struct attach_want *want, const char *text, struct err_text *err);
/* More than those that were named by number, now and later. */
static inline bool attach_looks(const struct attach_want *want)
{
	return want->comm || want->cgroup || want->all;
}
/* Is it one of those that are looked for? Never ourselves, kernel threads or zombies. */
bool attach_wants(const struct attach_want *want, pid_t pid);
/* Calls `found` for each process there is. */
void attach_each(void (*found)(void *context, pid_t pid), void *context);
