/* Steps of message Maps as the collector takes them: what each kind of news does, and what is
 * refused. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/columns.h"
#include "collector/recording/maps.h"
#include "tests/unit/store/builder.h"

/* A step of two regions: 0x1000 to 0x3000 "a", read-only, and 0x10000 to 0x11000 without a name,
 * writable and used. */
static void fill(Heapcast__Maps *m)
{
	static uint8_t start[] = {1, 15}, size[] = {2, 1}, flags[] = {1, 3}, offset[] = {7, 0},
		       device[] = {3, 0}, inode[] = {9, 0}, name[] = {1, 0}, used[] = {16},
		       figure[8][1] = {{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}},
		       total[] = {12, 1, 2, 3, 4, 5, 6, 7, 8};
	ProtobufCBinaryData *const figures[] = {
		&m->rss,	   &m->pss,	      &m->shared_clean, &m->shared_dirty,
		&m->private_clean, &m->private_dirty, &m->anonymous,	&m->swap};

	heapcast__maps__init(m);
	m->time_ns = 100;
	m->page_shift = 12;
	m->regions = 2;
	m->whole = true;
	m->first_name = 1;
	m->names = builder_bytes("a", 2);
	m->start = builder_bytes(start, 2);
	m->size = builder_bytes(size, 2);
	m->flags = builder_bytes(flags, 2);
	m->offset = builder_bytes(offset, 2);
	m->device = builder_bytes(device, 2);
	m->inode = builder_bytes(inode, 2);
	m->name = builder_bytes(name, 2);
	m->used = builder_bytes(used, 1);
	for (unsigned i = 0; i < 8; i++)
		*figures[i] = builder_bytes(figure[i], 1);
	m->total = builder_bytes(total, sizeof(total));
}

static unsigned mapped, changed, unmapped, used_news;

static void count(void *context, enum map_news what, const struct map_region *region,
		  uint64_t time_ns)
{
	(void)context;
	assert_true(region->start < region->end && time_ns);
	mapped += what == MAP_NEWS_MAPPED;
	changed += what == MAP_NEWS_CHANGED;
	unmapped += what == MAP_NEWS_UNMAPPED;
	used_news += what == MAP_NEWS_USED;
}

static void test_news(void **state)
{
	struct maps_state s = {.news = count};
	Heapcast__Maps m;

	(void)state;
	fill(&m);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.region[0].start, 0x1000);
	assert_int_equal(s.region[0].end, 0x3000);
	assert_int_equal(s.region[0].offset, 0x7000);
	assert_int_equal(s.region[0].minor, 3);
	assert_string_equal(s.region[0].name, "a");
	assert_int_equal(s.region[1].start, 0x10000);
	assert_string_equal(s.region[1].name, "");
	assert_int_equal(s.region[1].usage.swap, 8);
	assert_int_equal(s.region[1].peak_rss, 1);
	assert_int_equal(s.total.pss, 2);
	assert_int_equal(s.address_space, 12);
	assert_true(mapped == 2 && used_news == 1);

	/* The first grows, the second goes; nothing else is told. */
	heapcast__maps__init(&m);
	m.time_ns = 200;
	m.page_shift = 12;
	m.gone = builder_bytes("\x10", 1);
	m.start = builder_bytes("\1", 1);
	m.size = builder_bytes("\3", 1);
	m.flags = builder_bytes("\1", 1);
	m.offset = builder_bytes("\7", 1);
	m.device = builder_bytes("\3", 1);
	m.inode = builder_bytes("\x09", 1);
	m.name = builder_bytes("\1", 1);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.region[0].end, 0x4000);
	assert_int_equal(s.region[0].mapped_ns, 100);
	assert_int_equal(s.region[0].changed_ns, 200);
	assert_true(changed == 1 && unmapped == 1);

	/* Another file in its place is another region. */
	m.time_ns = 300;
	m.gone = builder_bytes("\x10", 1);
	m.inode = builder_bytes("\x0a", 1);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_int_equal(s.region[0].mapped_ns, 300);
	assert_true(mapped == 3 && unmapped == 2);
	assert_int_equal(s.unknown, 1); /* gone before */
	maps_state_done(&s);
}

/* Each column in turn is made too short, too long and cut: refused, and nothing has changed. */
static void test_damaged(void **state)
{
	static const size_t columns[] = {
		offsetof(Heapcast__Maps, size),		offsetof(Heapcast__Maps, flags),
		offsetof(Heapcast__Maps, offset),	offsetof(Heapcast__Maps, device),
		offsetof(Heapcast__Maps, inode),	offsetof(Heapcast__Maps, name),
		offsetof(Heapcast__Maps, start),	offsetof(Heapcast__Maps, rss),
		offsetof(Heapcast__Maps, swap),		offsetof(Heapcast__Maps, used),
		offsetof(Heapcast__Maps, shared_clean), offsetof(Heapcast__Maps, anonymous),
	};
	struct maps_state s = {0};
	Heapcast__Maps m;

	(void)state;
	fill(&m);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		for (unsigned way = 0; way < 3; way++) {
			ProtobufCBinaryData *column;
			struct err_text err = {{0}};

			fill(&m);
			column = (ProtobufCBinaryData *)(void *)((char *)&m + columns[i]);
			*column = way == 0   ? builder_bytes("", 0)
				  : way == 1 ? builder_bytes("\1\1\1\1\1", 5)
					     : builder_bytes("\x81", 1);
			assert_int_equal(maps_state_add(&s, &m, &err), -EBADMSG);
			assert_non_null(strstr(err.text, "maps: "));
			assert_int_equal(s.count, 2);
			assert_int_equal(s.steps, 1);
		}
	maps_state_done(&s);
}

static void test_limits(void **state)
{
	static const uint8_t most[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
	struct maps_state s = {0};
	Heapcast__Maps m;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		fill(&m);                                                                          \
		change;                                                                            \
		assert_int_equal(maps_state_add(&s, &m, NULL), -EBADMSG);                          \
	} while (0)
	(void)state;
	REFUSED(m.page_shift = 0);
	REFUSED(m.page_shift = 63);
	REFUSED(m.names = builder_bytes("no end", 6));
	REFUSED(m.first_name = 0);
	REFUSED(m.first_name = UINT32_MAX);
	REFUSED(m.first_name = MAPS_NAMES_MAX + 1);
	REFUSED(m.start = builder_bytes("\1\0", 2)); /* twice the same */
	REFUSED(m.size = builder_bytes("\0\1", 2));
	REFUSED(m.gone = builder_bytes(most, 10));
	REFUSED(m.gone = builder_bytes("\1\0", 2));
	REFUSED(m.total = builder_bytes("\1\2", 2));
	REFUSED(m.start = builder_bytes("\1\0\0\0\0\0\0\0\0\0\0\0", 12));
#undef REFUSED
	assert_int_equal(s.count, 0);
	/* A name's number that nobody told, and one far away, are no names. */
	fill(&m);
	m.first_name = MAPS_NAMES_MAX;
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_string_equal(s.region[0].name, "");
	maps_state_done(&s);
}

/* Steps in a recording, asked for as of a time. */
static void test_recording(void **state)
{
	struct maps_state s;
	struct builder b;
	uint64_t damaged;
	Heapcast__Maps m;
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	(void)state;
	builder_init(&b, 1);
	for (unsigned i = 1; i <= 3; i++) {
		Heapcast__Batch batch;

		heapcast__batch__init(&batch);
		batch.stream = builder_bytes(b.id, sizeof(b.id));
		batch.incarnation = i < 3 ? 1 : 2; /* the third begins anew */
		batch.number = i < 3 ? i : 1;
		batch.time_ns = i * 100 + 50;
		fill(&m);
		m.time_ns = i * 100;
		m.whole = i == 1;
		if (i == 2)
			m.gone = builder_bytes("\x10", 1),
			m.start = m.size = m.flags = m.offset = m.device = m.inode = m.name =
				m.used = m.rss = m.pss = m.shared_clean = m.shared_dirty =
					m.private_clean = m.private_dirty = m.anonymous = m.swap =
						builder_bytes("", 0);
		if (i == 3)
			m.names = builder_bytes("b", 2);
		batch.maps = &m;
		builder_frame(&b, &batch);
	}
	assert_int_equal(write(fd, b.file.data, b.file.length), (ssize_t)b.file.length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (uint64_t at = 50; at <= 350; at += 100) {
		static const size_t counts[] = {0, 2, 1, 2};

		assert_int_equal(maps_at(path, at, &s, &damaged, NULL), 0);
		assert_int_equal(damaged, 0);
		assert_int_equal(s.count, counts[at / 100]);
		assert_int_equal(s.any, at > 100);
		if (at > 300)
			assert_string_equal(s.region[0].name, "b");
		maps_state_done(&s);
	}
	assert_int_equal(maps_at("/nowhere", 1, &s, NULL, NULL), -ENOENT);
	builder_done(&b);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_news),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
