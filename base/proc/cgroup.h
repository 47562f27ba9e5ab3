#pragma once
/*
 * Parses lines of /proc/PID/cgroup and /proc/PID/mountinfo. Together they tell where the folder of
 * a process's cgroup is:
 *
 *   4:cpu,memory:/jobs/1                                   NUMBER:CONTROLLERS:PATH (version 1)
 *   0::/system.slice/a.service                             no controllers: version 2
 *   35 31 0:32 /jobs /mnt rw shared:9 - cgroup none rw,memory     .. .. .. ROOT POINT .. - TYPE ..
 *                                                                 OPTIONS
 *
 * The functions split the lines in place and return pointers into them.
 */
#include <stdbool.h>

struct proc_cgroup {
	const char *controllers; /* a list; "": version 2 */
	const char *path;
};

struct proc_mount {
	const char *root;    /* the part of the file system that is mounted */
	const char *point;   /* the mount point */
	const char *type;    /* of the file system */
	const char *options; /* a comma-separated list; of the file system, not of the mount */
};

/* Returns false if the line is malformed. */
bool proc_cgroup_parse(char *line, struct proc_cgroup *ret_cgroup);
/* Returns the path that says most about a process, of all lines of /proc/PID/cgroup: that of
 * version 2, or systemd's own where version 2 is not used (no line, or the root). NULL: there is
 * none. */
const char *proc_cgroup_main(char *lines);
bool proc_mount_parse(char *line, struct proc_mount *ret_mount);
/* Returns true if `word` is in a comma-separated list. */
bool proc_list_has(const char *list, const char *word);
/* If `path` is `folder` or lies below it, returns the rest without its leading slash; otherwise
 * NULL. */
const char *proc_path_below(const char *path, const char *folder);
