/* What a program is known by: tags of agents that say anything, and those that are added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/recording/labels.h"

static void add(const char *tags, const char *more, const char *expected)
{
	char *text = labels_add_tags(tags, more);

	assert_string_equal(text, expected);
	free(text);
}

static void tags_are_added(void **state)
{
	(void)state;
	add("", "", "");
	add(NULL, "a=1", "a=1");
	add("a=1,b=2", "c=3", "a=1,b=2,c=3");
	add("a=1,b=2", "a=3", "b=2,a=3");
	add("a=1,b=2", "a=", "b=2");
	add("a=1", "a=,a=2", "a=2");
	add("a=1,a=2,ab=3", "", "a=2,ab=3");
	add("a=1,=2,b,c=", "d", "a=1");
}

static void find(const char *tags, const char *key, const char *expected)
{
	size_t length = 0;
	const char *value = labels_tag(tags, key, strlen(key), &length);

	if (!expected) {
		assert_null(value);
		return;
	}
	assert_non_null(value);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(value, expected, length);
}

static void tags_are_found(void **state)
{
	(void)state;
	find("site=berlin,version=1.4=x", "site", "berlin");
	find("site=berlin,version=1.4=x", "version", "1.4=x");
	find("site=berlin", "sit", NULL);
	find("site=berlin", "sites", NULL);
	find("site=,a=b", "site", NULL);
	find("", "site", NULL);
	find(NULL, "site", NULL);
}

static void service(const char *cgroup, const char *expected)
{
	size_t length = 0;
	const char *name = labels_service(cgroup, &length);

	if (!expected) {
		assert_null(name);
		return;
	}
	assert_non_null(name);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(name, expected, length);
}

static void services(void **state)
{
	(void)state;
	service("/system.slice/metricd.service", "metricd");
	service("/user.slice/user@1.service/app.slice/editor.service/sub", "editor");
	service("/system.slice/a.service", "a");
	service("/system.slice/.service", NULL);
	service("/system.slice/docker-1.scope", NULL);
	service("/", NULL);
	service(NULL, NULL);
}

static ProtobufCBinaryData bytes(const char *text)
{
	return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static void of_a_process(void **state)
{
	ProtobufCBinaryData tags[] = {bytes("site=ber,lin"), bytes("a=1\n2"), bytes("b=\xff"),
				      bytes("site=2"),	     bytes("x"),      bytes("c=")};
	Heapcast__Process p = HEAPCAST__PROCESS__INIT;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Module module = HEAPCAST__MODULE__INIT, *modules[] = {&module};
	struct labels labels, copy;

	(void)state;
	p.board = (char *)(uintptr_t) "Board\t2";
	p.cgroup = bytes("/a.service");
	p.tag = tags;
	p.n_tag = sizeof(tags) / sizeof(tags[0]);
	assert_int_equal(labels_of(&p, &labels), 0);
	assert_string_equal(labels.board, "Board 2");
	assert_string_equal(labels.cgroup, "/a.service");
	assert_string_equal(labels.build, "");
	assert_string_equal(labels.tags, "a=1 2,b=\xef\xbf\xbd,site=2");

	batch.module = modules;
	batch.n_module = 1;
	module.path = bytes("/usr/bin/x");
	module.build_id = bytes("\x01\xab");
	assert_int_equal(labels_take_build(&labels, &batch, NULL), 0);
	assert_int_equal(labels_take_build(&labels, &batch, "/usr/bin/xy"), 0);
	assert_int_equal(labels_take_build(&labels, &batch, "/usr/bin/y"), 0);
	assert_string_equal(labels.build, "");
	assert_int_equal(labels_take_build(&labels, &batch, "/usr/bin/x"), 0);
	assert_string_equal(labels.build, "01ab");
	module.build_id.len = 0;
	assert_int_equal(labels_take_build(&labels, &batch, "/usr/bin/x"), 0);
	assert_string_equal(labels.build, "01ab");

	assert_int_equal(labels_copy(&labels, &copy), 0);
	assert_true(labels_same(&labels, &copy));
	copy.tags[0] = 'z';
	assert_false(labels_same(&labels, &copy));
	labels_done(&copy);
	assert_false(labels_same(&labels, &copy));
	assert_int_equal(labels_copy(&copy, &copy), 0);
	assert_string_equal(copy.board, "");
	labels_done(&copy);
	labels_done(&labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags_are_added),
		cmocka_unit_test(tags_are_found),
		cmocka_unit_test(services),
		cmocka_unit_test(of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
