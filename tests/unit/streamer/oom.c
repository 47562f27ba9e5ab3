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

#define COUNTER 77 /* of no kind that is known */
#define NOW	UINT64_C(100000000000)

/* A watch of this counter, as of the cgroup. */
static struct oom_watch watch_of(const char *text, uint64_t cgroup)
{
	struct oom_watch w = {.fd = memfd_create("counter", MFD_CLOEXEC),
			      .counter = COUNTER,
			      .cgroup = cgroup,
			      .kills = 3,
			      .looked_ns = NOW};

	assert_true(w.fd >= 0);
	assert_int_equal(pwrite(w.fd, text, strlen(text), 0), strlen(text));
	return w;
}

static void rewrite(const struct oom_watch *w, const char *text)
{
	assert_int_equal(ftruncate(w->fd, 0), 0);
	assert_int_equal(pwrite(w->fd, text, strlen(text), 0), strlen(text));
}

/* A process that ends was killed if the counter has risen a moment ago. */
static void test_verdict(void **state)
{
	struct oom_watch w = watch_of("oom_kill 3\n", 1);

	(void)state;
	assert_int_equal(oom_verdict(&w, NOW), 0);
	rewrite(&w, "oom_kill 2\n"); /* another file by now */
	assert_int_equal(oom_verdict(&w, NOW), 0);
	rewrite(&w, "low 5\n");
	assert_int_equal(oom_verdict(&w, NOW), 0);
	assert_int_equal(w.kills, 3);
	rewrite(&w, "oom_kill 4\n");
	assert_int_equal(oom_verdict(&w, NOW), COUNTER);
	assert_int_equal(w.kills, 4);
	assert_int_equal(w.rose_ns, NOW);
	assert_int_equal(oom_verdict(&w, NOW + OOM_RECENT_NS), COUNTER);
	assert_int_equal(oom_verdict(&w, NOW + OOM_RECENT_NS + 1), 0);
	rewrite(&w, "oom_kill 5\n");
	assert_int_equal(oom_verdict(&w, NOW + 2 * OOM_RECENT_NS), COUNTER);
	oom_end(&w);
	assert_int_equal(oom_verdict(&w, NOW + 9 * OOM_RECENT_NS), 0);
}

/* When it looks, and when it takes another cgroup's counter. */
static void test_looks(void **state)
{
	const struct {
		uint64_t after_ns;
		bool at_once, same, rose;
		bool looks, kept;
	} cases[] = {
		{OOM_LOOK_NS - 1, false, false, false, false, true},
		{OOM_LOOK_NS, false, true, false, true, true},
		{OOM_LOOK_NS, false, false, false, true, false},
		{OOM_LOOK_NS, false, false, true, true, true}, /* it is being killed */
		{0, true, true, false, true, true},
		{0, true, false, true, true, false},
	};
	struct oom_watch own;

	(void)state;
	oom_begin(&own, getpid(), NOW);
	if (!own.cgroup)
		skip(); /* this system has no cgroups */
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct oom_watch w = watch_of(cases[i].rose ? "oom_kill 4\n" : "oom_kill 3\n",
					      own.cgroup + !cases[i].same);

		oom_look(&w, getpid(), cases[i].at_once, NOW + cases[i].after_ns);
		assert_int_equal(w.looked_ns, cases[i].looks ? NOW + cases[i].after_ns : NOW);
		assert_int_equal(w.counter == COUNTER, cases[i].kept);
		assert_int_equal(w.cgroup, own.cgroup + (cases[i].kept && !cases[i].same));
		if (!cases[i].kept)
			assert_int_equal(w.rose_ns, 0);
		else if (cases[i].looks)
			assert_int_equal(w.rose_ns, cases[i].rose ? NOW + cases[i].after_ns : 0);
		oom_end(&w);
	}
	/* Of a process that is gone nothing changes. */
	oom_look(&own, 0x7f000000, true, NOW + 1);
	assert_int_equal(own.looked_ns, NOW + 1);
	assert_true(own.cgroup);
	oom_end(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup),	cmocka_unit_test(test_folder),
		cmocka_unit_test(test_count),	cmocka_unit_test(test_here),
		cmocka_unit_test(test_verdict), cmocka_unit_test(test_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
