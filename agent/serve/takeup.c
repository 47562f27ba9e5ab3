/* Finds rings whose agent is gone. See takeup.h. */
#include "agent/serve/takeup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/serve/agent.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/proc/file.h"
#include "base/proc/maps.h"
#include "base/ban.h"

#define MAPPINGS_MAX 16 /* rings of one process */
#define NAME	     "/memfd:" RING_MEMORY_NAME " (deleted)"

/* Gets the device number of the memfd file system. Files of any other file system may block or have
 * side effects when they are opened. */
static int memfd_device(dev_t *ret_device)
{
	cleanup(cleanup_close) int fd = memfd_create("heapcast", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret_device = st.st_dev;
	return 0;
}

/* Returns true if `m` is a shared, writable mapping of a memfd with our name, from offset 0. */
static bool is_ring(const struct proc_mapping *m, dev_t device)
{
	return m->permissions == (PROC_READABLE | PROC_WRITABLE | PROC_SHARED | PROC_DELETED) &&
	       !m->offset && makedev(m->major, m->minor) == device && !strcmp(m->path, NAME);
}

/* Finds the process's ring mappings, and returns their number. A fork child has its parent's
 * mapping, too. Returns 0 if the process is gone or may not be inspected. Paths are left out. */
static unsigned find_mappings(int proc, dev_t device, struct proc_mapping ret[MAPPINGS_MAX])
{
	cleanup(cleanup_close) int fd = proc_open_file(proc, "maps");
	struct proc_maps reader;
	unsigned found = 0;

	proc_maps_begin(&reader, fd);
	while (found < MAPPINGS_MAX && proc_maps_next(&reader, &ret[found]) == 1) {
		bool fits = is_ring(&ret[found], device);

		ret[found].path = NULL; /* the reader's */
		found += fits;
	}
	return found;
}

/* Returns true if the descriptor is a regular file on the memfd file system. AT_STATX_DONT_SYNC
 * avoids a request to the server of a network or FUSE file system. */
static bool is_memfd(int fd, dev_t device)
{
	struct statx st;

	return !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) &&
	       makedev(st.stx_dev_major, st.stx_dev_minor) == device && S_ISREG(st.stx_mode);
}

static int open_really(int path_fd)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens and locks the ring's file. The mapping may have been replaced since it was found, so O_PATH
 * opens it first without side effects, and is_memfd checks it. Returns the descriptor or a negative
 * errno. */
static int open_mapping(int proc, dev_t device, const struct proc_mapping *m)
{
	cleanup(cleanup_close) int path_fd = proc_open_mapped(proc, m->start, m->end, O_PATH);
	int fd, r;

	if (path_fd < 0)
		return path_fd;
	if (!is_memfd(path_fd, device))
		return -EBADMSG;
	fd = open_really(path_fd);
	if (fd < 0)
		return fd;
	r = ring_memory_lock(fd);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

static const char *reason(int error)
{
	switch (error) {
	case -ERANGE:
		return "its ring is of another size: start the agent with the --memory-limit that "
		       "it had";
	case -EBADMSG:
		return "its ring makes no sense, or is of another version";
	case -ENOSPC:
		return "all places are taken: raise --memory-limit";
	case -EPERM:
		return "its user may not be recorded (--allow-user, --allow-group)";
	case -EIO:
		return "there is nowhere to put its recording";
	case -EEXIST:
		return "it says to be another program's stream";
	default:
		return strerror(-error);
	}
}

/* Takes up one ring and counts the outcome. Rings that are not the process's own are skipped: a
 * fork child has its parent's mapping, and a detached program keeps its mapping. */
static void takeup_take(struct agent *a, pid_t pid, int fd, struct takeup_report *report)
{
	struct target_info target;
	int r = fd;

	if (fd == -EWOULDBLOCK) {
		report->busy++;
		return;
	}
	if (fd == -EPERM || fd == -EACCES) {
		report->no_right++;
		return;
	}
	if (fd >= 0 && target_read(pid, &target) < 0) {
		close(fd);
		return;
	}
	if (fd >= 0)
		r = session_take_up(a, &target, fd);
	report->taken += r == 0;
	if (r >= 0 || r == -ESRCH || r == -ESTALE || r == -ENOENT)
		return;
	report->others++;
	if (r == -EXDEV) {
		log_info("pid %d was recorded by an agent that is gone, of another socket, "
			 "network or key: only an agent with the same ones resumes it",
			 (int)pid);
		return;
	}
	log_warn("pid %d was recorded by an agent that is gone, and runs unrecorded "
		 "now: %s",
		 (int)pid, reason(r));
}

static void takeup_look_at(struct agent *a, pid_t pid, dev_t device, struct takeup_report *report)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	struct proc_mapping mapping[MAPPINGS_MAX];
	unsigned count = find_mappings(proc, device, mapping);

	for (unsigned i = 0; i < count; i++)
		takeup_take(a, pid, open_mapping(proc, device, &mapping[i]), report);
}

struct takeup_report takeup_all(struct agent *a)
{
	struct takeup_report report = {0};
	dev_t device = 0;
	DIR *proc = memfd_device(&device) < 0 ? NULL : opendir("/proc");
	pid_t pid;

	while (proc && (pid = proc_next(proc)))
		if (pid != getpid())
			takeup_look_at(a, pid, device, &report);
	if (proc)
		closedir(proc);
	if (report.no_right)
		log_info(
			"%u programs have rings of other agents; if their agent is gone they run "
			"unrecorded until they are restarted: resuming their recordings needs root "
			"or CAP_CHECKPOINT_RESTORE",
			report.no_right);
	return report;
}
