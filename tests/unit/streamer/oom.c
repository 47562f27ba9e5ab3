/* Where the OOM killer's counter stands: both versions of cgroups, in and outside of containers,
 * and none. */
#include "agent/watch/oom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define V1 "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
#define V2 "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static void test_cgroup(void **state)
{
	static const struct {
		const char *text, *path;
		bool version_2;
	} cases[] = {
		{"0::/system.slice/a.service\n", "/system.slice/a.service", true},
		{"5:devices:/x\n4:memory:/jobs/1\n0::/\n", "/jobs/1", false},
		{"4:cpu,memory:/both\n0::/", "/both", false},
		{"4:memory_of_another_kind:/no\n0::/yes\n", "/yes", true},
		{"1:name=systemd:/user:1\n0::/with:colons", "/with:colons", true},
		{"1:name=systemd:/\n", NULL, true},
		{"", NULL, true},
		{"nonsense\n0:", NULL, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];
		bool version_2;
		const char *path;

		memcpy(text, cases[i].text, strlen(cases[i].text) + 1);
		path = oom_cgroup(text, &version_2);
		if (!cases[i].path) {
			assert_null(path);
			continue;
		}
		assert_string_equal(path, cases[i].path);
		assert_int_equal(version_2, cases[i].version_2);
	}
}

static void assert_folder(const char *line, const char *path, bool version_2, const char *expected)
{
	char out[64], split[200];
	bool found;

	snprintf(split, sizeof(split), "%.*s", (int)strcspn(line, "\n"), line);
	found = oom_folder(split, path, version_2, out, sizeof(out));

	assert_int_equal(found, expected != NULL);
	if (expected)
		assert_string_equal(out, expected);
}

static void test_folder(void **state)
{
	const char *inner = "35 31 0:32 /docker/ab /mnt rw - cgroup cgroup rw,cpu,memory\n";

	(void)state;
	assert_folder(V1, "/jobs/1", false, "/sys/fs/cgroup/memory/jobs/1");
	assert_folder(V1, "/jobs/1", true, NULL);
	assert_folder(V2, "/a.service", true, "/sys/fs/cgroup/a.service");
	assert_folder(V2, "/a.service", false, NULL);
	assert_folder(inner, "/docker/ab/x", false, "/mnt/x");
	assert_folder(inner, "/docker/ab", false, "/mnt");
	assert_folder(inner, "/docker/abc", false, NULL);
	assert_folder("35 31 0:32 / /mnt rw - cgroup cgroup rw,cpu\n", "/", false, NULL);
	assert_folder("35 31 0:32 / /proc rw - proc proc rw\n", "/", true, NULL);
	assert_folder("nonsense", "/", true, NULL);
	assert_folder("35 31 0:32 / /a\\040b\\134 rw - cgroup2 none rw\n", "/x", true, "/a b\\/x");
	assert_folder(V2, "/0123456789/0123456789/0123456789/0123456789/01234567890123456789", true,
		      NULL);
}

static uint64_t count_in(const char *text)
{
	int fd = memfd_create("counter", 0);
	uint64_t count;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	count = oom_count(fd);
	close(fd);
	return count;
}

static void test_count(void **state)
{
	(void)state;
	assert_int_equal(count_in("low 0\nhigh 7\nmax 9\noom 4\noom_kill 3\noom_group_kill 5\n"),
			 3);
	assert_int_equal(count_in("oom_kill_disable 0\nunder_oom 0\noom_kill 12\n"), 12);
	assert_int_equal(count_in("oom_kill 1"), 1);
	assert_true(count_in("oom_kill_disable 0\nunder_oom 0\n") == UINT64_MAX);
	assert_true(count_in("") == UINT64_MAX);
	assert_true(oom_count(-1) == UINT64_MAX);
}

/* On this machine, whatever it has: somewhere there is a counter, and nobody was ended
 * meanwhile. */
static void test_here(void **state)
{
	struct oom_watch watch;

	(void)state;
	oom_begin(&watch, getpid(), 5000000000);
	if (access("/proc/vmstat", R_OK) == 0)
		assert_true(watch.fd >= 0 && watch.counter);
	watch.kills++;
	oom_look(&watch, getpid(), true, 6000000000);
	assert_int_equal(oom_verdict(&watch, 7000000000), 0);
	oom_end(&watch);
	assert_int_equal(watch.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
