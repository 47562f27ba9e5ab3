/* The package that names the code of a file, by lists as dpkg keeps them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/symbols/debian.h"
#include "collector/symbols/elfid.h"

static char folder[] = "/tmp/heapcast-debian-XXXXXX", self[4096];
static struct elf_id id;

static void write_list(const char *name, const char *line)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "/.\n/usr\n%s\n/usr/share/doc\n", line);
	fclose(file);
}

static void remove_list(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

static int prepare(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_non_null(realpath("/proc/self/exe", self));
	assert_int_equal(elf_id_read(self, &id), 0);
	assert_true(id.file.build_id_length > 0);
	return 0;
}

static int clean(void **state)
{
	(void)state;
	return rmdir(folder);
}

static char *ask(void)
{
	return debian_package(self, id.file.build_id, id.file.build_id_length, folder);
}

static void test_found(void **state)
{
	char *package, line[5000];

	(void)state;
	snprintf(line, sizeof(line), "%s.old\n/x%s", self, self); /* lines that only hold it */
	write_list("other.list", line);
	write_list("libmine:amd64.md5sums", self);
	assert_null(ask());
	write_list("libmine:amd64.list", self);
	package = ask();
	assert_string_equal(package, "libmine-dbgsym");
	free(package);
	remove_list("libmine:amd64.list");
	write_list("libc6:arm64.list", self);
	package = ask();
	assert_string_equal(package, "libc6-dbg");
	free(package);
	remove_list("libc6:arm64.list");
	remove_list("other.list");
	remove_list("libmine:amd64.md5sums");
}

/* Another file at the same path came with another package. */
static void test_other_file(void **state)
{
	uint8_t other[64] = {1};

	(void)state;
	write_list("mine.list", self);
	assert_null(debian_package(self, other, id.file.build_id_length, folder));
	assert_null(debian_package(self, NULL, 0, folder));
	assert_null(debian_package("/no/such", id.file.build_id, id.file.build_id_length, folder));
	assert_null(debian_package(self, id.file.build_id, id.file.build_id_length, "/no/such"));
	remove_list("mine.list");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_other_file),
	};

	return cmocka_run_group_tests(tests, prepare, clean);
}
