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

#include "base/bytes.h"
#include "base/cancel.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
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

static unsigned readings;

static int on_complete(void *context, const struct maps_state *s)
{
	assert_ptr_equal(context, &readings);
	assert_true(s->any);
	readings++;
	return s->took_us == 99 ? -ENOMEM : 0;
}

/* A reading may come in parts: what it says of all holds when the last one is there. */
static void test_parts(void **state)
{
	struct maps_state s = {.complete = on_complete, .context = &readings};
	Heapcast__Maps m;

	(void)state;
	readings = 0;
	fill(&m);
	m.part = true;
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_true(!s.any && !s.steps && !s.time_ns && !s.total.rss && s.count == 2);
	assert_int_equal(readings, 0);
	fill(&m);
	m.whole = false;
	m.took_us = 5;
	m.cut = 6;
	m.postponed = 7;
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_int_equal(readings, 1);
	assert_true(s.any && s.steps == 1 && s.time_ns == 100 && s.took_us == 5 && s.regions == 2 &&
		    s.cut == 6 && s.postponed == 7);
	assert_true(s.address_space == 12 && s.total.rss == 1 && s.total.pss == 2 &&
		    s.total.shared_clean == 3 && s.total.shared_dirty == 4 &&
		    s.total.private_clean == 5 && s.total.private_dirty == 6 &&
		    s.total.anonymous == 7 && s.total.swap == 8);
	m.took_us = 99;
	assert_int_equal(maps_state_add(&s, &m, NULL), -ENOMEM);
	maps_state_done(&s);
}

/* A step of regions of a page each, at these pages. */
static void put_regions(struct maps_state *s, const unsigned *pages, size_t count)
{
	static uint8_t start[4096], ones[2048], zeros[2048];
	uint8_t *at = start;
	Heapcast__Maps m;

	memset(ones, 1, sizeof(ones));
	heapcast__maps__init(&m);
	m.time_ns = 500;
	m.page_shift = 12;
	for (size_t i = 0; i < count; i++)
		at = varint_put(at, pages[i] - (i ? pages[i - 1] : 0));
	m.start = builder_bytes(start, (size_t)(at - start));
	m.size = m.flags = builder_bytes(ones, count);
	m.offset = m.device = m.inode = m.name = builder_bytes(zeros, count);
	assert_int_equal(maps_state_add(s, &m, NULL), 0);
}

/* New regions before, between and behind those that are there. */
static void test_order(void **state)
{
	struct maps_state s = {.news = count};
	unsigned pages[700];

	(void)state;
	mapped = changed = 0;
	for (unsigned i = 0; i < 64; i++)
		pages[i] = 1000 + 10 * i;
	put_regions(&s, pages, 64);
	for (unsigned i = 0; i < 700; i++)
		pages[i] = 900 + i; /* the last of them is before the last of the others */
	put_regions(&s, pages, 700);
	assert_int_equal(s.count, 704);
	assert_int_equal(mapped, 704);
	assert_int_equal(changed, 60);
	for (unsigned i = 0; i < 704; i++)
		assert_int_equal(s.region[i].start, (i < 700 ? 900 + i : 1600 + 10 * (i - 700))
							    << 12);
	pages[0] = 5000;
	put_regions(&s, pages, 1);
	assert_true(s.count == 705 && s.region[704].start == 5000 << 12);
	maps_state_restart(&s, 600);
	assert_int_equal(s.count, 0);
	maps_state_done(&s);
}

/* The first meaning of a name's number holds, until the agent is another one; and names beyond what
 * all may take are none. */
static void test_names(void **state)
{
	struct maps_state s = {0};
	Heapcast__Maps m;

	(void)state;
	fill(&m);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	fill(&m);
	m.names = builder_bytes("b\0c", 4);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_string_equal(s.region[0].name, "a");
	assert_true(s.name_count == 2 && s.name_bytes == 2);
	assert_string_equal(s.names[1], "c");
	fill(&m);
	m.first_name = 4;
	m.names = builder_bytes("12345", 6);
	s.name_bytes = MAPS_NAMES_BYTES - 5;
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_true(s.name_count == 4 && !s.names[2] && !s.names[3]);
	s.name_bytes--;
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_string_equal(s.names[3], "12345");
	assert_int_equal(s.name_bytes, MAPS_NAMES_BYTES - 1);
	maps_state_restart(&s, 1);
	assert_true(!s.name_count && !s.name_bytes);
	fill(&m);
	m.names = builder_bytes("z", 2);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_string_equal(s.region[0].name, "z");
	maps_state_done(&s);
}

/* What makes another mapping of a region with the same start, and what does not. */
static void test_same(void **state)
{
	static const uint8_t more[] = {1, 1}, shared[] = {HEAPCAST__MAP_FLAG__MAP_SHARED | 1, 3},
			     other[] = {2, 3}, minor[] = {4, 0}, major[] = {0x83, 0x80, 0x40, 0};

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct maps_state s = {.news = count};
		Heapcast__Maps m;

		fill(&m);
		assert_int_equal(maps_state_add(&s, &m, NULL), 0);
		mapped = changed = unmapped = 0;
		fill(&m);
		m.whole = false;
		m.time_ns = 200;
		switch (i) {
		case 0:
			m.size = builder_bytes(more, 2);
			break;
		case 1:
			m.flags = builder_bytes(other, 2);
			break;
		case 2:
			m.flags = builder_bytes(shared, 2);
			break;
		case 3:
			m.offset = builder_bytes(more, 2);
			break;
		case 4:
			m.inode = builder_bytes(more, 2);
			break;
		case 5:
			m.device = builder_bytes(minor, 2);
			break;
		case 6:
			m.device = builder_bytes(major, 4);
			break;
		case 7:
			m.first_name = 2;
			m.names = builder_bytes("b", 2);
			m.name = builder_bytes("\2\0", 2);
			break;
		}
		assert_int_equal(maps_state_add(&s, &m, NULL), 0);
		assert_int_equal(s.count, 2);
		assert_int_equal(s.region[0].changed_ns, 200);
		assert_int_equal(s.region[0].mapped_ns, i < 2 ? 100 : 200);
		assert_int_equal(mapped, unmapped);
		assert_int_equal(unmapped >= 1, i > 1);
		maps_state_done(&s);
	}
}

static void test_peak(void **state)
{
	struct maps_state s = {.news = count};
	uint8_t rss[1] = {9};
	Heapcast__Maps m;

	(void)state;
	used_news = 0;
	fill(&m);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		fill(&m);
		m.whole = false;
		m.time_ns = 200 + i;
		rss[0] = i == 1 ? 3 : 9;
		m.rss = builder_bytes(rss, 1);
		assert_int_equal(maps_state_add(&s, &m, NULL), 0);
		assert_int_equal(s.region[1].peak_rss, 9);
		assert_int_equal(s.region[1].usage.rss, rss[0]);
		assert_int_equal(s.region[1].used_ns, 200 + i);
		assert_int_equal(s.region[0].used_ns, 0);
	}
	assert_int_equal(used_news, 4);
	m.used = builder_bytes("\x11", 1); /* of no region */
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_int_equal(s.unknown, 1);
	assert_int_equal(used_news, 4);
	m.used = builder_bytes("\0", 1);
	assert_int_equal(maps_state_add(&s, &m, NULL), 0);
	assert_int_equal(s.unknown, 2);
	maps_state_done(&s);
}

/* Steps in a recording, asked for as of a time. */
static void test_recording(void **state)
{
	atomic_bool asked = true;
	struct maps_state s;
	struct err_text err = {0};
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
	s = (struct maps_state){0};
	assert_int_equal(maps_follow(path, 350, &(struct cancel){.asked = &asked}, &s, NULL, &err),
			 -ECANCELED);
	assert_non_null(strstr(err.text, "reading the maps in /proc/self/fd/"));
	assert_int_equal(s.count, 0);
	maps_state_done(&s);
	s = (struct maps_state){.complete = on_complete, .context = &readings};
	readings = 0;
	assert_int_equal(maps_follow(path, NO_TIME, NULL, &s, &damaged, NULL), 0);
	assert_int_equal(readings, 3);
	maps_state_done(&s);
	builder_done(&b);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_news),	  cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_limits),	  cmocka_unit_test(test_parts),
		cmocka_unit_test(test_order),	  cmocka_unit_test(test_names),
		cmocka_unit_test(test_same),	  cmocka_unit_test(test_peak),
		cmocka_unit_test(test_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
