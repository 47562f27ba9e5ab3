/* Lines of cgroup and mountinfo: whole, odd, and cut anywhere. */
#include "base/proc/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_cgroups(void **state)
{
	char both[] = "4:cpu,memory:/both", unified[] = "0::/with:colons",
	     odd[] = "0:", none[] = "";
	struct proc_cgroup c;

	(void)state;
	assert_true(proc_cgroup_parse(both, &c));
	assert_string_equal(c.controllers, "cpu,memory");
	assert_string_equal(c.path, "/both");
	assert_true(proc_cgroup_parse(unified, &c));
	assert_string_equal(c.controllers, "");
	assert_string_equal(c.path, "/with:colons");
	assert_false(proc_cgroup_parse(odd, &c));
	assert_false(proc_cgroup_parse(none, &c));
}

/* As the kernel lists them: version 1 first. */
static void test_main_path(void **state)
{
	char one[] = "12:memory:/m\n1:name=systemd:/s\n",
	     unused[] = "12:memory:/m\n1:name=systemd:/s\n0::/\n",
	     both[] = "1:name=systemd:/s\n0::/u\n", two[] = "0::/u/a.service\n", root[] = "0::/\n",
	     none[] = "12:memory:/m\n3:cpu,cpuacct:/c\nodd\n";

	(void)state;
	assert_string_equal(proc_cgroup_main(one), "/s");
	assert_string_equal(proc_cgroup_main(unused), "/s");
	assert_string_equal(proc_cgroup_main(both), "/u");
	assert_string_equal(proc_cgroup_main(two), "/u/a.service");
	assert_string_equal(proc_cgroup_main(root), "/");
	assert_null(proc_cgroup_main(none));
}

static char *copy(char line[200], const char *text)
{
	snprintf(line, 200, "%s", text);
	return line;
}

static void test_mounts(void **state)
{
	static const char whole[] =
		"35 31 0:32 /a\\040b /mnt\\134\\011\\12\\400 rw shared:9 - cgroup none rw,memory";
	char line[200];
	struct proc_mount m;

	(void)state;
	assert_true(proc_mount_parse(copy(line, whole), &m));
	assert_string_equal(m.root, "/a b");
	assert_string_equal(m.point, "/mnt\\\t\\12\\400");
	assert_string_equal(m.type, "cgroup");
	assert_string_equal(m.options, "rw,memory");
	for (size_t length = 0; length < sizeof(whole) - 1; length++) {
		snprintf(line, sizeof(line), "%.*s", (int)length, whole);
		if (proc_mount_parse(line, &m))
			assert_string_equal(m.type, "cgroup");
	}
	assert_false(proc_mount_parse(copy(line, "1 2 3 - cgroup none rw"), &m));
	assert_false(proc_mount_parse(copy(line, "1 2 0:3 / /mnt rw - cgroup none"), &m));
	assert_false(proc_mount_parse(copy(line, " - "), &m));
	/* Too few fields before the mark: those behind it don't count. */
	assert_false(proc_mount_parse(copy(line, "1 2 0:3 /a - cgroup none rw"), &m));
	/* Three digits behind a backslash, not four and not without one. */
	assert_true(proc_mount_parse(
		copy(line, "1 2 0:3 /a101b\\0404 /\\0407\\047\\048 rw - cgroup none rw"), &m));
	assert_string_equal(m.root, "/a101b 4");
	assert_string_equal(m.point, "/ 7'\\048");
}

static void test_lists(void **state)
{
	(void)state;
	assert_true(proc_list_has("cpu,memory", "memory"));
	assert_true(proc_list_has("memory", "memory"));
	assert_false(proc_list_has("memory_of_another_kind,cpu", "memory"));
	assert_false(proc_list_has("mem", "memory"));
	assert_false(proc_list_has("", "memory"));
}

static void test_below(void **state)
{
	(void)state;
	assert_string_equal(proc_path_below("/a/b", "/a"), "b");
	assert_string_equal(proc_path_below("/a/b", "/a/"), "b");
	assert_string_equal(proc_path_below("/a", "/a"), "");
	assert_string_equal(proc_path_below("/a", "/"), "a");
	assert_string_equal(proc_path_below("/", "/"), "");
	assert_null(proc_path_below("/ab", "/a"));
	assert_null(proc_path_below("/", "/a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroups), cmocka_unit_test(test_main_path),
		cmocka_unit_test(test_mounts),	cmocka_unit_test(test_lists),
		cmocka_unit_test(test_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
