/*
 * Mappings: random calls against an array with an owner for each page, at every moment. A mapping
 * is one call's, however many pieces are left of it, and its regions are what is left.
 */
#include "tests/unit/query/mapping_calls.h"

#define CALLS 200

/* As test_open, with the file left where it is: readings come from there. */
static char *open_kept(struct test_recording *t, const struct builder *b)
{
	char *path = builder_save(b, b->file.length);

	assert_int_equal(recording_open(path, NULL, NULL, &t->recording, NULL), 0);
	assert_int_equal(symbols_new(&(struct symbols_options){0}, &t->symbols, NULL), 0);
	assert_int_equal(view_new(t->recording, t->symbols, &t->view, NULL), 0);
	return path;
}

static void close_kept(struct test_recording *t, struct builder *b, char *path)
{
	test_close(t);
	builder_done(b);
	unlink(path);
	free(path);
}

/* What ended a region took a part of it, in that moment. */
static void check_ends(const struct mappings *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		const struct mapping *map = &m->list[i];
		uint64_t last = 0;

		for (uint32_t k = 0; k < map->region_count; k++) {
			const struct mapping_region *r = &m->regions[map->first_region + k];

			assert_int_equal(r->mapping, i);
			assert_true(r->from_ns >= map->mapped_ns && r->address >= map->address);
			assert_true(r->address + r->size <= map->address + map->size);
			last = r->to_ns > last ? r->to_ns : last;
			if (r->to_ns == NO_TIME)
				continue;
			assert_int_equal(r->end->time_ns, r->to_ns);
			assert_true(r->end_size > 0 && r->end_address >= r->address &&
				    r->end_address + r->end_size <= r->address + r->size);
		}
		assert_int_equal(map->unmapped_ns, last);
		assert_int_equal(map->end != NULL, last != NO_TIME);
	}
}

/* A size each time that it changed. */
static void check_sizes(const struct mappings *m)
{
	for (uint32_t i = 0; i < m->usage_count; i++) {
		const struct mapping_usage *u = &m->usage[i];
		uint64_t size = 0;

		for (uint32_t k = 0; k < m->region_count; k++)
			if (m->regions[k].mapping == u->mapping &&
			    m->regions[k].from_ns <= u->time_ns && m->regions[k].to_ns > u->time_ns)
				size += m->regions[k].size;
		assert_int_equal(u->size_bytes, size);
		assert_false(u->read);
	}
}

static void test_every_page(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		static uint64_t owner[CALLS][PAGES]; /* after each call: when the page was mapped;
							0: it is not */
		struct stack_node node = {.module = 2, .offset = 0x100};
		uint64_t random = seed;
		struct test_recording t;
		struct mappings m;
		struct builder b;
		unsigned maps = 0;
		char *path;

		memset(owner, 0, sizeof(owner));
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
			maps += begins;
			add_call(&b, 10 + call,
				 begins ? HEAPCAST__EVENT_KIND__EVENT_MMAP
					: HEAPCAST__EVENT_KIND__EVENT_MUNMAP,
				 page, count, 0);
		}
		builder_end(&b, 0);
		path = open_kept(&t, &b);
		assert_int_equal(query_mappings(t.view, true, NULL, &m, NULL), 0);
		assert_int_equal(m.count, maps);
		assert_false(m.gathered);
		for (unsigned call = 0; call < CALLS; call++) {
			for (unsigned p = 0; p < PAGES; p++) {
				const struct mapping_region *r = holder(&m, p, 10 + call);

				assert_int_equal(r != NULL, owner[call][p] != 0);
				if (r)
					assert_int_equal(m.list[r->mapping].source->time_ns,
							 owner[call][p]);
			}
		}
		check_ends(&m);
		check_sizes(&m);
		mappings_done(&m);
		close_kept(&t, &b, path);
	}
}

/* It grows, moves and shrinks, and is the same one; what is left of it where it was stays so. */
static void test_mremap(void **state)
{
	struct stack_node node = {.module = 2, .offset = 0x100};
	struct test_recording t;
	struct mappings m;
	struct builder b;
	char *path;

	(void)state;
	builder_init(&b, 1);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	add_call(&b, 10, HEAPCAST__EVENT_KIND__EVENT_MMAP, 0, 4, 0);
	add_call(&b, 11, HEAPCAST__EVENT_KIND__EVENT_MMAP, 20, 4, 0);
	add_call(&b, 12, HEAPCAST__EVENT_KIND__EVENT_MUNMAP, 0, 4, 0);
	add_call(&b, 13, HEAPCAST__EVENT_KIND__EVENT_MREMAP, 8, 6, BASE);
	add_call(&b, 14, HEAPCAST__EVENT_KIND__EVENT_MUNMAP, 8, 6, 0);
	add_call(&b, 15, HEAPCAST__EVENT_KIND__EVENT_MREMAP, 8, 1, BASE + 8 * PAGE);
	add_call(&b, 16, HEAPCAST__EVENT_KIND__EVENT_MUNMAP, 21, 1, 0);
	add_call(&b, 17, HEAPCAST__EVENT_KIND__EVENT_MREMAP, 30, 1, BASE + 21 * PAGE);
	/* What was unmapped and what is mapped somewhere else later are two. */
	add_call(&b, 18, HEAPCAST__EVENT_KIND__EVENT_MUNMAP, 8, 1, 0);
	add_call(&b, 19, HEAPCAST__EVENT_KIND__EVENT_MMAP, 8, 1, 0);
	builder_end(&b, 0);
	path = open_kept(&t, &b);
	assert_int_equal(query_mappings(t.view, true, NULL, &m, NULL), 0);
	assert_int_equal(m.count, 3);
	assert_int_equal(m.list[0].region_count, 3);
	assert_int_equal(m.list[0].address, BASE + 8 * PAGE);
	assert_int_equal(m.list[0].size, PAGE);
	assert_int_equal(m.list[0].unmapped_ns, 18);
	assert_int_equal(m.regions[1].address, BASE + 8 * PAGE);
	assert_int_equal(m.regions[1].size, 6 * PAGE);
	assert_int_equal(m.list[1].unmapped_ns, NO_TIME);
	assert_int_equal(m.list[1].address, BASE + 20 * PAGE);
	assert_int_equal(m.list[1].region_count,
			 4); /* whole; what is left on both sides; what moved */
	assert_int_equal(m.list[2].mapped_ns, 19);
	mappings_done(&m);
	close_kept(&t, &b, path);
}

/* What an exec finds is gone; what is mapped in the very same moment is the new program's. */
static void test_exec(void **state)
{
	struct stack_node node = {.module = 2, .offset = 0x100};
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;
	struct test_recording t;
	struct mappings m;
	struct builder b;
	char *path;

	(void)state;
	builder_init(&b, 1);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	add_call(&b, 10, HEAPCAST__EVENT_KIND__EVENT_MMAP, 0, 4, 0);
	add_call(&b, 11, HEAPCAST__EVENT_KIND__EVENT_MMAP, 8, 4, 0);
	mark.kind = HEAPCAST__MARK_KIND__MARK_EXEC;
	mark.time_ns = 12;
	b.mark = &mark;
	add_call(&b, 12, HEAPCAST__EVENT_KIND__EVENT_MMAP, 20, 4, 0);
	builder_end(&b, 0);
	path = open_kept(&t, &b);
	assert_int_equal(query_mappings(t.view, true, NULL, &m, NULL), 0);
	assert_int_equal(m.count, 3);
	assert_int_equal(m.list[0].unmapped_ns, 12);
	assert_int_equal(m.list[1].unmapped_ns, 12);
	assert_int_equal(m.list[2].unmapped_ns, NO_TIME);
	mappings_done(&m);
	close_kept(&t, &b, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_page),
		cmocka_unit_test(test_mremap),
		cmocka_unit_test(test_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
