/* Triggers of the flight recorder: files as kernels write them, in a folder in place of the
 * system's root. */
#include "agent/watch/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "tests/unit/temporary.h"

#define PID    4711
#define SECOND 1000000000
#define MIB    (1u << 20)

#define V1 "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
#define V2 "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

#define root temporary_folder

static void make_folders(const char *path)
{
	char part[256];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0700) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

__attribute__((format(printf, 2, 3))) static void put(const char *name, const char *format, ...)
{
	char path[512];
	va_list list;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_folders(path);
	file = fopen(path, "we");
	assert_non_null(file);
	va_start(list, format);
	vfprintf(file, format, list);
	va_end(list);
	fclose(file);
}

static void put_rss(uint64_t bytes)
{
	put("proc/4711/statm", "51200 %llu 300 2 0 4000 0\n",
	    (unsigned long long)(bytes / (uint64_t)sysconf(_SC_PAGESIZE)));
}

static void put_stall(const char *name, uint64_t us)
{
	put(name,
	    "some avg10=0.00 avg60=0.12 avg300=0.03 total=%llu\nfull avg10=0.00 avg60=0.00 "
	    "avg300=0.00 total=1\n",
	    (unsigned long long)us);
}

/* A look at that second, a whole one later than the last. */
static void assert_look(struct pressure *p, const struct pressure_settings *s, unsigned second,
			enum pressure_news expected)
{
	assert_int_equal(pressure_look(p, s, root, (100 + (uint64_t)second) * SECOND), expected);
}

static void test_resident(void **state)
{
	const struct pressure_settings s = {.rss_bytes = 100 * MIB};
	struct pressure p;

	(void)state;
	put_rss(50 * MIB);
	pressure_begin(&p, root, PID);
	assert_look(&p, &s, 0, PRESSURE_NONE);
	put_rss(101 * MIB);
	assert_int_equal(pressure_look(&p, &s, root, 100 * (uint64_t)SECOND + PRESSURE_LOOK_NS / 2),
			 PRESSURE_NONE);
	assert_look(&p, &s, 1, PRESSURE_RSS);
	assert_look(&p, &s, 2, PRESSURE_NONE);
	put_rss(99 * MIB); /* not far enough */
	assert_look(&p, &s, 3, PRESSURE_NONE);
	put_rss(101 * MIB);
	assert_look(&p, &s, 4, PRESSURE_NONE);
	put_rss(90 * MIB);
	assert_look(&p, &s, 5, PRESSURE_NONE);
	put_rss(101 * MIB);
	assert_look(&p, &s, 6, PRESSURE_RSS);
	pressure_end(&p);
	assert_look(&p, &s, 7, PRESSURE_NONE);
}

static void test_growth(void **state)
{
	const struct pressure_settings s = {.growth_bytes = 10 * MIB,
					    .growth_ns = 60 * (uint64_t)SECOND,
					    .pause_ns = 5 * (uint64_t)SECOND};
	struct pressure p;

	(void)state;
	put_rss(50 * MIB);
	pressure_begin(&p, root, PID);
	/* 6 MiB in each minute, for ten: never 10 in one. */
	for (unsigned second = 0; second < 600; second++) {
		put_rss(50 * MIB + second * MIB / 10);
		assert_look(&p, &s, second, PRESSURE_NONE);
	}
	put_rss(200 * MIB);
	assert_look(&p, &s, 600, PRESSURE_GROWTH);
	put_rss(300 * MIB);
	assert_look(&p, &s, 603, PRESSURE_NONE); /* silent */
	assert_look(&p, &s, 606, PRESSURE_NONE); /* begins anew */
	put_rss(310 * MIB);
	assert_look(&p, &s, 607, PRESSURE_GROWTH);
	pressure_end(&p);
}

static void test_version_1(void **state)
{
	const struct pressure_settings s = {.stall_percent = 10};
	struct pressure p;

	(void)state;
	put("proc/4711/cgroup", "5:devices:/x\n4:memory:/jobs/one/inner\n0::/\n");
	put("proc/self/mountinfo", V1);
	put("sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", "%u\n", 64 * MIB);
	put("sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "%u\n", 40 * MIB);
	put("sys/fs/cgroup/memory/jobs/one/inner/memory.limit_in_bytes", "9223372036854771712\n");
	put("sys/fs/cgroup/memory/jobs/one/inner/memory.usage_in_bytes", "%u\n", 39 * MIB);
	put("sys/fs/cgroup/memory/jobs/one/memory.stat",
	    "cache 1\ninactive_file 5\ntotal_inactive_file %u\n", 10 * MIB);
	pressure_begin(&p, root, PID);
	assert_look(&p, &s, 0, PRESSURE_NONE);
	assert_true(p.folder >= 0);
	put("sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "%u\n",
	    63 * MIB); /* 10 of it can be given back */
	assert_look(&p, &s, 1, PRESSURE_NONE);
	put("sys/fs/cgroup/memory/jobs/one/memory.stat", "total_inactive_file %u\n", 2 * MIB);
	assert_look(&p, &s, 2, PRESSURE_LIMIT);
	assert_int_equal(p.told, 61 * MIB);
	assert_look(&p, &s, 3, PRESSURE_NONE);
	/* It is moved to a cgroup without a limit. */
	put("proc/4711/cgroup", "4:memory:/free\n");
	put("sys/fs/cgroup/memory/free/memory.limit_in_bytes", "9223372036854771712\n");
	put("sys/fs/cgroup/memory/free/memory.usage_in_bytes", "1\n");
	assert_look(&p, &s, 5, PRESSURE_NONE);
	assert_true(p.folder < 0);
	pressure_end(&p);
}

static void test_version_2(void **state)
{
	const struct pressure_settings s = {.stall_percent = 10};
	struct pressure p;

	(void)state;
	put("proc/4711/cgroup", "0::/pod/box\n");
	put("proc/self/mountinfo", V2);
	put("sys/fs/cgroup/pod/box/memory.max", "max\n");
	put("sys/fs/cgroup/pod/box/memory.high", "max\n");
	put("sys/fs/cgroup/pod/box/memory.current", "1000\n");
	put("sys/fs/cgroup/pod/memory.max", "%u\n", 100 * MIB);
	put("sys/fs/cgroup/pod/memory.high", "%u\n", 80 * MIB);
	put("sys/fs/cgroup/pod/memory.current", "%u\n", 50 * MIB);
	put("sys/fs/cgroup/pod/memory.stat", "anon 1\nfile 2\ninactive_file 0\n");
	put("sys/fs/cgroup/pod/memory.events", "low 0\nhigh 7\nmax 0\noom 0\noom_kill 0\n");
	put_stall("sys/fs/cgroup/pod/memory.pressure", 1000000);
	pressure_begin(&p, root, PID);
	assert_look(&p, &s, 0, PRESSURE_NONE);
	assert_look(&p, &s, 1, PRESSURE_NONE); /* 7 were before us */
	put("sys/fs/cgroup/pod/memory.events", "low 0\nhigh 8\nmax 0\noom 0\noom_kill 0\n");
	assert_look(&p, &s, 2, PRESSURE_LIMIT);
	assert_look(&p, &s, 3, PRESSURE_NONE);
	put("sys/fs/cgroup/pod/memory.current", "%u\n", 91 * MIB);
	assert_look(&p, &s, 4, PRESSURE_LIMIT);
	put("sys/fs/cgroup/pod/memory.current", "%u\n", 50 * MIB);
	put_stall("sys/fs/cgroup/pod/memory.pressure", 1000000);
	assert_look(&p, &s, 5, PRESSURE_NONE);
	put_stall("sys/fs/cgroup/pod/memory.pressure", 1090000);
	assert_look(&p, &s, 6, PRESSURE_NONE); /* 9 % */
	put_stall("sys/fs/cgroup/pod/memory.pressure", 1200000);
	assert_look(&p, &s, 7, PRESSURE_STALL);
	assert_int_equal(p.told, 11);
	/* It is moved to one that was throttled and stalled often: that was before. */
	put("sys/fs/cgroup/other/memory.max", "%u\n", 100 * MIB);
	put("sys/fs/cgroup/other/memory.current", "%u\n", 50 * MIB);
	put("sys/fs/cgroup/other/memory.stat", "inactive_file 0\n");
	put("sys/fs/cgroup/other/memory.events", "low 0\nhigh 1000\nmax 0\n");
	put_stall("sys/fs/cgroup/other/memory.pressure", 90000000);
	put("proc/4711/cgroup", "0::/other\n");
	assert_look(&p, &s, 30, PRESSURE_NONE);
	assert_look(&p, &s, 31, PRESSURE_NONE);
	put("sys/fs/cgroup/other/memory.events", "low 0\nhigh 1001\nmax 0\n");
	assert_look(&p, &s, 32, PRESSURE_LIMIT);
	pressure_end(&p);
}

/* No cgroup that is known: the system's pressure counts. */
static void test_system(void **state)
{
	const struct pressure_settings s = {.stall_percent = 20, .pause_ns = 10 * (uint64_t)SECOND},
				       off = {.rss_bytes = 0};
	struct pressure p;

	(void)state;
	put("proc/4711/cgroup", "nonsense\n");
	put_stall("proc/pressure/memory", 5);
	pressure_begin(&p, root, PID);
	assert_look(&p, &s, 0, PRESSURE_NONE);
	put_stall("proc/pressure/memory", 250005);
	assert_look(&p, &s, 1, PRESSURE_STALL);
	put_stall("proc/pressure/memory", 900000);
	assert_look(&p, &s, 2, PRESSURE_NONE);
	put("proc/pressure/memory", "nothing that anybody could read total=\n");
	assert_look(&p, &s, 20, PRESSURE_NONE);
	put_stall("proc/pressure/memory", 1); /* goes backwards */
	assert_look(&p, &s, 22, PRESSURE_NONE);
	assert_look(&p, &off, 30, PRESSURE_NONE);
	pressure_end(&p);
}

static unsigned open_files(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static enum pressure_news look_at(struct pressure *p, const struct pressure_settings *s,
				  uint64_t now)
{
	return pressure_look(p, s, root, 1000 * (uint64_t)SECOND + now);
}

static void put_pages(uint64_t pages)
{
	put_rss(pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

/* At the bounds: of the size, of its margin, of the time between looks, of the silence. */
static void test_resident_bounds(void **state)
{
	const uint64_t step = PRESSURE_LOOK_NS;
	const struct pressure_settings s = {.rss_bytes = 1000 * (uint64_t)sysconf(_SC_PAGESIZE),
					    .pause_ns = 4 * step};
	struct pressure p;

	(void)state;
	pressure_begin(&p, root, PID);
	put_pages(1000);
	assert_int_equal(look_at(&p, &s, 0), PRESSURE_NONE);
	assert_int_equal(p.told, s.rss_bytes);
	put_pages(1001);
	assert_int_equal(look_at(&p, &s, step - 1), PRESSURE_NONE); /* too early */
	assert_int_equal(look_at(&p, &s, step), PRESSURE_RSS);
	put_pages(900);
	assert_int_equal(look_at(&p, &s, 5 * step - 1), PRESSURE_NONE); /* silent: not seen */
	assert_int_equal(p.told, s.rss_bytes / 1000 * 1001);
	put_pages(1001);
	assert_int_equal(look_at(&p, &s, 5 * step), PRESSURE_NONE);
	put_pages(950);
	assert_int_equal(look_at(&p, &s, 6 * step), PRESSURE_NONE); /* not below the margin */
	put_pages(1001);
	assert_int_equal(look_at(&p, &s, 7 * step), PRESSURE_NONE);
	put_pages(949);
	assert_int_equal(look_at(&p, &s, 8 * step), PRESSURE_NONE);
	put_pages(1001);
	assert_int_equal(look_at(&p, &s, 9 * step), PRESSURE_RSS);
	put("proc/4711/statm", "12\n"); /* nothing that is resident */
	assert_int_equal(look_at(&p, &s, 20 * step), PRESSURE_NONE);
	put("proc/4711/statm", "x y\n");
	assert_int_equal(look_at(&p, &s, 21 * step), PRESSURE_NONE);
	assert_int_equal(p.told, s.rss_bytes / 1000 * 1001);
	pressure_end(&p);
	pressure_end(&p);
	assert_int_equal(p.folder, -1);
}

/* Growth from the smallest of the samples; these reach back for the time, and not farther. */
static void test_growth_bounds(void **state)
{
	const uint64_t step = PRESSURE_SAMPLES * (uint64_t)SECOND,
		       page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct pressure_settings s = {.growth_bytes = 100 * page, .growth_ns = step};
	struct pressure p;

	(void)state;
	pressure_begin(&p, root, PID);
	put_pages(1000);
	assert_int_equal(look_at(&p, &s, 0), PRESSURE_NONE);
	put_pages(1099);
	assert_int_equal(look_at(&p, &s, SECOND), PRESSURE_NONE);
	assert_int_equal(p.told, 99 * page);
	assert_int_equal(p.samples, 2);
	put_pages(900); /* between two samples: it is forgotten */
	assert_int_equal(look_at(&p, &s, 2 * (uint64_t)SECOND - 1), PRESSURE_NONE);
	assert_int_equal(p.samples, 2);
	put_pages(1100);
	assert_int_equal(look_at(&p, &s, 2 * (uint64_t)SECOND + SECOND / 2), PRESSURE_GROWTH);
	assert_int_equal(p.told, 100 * page);
	assert_int_equal(p.samples, 0);
	/* a sample that is as old as can be, and one that is older */
	for (unsigned older = 0; older < 2; older++) {
		uint64_t from = (100 + 100 * (uint64_t)older) * step;

		pressure_begin(&p, root, PID);
		put_pages(1000);
		assert_int_equal(look_at(&p, &s, from), PRESSURE_NONE);
		put_pages(1100);
		assert_int_equal(look_at(&p, &s, from + step + older),
				 older ? PRESSURE_NONE : PRESSURE_GROWTH);
	}
	/* each of the samples counts, and is replaced in its turn */
	for (unsigned low = 0; low < 2 * PRESSURE_SAMPLES; low += 9) {
		pressure_begin(&p, root, PID);
		for (unsigned i = 0; i < 4 * PRESSURE_SAMPLES; i++) {
			bool near = i > low && i - low <= PRESSURE_SAMPLES;

			if (!i || i == low || i == low + 1)
				put_pages(i == low ? 1000 : 1050);
			assert_int_equal(look_at(&p, &s, i * (uint64_t)SECOND), PRESSURE_NONE);
			assert_int_equal(p.told, near ? 50 * page : 0);
		}
	}
}

/* The cgroup's folder is the only file that stays open, and not for longer than it is watched. */
static void test_files(void **state)
{
	const struct pressure_settings s = {.stall_percent = 10}, off = {.rss_bytes = MIB};
	unsigned before = open_files();
	struct pressure p;

	(void)state;
	put("proc/self/mountinfo", V2);
	for (unsigned i = 0; i < 2; i++) {
		char name[64];

		snprintf(name, sizeof(name), "sys/fs/cgroup/box%u/memory.max", i);
		put(name, "%u\n", 100 * MIB);
		snprintf(name, sizeof(name), "sys/fs/cgroup/box%u/memory.current", i);
		put(name, "1000\n");
	}
	put("proc/4711/cgroup", "0::/box0\n");
	pressure_begin(&p, root, PID);
	assert_int_equal(look_at(&p, &off, 0), PRESSURE_NONE);
	assert_int_equal(open_files(), before); /* nobody asked for it */
	assert_look(&p, &s, 2000, PRESSURE_NONE);
	assert_int_equal(open_files(), before + 1);
	put("proc/4711/cgroup", "0::/box1\n");
	assert_int_equal(pressure_look(&p, &s, root, (uint64_t)2101 * SECOND - 1), PRESSURE_NONE);
	assert_look(&p, &s, 2002, PRESSURE_NONE);
	assert_int_equal(open_files(), before + 1);
	put("proc/4711/cgroup", "0::/nowhere\n");
	assert_look(&p, &s, 2004, PRESSURE_NONE);
	assert_int_equal(open_files(), before);
	put("proc/4711/cgroup", "0::/box1\n");
	assert_look(&p, &s, 2006, PRESSURE_NONE);
	assert_int_equal(open_files(), before + 1);
	pressure_end(&p);
	assert_int_equal(open_files(), before);
}

/* 90 % of the limit, and the margin below it. */
static void test_limit_bounds(void **state)
{
	const struct pressure_settings s = {.stall_percent = 100};
	static const struct {
		unsigned usage;
		enum pressure_news news;
	} looks[] = {{89999, PRESSURE_NONE}, {90000, PRESSURE_LIMIT}, {90001, PRESSURE_NONE},
		     {85500, PRESSURE_NONE}, {90000, PRESSURE_NONE},  {85499, PRESSURE_NONE},
		     {90000, PRESSURE_LIMIT}};
	struct pressure p;

	(void)state;
	put("proc/self/mountinfo", V2);
	put("proc/4711/cgroup", "0::/box\n");
	put("sys/fs/cgroup/box/memory.max", "100000\n");
	put("sys/fs/cgroup/box/memory.events", "high 5\n");
	pressure_begin(&p, root, PID);
	put("sys/fs/cgroup/box/memory.current", "0\n");
	put("sys/fs/cgroup/box/memory.stat", "inactive_file 7\n"); /* more than is used */
	assert_look(&p, &s, 0, PRESSURE_NONE);
	put("sys/fs/cgroup/box/memory.current", "95000\n");
	put("sys/fs/cgroup/box/memory.stat", "inactive_file 95000\n"); /* all can be given back */
	assert_look(&p, &s, 1, PRESSURE_NONE);
	put("sys/fs/cgroup/box/memory.stat", "inactive_file 7\n");
	for (unsigned i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		put("sys/fs/cgroup/box/memory.current", "%u\n", looks[i].usage + 7);
		assert_look(&p, &s, 2 + i, looks[i].news);
		if (looks[i].news)
			assert_int_equal(p.told, looks[i].usage);
	}
	put("sys/fs/cgroup/box/memory.events", "high 6\n");
	assert_look(&p, &s, 20, PRESSURE_LIMIT);
	assert_int_equal(p.told, 6);
	put("sys/fs/cgroup/box/memory.events", "high 4\n");
	assert_look(&p, &s, 21, PRESSURE_NONE);
	put("sys/fs/cgroup/box/memory.max", "max\n");
	put("sys/fs/cgroup/box/memory.current", "99999999\n");
	assert_look(&p, &s, 22, PRESSURE_NONE);
	pressure_end(&p);
}

/* So many percent of the time since the last look, which is a second at least. */
static void test_stall_bounds(void **state)
{
	const struct pressure_settings s = {.stall_percent = 10};
	struct pressure p;

	(void)state;
	put("proc/4711/cgroup", "nonsense\n");
	put_stall("proc/pressure/memory", 1000);
	pressure_begin(&p, root, PID);
	assert_int_equal(look_at(&p, &s, 0), PRESSURE_NONE);
	put_stall("proc/pressure/memory", 101000);
	assert_int_equal(look_at(&p, &s, SECOND - 1), PRESSURE_NONE);
	assert_int_equal(look_at(&p, &s, (uint64_t)SECOND + SECOND / 2), PRESSURE_NONE); /* 6 % */
	assert_int_equal(p.told, 6);
	put_stall("proc/pressure/memory", 201000);
	assert_int_equal(look_at(&p, &s, 2 * (uint64_t)SECOND + SECOND / 2), PRESSURE_STALL);
	assert_int_equal(p.told, 10);
	put_stall("proc/pressure/memory", 300999); /* a little less */
	assert_int_equal(look_at(&p, &s, 3 * (uint64_t)SECOND + SECOND / 2), PRESSURE_NONE);
	put("proc/pressure/memory", "full avg10=0.00 total=9999999\n");
	assert_int_equal(look_at(&p, &s, 5 * (uint64_t)SECOND), PRESSURE_NONE);
	assert_int_equal(p.stalled_us, 300999);
	pressure_end(&p);
}

static void test_texts(void **state)
{
	static const char *const wrong_growth[] = {"10M", "/1m", "10M/", "0/1m", "10M/0", "x/1m"};
	static const char *const wrong_stall[] = {"10", "0%", "101%", "-5%", "%", "no", "10%%"};
	struct pressure_settings s = {0};
	struct err_text err;

	(void)state;
	assert_int_equal(pressure_parse(&s, NULL, NULL, &err), 0);
	assert_int_equal(s.stall_percent, 10);
	assert_int_equal(s.growth_bytes, 0);
	assert_int_equal(pressure_parse(&s, "10M/2m", "25%", &err), 0);
	assert_int_equal(s.growth_bytes, 10 * MIB);
	assert_int_equal(s.growth_ns, 120 * (uint64_t)SECOND);
	assert_int_equal(s.stall_percent, 25);
	assert_int_equal(pressure_parse(&s, "", "off", &err), 0);
	assert_int_equal(s.stall_percent, 0);
	for (size_t i = 0; i < sizeof(wrong_growth) / sizeof(wrong_growth[0]); i++)
		assert_int_equal(pressure_parse(&s, wrong_growth[i], NULL, &err), -EINVAL);
	for (size_t i = 0; i < sizeof(wrong_stall) / sizeof(wrong_stall[0]); i++)
		assert_int_equal(pressure_parse(&s, NULL, wrong_stall[i], &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_resident),	      TEST_IN_FOLDER(test_growth),
		TEST_IN_FOLDER(test_version_1),	      TEST_IN_FOLDER(test_version_2),
		TEST_IN_FOLDER(test_resident_bounds), TEST_IN_FOLDER(test_growth_bounds),
		TEST_IN_FOLDER(test_files),	      TEST_IN_FOLDER(test_limit_bounds),
		TEST_IN_FOLDER(test_stall_bounds),    TEST_IN_FOLDER(test_system),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
