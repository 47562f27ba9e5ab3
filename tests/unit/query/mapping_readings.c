/*
 * Mappings with readings of a kernel that joins neighbours, with mappings that no call made, and
 * with readings that no kernel gave.
 */
#include "collector/query/match/map_readings.h"
#include "tests/unit/query/mapping_calls.h"

#define STEPS	 300
#define STEP_NS	 (4ull * MAP_READINGS_DOUBT_NS)
#define READABLE HEAPCAST__MAP_FLAG__MAP_READABLE
#define WRITABLE (READABLE | HEAPCAST__MAP_FLAG__MAP_WRITABLE)

/* A page of the kernel's: whose it is, and its protection. */
struct page {
	uint32_t owner; /* of a call its number + 1, of nobody STEPS + a number; 0: it is not there
			 */
	uint32_t flags;
	unsigned kib; /* in memory */
};

/* What the kernel tells: neighbours with one protection are one region, whoever mapped them. */
static size_t read_pages(const struct page *pages, struct map_region *regions, uint64_t time_ns)
{
	size_t count = 0;

	for (unsigned p = 0; p < PAGES; p++) {
		uint64_t at = BASE + p * PAGE;

		if (!pages[p].owner)
			continue;
		if (!count || regions[count - 1].end != at ||
		    regions[count - 1].flags != pages[p].flags)
			regions[count++] = (struct map_region){.start = at,
							       .flags = pages[p].flags,
							       .name = "",
							       .mapped_ns = time_ns};
		regions[count - 1].end = at + PAGE;
		regions[count - 1].usage.rss += pages[p].kib;
	}
	return count;
}

/* Of a page's region of the kernel's: are there several mappings in it? */
static bool is_joined(const struct page *pages, unsigned page)
{
	for (int step = -1; step <= 1; step += 2)
		for (int p = (int)page;
		     p >= 0 && p < PAGES && pages[p].owner && pages[p].flags == pages[page].flags;
		     p += step)
			if (pages[p].owner != pages[page].owner)
				return true;
	return false;
}

/* Every page belongs to what it does, has its protection, and all that is in memory is
 * somebody's. */
static void check_pages(const struct mappings *m, const struct page *pages, uint64_t now,
			const struct map_tracker *t)
{
	uint64_t told = 0, there = 0;

	for (unsigned p = 0; p < PAGES; p++) {
		const struct mapping_region *r = holder(m, p, now);
		const struct other_event_info *source;

		assert_int_equal(r != NULL, pages[p].owner != 0);
		if (!r)
			continue;
		source = m->list[r->mapping].source;
		assert_int_equal(source != NULL, pages[p].owner <= STEPS);
		if (source)
			assert_int_equal(source->time_ns,
					 (pages[p].owner - 1) * STEP_NS + STEP_NS / 2);
		assert_true(r->seen && r->read);
		assert_int_equal(r->look.flags, pages[p].flags);
		if (source) /* what is nobody's may be several in truth, and is one here */
			assert_int_equal(r->estimated, is_joined(pages, p));
		there += pages[p].kib;
	}
	for (uint32_t i = 0; i < t->live_count; i++)
		told += map_tracker_region(t, i)->usage.rss;
	assert_int_equal(told, there);
}

static void act(struct page *pages, struct builder *b, unsigned step, uint64_t *random)
{
	unsigned first = (unsigned)(test_random(random) % PAGES),
		 count = 1 +
			 (unsigned)(test_random(random) % (PAGES - first < 9 ? PAGES - first : 9));
	unsigned what = (unsigned)(test_random(random) % 8);

	if (what < 4)
		add_call(b, step * STEP_NS + STEP_NS / 2,
			 what < 2 ? HEAPCAST__EVENT_KIND__EVENT_MMAP
				  : HEAPCAST__EVENT_KIND__EVENT_MUNMAP,
			 first, count, 0);
	for (unsigned p = first; p < first + count; p++) {
		if (what < 2)
			pages[p] = (struct page){step + 1, WRITABLE, 4};
		else if (what < 4 || what == 4) /* munmap, and one that nobody saw */
			pages[p] = (struct page){0, 0, 0};
		else if (what == 5 && !pages[p].owner)
			pages[p] = (struct page){STEPS + 1 + step, WRITABLE, 0};
		else if (what == 6 && pages[p].owner)
			pages[p].flags = READABLE;
		else if (what == 7 && pages[p].owner)
			pages[p].kib = 4;
	}
}

static void test_readings(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		static struct page history[STEPS][PAGES];
		struct map_region regions[PAGES];
		struct stack_node node = {.module = 2, .offset = 0x100};
		struct page pages[PAGES] = {{0, 0, 0}};
		struct mappings m = {.list = NULL};
		uint64_t random = seed;
		struct test_recording t;
		struct builder b;
		struct map_tracker tracker = {.to = &m, .with_usage = true};
		struct map_readings readings = {.tracker = &tracker};

		builder_init(&b, (uint8_t)seed);
		test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
		for (unsigned step = 0; step < STEPS; step++) {
			act(pages, &b, step, &random);
			memcpy(history[step], pages, sizeof(pages));
		}
		builder_end(&b, 0);
		test_open(&t, &b);
		tracker.recording = t.recording;
		for (unsigned step = 0; step < STEPS; step++) {
			struct maps_state kernel = {.region = regions,
						    .time_ns = (step + 1) * STEP_NS};
			struct map_region all = {
				.start = BASE, .end = BASE + PAGES * PAGE, .name = ""};

			kernel.count = read_pages(history[step], regions, kernel.time_ns);
			map_readings_news(&readings, MAP_NEWS_CHANGED, &all, kernel.time_ns);
			map_readings_news(&readings, MAP_NEWS_USED, &all, kernel.time_ns);
			assert_int_equal(map_readings_complete(&readings, &kernel), 0);
			check_pages(&m, history[step], kernel.time_ns, &tracker);
		}
		map_readings_done(&readings);
		map_tracker_done(&tracker);
		mappings_done(&m);
		test_close(&t);
		builder_done(&b);
	}
}

/* Calls about the time of a reading: what it shows of their addresses is taken with the next
 * one. */
static void test_doubt(void **state)
{
	const uint64_t read_ns = 10 * STEP_NS;
	struct map_region region = {
		.start = BASE, .end = BASE + 4 * PAGE, .flags = WRITABLE, .name = ""};
	struct maps_state kernel = {.region = &region, .count = 1, .time_ns = read_ns};
	struct stack_node node = {.module = 2, .offset = 0x100};
	struct mappings m = {.list = NULL};
	struct map_tracker tracker = {.to = &m};
	struct map_readings readings = {.tracker = &tracker};
	struct test_recording t;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	add_call(&b, read_ns + 1000, HEAPCAST__EVENT_KIND__EVENT_MMAP, 0, 4, 0);
	add_call(&b, 2 * read_ns - 1000, HEAPCAST__EVENT_KIND__EVENT_MUNMAP, 0, 4, 0);
	builder_end(&b, 0);
	test_open(&t, &b);
	tracker.recording = t.recording;
	/* Mapped while it was read: it is not nobody's. */
	map_readings_news(&readings, MAP_NEWS_MAPPED, &region, read_ns);
	assert_int_equal(map_readings_complete(&readings, &kernel), 0);
	assert_int_equal(m.count, 0);
	kernel.time_ns += STEP_NS;
	assert_int_equal(map_readings_complete(&readings, &kernel), 0);
	assert_int_equal(m.count, 1);
	assert_non_null(m.list[0].source);
	assert_true(m.list[0].seen);
	/* Unmapped just before: what is still shown of it is nothing new. */
	kernel.time_ns = 2 * read_ns;
	map_readings_news(&readings, MAP_NEWS_CHANGED, &region, kernel.time_ns);
	assert_int_equal(map_readings_complete(&readings, &kernel), 0);
	assert_int_equal(m.count, 1);
	assert_int_equal(m.list[0].unmapped_ns, 2 * read_ns - 1000);
	/* But if it goes on being there, it is. */
	kernel.time_ns += STEP_NS;
	assert_int_equal(map_readings_complete(&readings, &kernel), 0);
	assert_int_equal(m.count, 2);
	assert_null(m.list[1].source);
	map_readings_done(&readings);
	map_tracker_done(&tracker);
	mappings_done(&m);
	test_close(&t);
	builder_done(&b);
}

/* Two that the kernel joins keep what they had, and what there is more or less is parted among
 * them. */
static void test_joined(void **state)
{
	static const struct {
		bool joined;
		uint64_t rss, first, second; /* KiB */
	} told[] = {{false, 0, 8, 0},
		    {true, 8, 8, 0},
		    {true, 12, 10, 2},
		    {true, 6, 5, 1},
		    {false, 0, 8, 4}};
	struct map_region regions[2];
	struct stack_node node = {.module = 2, .offset = 0x100};
	struct mappings m = {.list = NULL};
	struct map_tracker tracker = {.to = &m};
	struct map_readings readings = {.tracker = &tracker};
	struct test_recording t;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	add_call(&b, 1000, HEAPCAST__EVENT_KIND__EVENT_MMAP, 0, 4, 0);
	add_call(&b, 2000, HEAPCAST__EVENT_KIND__EVENT_MMAP, 4, 2, 0);
	builder_end(&b, 0);
	test_open(&t, &b);
	tracker.recording = t.recording;
	for (unsigned i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		bool joined = told[i].joined;
		struct maps_state kernel = {
			.region = regions, .count = joined ? 1 : 2, .time_ns = (i + 1) * STEP_NS};

		regions[0] = (struct map_region){.start = BASE,
						 .end = BASE + (joined ? 6 : 4) * PAGE,
						 .flags = WRITABLE,
						 .name = ""};
		regions[0].usage.rss = joined ? told[i].rss : told[i].first;
		regions[1] = (struct map_region){.start = BASE + 4 * PAGE,
						 .end = BASE + 6 * PAGE,
						 .flags = READABLE,
						 .name = ""};
		regions[1].usage.rss = told[i].second;
		for (size_t k = 0; k < kernel.count; k++) {
			map_readings_news(&readings, MAP_NEWS_CHANGED, &regions[k], kernel.time_ns);
			map_readings_news(&readings, MAP_NEWS_USED, &regions[k], kernel.time_ns);
		}
		assert_int_equal(map_readings_complete(&readings, &kernel), 0);
		for (uint32_t k = 0; k < 2; k++) {
			const struct mapping_region *r = map_tracker_region(&tracker, k);

			assert_in_range(r->usage.rss + 1, k ? told[i].second : told[i].first,
					(k ? told[i].second : told[i].first) + 2);
			assert_int_equal(r->estimated, joined);
		}
	}
	assert_int_equal(m.list[0].peak_rss / 1024, 10);
	assert_true(m.list[0].peak_estimated);
	map_readings_done(&readings);
	map_tracker_done(&tracker);
	mappings_done(&m);
	test_close(&t);
	builder_done(&b);
}

/* What no call has made and the next reading shows longer, or shorter in front, stays one mapping.
 */
static void test_grown(void **state)
{
	static const struct {
		unsigned start, end; /* pages */
	} told[] = {{2, 4}, {2, 6}, {0, 6}, {1, 6}};
	struct stack_node node = {.module = 2, .offset = 0x100};
	struct mappings m = {.list = NULL};
	struct map_tracker tracker = {.to = &m};
	struct map_readings readings = {.tracker = &tracker};
	struct test_recording t;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	builder_end(&b, 0);
	test_open(&t, &b);
	tracker.recording = t.recording;
	for (unsigned i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		struct map_region region = {.start = BASE + told[i].start * PAGE,
					    .end = BASE + told[i].end * PAGE,
					    .flags = WRITABLE,
					    .inode = 7,
					    .offset = (10 + told[i].start) * PAGE,
					    .name = "/nowhere/file"};
		struct maps_state kernel = {
			.region = &region, .count = 1, .time_ns = (i + 1) * STEP_NS};

		map_readings_news(&readings, MAP_NEWS_CHANGED, &region, kernel.time_ns);
		assert_int_equal(map_readings_complete(&readings, &kernel), 0);
		assert_int_equal(m.count, 1);
		assert_int_equal(tracker.live_count, 1);
		assert_int_equal(map_tracker_region(&tracker, 0)->look.offset, region.offset);
		assert_int_equal(m.list[0].address, region.start);
		assert_int_equal(m.list[0].size, region.end - region.start);
		assert_int_equal(m.list[0].live_bytes, region.end - region.start);
	}
	map_readings_done(&readings);
	map_tracker_done(&tracker);
	mappings_done(&m);
	test_close(&t);
	builder_done(&b);
}

/* Readings that no kernel gave: whatever they say, what is there lies in order and does not
 * overlap. */
static void test_hostile(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct map_region regions[PAGES];
		struct stack_node node = {.module = 2, .offset = 0x100};
		struct page pages[PAGES] = {{0, 0, 0}};
		struct mappings m = {.list = NULL};
		struct map_tracker tracker = {.to = &m, .with_usage = true};
		struct map_readings readings = {.tracker = &tracker};
		uint64_t random = seed;
		struct test_recording t;
		struct builder b;

		builder_init(&b, (uint8_t)seed);
		test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
		for (unsigned step = 0; step < STEPS; step++)
			act(pages, &b, step, &random);
		builder_end(&b, 0);
		test_open(&t, &b);
		tracker.recording = t.recording;
		for (unsigned step = 0; step < STEPS; step++) {
			struct maps_state kernel = {.region = regions,
						    .time_ns = test_random(&random) %
							       (STEPS * STEP_NS)};
			uint64_t at = test_random(&random) % 3 ? BASE : 0;

			while (kernel.count < PAGES) {
				struct map_region *r = &regions[kernel.count++];

				*r = (struct map_region){
					.start = at,
					.flags = (uint32_t)(test_random(&random) % 4),
					.inode = test_random(&random) % 2,
					.offset = test_random(&random) % 2 ? UINT64_MAX - PAGE : at,
					.name = test_random(&random) % 2 ? "" : "x"};
				r->usage.rss = test_random(&random) % 4 ? 4 : UINT64_MAX;
				r->end = at + 1 + test_random(&random) % (4 * PAGE);
				at = r->end +
				     (test_random(&random) % 2 ? test_random(&random) % PAGE : 0);
				if (test_random(&random) % 100 ==
				    0) { /* overlaps; or is the last */
					r->end = test_random(&random) % 2 ? UINT64_MAX
									  : r->end + PAGE;
					if (r->end == UINT64_MAX)
						break;
				}
				map_readings_news(&readings,
						  (enum map_news)(test_random(&random) % 4), r,
						  kernel.time_ns);
			}
			assert_int_equal(map_readings_complete(&readings, &kernel), 0);
			for (uint32_t i = 0; i < tracker.live_count; i++) {
				const struct mapping_region *r = map_tracker_region(&tracker, i);

				assert_true(r->size && r->address + r->size > r->address);
				assert_int_equal(r->to_ns, NO_TIME);
				assert_true(
					!i ||
					r[0].address >=
						map_tracker_region(&tracker, i - 1)->address +
							map_tracker_region(&tracker, i - 1)->size);
			}
		}
		map_readings_done(&readings);
		map_tracker_done(&tracker);
		mappings_done(&m);
		test_close(&t);
		builder_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readings), cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_joined),	 cmocka_unit_test(test_grown),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
