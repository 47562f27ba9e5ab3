/* What is on its way, in its file: it comes back as it was, a damaged file is refused whatever byte
 * is wrong, and rows are divided into parts by day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "collector/share/shipment.h"

static char folder[64], path[128];

static void put(struct shipment *s, enum shipment_kind kind, uint32_t day, const char *row)
{
	struct shipment_part *part = shipment_part(s, kind, 1, day);

	assert_non_null(part);
	buf_string(&part->data, row);
	shipment_row(s, part);
}

static void fill(struct shipment *s)
{
	put(s, SHIPMENT_SUMS, 7, "abc");
	put(s, SHIPMENT_STREAMS, 0, "stream");
	put(s, SHIPMENT_SUMS, 8, "d");
	put(s, SHIPMENT_SUMS, 7, "ef");
}

static void test_parts(void **state)
{
	struct shipment s = {0};

	(void)state;
	fill(&s);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.rows, 4);
	assert_int_equal(s.parts[0].day, 7);
	assert_int_equal(s.parts[0].rows, 2);
	assert_int_equal(s.parts[0].data.length, 5);
	assert_memory_equal(s.parts[0].data.data, "abcef", 5);
	assert_true(s.parts[0].batch != s.parts[2].batch);
	shipment_done(&s);
}

static void test_file(void **state)
{
	struct shipment s = {0}, back = {0};
	struct err_text err = {0};
	struct stat st;

	(void)state;
	assert_int_equal(shipment_read(path, &back, &err), -ENOENT);
	fill(&s);
	s.known = true;
	assert_int_equal(shipment_write(&s, path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(shipment_read(path, &back, &err), 0);
	assert_int_equal(back.count, s.count);
	assert_int_equal(back.rows, s.rows);
	assert_true(back.known);
	for (uint32_t i = 0; i < s.count; i++) {
		assert_int_equal(back.parts[i].kind, s.parts[i].kind);
		assert_true(back.parts[i].tried && !back.parts[i].arrived);
		assert_int_equal(back.parts[i].shard, s.parts[i].shard);
		assert_int_equal(back.parts[i].day, s.parts[i].day);
		assert_int_equal(back.parts[i].batch, s.parts[i].batch);
		assert_int_equal(back.parts[i].rows, s.parts[i].rows);
		assert_int_equal(back.parts[i].data.length, s.parts[i].data.length);
		assert_memory_equal(back.parts[i].data.data, s.parts[i].data.data,
				    s.parts[i].data.length);
	}
	shipment_done(&back);
	shipment_done(&s);
}

static size_t read_file(uint8_t *bytes, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t length;

	assert_non_null(file);
	length = fread(bytes, 1, size, file);
	fclose(file);
	return length;
}

static void write_file(const uint8_t *bytes, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
}

static void must_be_refused(const uint8_t *bytes, size_t length)
{
	struct shipment back = {0};
	struct err_text err = {0};

	write_file(bytes, length);
	assert_int_equal(shipment_read(path, &back, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged"));
	assert_int_equal(back.count, 0);
}

static void test_damage(void **state)
{
	struct shipment s = {0};
	uint8_t bytes[1024];
	size_t length;

	(void)state;
	fill(&s);
	assert_int_equal(shipment_write(&s, path, NULL), 0);
	shipment_done(&s);
	length = read_file(bytes, sizeof(bytes));
	for (size_t i = 0; i < length; i++)
		for (int bit = 0; bit < 8; bit++) {
			bytes[i] ^= (uint8_t)(1 << bit);
			must_be_refused(bytes, length);
			bytes[i] ^= (uint8_t)(1 << bit);
		}
	for (size_t cut = 0; cut < length; cut++)
		must_be_refused(bytes, cut);
	must_be_refused(bytes, length + 1 < sizeof(bytes) ? length + 1 : length - 1);
}

/* A link that somebody put there is not followed. */
static void test_links(void **state)
{
	struct shipment s = {0};
	char other[160];

	(void)state;
	snprintf(other, sizeof(other), "%s/other", folder);
	unlink(path);
	assert_int_equal(symlink(other, path), 0);
	fill(&s);
	assert_int_equal(shipment_read(path, &s, NULL), -ELOOP);
	assert_int_equal(shipment_write(&s, path, NULL), 0);
	assert_int_equal(access(other, F_OK), -1);
	shipment_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_links),
	};
	int failed;

	snprintf(folder, sizeof(folder), "/tmp/heapcast-test.XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/shard-1", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failed;
}
