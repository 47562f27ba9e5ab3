/* Reads the figures from /proc. See figures.h. */
#include "agent/watch/figures.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/proc/file.h"
#include "base/proc/lines.h"
#include "base/proc/stat.h"
#include "base/ban.h"

enum { VM_SIZE, VM_HWM, VM_RSS, RSS_ANON, VM_SWAP, FIELDS };

/* Reads fields of `status`, in KiB. */
static int read_status(int proc, struct proc_field field[FIELDS])
{
	int r = proc_file_fields(proc, "status", field, FIELDS);

	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	return field[VM_SIZE].value ? 0 : -ESRCH; /* a zombie has no VmSize */
}

int figures_read(int proc, struct figures *ret, struct figures_image *ret_image,
		 uint64_t *ret_start_ticks)
{
	struct proc_field field[FIELDS] = {[VM_SIZE] = {.name = "VmSize"},
					   [VM_HWM] = {.name = "VmHWM"},
					   [VM_RSS] = {.name = "VmRSS"},
					   [RSS_ANON] = {.name = "RssAnon"},
					   [VM_SWAP] = {.name = "VmSwap"}};
	struct proc_stat stat;
	int r = proc_stat_read(proc, &stat);

	if (!r)
		r = read_status(proc, field);
	if (r < 0)
		return r;
	*ret_image = (struct figures_image){stat.stack, stat.arguments};
	if (ret_start_ticks)
		*ret_start_ticks = stat.start_ticks;
	*ret = (struct figures){
		.rss = field[VM_RSS].value * 1024,
		.rss_peak = field[VM_HWM].value * 1024,
		.anonymous = field[RSS_ANON].value * 1024,
		.swap = field[VM_SWAP].value * 1024,
		.address_space = field[VM_SIZE].value * 1024,
		.minor_faults = stat.minor_faults,
		.major_faults = stat.major_faults,
	};
	return 0;
}

/* Uses the fault counts of children, which contain only children that were waited for. Every child
 * that has run at all has had a page fault. */
bool figures_waited(pid_t pid)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	struct proc_stat stat;

	if (proc < 0 || proc_stat_read(proc, &stat) < 0)
		return true;
	return stat.minor_faults_of_children || stat.major_faults_of_children;
}

/* `total` has the sums of all regions, in KiB. */
static void set_detail(struct figures *f, const uint64_t total[PROC_FIGURES])
{
	f->detailed = true;
	f->rss = total[PROC_RSS] * 1024;
	f->pss = total[PROC_PSS] * 1024;
	f->anonymous = total[PROC_ANONYMOUS] * 1024;
	f->dirty = (total[PROC_SHARED_DIRTY] + total[PROC_PRIVATE_DIRTY]) * 1024;
	f->clean = (total[PROC_SHARED_CLEAN] + total[PROC_PRIVATE_CLEAN]) * 1024;
	if (f->rss_peak < f->rss) /* the kernel computes VmHWM from the quick counters */
		f->rss_peak = f->rss;
}

int figures_detail(int proc, struct proc_maps *reader, struct figures *f)
{
	cleanup(cleanup_close) int fd = proc_open_file(proc, "smaps_rollup");
	struct proc_mapping sum;
	int r;

	if (fd < 0)
		return fd;
	proc_maps_begin(reader, fd);
	r = proc_maps_next(reader, &sum);
	if (r <= 0)
		return r < 0 ? r : -ESRCH;
	set_detail(f, sum.figure);
	return 0;
}

int figures_open_maps(int proc)
{
	int fd = proc_open_file(proc, "smaps");

	return fd == -ENOENT ? proc_open_file(proc, "maps") : fd;
}

bool figures_same(const struct figures *a, const struct figures *b)
{
	return a->rss == b->rss && a->anonymous == b->anonymous && a->swap == b->swap &&
	       a->address_space == b->address_space && a->minor_faults == b->minor_faults &&
	       a->major_faults == b->major_faults && a->rss_peak == b->rss_peak &&
	       a->detailed == b->detailed && a->pss == b->pss && a->dirty == b->dirty &&
	       a->clean == b->clean;
}
