/* The channel in which a program announces its modules: what they mean for stacks, and what is
 * none. */
#include "tests/unit/streamer/harness.h"

static void announce(struct bench *b, uint32_t id, uint16_t kind, uint32_t epoch, uint64_t start,
		     uint64_t end, const char *path)
{
	struct ring_memory *ring = b->stream.source.ring;
	uint64_t head = ring->header->modules_head;
	struct ring_module m = {.kind = kind,
				.path_length = (uint16_t)strlen(path),
				.id = id,
				.epoch = epoch,
				.stamp = now(),
				.bias = start,
				.start = start,
				.end = end,
				.build_id_length = 2,
				.build_id = {0xab, 0xcd}};

	m.length = (uint32_t)(sizeof(m) + strlen(path) + 7) & ~7u;
	memcpy(ring->modules + head, &m, sizeof(m));
	memcpy(ring->modules + head + sizeof(m), path, strlen(path));
	__atomic_store_n(&ring->header->modules_head, head + m.length, __ATOMIC_RELEASE);
}

static void epoch(struct writer *w, uint64_t number)
{
	writer_word(w, RING_EPOCH);
	writer_word(w, number);
	writer_word(w, now());
}

/* One address, two modules, one after the other. */
static void test_epochs(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 0x500010;
	struct stack_node node[2];
	struct event got[2];

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	announce(&b, 1, RING_MODULE_LOAD, 1, 0x500000, 0x501000, "/lib/first.so");
	epoch(&w, 1);
	writer_event(&w, 1, 16, 8, now(), 0, 1, &pc);
	announce(&b, 1, RING_MODULE_UNLOAD, 2, 0, 0, "");
	announce(&b, 2, RING_MODULE_LOAD, 2, 0x4ff000, 0x501000, "/lib/second.so");
	epoch(&w, 2);
	writer_event(&w, 1, 32, 8, now(), 0, 1, &pc);
	usleep(200);
	bench_drain(&b, true);
	assert_int_equal(bench_events(&b, got, 2), 2);
	for (unsigned i = 0; i < 2; i++)
		stacks_get(&b.stream.stacks, got[i].stack, &node[i]);
	assert_int_equal(node[0].module, 1);
	assert_int_equal(node[0].offset, 0x10);
	assert_int_equal(node[1].module, 2);
	assert_int_equal(node[1].offset, 0x1010);
	bench_close(&b);
}

/* Announces a module by a record of `length` bytes in all, whose path has `path_length`. */
static void announce_sized(struct bench *b, uint32_t id, uint32_t length, uint32_t path_length)
{
	struct ring_memory *ring = b->stream.source.ring;
	uint64_t head = ring->header->modules_head;
	struct ring_module m = {.length = length,
				.kind = RING_MODULE_LOAD,
				.path_length = (uint16_t)path_length,
				.id = id,
				.stamp = now(),
				.start = id * 0x100000,
				.end = id * 0x100000 + 4096};
	uint64_t at = head & (ring->modules_size - 1);
	uint8_t *to = ring->modules + at;

	if (length > ring->modules_size - at) {
		((struct ring_module *)to)->kind = RING_MODULE_PAD;
		head += ring->modules_size - at;
		to = ring->modules;
	}
	memset(to, 'p', length);
	memcpy(to, &m, sizeof(m));
	__atomic_store_n(&ring->header->modules_head, head + length, __ATOMIC_RELEASE);
}

/* An announcement that is longer than the agent's copy of it, or whose path is longer than the
 * announcement, is damage; the longest that there may be is read. */
static void test_long_announcements(void **state)
{
	const uint32_t most = RING_EVENT_WORDS * sizeof(uint64_t),
		       head = sizeof(struct ring_module);
	struct bench b = {0};

	(void)state;
	bench_open(&b);
	announce_sized(&b, 1, most, MODULE_PATH_MAX);
	bench_drain(&b, false);
	announce_sized(&b, 2, head + 8, 8);
	bench_drain(&b, false);
	assert_int_equal(b.stream.source.records_damaged, 0);
	assert_int_equal(b.stream.modules.count, 2);
	announce_sized(&b, 3, most + 8, 8);
	bench_drain(&b, false);
	assert_int_equal(b.stream.source.records_damaged, 1);
	announce_sized(&b, 4, head + 8, 9);
	bench_drain(&b, false);
	assert_int_equal(b.stream.source.records_damaged, 2);
	announce_sized(&b, 5, most, MODULE_PATH_MAX + 1);
	bench_drain(&b, false);
	assert_int_equal(b.stream.source.records_damaged, 3);
	assert_int_equal(b.stream.modules.count, 2);
	assert_int_equal(b.stream.source.modules_tail, b.stream.source.ring->header->modules_head);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_long_announcements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
