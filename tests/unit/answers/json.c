/*
 * The JSON writer, read back by jansson. Its header has functions of the same names as ours, so it
 * is loaded by hand.
 */
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collector/answers/json.h"

struct json_value; /* jansson's json_t */

static struct {
	struct json_value *(*load)(const char *text, size_t length, size_t flags, void *error);
	void (*free)(struct json_value *value);
	size_t (*array_size)(const struct json_value *array);
	struct json_value *(*member)(const struct json_value *object, const char *key);
	const char *(*string)(const struct json_value *string);
	double (*number)(const struct json_value *number);
} jansson;

#define REJECT_DUPLICATES 0x1
#define DECODE_ANY	  0x4

static void *load_jansson(void)
{
	void *library = dlopen("libjansson.so.4", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return NULL;
	*(void **)&jansson.load = dlsym(library, "json_loadb");
	*(void **)&jansson.free = dlsym(library, "json_delete");
	*(void **)&jansson.array_size = dlsym(library, "json_array_size");
	*(void **)&jansson.member = dlsym(library, "json_object_get");
	*(void **)&jansson.string = dlsym(library, "json_string_value");
	*(void **)&jansson.number = dlsym(library, "json_number_value");
	return library;
}

static struct json_value *read_back(struct buf *out)
{
	struct json_value *value = jansson.load((const char *)out->data, out->length,
						REJECT_DUPLICATES | DECODE_ANY, NULL);

	if (!value)
		fail_msg("not JSON: %.*s", (int)out->length, (const char *)out->data);
	return value;
}

static void nests(void **state)
{
	struct buf out = {0};
	struct json j;
	struct json_value *root;

	(void)state;
	json_init(&j, &out);
	json_object(&j, NULL);
	json_array(&j, "empty");
	json_end(&j, ']');
	json_array(&j, "list");
	json_u64(&j, NULL, 0);
	json_u64(&j, NULL, 9007199254740993u);
	json_i64(&j, NULL, INT64_MIN);
	json_bool(&j, NULL, true);
	json_string(&j, NULL, NULL);
	json_object(&j, NULL);
	json_end(&j, '}');
	json_end(&j, ']');
	json_bool(&j, "last", false);
	json_end(&j, '}');
	assert_string_equal(
		buf_text(&out),
		"{\"empty\":[],\"list\":[0,9007199254740993,-9223372036854775808,true,null,{}],"
		"\"last\":false}");
	root = read_back(&out);
	assert_int_equal(jansson.array_size(jansson.member(root, "list")), 6);
	jansson.free(root);
	buf_done(&out);
}

static void check_string(const char *text, const char *want)
{
	struct buf out = {0};
	struct json j;
	struct json_value *root;

	json_init(&j, &out);
	json_string(&j, NULL, text);
	root = read_back(&out);
	assert_string_equal(jansson.string(root), want);
	jansson.free(root);
	buf_done(&out);
}

static void escapes(void **state)
{
	char all[256];

	(void)state;
	check_string("", "");
	check_string("operator<< \"x\" \\ / </script>", "operator<< \"x\" \\ / </script>");
	check_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x80\xa8",
		     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x80\xa8");
	check_string("a\xff"
		     "b",
		     "a\xef\xbf\xbd"
		     "b");
	check_string("\xc0\x80\xed\xa0\x80",
		     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	check_string("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");
	for (int i = 1; i < 128; i++)
		all[i - 1] = (char)i;
	all[127] = 0;
	check_string(all, all);
}

static void numbers_round_trip(void **state)
{
	static const double values[] = {0,
					-0.0,
					1,
					0.1,
					1.0 / 3,
					1e22,
					123456789.123456789,
					1e308,
					DBL_MIN,
					DBL_MAX,
					5e-324,
					2.5e-7,
					9007199254740993.0,
					-1.7976931348623157e308};
	struct buf out = {0};
	struct json j;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct json_value *root;

		buf_clear(&out);
		json_init(&j, &out);
		json_double(&j, NULL, values[i]);
		root = read_back(&out);
		assert_true(jansson.number(root) == values[i]);
		jansson.free(root);
	}
	buf_clear(&out);
	json_init(&j, &out);
	json_array(&j, NULL);
	json_double(&j, NULL, NAN);
	json_double(&j, NULL, INFINITY);
	json_double(&j, NULL, 0.1);
	json_end(&j, ']');
	assert_string_equal(buf_text(&out), "[null,null,0.1]");
	buf_done(&out);
}

static void random_strings_stay_valid(void **state)
{
	uint64_t seed = 42;
	char text[64];

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct buf out = {0};
		struct json j;

		for (size_t i = 0; i < sizeof(text) - 1; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			text[i] = (char)(seed >> 56);
			if (!text[i])
				text[i] = 1;
		}
		text[sizeof(text) - 1] = 0;
		json_init(&j, &out);
		json_string(&j, NULL, text);
		jansson.free(read_back(&out));
		buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nests),
		cmocka_unit_test(escapes),
		cmocka_unit_test(numbers_round_trip),
		cmocka_unit_test(random_strings_stay_valid),
	};

	if (!load_jansson()) {
		print_message("libjansson.so.4 is not here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
