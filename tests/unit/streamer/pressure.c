/* Triggers of the flight recorder: files as kernels write them, in a folder in place of the
 * system's root. */
#include "agent/watch/pressure.h"

#include <errno.h>
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
		TEST_IN_FOLDER(test_resident),	TEST_IN_FOLDER(test_growth),
		TEST_IN_FOLDER(test_version_1), TEST_IN_FOLDER(test_version_2),
		TEST_IN_FOLDER(test_system),	cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
