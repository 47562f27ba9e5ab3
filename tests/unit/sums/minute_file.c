/* The file of sums by minute: what is read is what was written; spoilt bytes give an error or the
 * same answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "collector/query/minutes.h"
#include "collector/sums/minute_file.h"
#include "tests/unit/full.h"

#define FIRST 29000000u /* minute */

static const struct minute_file_fit fit = {.stream = {.bytes = {1, 2, 3}},
					   .recording_bytes = 4711,
					   .recording_mtime_ns = 1700000000000000001,
					   .start_wall_ns = 1700000000000000000,
					   .print = 99};
static const uint8_t build_id[20] = {0xa1, 0xa2};
static const struct minute_file_module modules[] = {{build_id, 20, "/usr/bin/example", 77},
						    {NULL, 0, "", 0}};
static const struct sums_site sites[] = {{"parse", "example", "src/parse.c", 7, true},
					 {"[example+0x10]", "example", "", 0, false},
					 {"cache_put", "libcache.so.1", "cache.c", 1234, true},
					 {"", "", "", 0, false}};

static uint64_t next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

struct made {
	struct sums_stack *stacks;
	struct minutes sums;
	struct minute_file_content content;
	struct buf bytes;
};

static void make(struct made *m, uint32_t stacks, uint32_t minutes, uint64_t seed)
{
	*m = (struct made){.stacks = calloc(stacks + 1u, sizeof(*m->stacks))};
	for (uint32_t i = 0; i < stacks; i++)
		m->stacks[i] =
			(struct sums_stack){.node = 3 * i, .id = next(&seed) >> 1, .site = i % 4};
	for (uint32_t minute = 0; minute < minutes; minute++)
		for (uint32_t i = 0; i < stacks; i++) {
			struct minute_sum s = {.minute = FIRST + minute, .stack = i};

			if (next(&seed) % 3 == 0)
				continue;
			s.bytes = (int64_t)(next(&seed) % 100000) - 50000;
			s.units = (int64_t)(next(&seed) % 100) * MINUTE_UNIT - 3;
			s.allocated = (int64_t)(next(&seed) >> (next(&seed) % 64));
			s.allocated_units = s.units + MINUTE_UNIT;
			s.variance = i % 2 ? s.bytes * 7 : 0;
			assert_int_equal(minutes_add(&m->sums, &s), 0);
		}
	m->content = (struct minute_file_content){.fit = fit,
						  .modules = modules,
						  .module_count = 2,
						  .sites = sites,
						  .site_count = stacks < 4 ? stacks : 4,
						  .stacks = m->stacks,
						  .stack_count = stacks,
						  .sums = m->sums.list,
						  .sum_count = m->sums.count};
	assert_int_equal(minute_file_write(&m->content, &m->bytes), 0);
}

static void done(struct made *m)
{
	free(m->stacks);
	minutes_done(&m->sums);
	buf_done(&m->bytes);
}

/* Adds up all that is told: of the dictionary, and of some minutes. Returns 0 or an error. */
static int told(const uint8_t *data, size_t length, uint64_t *ret_print)
{
	static const uint32_t asked[] = {0,	    FIRST,	FIRST + 1, FIRST + 7,
					 FIRST + 8, FIRST + 30, UINT32_MAX};
	XXH3_state_t *hash = XXH3_createState();
	struct minute_file file;
	struct minute_cursor cursor;
	int r = minute_file_open(&file, data, length, &fit);

	XXH3_64bits_reset(hash);
	if (r) {
		XXH3_freeState(hash);
		return r;
	}
	for (uint32_t i = 0; i < file.site_count; i++) {
		const struct sums_site *s = &file.sites[i];

		XXH3_64bits_update(hash, s->function, strlen(s->function) + 1);
		XXH3_64bits_update(hash, s->module, strlen(s->module) + 1);
		XXH3_64bits_update(hash, s->file, strlen(s->file) + 1);
		XXH3_64bits_update(hash, &s->line, sizeof(s->line));
		XXH3_64bits_update(hash, &s->known, sizeof(s->known));
	}
	for (uint32_t i = 0; i < file.module_count; i++) {
		XXH3_64bits_update(hash, file.modules[i].path, strlen(file.modules[i].path) + 1);
		if (file.modules[i].build_id_length)
			XXH3_64bits_update(hash, file.modules[i].build_id,
					   file.modules[i].build_id_length);
	}
	XXH3_64bits_update(hash, file.stacks, file.stack_count * sizeof(*file.stacks));
	r = minute_cursor_init(&cursor, &file);
	for (size_t i = 0; !r && i < sizeof(asked) / sizeof(*asked); i++) {
		r = minute_cursor_to(&cursor, asked[i]);
		XXH3_64bits_update(hash, cursor.bytes, file.stack_count * sizeof(*cursor.bytes));
		XXH3_64bits_update(hash, cursor.units, file.stack_count * sizeof(*cursor.units));
		XXH3_64bits_update(hash, cursor.variance,
				   file.stack_count * sizeof(*cursor.variance));
	}
	*ret_print = XXH3_64bits_digest(hash);
	XXH3_freeState(hash);
	minute_cursor_done(&cursor);
	minute_file_done(&file);
	return r;
}

static void check_at(const struct made *m, struct minute_cursor *c, uint32_t minute)
{
	uint32_t stacks = m->content.stack_count;
	int64_t *bytes = calloc(stacks + 1u, sizeof(*bytes)),
		*units = calloc(stacks + 1u, sizeof(*units)),
		*variance = calloc(stacks + 1u, sizeof(*variance));

	for (uint32_t i = 0; i < m->sums.count; i++) {
		const struct minute_sum *s = &m->sums.list[i];

		bytes[s->stack] += s->minute < minute ? s->bytes : 0;
		units[s->stack] += s->minute < minute ? s->units : 0;
		variance[s->stack] += s->minute < minute ? s->variance : 0;
	}
	assert_int_equal(minute_cursor_to(c, minute), 0);
	assert_memory_equal(c->bytes, bytes, stacks * sizeof(*bytes));
	assert_memory_equal(c->units, units, stacks * sizeof(*units));
	free(bytes);
	assert_memory_equal(c->variance, variance, stacks * sizeof(*variance));
	free(units);
	free(variance);
}

static void check_dictionary(const struct made *m, const struct minute_file *f)
{
	assert_int_equal(f->stack_count, m->content.stack_count);
	assert_int_equal(f->site_count, m->content.site_count);
	for (uint32_t i = 0; i < f->stack_count; i++) {
		assert_int_equal(f->stacks[i].node, m->stacks[i].node);
		assert_int_equal(f->stacks[i].id, m->stacks[i].id);
		assert_int_equal(f->stacks[i].site, m->stacks[i].site);
	}
	for (uint32_t i = 0; i < f->site_count; i++) {
		assert_string_equal(f->sites[i].function, sites[i].function);
		assert_string_equal(f->sites[i].module, sites[i].module);
		assert_string_equal(f->sites[i].file, sites[i].file);
		assert_int_equal(f->sites[i].line, sites[i].line);
		assert_int_equal(f->sites[i].known, sites[i].known);
	}
	assert_int_equal(f->module_count, 2);
	assert_string_equal(f->modules[0].path, "/usr/bin/example");
	assert_memory_equal(f->modules[0].build_id, build_id, 20);
	assert_int_equal(f->modules[0].signature, 77);
	assert_int_equal(f->modules[1].build_id_length, 0);
}

/* Each minute in turn, and with any steps between. */
static void test_round_trip(void **state)
{
	static const struct {
		uint32_t stacks, minutes;
	} sizes[] = {{0, 0}, {1, 1}, {4, 0}, {3, 200}, {500, 90}, {5000, 9}, {20000, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct made m;
		struct minute_file f;

		make(&m, sizes[i].stacks, sizes[i].minutes, 7 + i);
		assert_int_equal(minute_file_open(&f, m.bytes.data, m.bytes.length, &fit), 0);
		check_dictionary(&m, &f);
		for (uint32_t step = 1; step <= 64; step *= 4) {
			struct minute_cursor c;

			assert_int_equal(minute_cursor_init(&c, &f), 0);
			for (uint32_t at = 0; at <= sizes[i].minutes + 2; at += step)
				check_at(&m, &c, FIRST + at);
			check_at(&m, &c, UINT32_MAX);
			minute_cursor_done(&c);
		}
		minute_file_done(&f);
		done(&m);
	}
}

/* Of another state of the recording, or another recording. */
static void test_other_fit(void **state)
{
	struct minute_file_fit others[5] = {fit, fit, fit, fit, fit};
	struct minute_file f;
	struct made m;

	(void)state;
	make(&m, 10, 3, 1);
	others[0].stream.bytes[15] = 1;
	others[1].recording_bytes++;
	others[2].recording_mtime_ns++;
	others[3].start_wall_ns++;
	others[4].print++;
	for (int i = 0; i < 5; i++)
		assert_int_equal(minute_file_open(&f, m.bytes.data, m.bytes.length, &others[i]),
				 -EBADMSG);
	done(&m);
}

static uint64_t u64_at(const uint8_t *data, size_t at)
{
	uint64_t value;

	memcpy(&value, data + at, sizeof(value));
	return le64toh(value);
}

/* Makes the checks fit again, as somebody would who wants to mislead. The directory is the last in
 * the head: 24 bytes a block. */
static void seal(uint8_t *data, size_t length)
{
	uint64_t head = u64_at(data, 16), at = head, check;
	uint32_t blocks;

	memcpy(&blocks, data + 88, sizeof(blocks));
	if (head > length || (uint64_t)blocks * 24 > head)
		return;
	for (uint64_t entry = head - (uint64_t)blocks * 24; entry < head; entry += 24) {
		uint64_t bytes = u64_at(data, entry + 8);

		if (bytes > length - at)
			break;
		check = htole64(XXH3_64bits(data + at, bytes));
		memcpy(data + entry + 16, &check, sizeof(check));
		at += bytes;
	}
	check = htole64(XXH3_64bits(data + 16, head < 16 ? 0 : head - 16));
	memcpy(data + 8, &check, sizeof(check));
}

/* Cuts, and changes of each byte. Where the checks fit, any answer is allowed, but no crash. */
static void test_spoilt(void **state)
{
	unsigned step = test_full() ? 1 : 3, refused = 0;
	uint64_t print, whole = 0;
	struct made m;

	(void)state;
	make(&m, 40, 9, 3);
	assert_int_equal(told(m.bytes.data, m.bytes.length, &whole), 0);
	for (size_t at = 0; at < m.bytes.length; at++) {
		uint8_t *copy = malloc(m.bytes.length);

		assert_int_not_equal(told(m.bytes.data, at, &print), 0);
		for (unsigned bits = 1; bits < 256; bits += at < 128 ? 1 : 7 * step) {
			memcpy(copy, m.bytes.data, m.bytes.length);
			copy[at] ^= (uint8_t)bits;
			if (!told(copy, m.bytes.length, &print))
				assert_int_equal(print, whole);
			else
				refused++;
			seal(copy, m.bytes.length);
			told(copy, m.bytes.length, &print);
		}
		free(copy);
	}
	print_message("%u changes refused, of a file of %zu bytes\n", refused, m.bytes.length);
	assert_true(refused > m.bytes.length);
	done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_other_fit),
		cmocka_unit_test(test_spoilt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
