/* URLs of ClickHouse: what is taken, what is refused, and that nothing of a password is told. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/clickhouse/url.h"
#include "tests/unit/temporary.h"

static struct clickhouse_url url;
static struct err_text err;

static int parse(const char *text)
{
	err.text[0] = '\0';
	return clickhouse_url_parse(text, &url, &err);
}

static void refused(const char *text, const char *why)
{
	assert_int_equal(parse(text), -EINVAL);
	if (!strstr(err.text, why))
		fail_msg("%s: \"%s\" does not say \"%s\"", text, err.text, why);
}

static void test_parts(void **state)
{
	(void)state;
	assert_int_equal(parse("clickhouse://me:se%3Acret@host.example:9/heap_1"), 0);
	assert_false(url.tls);
	assert_string_equal(url.user, "me");
	assert_string_equal(url.password, "se:cret");
	assert_string_equal(url.database, "heap_1");
	assert_string_equal(url.cluster, "");
	assert_int_equal(url.count, 1);
	assert_string_equal(url.hosts[0].name, "host.example");
	assert_int_equal(url.hosts[0].port, 9);

	assert_int_equal(parse("clickhouses://h/d"), 0);
	assert_true(url.tls);
	assert_int_equal(url.hosts[0].port, 8443);
	assert_string_equal(url.user, "");
	assert_string_equal(url.password, "");
}

static void test_hosts(void **state)
{
	char text[CLICKHOUSE_HOST_TEXT], whole[256];

	(void)state;
	assert_int_equal(parse("clickhouse://u@h1,[fe80::1]:65535,10.0.0.1:1/db?cluster=c-1"), 0);
	assert_int_equal(url.count, 3);
	assert_string_equal(url.cluster, "c-1");
	assert_string_equal(clickhouse_host_format(&url.hosts[0], text), "h1:8123");
	assert_string_equal(clickhouse_host_format(&url.hosts[1], text), "[fe80::1]:65535");
	assert_string_equal(clickhouse_host_format(&url.hosts[2], text), "10.0.0.1:1");
	assert_string_equal(clickhouse_url_format(&url, whole, sizeof(whole)),
			    "clickhouse://u@h1:8123,[fe80::1]:65535,10.0.0.1:1/db");
	assert_string_equal(clickhouse_url_format(&url, whole, 20), "clickhouse://u@h1:8");
}

static void test_options(void **state)
{
	(void)state;
	assert_int_equal(parse("clickhouses://h/d?ca=%2Fa%20b&password_file=/p/q"), 0);
	assert_string_equal(url.ca, "/a b");
	assert_string_equal(url.password_file, "/p/q");
	refused("clickhouse://h/d?", "unknown option");
	refused("clickhouse://h/d?x=1", "unknown option");
	refused("clickhouse://h/d?cluster=", "cluster is missing");
	refused("clickhouse://h/d?cluster=a'b", "cluster may have only");
	refused("clickhouse://h/d?ca=%0a", "control character");
	refused("clickhouse://h1,h2/d", "?cluster=NAME");
}

static void test_refused(void **state)
{
	(void)state;
	refused("clickhouse://h/system", "the database system is ClickHouse's own");
	refused("clickhouse://h/INFORMATION_SCHEMA?cluster=c", "ClickHouse's own");
	refused("clickhouse://h/information_schema", "ClickHouse's own");
	assert_int_equal(parse("clickhouse://h/system_1"), 0);
	refused("http://h/d", "no URL of ClickHouse");
	refused("clickhouse:/h/d", "no URL of ClickHouse");
	refused("clickhouse://h", "database is missing");
	refused("clickhouse://h/", "database's name is missing");
	refused("clickhouse:///d", "host is missing");
	refused("clickhouse://u@/d", "host is missing");
	refused("clickhouse://h1,,h2/d?cluster=c", "host is missing");
	refused("clickhouse://h/a-b", "database's name may have only");
	refused("clickhouse://h/a/b", "database's name may have only");
	refused("clickhouse://h/a`b", "database's name may have only");
	refused("clickhouse://h:0/d", "port");
	refused("clickhouse://h:65536/d", "port");
	refused("clickhouse://h:99999999999999999999/d", "port");
	refused("clickhouse://h:/d", "port");
	refused("clickhouse://h:8x/d", "port");
	refused("clickhouse://[::1/d", "brackets");
	refused("clickhouse://[::1]x/d", "character that no name has");
	refused("clickhouse://h x/d", "character that no name has");
	refused("clickhouse://u%0d%0aX-Evil@h/d", "control character");
	refused("clickhouse://u%@h/d", "%25");
	refused("clickhouse://u%4@h/d", "%25");
	refused("clickhouse://u%zz@h/d", "%25");
	refused("clickhouse://u%00@h/d", "control character");
}

static char *repeat(char *out, const char *before, char c, size_t count, const char *after)
{
	size_t n = strlen(before);

	memcpy(out, before, n);
	memset(out + n, c, count);
	memcpy(out + n + count, after, strlen(after) + 1);
	return out;
}

static void test_lengths(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(parse(repeat(text, "clickhouse://", 'h', 255, "/d")), 0);
	refused(repeat(text, "clickhouse://", 'h', 256, "/d"), "longer than 255");
	assert_int_equal(parse(repeat(text, "clickhouse://h/", 'd', 64, "")), 0);
	refused(repeat(text, "clickhouse://h/", 'd', 65, ""), "longer than 64");
	assert_int_equal(parse(repeat(text, "clickhouse://", 'u', 64, "@h/d")), 0);
	refused(repeat(text, "clickhouse://", 'u', 65, "@h/d"), "longer than 64");
	assert_int_equal(parse(repeat(text, "clickhouse://u:", 'p', 256, "@h/d")), 0);
	refused(repeat(text, "clickhouse://u:", 'p', 257, "@h/d"), "longer than 256");
	refused(repeat(text, "clickhouse://h/d?ca=", 'p', 1025, ""), "longer than 1024");
	refused(repeat(text, "clickhouse://h/d?ca=", 'p', 5000, ""), "longer than 4096");
	refused("clickhouse://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,1,2,3,4,5,6,7/d?"
		"cluster=c",
		"more than 32");
	assert_int_equal(parse("clickhouse://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,"
			       "1,2,3,4,5,6/d?cluster=c"),
			 0);
}

/* However a URL is wrong, no message has a part of what may be its password. */
static void test_password_not_told(void **state)
{
	static const char *const wrong[] = {
		"clickhouse://u:hush@h",	   "clickhouse://u:hu/hush@h/d",
		"clickhouse://u:hush/hush@h/d",	   "clickhouse://u:hush?hush@h/d",
		"clickhouse://u:hush#hush@h/d",	   "clickhouse://u:hush%@h/d",
		"clickhouse://u:hush@h:hush/d",	   "clickhouse://u:hush@hush hush/d",
		"clickhouse://u:hush@h/d?hush=",   "clickhouse://u:hush/d",
		"clickhouse://u:hush@h/hush hush", "clickhouse://u:hush%01@h/d",
	};
	char whole[256];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		refused(wrong[i], "");
		assert_null(strstr(err.text, "hush"));
	}
	assert_int_equal(parse("clickhouse://u:hush@h/d"), 0);
	assert_null(strstr(clickhouse_url_format(&url, whole, sizeof(whole)), "hush"));
	clickhouse_url_clear(&url);
	assert_null(memmem(&url, sizeof(url), "hush", 4));
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void test_password_elsewhere(void **state)
{
	char path[96], text[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/password", temporary_folder);
	snprintf(text, sizeof(text), "clickhouse://u@h/d?password_file=%s", path);

	assert_int_equal(parse("clickhouse://u:own@h/d"), 0);
	assert_int_equal(clickhouse_url_password(&url, "other", &err), 0);
	assert_string_equal(url.password, "own");
	assert_int_equal(parse("clickhouse://u@h/d"), 0);
	assert_int_equal(clickhouse_url_password(&url, NULL, &err), 0);
	assert_string_equal(url.password, "");
	assert_int_equal(clickhouse_url_password(&url, "a\nb", &err), -EINVAL);
	assert_int_equal(clickhouse_url_password(&url, "variable", &err), 0);
	assert_string_equal(url.password, "variable");

	assert_int_equal(parse(text), 0);
	assert_int_equal(clickhouse_url_password(&url, "variable", &err), -ENOENT);
	write_file(path, "of the file\nrest", 0600);
	assert_int_equal(clickhouse_url_password(&url, "variable", &err), 0);
	assert_string_equal(url.password, "of the file");
	assert_int_equal(parse(text), 0);
	write_file(path, "\n", 0600);
	assert_int_equal(clickhouse_url_password(&url, NULL, &err), -EINVAL);
	write_file(path, "hush", 0644);
	assert_true(clickhouse_url_password(&url, NULL, &err) < 0);
	assert_non_null(strstr(err.text, path));
	assert_null(strstr(err.text, "hush"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_password_not_told),
		TEST_IN_FOLDER(test_password_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
