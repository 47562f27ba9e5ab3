/* Reads the kernel's figures of a program's memory. See pressure.h. */
#include "agent/watch/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/watch/oom.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/proc/file.h"
#include "base/proc/lines.h"
#include "base/ban.h"

#define TEXT_SIZE      512
#define SEEK_NS	       1000000000 /* the process may move to another cgroup */
#define SECOND_NS      1000000000
#define UNLIMITED      ((uint64_t)1 << 60) /* version 1 shows a number near 2^63 */
#define LIMIT_PERCENT  90
#define FALLEN_PERCENT 95 /* of the threshold */
#define STALL_USUAL    10

/* ---- texts ---- */

/* Reads a file with one number. Returns UINT64_MAX for `max`, or if there is no number. */
static uint64_t number_at(int folder, const char *name)
{
	char text[32];
	const char *at = text;
	uint64_t number;

	return proc_read(folder, name, text, sizeof(text)) > 0 && proc_digits(&at, 10, &number)
		       ? number
		       : UINT64_MAX;
}

/* Returns the number in the line of `key`, or `otherwise` if there is none. */
static uint64_t value_at(int folder, const char *name, const char *key, uint64_t otherwise)
{
	struct proc_field field = {.name = key, .value = otherwise};

	proc_file_fields(folder, name, &field, 1);
	return field.value;
}

/* Parses "some avg10=0.00 avg60=0.00 avg300=0.00 total=123", in microseconds. */
static uint64_t stall_of(const char *text)
{
	const char *total = strncmp(text, "some ", 5) ? NULL : strstr(text, "total=");

	return total ? strtoull(total + 6, NULL, 10) : UINT64_MAX;
}

int pressure_parse(struct pressure_settings *s, const char *growth, const char *stall,
		   struct err_text *err)
{
	const char *slash = growth ? strchr(growth, '/') : NULL;
	char size[32], *end;
	unsigned long percent;

	s->stall_percent = STALL_USUAL;
	if (growth && *growth) {
		snprintf(size, sizeof(size), "%.*s", slash ? (int)(slash - growth) : 0, growth);
		if (!slash || slash - growth >= (int)sizeof(size) ||
		    parse_size(size, &s->growth_bytes) < 0 || !s->growth_bytes ||
		    parse_duration(slash + 1, &s->growth_ns) < 0 || !s->growth_ns)
			return err_set(err, -EINVAL,
				       "--flight-growth takes SIZE/TIME (as 10M/1m), not '%s'",
				       growth);
	}
	if (!stall || !*stall)
		return 0;
	percent = strtoul(stall, &end, 10);
	if (!strcmp(stall, "off"))
		s->stall_percent = 0;
	else if (end == stall || strcmp(end, "%") || percent < 1 || percent > 100)
		return err_set(err, -EINVAL,
			       "--flight-pressure takes 1%% to 100%%, or off, not '%s'", stall);
	else
		s->stall_percent = (unsigned)percent;
	return 0;
}

/* ---- the cgroup ---- */

static const char *const limit_file[2] = {"memory.limit_in_bytes", "memory.max"};
static const char *const usage_file[2] = {"memory.usage_in_bytes", "memory.current"};
static const char *const reclaimable[2] = {"total_inactive_file", "inactive_file"};

static bool has_limit(int folder, bool version_2)
{
	return number_at(folder, limit_file[version_2]) < UNLIMITED ||
	       (version_2 && number_at(folder, "memory.high") < UNLIMITED);
}

/* Opens this folder, or its nearest ancestor with a limit. Shortens `path` to that folder. Returns
 * a descriptor, or -1 if none has a limit. */
static int open_limited(char *path, bool version_2)
{
	char *slash;

	do {
		cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 || faccessat(fd, usage_file[version_2], R_OK, 0) < 0)
			return -1; /* the root of version 2 has no such file */
		if (has_limit(fd, version_2))
			return take_fd(fd);
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	} while (slash && slash != path);
	return -1;
}

static void forget_cgroup(struct pressure *p)
{
	cleanup_close(&p->folder);
	p->folder = -1;
	p->high = UINT64_MAX;
	p->stalled_ns = 0;
	p->over_limit = false;
}

static void seek_cgroup(struct pressure *p, const char *root, uint64_t now)
{
	char folder[PATH_MAX];
	bool version_2 = false;
	uint64_t cgroup;

	p->sought_ns = now;
	if (!oom_find_cgroup(root, p->pid, &version_2, &cgroup, folder, sizeof(folder)) ||
	    cgroup == p->cgroup)
		return;
	forget_cgroup(p);
	p->cgroup = cgroup;
	p->version_2 = version_2;
	p->folder = open_limited(folder, version_2);
	if (p->folder >= 0)
		log_info("pid %d: watching its cgroup's memory in %s", (int)p->pid, folder);
}

/* ---- conditions ---- */

/* Returns true if the condition has become true. `fallen`: it is false by the margin. */
static bool crossed(bool *over, bool is, bool fallen)
{
	bool was = *over;

	*over = is || (was && !fallen);
	return is && !was;
}

static bool rss_crossed(struct pressure *p, const struct pressure_settings *s, uint64_t rss)
{
	p->told = rss;
	return s->rss_bytes &&
	       crossed(&p->over_rss, rss > s->rss_bytes, rss < s->rss_bytes / 100 * FALLEN_PERCENT);
}

/* Compares with the smallest sample. Samples reach back for the configured time. */
static bool has_grown(struct pressure *p, const struct pressure_settings *s, uint64_t rss,
		      uint64_t now)
{
	uint64_t least = rss;

	if (!s->growth_bytes)
		return false;
	if (now - p->sampled_ns > s->growth_ns)
		p->samples = 0;
	for (unsigned i = 0; i < p->samples && i < PRESSURE_SAMPLES; i++)
		least = p->sample[i] < least ? p->sample[i] : least;
	if (!p->samples || now - p->sampled_ns >= s->growth_ns / PRESSURE_SAMPLES) {
		p->sample[p->samples++ % PRESSURE_SAMPLES] = rss;
		p->samples = p->samples == 2 * PRESSURE_SAMPLES ? PRESSURE_SAMPLES : p->samples;
		p->sampled_ns = now;
	}
	p->told = rss - least;
	return rss - least >= s->growth_bytes;
}

static bool limit_crossed(struct pressure *p)
{
	uint64_t limit = number_at(p->folder, limit_file[p->version_2]),
		 usage = number_at(p->folder, usage_file[p->version_2]), cache;

	if (limit >= UNLIMITED || usage >= UNLIMITED)
		return false;
	cache = value_at(p->folder, "memory.stat", reclaimable[p->version_2], 0);
	usage -= cache <= usage ? cache : 0;
	p->told = usage;
	return crossed(&p->over_limit, usage >= limit / 100 * LIMIT_PERCENT,
		       usage < limit / 100 * LIMIT_PERCENT / 100 * FALLEN_PERCENT);
}

/* Returns true if the kernel has throttled the cgroup at memory.high since the last look. */
static bool was_throttled(struct pressure *p)
{
	uint64_t before = p->high;

	if (!p->version_2)
		return false;
	p->high = value_at(p->folder, "memory.events", "high", before);
	p->told = p->high;
	return before != UINT64_MAX && p->high != UINT64_MAX && p->high > before;
}

static bool read_stall(const struct pressure *p, const char *root, char text[TEXT_SIZE])
{
	char path[PATH_MAX];

	if (p->folder >= 0 && proc_read(p->folder, "memory.pressure", text, TEXT_SIZE) > 0)
		return true;
	snprintf(path, sizeof(path), "%s/proc/pressure/memory", root);
	return proc_read(-1, path, text, TEXT_SIZE) > 0;
}

static bool is_stalled(struct pressure *p, const struct pressure_settings *s, const char *root,
		       uint64_t now)
{
	uint64_t total, before = p->stalled_us, since = now - p->stalled_ns;
	bool first = !p->stalled_ns;
	char text[TEXT_SIZE];

	if (!first && since < SECOND_NS)
		return false;
	total = read_stall(p, root, text) ? stall_of(text) : UINT64_MAX;
	if (total == UINT64_MAX)
		return false;
	p->stalled_us = total;
	p->stalled_ns = now;
	if (first || total < before)
		return false;
	p->told = (total - before) * 1000 * 100 / since;
	return p->told >= s->stall_percent;
}

/* ---- the watch ---- */

static uint64_t rss_of(const struct pressure *p, const char *root)
{
	char path[PATH_MAX], text[TEXT_SIZE];
	const char *at = text;
	uint64_t pages = 0;

	snprintf(path, sizeof(path), "%s/proc/%d/statm", root, (int)p->pid);
	if (proc_read(-1, path, text, sizeof(text)) <= 0 || !proc_number(&at, &pages) ||
	    !proc_number(&at, &pages))
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void pressure_begin(struct pressure *p, const char *root, pid_t pid)
{
	char text[TEXT_SIZE];
	static bool said;

	*p = (struct pressure){.pid = pid, .folder = -1, .high = UINT64_MAX};
	if (said || read_stall(p, root, text))
		return;
	log_info("this kernel does not tell how long tasks wait for memory (PSI): "
		 "the flight recorder has this trigger only where the cgroup tells");
	said = true;
}

static enum pressure_news look(struct pressure *p, const struct pressure_settings *s,
			       const char *root, uint64_t now)
{
	uint64_t rss = s->rss_bytes || s->growth_bytes ? rss_of(p, root) : 0;

	if (rss && rss_crossed(p, s, rss))
		return PRESSURE_RSS;
	if (rss && has_grown(p, s, rss, now)) {
		p->samples = 0;
		return PRESSURE_GROWTH;
	}
	if (!s->stall_percent)
		return PRESSURE_NONE;
	if (p->folder >= 0 && (limit_crossed(p) || was_throttled(p)))
		return PRESSURE_LIMIT;
	return is_stalled(p, s, root, now) ? PRESSURE_STALL : PRESSURE_NONE;
}

enum pressure_news pressure_look(struct pressure *p, const struct pressure_settings *s,
				 const char *root, uint64_t now)
{
	enum pressure_news news;

	if (!p->pid || (p->looked_ns && now - p->looked_ns < PRESSURE_LOOK_NS) ||
	    now < p->silent_ns)
		return PRESSURE_NONE;
	p->looked_ns = now;
	if (s->stall_percent && (!p->sought_ns || now - p->sought_ns >= SEEK_NS))
		seek_cgroup(p, root, now);
	news = look(p, s, root, now);
	if (news)
		p->silent_ns = now + s->pause_ns;
	return news;
}

void pressure_end(struct pressure *p)
{
	if (!p->pid)
		return;
	cleanup_close(&p->folder);
	*p = (struct pressure){.folder = -1};
}
