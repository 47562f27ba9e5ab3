/* The program's own mappings: random calls against an array with an owner for each page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/ranges.h"
#include "tests/unit/query/recording.h"

#define PAGES 64
#define CALLS 400
#define PAGE  4096ull
#define BASE  0x100000ull

static void add_call(struct builder *b, uint64_t time, bool begins, unsigned page, unsigned count)
{
	struct event e = {
		.kind = begins ? HEAPCAST__EVENT_KIND__EVENT_MMAP
			       : HEAPCAST__EVENT_KIND__EVENT_MUNMAP,
		.thread = 1,
		.time_ns = time,
		.address = BASE + page * PAGE,
		.size = count * PAGE,
		.weight = begins ? count * PAGE : 0,
	};

	builder_event(b, &e);
}

static void follows_every_page(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct stack_node node = {.module = 2, .offset = 0x100};
		uint64_t random = seed;
		uint64_t owner[CALLS][PAGES] = {
			0}; /* after each call: when the page was mapped; 0: it is not */
		struct test_recording t;
		struct ranges ranges;
		struct builder b;

		builder_init(&b, (uint8_t)seed);
		test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
		for (unsigned call = 0; call < CALLS; call++) {
			bool begins = test_random(&random) % 2;
			unsigned page = (unsigned)(test_random(&random) % PAGES),
				 count = 1 + (unsigned)(test_random(&random) % (PAGES - page));

			if (call)
				memcpy(owner[call], owner[call - 1], sizeof(owner[call]));
			for (unsigned p = page; p < page + count; p++)
				owner[call][p] = begins ? 10 + call : 0;
			add_call(&b, 10 + call, begins, page, count);
		}
		builder_end(&b, 0);
		test_open(&t, &b);
		builder_done(&b);
		assert_int_equal(recording_aparts(t.recording), CALLS);
		assert_int_equal(recording_rows(t.recording), 0);
		ranges_init(&ranges, t.recording);
		for (unsigned call = 0; call < CALLS; call++) {
			assert_int_equal(ranges_advance(&ranges, 10 + call), 0);
			for (unsigned p = 0; p < PAGES; p++) {
				size_t at = ranges_find(&ranges, BASE + p * PAGE + 7);

				assert_int_equal(at != SIZE_MAX, owner[call][p] != 0);
				if (at == SIZE_MAX)
					continue;
				assert_int_equal(ranges.list[at].source->time_ns, owner[call][p]);
				assert_null(ranges.list[at].ended);
			}
		}
		ranges_done(&ranges);
		test_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(follows_every_page)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
