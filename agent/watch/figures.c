/* Reads the figures from /proc. See figures.h. */
#include "agent/watch/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ban.h"

#define TEXT_SIZE 4096

/* Fields of /proc/PID/stat, numbered as in proc(5). */
#define FIRST_FIELD	       3 /* the first field after the name */
#define STAT_MINOR	       10
#define STAT_MINOR_OF_CHILDREN 11 /* of children that it has waited for */
#define STAT_MAJOR	       12
#define STAT_MAJOR_OF_CHILDREN 13
#define STAT_START	       22
#define STAT_STACK	       28
#define STAT_ARGUMENTS	       48
#define FIELDS		       52

int figures_open(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_text(int proc, const char *name, char out[TEXT_SIZE])
{
	cleanup(cleanup_close) int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n = 1;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (length < TEXT_SIZE - 1 && (n = read(fd, out + length, TEXT_SIZE - 1 - length)) > 0)
		length += (size_t)n;
	out[length] = '\0';
	return n < 0 ? -errno : length ? 0 : -ESRCH;
}

/* Parses the numbers after the name. The name may contain anything, so it ends at the last ')'. */
static bool parse_stat(const char *text, uint64_t field[FIELDS + 1])
{
	const char *at = strrchr(text, ')');
	unsigned i;

	at = at ? strchr(at + 1, ' ') : NULL;
	for (i = FIRST_FIELD; at && i <= FIELDS; i++) {
		field[i] = strtoull(at + 1, NULL, 10);
		at = strchr(at + 1, ' ');
	}
	return i > FIELDS;
}

int figures_read(int proc, struct figures *ret, struct figures_image *ret_image,
		 uint64_t *ret_start_ticks)
{
	uint64_t field[FIELDS + 1];
	char text[TEXT_SIZE];
	int r = read_text(proc, "stat", text);

	if (r < 0)
		return r;
	if (!parse_stat(text, field))
		return -EBADMSG;
	r = read_text(proc, "status", text);
	if (r < 0)
		return r;
	if (!strstr(text, "\nVmSize:"))
		return -ESRCH; /* a zombie has no VmSize */
	*ret_image = (struct figures_image){field[STAT_STACK], field[STAT_ARGUMENTS]};
	if (ret_start_ticks)
		*ret_start_ticks = field[STAT_START];
	*ret = (struct figures){
		.rss = smaps_key(text, "VmRSS") * 1024,
		.rss_peak = smaps_key(text, "VmHWM") * 1024,
		.anonymous = smaps_key(text, "RssAnon") * 1024,
		.swap = smaps_key(text, "VmSwap") * 1024,
		.address_space = smaps_key(text, "VmSize") * 1024,
		.minor_faults = field[STAT_MINOR],
		.major_faults = field[STAT_MAJOR],
	};
	return 0;
}

/* The fault counts include children that were waited for, and a child that has run at all has had a
 * page fault. */
bool figures_waited(pid_t pid)
{
	cleanup(cleanup_close) int proc = figures_open(pid);
	uint64_t field[FIELDS + 1];
	char text[TEXT_SIZE];

	if (proc < 0 || read_text(proc, "stat", text) < 0 || !parse_stat(text, field))
		return true;
	return field[STAT_MINOR_OF_CHILDREN] || field[STAT_MAJOR_OF_CHILDREN];
}

/* `total` has the sums of all regions, in KiB. */
static void set_detail(struct figures *f, const uint64_t total[SMAPS_FIGURES])
{
	f->detailed = true;
	f->rss = total[SMAPS_RSS] * 1024;
	f->pss = total[SMAPS_PSS] * 1024;
	f->anonymous = total[SMAPS_ANONYMOUS] * 1024;
	f->dirty = (total[SMAPS_SHARED_DIRTY] + total[SMAPS_PRIVATE_DIRTY]) * 1024;
	f->clean = (total[SMAPS_SHARED_CLEAN] + total[SMAPS_PRIVATE_CLEAN]) * 1024;
	if (f->rss_peak < f->rss) /* the kernel computes VmHWM from the quick counters */
		f->rss_peak = f->rss;
}

int figures_detail(int proc, struct smaps *reader, struct figures *f)
{
	cleanup(cleanup_close) int fd = openat(proc, "smaps_rollup", O_RDONLY | O_CLOEXEC);
	struct smaps_region sum;
	int r;

	if (fd < 0)
		return -errno;
	smaps_begin(reader, fd);
	r = smaps_next(reader, &sum);
	if (r <= 0)
		return r < 0 ? r : -ESRCH;
	set_detail(f, sum.figure);
	return 0;
}

int figures_open_maps(int proc)
{
	int fd = openat(proc, "smaps", O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		fd = openat(proc, "maps", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
