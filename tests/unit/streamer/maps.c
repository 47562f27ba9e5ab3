/* Regions of a process, reading by reading: what of them is news, and what is left out. What a
 * collector makes of many is in unit.maps.steps. */
#include "agent/watch/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "heapcast.pb-c.h"

#define PAGE 4096u

static uint64_t memory[(1u << 20) / 8];
static struct maps m;
static Heapcast__Maps told;

static int open_maps(void **state)
{
	(void)state;
	memset(memory, 0xff, sizeof(memory));
	maps_init(&m, memory, sizeof(memory), 80u << 10, PAGE);
	return 0;
}

static struct proc_mapping region(uint64_t page, uint64_t pages, const char *name)
{
	return (struct proc_mapping){.start = page * PAGE,
				     .end = (page + pages) * PAGE,
				     .offset = 3 * PAGE,
				     .inode = 77,
				     .major = 8,
				     .minor = 1,
				     .permissions = PROC_READABLE | PROC_EXECUTABLE,
				     .path = name,
				     .path_length = (uint32_t)strlen(name)};
}

static void put_all(const struct proc_mapping *r, unsigned count)
{
	maps_begin(&m);
	for (unsigned i = 0; i < count; i++)
		maps_put(&m, &r[i]);
}

/* One reading. True if there are news, which are in `told` then. */
static bool read_all(const struct proc_mapping *r, unsigned count)
{
	put_all(r, count);
	if (!maps_end(&m, 1000, 5999999))
		return false;
	maps_fill(&m, &told);
	return true;
}

/* The values of a column, at most 16: how many there are. */
static unsigned values(ProtobufCBinaryData column, uint64_t out[16])
{
	struct reader r = reader_of(column.data, column.len);
	unsigned count = 0;

	memset(out, 0, 16 * sizeof(*out));
	for (; reader_more(&r) && count < 16; count++)
		out[count] = reader_varint(&r);
	assert_int_equal(r.error, 0);
	return count;
}

static void assert_column(ProtobufCBinaryData column, unsigned count, uint64_t a, uint64_t b,
			  uint64_t c)
{
	uint64_t got[16];

	assert_int_equal(values(column, got), count);
	assert_int_equal(got[0], a);
	assert_int_equal(got[1], b);
	assert_int_equal(got[2], c);
}

static void assert_names(const char *names, size_t length, uint32_t first)
{
	assert_int_equal(told.names.len, length);
	assert_memory_equal(told.names.data, names, length);
	assert_int_equal(told.first_name, first);
}

static void test_first(void **state)
{
	struct proc_mapping r[] = {region(0, 1, ""), region(5, 2, "/lib/a"), region(9, 1, "/lib/a"),
				   region(10, 1, "[heap]")};
	uint64_t got[16];

	(void)state;
	r[1].figure[PROC_RSS] = 8;
	r[1].figure[PROC_SWAP] = 4;
	r[3].figure[PROC_RSS] = 1;
	assert_true(read_all(r, 4));
	assert_true(told.whole);
	assert_false(told.part);
	assert_int_equal(told.regions, 4);
	assert_int_equal(told.cut + told.postponed, 0);
	assert_int_equal(told.time_ns, 1000);
	assert_int_equal(told.took_us, 5999);
	assert_int_equal(told.page_shift, 12);
	assert_names("/lib/a\0[heap]", 14, 1);
	assert_int_equal(values(told.start, got), 4);
	assert_int_equal(got[0], 0);
	assert_int_equal(got[1], 5);
	assert_int_equal(got[2], 4);
	assert_int_equal(got[3], 1);
	assert_int_equal(values(told.name, got), 4);
	assert_int_equal(got[0], 0);
	assert_int_equal(got[1], 1);
	assert_int_equal(got[2], 1);
	assert_int_equal(got[3], 2);
	assert_int_equal(values(told.size, got), 4);
	assert_int_equal(got[1], 2);
	assert_int_equal(values(told.flags, got), 4);
	assert_int_equal(got[0], PROC_READABLE | PROC_EXECUTABLE);
	assert_int_equal(values(told.offset, got), 4);
	assert_int_equal(got[0], 3);
	assert_int_equal(values(told.device, got), 4);
	assert_int_equal(got[0], 8u << 20 | 1);
	assert_int_equal(values(told.inode, got), 4);
	assert_int_equal(got[0], 77);
	assert_column(told.used, 2, 5, 5, 0); /* the others use nothing */
	assert_column(told.rss, 2, 8, 1, 0);
	assert_column(told.swap, 2, 4, 0, 0);
	assert_int_equal(told.gone.len, 0);
	assert_int_equal(values(told.total, got), MAPS_TOTALS);
	assert_int_equal(got[0], 5 * PAGE / 1024);
	assert_int_equal(got[1 + PROC_RSS], 9);
	assert_int_equal(got[1 + PROC_SWAP], 4);
	/* Nothing has changed. */
	assert_false(read_all(r, 4));
}

/* Each property identifies a region; what it uses does not. */
static void test_changes(void **state)
{
	struct proc_mapping r[] = {region(5, 2, "/lib/a"), region(9, 1, "/lib/b")};
	const struct proc_mapping first = r[1];
	uint64_t got[16];

	(void)state;
	r[0].figure[PROC_RSS] = r[1].figure[PROC_RSS] = 4;
	assert_true(read_all(r, 2));
	for (unsigned i = 0; i < 8; i++) {
		r[1] = first;
		r[1].figure[PROC_RSS] = 4;
		r[1].end += i == 0 ? PAGE : 0;
		r[1].offset += i == 1 ? PAGE : 0;
		r[1].inode += i == 2;
		r[1].major += i == 3;
		r[1].minor += i == 4;
		r[1].permissions ^= i == 5 ? PROC_WRITABLE : 0;
		r[1].path = i == 6 ? "/lib/c" : r[1].path;
		r[1].path_length -= i == 7;
		assert_true(read_all(r, 2));
		assert_false(told.whole);
		assert_column(told.start, 1, 9, 0, 0);
		assert_column(told.used, 1, 9, 0, 0); /* again, as of a new one */
		assert_int_equal(told.gone.len, 0);
	}
	for (unsigned i = 0; i < PROC_FIGURES; i++) {
		r[0].figure[i] += 100;
		assert_true(read_all(r, 2));
		assert_int_equal(told.start.len, 0);
		assert_column(told.used, 1, 5, 0, 0);
		assert_int_equal(values(told.rss, got), 1);
		assert_int_equal(got[0], 104);
	}
	memset(r[0].figure, 0, sizeof(r[0].figure));
	assert_true(read_all(r, 2)); /* it uses nothing any more: that is news */
	assert_column(told.used, 1, 5, 0, 0);
	assert_column(told.rss, 1, 0, 0, 0);
	assert_false(read_all(r, 2));
}

static void test_gone(void **state)
{
	const struct proc_mapping r[] = {region(5, 2, ""), region(9, 1, ""), region(20, 1, ""),
					 region(30, 1, "")};

	(void)state;
	assert_true(read_all(r, 4));
	assert_true(read_all(r + 1, 2));
	assert_column(told.gone, 2, 5, 25, 0);
	assert_int_equal(told.start.len, 0);
	assert_int_equal(told.regions, 2);
	assert_false(read_all(r + 1, 2));
	assert_true(read_all(r, 4)); /* there again */
	assert_column(told.start, 2, 5, 25, 0);
	assert_int_equal(told.gone.len, 0);
	assert_true(read_all(r + 2, 2));
	assert_column(told.gone, 2, 5, 4, 0);
	assert_true(read_all(r, 2)); /* new ones before those that go */
	assert_column(told.start, 2, 5, 4, 0);
	assert_column(told.gone, 2, 20, 10, 0);
	assert_true(read_all(r, 0));
	assert_column(told.gone, 2, 5, 4, 0);
	assert_false(read_all(r, 0));
}

/* What is gone may find no room in the step, either: it is known until it was told. */
static void test_gone_later(void **state)
{
	const struct proc_mapping r[] = {region(5, 2, ""), region(9, 1, "")};

	(void)state;
	assert_true(read_all(r, 2));
	maps_begin(&m);
	m.column[MAPS_GONE].length = m.column[MAPS_GONE].capacity - VARINT_MAX;
	assert_true(maps_end(&m, 1, 1));
	assert_int_equal(m.postponed, 1);
	assert_int_equal(m.count, 1);
	assert_true(read_all(r, 0));
	assert_column(told.gone, 1, 9, 0, 0);
	assert_int_equal(told.postponed, 0);
}

/* A region that has changed may find none: until then nothing of the new one is told. */
static void test_changed_later(void **state)
{
	struct proc_mapping r = region(5, 2, "");

	(void)state;
	assert_true(read_all(&r, 1));
	r.inode++;
	r.figure[PROC_RSS] = 4;
	maps_begin(&m);
	m.column[MAPS_START].length = m.column[MAPS_START].capacity - VARINT_MAX + 1;
	maps_put(&m, &r);
	assert_int_equal(m.column[MAPS_USED].length, 0);
	assert_int_equal(m.postponed, 1);
	assert_true(maps_end(&m, 1, 1));
	assert_true(read_all(&r, 1));
	assert_column(told.start, 1, 5, 0, 0);
	assert_column(told.rss, 1, 4, 0, 0);
}

/* Whether there is room for a region and its name. */
static void test_fits(void **state)
{
	struct proc_mapping r = region(5, 2, "/lib");
	struct column *names = &m.column[MAPS_NAMES];

	(void)state;
	maps_begin(&m);
	assert_true(maps_fits(&m, &r));
	names->length = names->capacity - 5;
	assert_true(maps_fits(&m, &r));
	names->length++;
	assert_false(maps_fits(&m, &r));
	maps_put(&m, &r);
	assert_int_equal(m.postponed, 1);
	names->length--;
	r = region(9, 2, "/lib");
	maps_put(&m, &r);
	assert_int_equal(m.postponed, 1);
	assert_int_equal(names->length, names->capacity);
	open_maps(NULL);
	maps_begin(&m);
	for (unsigned i = MAPS_GONE; i < MAPS_COLUMNS; i++) {
		m.column[i].length = m.column[i].capacity - VARINT_MAX;
		assert_true(maps_fits(&m, &r));
		m.column[i].length++;
		assert_false(maps_fits(&m, &r));
		m.column[i].length = 0;
	}
}

/* The table of names is forgotten when it is three quarters full. */
static void test_many_names(void **state)
{
	char name[16];

	(void)state;
	maps_init(&m, memory, MAPS_SIZE_MIN, MAPS_STEP_MIN, PAGE);
	assert_int_equal(m.name_capacity, 128);
	for (unsigned k = 0; k < 200; k++) {
		struct proc_mapping r;

		snprintf(name, sizeof(name), "/%u", k);
		r = region(5, 1, name);
		assert_true(read_all(&r, 1));
		assert_int_equal(m.names, k % 96 + 1);
		assert_int_equal(told.first_name, k + 1);
		assert_column(told.name, 1, k + 1, 0, 0);
		r = region(5, 2, name);
		assert_true(read_all(&r, 1)); /* the last one is always known */
		assert_int_equal(told.names.len, 0);
		assert_column(told.name, 1, k + 1, 0, 0);
	}
}

/* What no kernel reports counts, but is not told. */
static void test_invalid(void **state)
{
	struct proc_mapping r[] = {region(5, 2, ""), region(9, 1, ""), region(12, 1, "")};

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		open_maps(NULL);
		r[1] = region(9, 1, "");
		if (i == 0)
			r[1].start++;
		if (i == 1)
			r[1].end += PAGE / 2;
		if (i == 2)
			r[1] = region(5, 1, ""); /* that was there */
		if (i == 3)
			r[1] = region(4, 1, ""); /* not in order */
		assert_true(read_all(r, 3));
		assert_int_equal(told.regions, 3);
		if (i < 4)
			assert_column(told.start, 2, 5, 7, 0);
		else
			assert_column(told.start, 3, 5, 4, 3);
		assert_false(read_all(r, 3));
	}
}

/* A name is told once, and cut where it is too long. */
static void test_names(void **state)
{
	static char name[2 * MAPS_NAME_MAX];
	struct proc_mapping r[2];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	r[0] = region(5, 1, name);
	r[0].path_length = MAPS_NAME_MAX;
	r[1] = region(9, 1, name);
	r[1].path_length = MAPS_NAME_MAX + 1;
	assert_true(read_all(r, 2));
	assert_int_equal(told.names.len, MAPS_NAME_MAX + 1);
	assert_column(told.name, 2, 1, 1, 0);
	r[1].path_length = MAPS_NAME_MAX - 1;
	assert_true(read_all(r, 2));
	assert_int_equal(told.names.len, MAPS_NAME_MAX);
	assert_int_equal(told.first_name, 2);
	assert_column(told.name, 1, 2, 0, 0);
	r[1].path_length = MAPS_NAME_MAX;
	assert_true(read_all(r, 2)); /* known: no name is told */
	assert_int_equal(told.names.len, 0);
	assert_int_equal(told.first_name, 0);
	assert_column(told.name, 1, 1, 0, 0);
	/* Numbers end before the last one that there is room for. */
	m.next_name = MAPS_NUMBERS_MAX - 1;
	r[1] = region(9, 1, "/last");
	assert_true(read_all(r, 2));
	assert_names("/last", 6, MAPS_NUMBERS_MAX - 1);
	assert_column(told.name, 1, MAPS_NUMBERS_MAX - 1, 0, 0);
	r[1] = region(9, 1, "/more");
	assert_true(read_all(r, 2));
	assert_int_equal(told.names.len, 0);
	assert_column(told.name, 1, 0, 0, 0);
	/* Another process begins with 1. */
	maps_clear(&m);
	assert_true(read_all(r, 2));
	assert_true(told.whole);
	assert_int_equal(told.first_name, 1);
	/* To a collector that has lost all, names get numbers that it never had. */
	maps_repeat(&m);
	assert_true(read_all(r, 2));
	assert_true(told.whole);
	assert_int_equal(told.first_name, 3);
	assert_column(told.start, 2, 5, 4, 0);
}

/* The table has so many entries: more regions are cut, and known when there is room. */
static void test_full_table(void **state)
{
	uint32_t most;

	(void)state;
	maps_init(&m, memory, MAPS_SIZE_MIN, MAPS_STEP_MIN, PAGE);
	most = m.capacity;
	for (unsigned round = 0; round < 2; round++) {
		maps_begin(&m);
		for (uint32_t i = 0; i < most + 2; i++) {
			struct proc_mapping r = region(5 + 2 * i, 1, "");

			if (!maps_fits(&m, &r)) {
				maps_part(&m, 7);
				maps_fill(&m, &told);
				assert_true(told.part);
				assert_int_equal(told.total.len, 0);
				assert_int_equal(told.regions + told.took_us, 0);
				maps_go_on(&m);
			}
			maps_put(&m, &r);
		}
		assert_true(maps_end(&m, 8, 9000));
		maps_fill(&m, &told);
		assert_false(told.part);
		assert_int_equal(told.regions, most + 2);
		assert_int_equal(told.cut, 2);
		assert_int_equal(told.postponed, 0);
		assert_int_equal(m.count, most);
	}
}

/* Without a pause, what finds no room in the step is left to the next reading. */
static void test_full_step(void **state)
{
	uint32_t count = 0, seen = 0, rounds = 0;
	uint64_t got[16];

	(void)state;
	maps_init(&m, memory, MAPS_SIZE_MIN, MAPS_STEP_MIN, PAGE);
	count = m.capacity;
	do {
		struct proc_mapping r;

		maps_begin(&m);
		for (uint32_t i = 0; i < count; i++) {
			r = region(5 + 2 * i, 1, "");
			r.figure[PROC_RSS] = 4;
			maps_put(&m, &r);
		}
		if (!maps_end(&m, 8, 9000))
			break;
		maps_fill(&m, &told);
		assert_true(heapcast__maps__get_packed_size(&told) <= m.step_max);
		seen += (uint32_t)told.start.len;
		assert_true(++rounds < 100);
	} while (told.postponed);
	assert_true(rounds > 1);
	assert_int_equal(m.count, count);
	assert_true(seen >= count);
	assert_int_equal(values(told.total, got), MAPS_TOTALS);
	assert_int_equal(got[1 + PROC_RSS], 4 * count);
}

static void test_long(void **state)
{
	const struct proc_mapping r = region(5, 2, "");

	(void)state;
	put_all(&r, 1);
	assert_true(maps_end(&m, 1, UINT64_C(5000000000000)));
	maps_fill(&m, &told);
	assert_int_equal(told.took_us, UINT32_MAX);
}

#define TEST(name) cmocka_unit_test_setup(name, open_maps)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_first),      TEST(test_changes),	 TEST(test_gone),
		TEST(test_gone_later), TEST(test_changed_later), TEST(test_fits),
		TEST(test_many_names), TEST(test_invalid),	 TEST(test_names),
		TEST(test_full_table), TEST(test_full_step),	 TEST(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
