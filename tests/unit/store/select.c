/* Streams that a selector chooses, and the collector's own tags. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/select.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/tag_rules.h"
#include "tests/unit/temporary.h"

#define TEXT(text) ((char *)(uintptr_t)(text))

static struct stream_summary stream(void)
{
	return (struct stream_summary){
		.id.bytes = {0x8b, 0x3b, 0x0c},
		.name = TEXT("metricd"),
		.executable = TEXT("/usr/bin/metricd-2"),
		.host = TEXT("gw-17"),
		.architecture = TEXT("aarch64"),
		.pid = 4711,
		.state = STREAM_LIVE,
		.labels = {TEXT("Raspberry Pi 4 Model B"), TEXT("/system.slice/metricd.service"),
			   TEXT("15dfff32"), TEXT("site=berlin,version=1.4")},
	};
}

static bool matches(const char *text)
{
	const struct stream_summary s = stream();
	struct selector *selector;
	struct err_text err = {0};
	bool result;

	if (selector_parse(text, &selector, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	result = selector_matches(selector, &s);
	selector_free(selector);
	return result;
}

static void matching(void **state)
{
	static const char *const yes[] = {
		"host=gw-17\tstate=live\n",
		"tag:rack!=*",
		"!tag:rack=?",
		"id=8b3b",
		"id=8B3B0C",
		"id=8b*",
		"name=metricd",
		"name=metric?",
		"name=*ric*",
		"name=x,metricd",
		"name=metricd,x",
		"host=gw-*",
		"host=gw-1?",
		"host!=gw-2*",
		"!host=gw-2*",
		"!host!=gw-1*",
		"architecture=aarch64",
		"executable=/usr/bin/*",
		"board=\"Raspberry Pi*\"",
		"board=Raspberry*",
		"board=\"a,b\",\"Raspberry Pi 4 Model B\"",
		"cgroup=*.service",
		"service=metricd",
		"build=15df",
		"build=15DFFF32",
		"pid=4711",
		"state=live",
		"version=1.4",
		"version!=1.5",
		"tag:site=berlin",
		"tag:site",
		"!tag:rack",
		"tag:rack!=7",
		"tag:rack=",
		"host=gw-* version=1.4 tag:site=ber*",
		"name=[a-n]etricd",
	};
	static const char *const no[] = {
		"id=8b4",
		"id=b3b",
		"id=",
		"name=metric",
		"name=METRICD",
		"name=",
		"host=gw-2*",
		"host!=gw-*",
		"!host=gw-*",
		"build=5dfff",
		"build!=15df",
		"pid=471",
		"state=ended",
		"state!=live",
		"version!=1.4",
		"version=1.4.1",
		"tag:site=Berlin",
		"tag:rack",
		"!tag:site",
		"tag:site!=berlin",
		"service=metric",
		"board=Raspberry",
		"host=gw-* version=1.5",
		"host=gw-1",
		"tag:rack=*",
		"tag:site!=*",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!matches(yes[i]))
			fail_msg("%s does not match", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (matches(no[i]))
			fail_msg("%s matches", no[i]);
}

static void snapshots_have_a_state(void **state)
{
	struct stream_summary s = stream();
	struct selector *selector;

	(void)state;
	s.is_snapshot = true;
	assert_int_equal(selector_parse("state=snapshot", &selector, NULL), 0);
	assert_true(selector_matches(selector, &s));
	selector_free(selector);
	assert_true(selector_matches(NULL, &s));
}

static void nonsense(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"foo=1", "streams can't be selected by 'foo'"},
		{"site=berlin", "tag:KEY for a tag, as in tag:site=berlin"},
		{"=1", "streams can't be selected by ''"},
		{"tag:=1", "streams can't be selected by 'tag:'"},
		{"host!gw", "has NAME=PATTERN or NAME!=PATTERN, not 'host!gw'"},
		{"host=\"gw", "a quote without its end"},
		{"", "the selector is empty"},
		{" \t", "the selector is empty"},
		{"host=gw foo", "streams can't be selected by 'foo'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selector *selector;
		struct err_text err = {0};

		assert_int_equal(selector_parse(cases[i].text, &selector, &err), -EINVAL);
		if (!strstr(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static void long_patterns(void **state)
{
	struct selector *selector;
	char text[5000] = "name=";

	(void)state;
	memset(text + 5, 'x', sizeof(text) - 6);
	assert_int_equal(selector_parse(text, &selector, NULL), -EINVAL);
	text[5 + 4351] = '\0';
	assert_int_equal(selector_parse(text, &selector, NULL), 0);
	selector_free(selector);
}

/* ---- rules ---- */

static void tagged(const char *expected)
{
	struct stream_summary s = stream();

	s.labels.tags = strdup(s.labels.tags);
	assert_int_equal(tag_rules_apply(temporary_folder, &s, 1, NULL), 0);
	assert_string_equal(s.labels.tags, expected);
	free(s.labels.tags);
}

static void rules(void **state)
{
	struct err_text err = {0};
	struct tag_rule *list;
	uint64_t number;
	size_t count;

	(void)state;
	tagged("site=berlin,version=1.4");
	assert_int_equal(tag_rules_read(temporary_folder, &list, &count, NULL), 0);
	assert_int_equal(count, 0);
	tag_rules_free(list, count);

	assert_int_equal(
		tag_rules_add(temporary_folder, "stage=canary", "host=gw-*", &number, NULL), 0);
	assert_int_equal(number, 1);
	tagged("site=berlin,version=1.4,stage=canary");
	assert_int_equal(tag_rules_add(temporary_folder, "no=1", "host=x", &number, NULL), 0);
	/* A rule sees the tags of those before it. */
	assert_int_equal(
		tag_rules_add(temporary_folder, "site=,ring=0", "tag:stage=canary", &number, NULL),
		0);
	tagged("version=1.4,stage=canary,ring=0");
	assert_int_equal(tag_rules_remove(temporary_folder, 1, NULL), 0);
	tagged("site=berlin,version=1.4");
	assert_int_equal(tag_rules_remove(temporary_folder, 1, NULL), -ENOENT);
	assert_int_equal(tag_rules_add(temporary_folder, "all=1", "", &number, NULL), 0);
	assert_int_equal(number, 4);
	tagged("site=berlin,version=1.4,all=1");

	assert_int_equal(tag_rules_read(temporary_folder, &list, &count, NULL), 0);
	assert_int_equal(count, 3);
	assert_int_equal(list[0].number, 2);
	assert_string_equal(list[1].tags, "site=,ring=0");
	assert_string_equal(list[1].selector, "tag:stage=canary");
	tag_rules_free(list, count);

	assert_int_equal(tag_rules_add(temporary_folder, "all", "", &number, &err), -EINVAL);
	assert_int_equal(tag_rules_add(temporary_folder, "a b=1", "", &number, &err), -EINVAL);
	assert_int_equal(tag_rules_add(temporary_folder, "a=1,=2", "", &number, &err), -EINVAL);
	assert_int_equal(tag_rules_add(temporary_folder, "", "", &number, &err), -EINVAL);
	assert_int_equal(tag_rules_add(temporary_folder, "a=1", "foo=1", &number, &err), -EINVAL);
	tagged("site=berlin,version=1.4,all=1");
}

/* A damaged file is told to who asks for it, and streams have their own tags. */
static void damaged_rules(void **state)
{
	char path[256];
	struct err_text err = {0};
	struct tag_rule *list;
	size_t count;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/tags.sqlite", temporary_folder);
	f = fopen(path, "w");
	for (int i = 0; i < 4096; i++)
		fputc('x', f);
	fclose(f);
	assert_int_equal(tag_rules_read(temporary_folder, &list, &count, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "tags.sqlite"));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching), cmocka_unit_test(snapshots_have_a_state),
		cmocka_unit_test(nonsense), cmocka_unit_test(long_patterns),
		cmocka_unit_test(rules),    cmocka_unit_test(damaged_rules),
	};

	return cmocka_run_group_tests(tests, temporary_setup, temporary_teardown);
}
