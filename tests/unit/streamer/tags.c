/* Tags of programs: what is a tag, what replaces what, and what has no room. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/core/tags.h"
#include "base/error.h"

static void says(const struct tags *tags, const char *expected)
{
	char text[2 * TAGS_BYTES];

	tags_text(tags, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void added(void **state)
{
	struct tags tags = {0};

	(void)state;
	assert_null(tags_next(&tags, NULL));
	says(&tags, "");
	assert_int_equal(tags_add(&tags, "site=berlin,version=1.4", NULL), 0);
	assert_int_equal(tags_add(&tags, "Role_2.x-y=gate way", NULL), 0);
	says(&tags, "site=berlin,version=1.4,Role_2.x-y=gate way");
	assert_int_equal(tags_add(&tags, "version=1.5", NULL), 0);
	says(&tags, "site=berlin,Role_2.x-y=gate way,version=1.5");
	assert_int_equal(tags_add(&tags, ",, \tsite= \t,,", NULL), 0);
	says(&tags, "Role_2.x-y=gate way,version=1.5");
	assert_int_equal(tags_add(&tags, "vers=2,a=b=c,u=\xc3\xbc", NULL), 0);
	says(&tags, "Role_2.x-y=gate way,version=1.5,vers=2,a=b=c,u=\xc3\xbc");
	assert_int_equal(tags_add(&tags, "gone=", NULL), 0);
	assert_int_equal(tags_add(&tags, "Role_2.x-y=,version=,vers=,a=,u=", NULL), 0);
	says(&tags, "");
}

static void refused(void **state)
{
	static const char *const wrong[] = {
		"site",		  "=x",	       "a b=c",
		"a=\x01",	  "a=\x7f",    "a=\xc2\x80",
		"a=\xff",	  "ok=1,site", "\xc3\xbc=1",
		"a=\xed\xa0\x80", "ok=1,a=\n", "012345678901234567890123456789012=1",
	};
	struct tags tags = {0};
	struct err_text err;

	(void)state;
	tags_add(&tags, "site=berlin", NULL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err = (struct err_text){0};
		assert_int_equal(tags_add(&tags, wrong[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "a tag is KEY=VALUE, such as site=berlin"));
		says(&tags, "site=berlin");
	}
	assert_int_equal(tags_add(&tags, "01234567890123456789012345678901=1", NULL), 0);
}

static void values_are_bounded(void **state)
{
	char text[8 + TAG_VALUE_MAX] = "k=";
	struct tags tags = {0};

	(void)state;
	memset(text + 2, 'v', TAG_VALUE_MAX);
	assert_int_equal(tags_add(&tags, text, NULL), 0);
	text[2 + TAG_VALUE_MAX] = 'v';
	assert_int_equal(tags_add(&tags, text, NULL), -EINVAL);
}

static void too_many(void **state)
{
	struct tags tags = {0};
	char tag[32];

	(void)state;
	for (unsigned i = 0; i < TAGS_MAX; i++) {
		snprintf(tag, sizeof(tag), "k%u=1", i);
		assert_int_equal(tags_add(&tags, tag, NULL), 0);
	}
	assert_int_equal(tags_add(&tags, "other=1", NULL), -ENOSPC);
	assert_int_equal(tags_add(&tags, "k0=2", NULL), 0);
	assert_int_equal(tags_add(&tags, "k1=,other=1", NULL), 0);
}

/* They fill the room to its last byte, and no more. */
static void too_long(void **state)
{
	struct tags tags = {0};
	char tag[128];
	size_t left;

	(void)state;
	memset(tag, 'v', sizeof(tag));
	for (unsigned i = 0; i < 2; i++) {
		tag[0] = (char)('a' + i);
		tag[1] = '=';
		tag[90] = '\0';
		assert_int_equal(tags_add(&tags, tag, NULL), 0);
	}
	left = TAGS_BYTES - tags.length;
	assert_true(left < 90);
	tag[0] = 'c';
	tag[left] = '\0';
	assert_int_equal(tags_add(&tags, tag, NULL), -ENOSPC);
	tag[left - 1] = '\0';
	assert_int_equal(tags_add(&tags, tag, NULL), 0);
	assert_int_equal(tags.length, TAGS_BYTES);
}

static void joined(void **state)
{
	struct tags agent = {0}, own = {0};

	(void)state;
	tags_add(&agent, "site=berlin,version=1.4", NULL);
	tags_add(&own, "version=2,job=7", NULL);
	assert_int_equal(tags_add_missing(&own, &agent), 0);
	says(&own, "version=2,job=7,site=berlin");
}

/* What a program has of its own stays. */
static void no_room_to_join(void **state)
{
	struct tags agent = {0}, own = {0};
	char tag[32];

	(void)state;
	for (unsigned i = 0; i < TAGS_MAX; i++) {
		snprintf(tag, sizeof(tag), "k%u=1", i);
		tags_add(&agent, tag, NULL);
	}
	tags_add(&own, "k3=own,job=7,note=x", NULL);
	assert_int_equal(tags_add_missing(&own, &agent), 2);
	says(&own, "k3=own,job=7,note=x,k0=1,k1=1,k2=1,k4=1,k5=1,k6=1,k7=1,k8=1,k9=1,k10=1,k11=1,"
		   "k12=1,k13=1");
}

static void text_is_cut(void **state)
{
	struct tags tags = {0};
	char text[8];

	(void)state;
	tags_add(&tags, "site=berlin,b=c", NULL);
	tags_text(&tags, text, sizeof(text));
	assert_string_equal(text, "site=be");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added),
		cmocka_unit_test(refused),
		cmocka_unit_test(values_are_bounded),
		cmocka_unit_test(too_many),
		cmocka_unit_test(too_long),
		cmocka_unit_test(joined),
		cmocka_unit_test(text_is_cut),
		cmocka_unit_test(no_room_to_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
