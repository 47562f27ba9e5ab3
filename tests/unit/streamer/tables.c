/* Stack table, spool, names of files, division of memory. */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <stdio.h>

#include "agent/core/naming.h"

static void test_interning(void **state)
{
	static uint8_t memory[256 << 10];
	struct stacks s;
	struct stack_node node;
	uint32_t a, b, c;

	(void)state;
	stacks_init(&s, memory, sizeof(memory));
	a = stacks_child(&s, 0, 1, 0x100);
	b = stacks_child(&s, a, 1, 0x200);
	c = stacks_child(&s, a, 2, 0x200);
	assert_int_equal(stacks_child(&s, 0, 1, 0x100), a);
	assert_int_equal(stacks_child(&s, a, 1, 0x200), b);
	assert_int_not_equal(b, c);
	stacks_get(&s, c, &node);
	assert_int_equal(node.parent, a);
	assert_int_equal(node.module, 2);
	assert_int_equal(node.offset, 0x200);
	assert_false(stacks_is_cut(&s, c));
}

/* The memory need not be zeroed: nothing in it is taken for a node, a place or an answer. */
static void test_used_memory(void **state)
{
	static uint8_t memory[64 << 10];
	struct stacks s;
	struct stack_node node;

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		uint32_t parent = 0;

		memset(memory, round ? 0x01 : 0xff, round < 2 ? sizeof(memory) : 0);
		stacks_init(&s, memory, sizeof(memory));
		assert_int_equal(s.nodes + s.places + s.sent + s.base + s.generations, 0);
		assert_false(s.has_cut);
		assert_false(stacks_get(&s, 0, &node));
		assert_int_equal(node.offset, HEAPCAST__PSEUDO_FRAME__FRAME_FORGOTTEN);
		for (uint32_t i = 1; i <= 300; i++) {
			uint64_t trail = stacks_trail(parent);

			assert_int_equal(stacks_cached(s.cache, s.cache_shift, &trail, i)->parent,
					 UINT32_MAX);
			assert_int_equal(stacks_located(&s, i)->place, 0);
			parent = stacks_child(&s, parent, 1, i);
			assert_int_equal(parent, i);
			assert_true(stacks_get(&s, parent, &node));
			assert_int_equal(node.parent, i - 1);
			assert_int_equal(node.module, 1);
			assert_int_equal(node.offset, i);
		}
		for (uint32_t i = 1; i <= 300; i++)
			assert_int_equal(stacks_child(&s, i - 1, 1, i), i);
		assert_int_equal(s.nodes, 300);
	}
}

/* Some parents have more children than a line of the index has slots, and share it with others. */
static void test_many_children(void **state)
{
	static uint8_t memory[256 << 10], more[512 << 10];
	static uint32_t node[40][200];
	struct stacks s;

	(void)state;
	stacks_init(&s, memory, sizeof(memory));
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t child = 0; child < 200; child++)
			for (uint32_t i = 0; i < 40; i++) {
				uint32_t parent = i ? node[i - 1][0] : 0;
				uint32_t got =
					stacks_child(&s, parent, 1, i % 2 ? child : child % 3);

				if (!round)
					node[i][child] = got;
				assert_int_equal(got, node[i][child]);
			}
		assert_int_equal(s.nodes, 20 * 200 + 20 * 3);
		if (round == 1)
			stacks_move(&s, more, sizeof(more));
	}
	for (uint32_t i = 0; i < 40; i++)
		for (uint32_t child = 1; child < (i % 2 ? 200 : 3); child++)
			assert_int_not_equal(node[i][child], node[i][child - 1]);
}

static void test_table_full(void **state)
{
	static uint8_t memory[128 << 10];
	struct stacks s;
	struct stack_node node;
	uint32_t root, at, before;

	(void)state;
	stacks_init(&s, memory, sizeof(memory));
	root = stacks_child(&s, 0, 1, 1);
	for (uint64_t i = 2; !stacks_is_cut(&s, stacks_child(&s, root, 1, i)); i++)
		assert_true(i < 100000);
	at = stacks_child(&s, root, 1, 1000000);
	stacks_get(&s, at, &node);
	assert_int_equal(node.parent, root);
	assert_int_equal(node.module, 0);
	assert_int_equal(node.offset, HEAPCAST__PSEUDO_FRAME__FRAME_TABLE_FULL);
	assert_int_equal(stacks_child(&s, at, 1, 5), at);
	before = s.nodes;
	assert_int_equal(stacks_child(&s, root, 1, 2000000), at);
	assert_int_equal(s.nodes, before);
	assert_true(s.nodes <= s.nodes_max);
	for (uint32_t i = 1; i <= s.nodes; i++)
		stacks_child(&s, i, 3, 77);
	assert_true(s.nodes <= s.nodes_max);
}

static void test_spool(void **state)
{
	static uint8_t frame[3000];
	struct spool s;
	struct arena arena;
	struct spool_account account = {0};
	const uint8_t *data;
	size_t length = 0;

	(void)state;
	assert_int_equal(arena_open(&arena, 32768), 0);
	assert_int_equal(spool_init(&s, &arena, 16384, 16384), 0);
	for (unsigned i = 1; i <= 200; i++) {
		memset(frame, (int)i, sizeof(frame));
		account.events = i * 10;
		while (spool_put(&s, frame, 500 + i * 37 % 2500, &account) == -ENOSPC) {
			assert_true(s.acked + 1 < s.next);
			assert_int_equal(spool_ack(&s, s.acked + 1, s.acked + 1), 0);
		}
		for (uint64_t k = s.first; k < s.next; k++) {
			data = spool_get(&s, k, &length);
			assert_non_null(data);
			assert_int_equal(length, 500 + k * 37 % 2500);
			assert_int_equal(data[0], (uint8_t)k);
			assert_int_equal(data[length - 1], (uint8_t)k);
		}
	}
	assert_true(s.first > 150);
	assert_int_equal(s.evicted.events, (s.first - 1) * 10);
	assert_null(spool_get(&s, s.first - 1, &length));
	assert_null(spool_get(&s, s.next, &length));
	assert_int_equal(spool_ack(&s, s.next, 0), -EINVAL);
	assert_int_equal(spool_put(&s, frame, 20000, &account), -EMSGSIZE);
	arena_close(&arena);
}

static void test_names(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(naming_expand(out, sizeof(out), NAMING_DEFAULT, "ls", 1700000000, 42, 0),
			 0);
	assert_string_equal(out, "heapcast_ls_1700000000_42.heapcast");
	assert_int_equal(naming_expand(out, sizeof(out), "/tmp/%n-%%-%e", "a/b\n", 1, 2, 7), 0);
	assert_string_equal(out, "/tmp/7-%-a_b_");
	assert_int_equal(naming_expand(out, sizeof(out), "%q", "x", 1, 2, 7), -EINVAL);
	assert_int_equal(naming_expand(out, sizeof(out), "%", "x", 1, 2, 7), -EINVAL);
	assert_int_equal(naming_expand(out, sizeof(out), "", "x", 1, 2, 7), -EINVAL);
	assert_int_equal(naming_expand(out, 8, "12345678", "x", 1, 2, 7), -ENAMETOOLONG);
	assert_true(naming_is_plain("a%%b.heapcast") && naming_is_plain(""));
	assert_false(naming_is_plain("a%pb") || naming_is_plain("a%%%n"));
	snprintf(out, sizeof(out), "/a.b/name.heapcast");
	assert_int_equal(naming_number(out, sizeof(out), '-', 12), 0);
	assert_int_equal(naming_number(out, sizeof(out), '.', 2), 0);
	assert_string_equal(out, "/a.b/name-12.2.heapcast");
	snprintf(out, sizeof(out), "/a.b/name");
	assert_int_equal(naming_number(out, strlen(out) + 2, '-', 2), -ENAMETOOLONG);
	assert_int_equal(naming_number(out, sizeof(out), '-', 2), 0);
	assert_string_equal(out, "/a.b/name-2");
	/* A dot at the beginning is no ending. */
	snprintf(out, sizeof(out), "/a.b/.name");
	assert_int_equal(naming_number(out, sizeof(out), '-', 2), 0);
	assert_string_equal(out, "/a.b/.name-2");
	snprintf(out, sizeof(out), ".name");
	assert_int_equal(naming_number(out, sizeof(out), '-', 2), 0);
	assert_string_equal(out, ".name-2");
}

static uint64_t divided(const struct budget *b)
{
	return b->own + budget_private(b) + b->slots * (uint64_t)b->ring +
	       b->links * 2 * (uint64_t)b->socket_buffer;
}

static void test_budget(void **state)
{
	struct budget b;
	struct err_text err = {{0}};
	static const uint64_t limits[] = {2, 3, 8, 64, 1024};

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		for (uint32_t slots = 0; slots < 2; slots++) {
			assert_int_equal(
				budget_divide_paged(&b, limits[i] << 20, slots, 4096, &err), 0);
			assert_true(divided(&b) <= limits[i] << 20);
			assert_true(divided(&b) >= (limits[i] << 20) * 9 / 10);
			assert_true(b.spool > b.batch);
			assert_true(b.ring >= (limits[i] << 20) / b.slots / 16);
			assert_true(ring_slice_count(&b.shape, 1) >= 8);
		}
	}
	assert_int_equal(budget_divide(&b, 1 << 20, 1, &err), -EINVAL);
	assert_non_null(strstr(err.text, "MiB"));
	assert_int_equal(budget_divide(&b, 8 << 20, 64, &err), -EINVAL);
}

/* From the least limit on each one divides, into as many slots as with small pages or fewer. */
static void test_budget_of_large_pages(void **state)
{
	struct err_text err = {{0}};

	(void)state;
	assert_int_equal(budget_own(4 << 10), 768 << 10);
	assert_int_equal(budget_own(64 << 10) - budget_own(4 << 10), 32 * 60 << 10);
	for (size_t page = 4 << 10; page <= 64 << 10; page *= 4) {
		uint64_t least = BUDGET_LIMIT_MIN + budget_own(page) - budget_own(4 << 10);
		struct budget b;

		assert_int_equal(budget_divide_paged(&b, least - 1, 0, page, &err), -EINVAL);
		for (uint64_t limit = least; limit <= 32 << 20; limit += 64 << 10) {
			assert_int_equal(budget_divide_paged(&b, limit, 0, page, &err), 0);
			assert_true(b.slots <= (limit >> 21 ? limit >> 21 : 1));
			assert_true(divided(&b) <= limit);
			assert_true(b.spool > b.batch && b.ring && b.ring % page == 0);
			assert_true(ring_slice_count(&b.shape, 1) >= 8);
			if (limit >= 8 << 20)
				assert_int_equal(b.slots, limit >> 21);
		}
	}
}

static void test_clock(void **state)
{
	struct clock c;
	uint64_t last = 0;

	(void)state;
	if (clock_counter_kind() == RING_CLOCK_NONE) {
		print_message("skipped: no counter to read on this processor\n");
		skip();
	}
	clock_init(&c, clock_counter_kind());
	for (unsigned i = 0; i < 200; i++) {
		uint64_t before = clock_monotonic_ns(), ns = clock_ns(&c, clock_stamp(&c)),
			 after = clock_monotonic_ns();

		assert_true(ns >= last);
		assert_true(ns + 200000 > before && ns < after + 200000);
		last = ns;
		usleep(500);
		if (i % 20 == 0)
			clock_update(&c);
	}
	assert_int_equal(clock_ns(&c, clock_stamp(&c) + clock_ticks(&c, 1000000)) / 1000000 >
				 last / 1000000,
			 1);
}

/* The end of a module that found no room is nobody's fault; that of one that was never there is. */
static void test_modules_full(void **state)
{
	struct run_module first = {.id = 1,
				   .epoch = 1,
				   .start = 0x1000,
				   .end = 0x2000,
				   .path = (const uint8_t *)"/a",
				   .path_length = 2},
			  second = first;
	struct arena arena;
	struct modules m;

	(void)state;
	second.id = 2;
	second.start = 0x3000;
	second.end = 0x4000;
	assert_int_equal(arena_open(&arena, 1 << 16), 0);
	assert_int_equal(modules_init(&m, &arena, 1), 0);
	assert_int_equal(modules_add(&m, &first), 0);
	assert_false(modules_remove(&m, 2, 2, 10));
	assert_int_equal(modules_add(&m, &second), -ENOSPC);
	assert_int_equal(m.turned_away, 1);
	assert_true(modules_remove(&m, 2, 3, 20));
	assert_true(modules_remove(&m, 1, 4, 30));
	arena_close(&arena);
}

/* Number of the file that held this address then; 0: none. */
static uint32_t number_at(struct modules *m, uint64_t pc, uint32_t epoch, uint64_t *ret_offset)
{
	const struct module_place *place = modules_find(m, pc, epoch);

	*ret_offset = place ? pc - place->bias : pc;
	return place ? place->number : 0;
}

static void move(struct run_module *module, uint64_t to)
{
	module->end += to - module->start;
	module->bias += to - module->start;
	module->start = to;
}

static void assert_at(struct modules *m, uint64_t pc, uint32_t epoch, uint32_t number,
		      uint64_t offset)
{
	uint64_t is;

	assert_int_equal(number_at(m, pc, epoch, &is), number);
	assert_int_equal(is, number ? offset : pc);
}

static void test_modules_again(void **state)
{
	struct run_module first = {.id = 1,
				   .epoch = 1,
				   .start = 0x1000,
				   .end = 0x2000,
				   .bias = 0x1000,
				   .path = (const uint8_t *)"/a",
				   .path_length = 2},
			  second = first;
	struct arena arena;
	struct modules m;

	(void)state;
	second.id = 2;
	second.path = (const uint8_t *)"/b";
	assert_int_equal(arena_open(&arena, 1 << 20), 0);
	assert_int_equal(modules_init(&m, &arena, 16), 0);
	assert_int_equal(modules_add(&m, &first), 0);
	assert_false(modules_knows(&m, &first)); /* it is there */
	assert_true(modules_remove(&m, 1, 2, 10));
	assert_int_equal(m.unloads, 1);
	second.epoch = 2;
	assert_false(modules_knows(&m, &second)); /* another file at its place */
	assert_int_equal(modules_add(&m, &second), 0);
	assert_at(&m, 0x1800, 2, 2, 0x800);
	assert_true(modules_remove(&m, 2, 3, 20));
	first.id = 3;
	first.epoch = 3;
	move(&first, 0x8000);
	assert_true(modules_knows(&m, &first));
	assert_int_equal(modules_add(&m, &first), 0);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.unloads, 1); /* of the second alone */
	assert_at(&m, 0x8800, 3, 1, 0x800);
	assert_at(&m, 0x8800, 2, 0, 0);
	assert_at(&m, 0x1800, 1, 1, 0x800); /* events that come late */
	assert_at(&m, 0x1800, 2, 2, 0x800);
	assert_at(&m, 0x1800, 3, 0, 0);
	assert_true(modules_remove(&m, 3, 4, 30));
	assert_at(&m, 0x8800, 4, 0, 0);
	assert_at(&m, 0x8800, 3, 1, 0x800);
	arena_close(&arena);
}

/* A file that was written anew is another one under the same name; without a build id its print
 * says so. */
static void test_modules_rebuilt(void **state)
{
	struct run_module module = {.id = 1,
				    .epoch = 1,
				    .start = 0x1000,
				    .end = 0x2000,
				    .path = (const uint8_t *)"/a",
				    .path_length = 2,
				    .build_id = (const uint8_t *)"1",
				    .build_id_length = 1,
				    .segment_count = 1,
				    .segment = {{0, 0x1000, 0, 5}}};
	struct arena arena;
	struct modules m;

	(void)state;
	assert_int_equal(arena_open(&arena, 1 << 20), 0);
	assert_int_equal(modules_init(&m, &arena, 16), 0);
	assert_int_equal(modules_add(&m, &module), 0);
	modules_remove_all(&m, 10);
	assert_true(modules_knows(&m, &module)); /* of the program before */
	module.build_id = (const uint8_t *)"2";
	assert_false(modules_knows(&m, &module));
	module.build_id = (const uint8_t *)"1";
	module.segment[0].size = 0x1001;
	assert_false(modules_knows(&m, &module));
	module.segment[0].size = 0x1000;
	module.print = 1;
	assert_false(modules_knows(&m, &module));
	arena_close(&arena);
}

/* Files take turns at one address, for ever: they take no room, and events are never said to be in
 * the other one. */
static void test_modules_alternate(void **state)
{
	struct run_module module = {
		.epoch = 1, .start = 0x1000, .end = 0x2000, .bias = 0x1000, .path_length = 2};
	static const uint8_t paths[3][2] = {"/a", "/b", "/c"};
	struct arena arena;
	struct modules m;

	(void)state;
	assert_int_equal(arena_open(&arena, 1 << 20), 0);
	assert_int_equal(modules_init(&m, &arena, 16), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		module.id = module.epoch = i + 1;
		module.path = paths[i % 3];
		assert_int_equal(modules_add(&m, &module), 0);
		assert_at(&m, 0x1234, i + 1, i % 3 + 1, 0x234);
		for (uint32_t late = 1; late < 100 && late < i; late++)
			assert_at(&m, 0x1234, i + 1 - late, (i - late) % 3 + 1, 0x234);
		for (uint32_t k = 0; i % 5 == 0 && k < m.count; k++)
			modules_told(&m, &m.entry[k]);
		assert_true(m.unloads <= 3);
		assert_true(modules_remove(&m, i + 1, i + 2, i));
	}
	assert_int_equal(m.count, 3);
	assert_int_equal(m.turned_away, 0);
	arena_close(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interning),
		cmocka_unit_test(test_used_memory),
		cmocka_unit_test(test_many_children),
		cmocka_unit_test(test_table_full),
		cmocka_unit_test(test_spool),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_budget_of_large_pages),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_modules_again),
		cmocka_unit_test(test_modules_rebuilt),
		cmocka_unit_test(test_modules_alternate),
		cmocka_unit_test(test_modules_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
