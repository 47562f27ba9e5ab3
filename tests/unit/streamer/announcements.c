/* The channel in which a program announces its modules: what they mean for stacks, and what is
 * none. */
#include "tests/unit/streamer/harness.h"

/* At the head of the channel; `rest` lies behind `m`, which says how long both are. */
static void put_announcement(struct bench *b, const struct ring_module *m, const void *rest,
			     size_t rest_length)
{
	struct ring_memory *ring = b->ring.ring;
	uint64_t head = ring->header->modules_head, at = head & (ring->modules_size - 1);

	memcpy(ring->modules + at, m, sizeof(*m));
	if (rest_length)
		memcpy(ring->modules + at + sizeof(*m), rest, rest_length);
	__atomic_store_n(&ring->header->modules_head, head + m->length, __ATOMIC_RELEASE);
}

static void announce(struct bench *b, uint32_t id, uint16_t kind, uint32_t epoch, uint64_t start,
		     uint64_t end, const char *path)
{
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
	put_announcement(b, &m, path, strlen(path));
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

/* All before the last `room` bytes of the channel was written, and read. */
static void wind_to(struct bench *b, uint64_t room)
{
	struct ring_memory *ring = b->ring.ring;
	uint64_t used = ring->header->modules_head & (ring->modules_size - 1);

	ring->header->modules_head += ring->modules_size - used - room;
	ring->header->modules_tail = b->ring.modules_tail = ring->header->modules_head;
}

/* Tells whether the stream has a module more after this announcement, which has `rest_length` bytes
 * behind its head. `m` lacks what is the same in all. What is turned away is counted. */
static bool takes(struct bench *b, struct ring_module m, const void *rest, size_t rest_length)
{
	const struct modules *modules = &b->stream.modules;
	const struct ring_source *s = &b->ring;
	uint64_t count = modules->count, damaged = s->records_damaged;

	m.length = (uint32_t)(sizeof(m) + rest_length);
	m.kind = RING_MODULE_LOAD;
	m.id = modules->count + 1;
	m.stamp = now();
	m.start = 0x500000 + count * 0x1000;
	m.end = m.start + 0x1000;
	if (s->ring->modules_size - (s->modules_tail & (s->ring->modules_size - 1)) < m.length)
		wind_to(b, 0);
	put_announcement(b, &m, rest, rest_length);
	bench_drain(b, false);
	assert_int_equal(s->modules_tail, s->ring->header->modules_head);
	assert_int_equal(s->records_damaged + modules->count, damaged + count + 1);
	return modules->count > count;
}

#define MOST 8192 /* bytes of an announcement here */

/* Announcements at their largest, and what is larger by one. */
static void test_announced_sizes(void **state)
{
	const size_t most = MOST - sizeof(struct ring_module);
	const struct {
		struct ring_module head;
		size_t rest;
		bool taken;
	} cases[] = {
		{{.path_length = MODULE_PATH_MAX}, 1024, true},
		{{.path_length = MODULE_PATH_MAX + 1}, 1024, false},
		/* A path fills its record, or is longer than that. */
		{{.path_length = 16}, 16, true},
		{{.path_length = 17}, 16, false},
		{{.path_length = UINT16_MAX}, 16, false},
		{{.build_id_length = MODULE_BUILD_ID_MAX}, 8, true},
		{{.build_id_length = MODULE_BUILD_ID_MAX + 1}, 8, false},
		{{.build_id_length = UINT8_MAX}, 8, false},
		/* What follows the path does not matter. */
		{{.path_length = 24}, most, true},
		{{.path_length = 0}, 0, true},
	};
	static uint8_t rest[MOST];
	struct bench b = {0};

	(void)state;
	bench_open(&b);
	memset(rest, 'p', sizeof(rest));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(takes(&b, cases[i].head, rest, cases[i].rest), cases[i].taken);
	assert_int_equal(b.stream.modules.entry[0].path_length, MODULE_PATH_MAX);
	assert_memory_equal(b.stream.modules.entry[0].path, rest, MODULE_PATH_MAX);
	assert_int_equal(b.stream.modules.entry[2].build_id_length, MODULE_BUILD_ID_MAX);
	bench_close(&b);
}

/* Segments come before the path, and count. Of more than there is room for the first are kept. */
static void test_announced_segments(void **state)
{
	const size_t each = sizeof(((struct ring_module *)0)->segment[0]);
	static uint8_t rest[MOST];
	struct bench b = {0};

	(void)state;
	bench_open(&b);
	for (uint8_t i = MODULE_SEGMENTS_MAX; i <= MODULE_SEGMENTS_MAX + 1; i++) {
		const struct ring_module m = {.path_length = 8, .segment_count = i},
					 longer = {.path_length = 9, .segment_count = i},
					 none = {.segment_count = i};
		const struct module *last;

		memcpy(rest + i * each, "/segment", 8);
		assert_true(takes(&b, m, rest, i * each + 8));
		last = &b.stream.modules.entry[b.stream.modules.count - 1];
		assert_int_equal(last->segment_count, MODULE_SEGMENTS_MAX);
		assert_memory_equal(last->path, "/segment", 8);
		assert_false(takes(&b, longer, rest, i * each + 8));
		assert_false(takes(&b, m, rest, i * each));
		assert_false(takes(&b, none, rest, i * each - 8));
	}
	bench_close(&b);
}

/* A record that is less than the head of one says nothing, though what would be its head is there.
 */
static void test_announced_short(void **state)
{
	const struct ring_module m = {
		.length = sizeof(m) - 8, .kind = RING_MODULE_UNLOAD, .id = 1, .epoch = 1};
	struct bench b = {0};

	(void)state;
	bench_open(&b);
	assert_true(takes(&b, (struct ring_module){.path_length = 8}, "/library", 8));
	put_announcement(&b, &m, NULL, 0);
	bench_drain(&b, false);
	assert_int_equal(b.ring.records_damaged, 1);
	assert_int_equal(b.stream.modules.entry[0].ended_ns, MODULE_THERE);
	bench_close(&b);
}

/* A module that is announced `room` bytes in front of the channel's end, by a record of `length`
 * bytes, of which `published` are: what is published is passed over in any case. Tells whether the
 * record is damage. */
static bool is_beyond(uint64_t room, uint32_t length, uint64_t published)
{
	const struct ring_module m = {.kind = RING_MODULE_LOAD,
				      .length = length,
				      .id = 1,
				      .start = 0x500000,
				      .end = 0x501000};
	struct bench b = {0};
	struct ring_header *h;
	uint64_t damaged;

	bench_open(&b);
	h = b.ring.ring->header;
	wind_to(&b, room);
	put_announcement(&b, &m, NULL, 0);
	h->modules_head += published - length;
	bench_drain(&b, false);
	damaged = b.ring.records_damaged;
	assert_int_equal(b.ring.modules_tail, h->modules_head);
	assert_int_equal(b.stream.modules.count + damaged, 1);
	bench_close(&b);
	return damaged;
}

static void test_announced_beyond(void **state)
{
	const uint32_t length = sizeof(struct ring_module);

	(void)state;
	assert_false(is_beyond(2 * length, length, length));
	assert_true(is_beyond(2 * length, length + 8, length)); /* more than is published */
	assert_false(is_beyond(length, length, length));
	assert_true(is_beyond(length, length + 8, length + 8)); /* not in one piece */
}

/* Padding of the channel is published up to its end, and no more is published than the channel
 * holds. */
static void test_channel_bounds(void **state)
{
	const uint64_t pad = RING_MODULE_PAD << 16 << 16;
	struct bench b = {0};
	struct ring_memory *ring;
	struct ring_source *s = &b.ring;
	uint64_t size;

	(void)state;
	bench_open(&b);
	writer_claim(&b, 0, 1000);
	ring = s->ring;
	size = ring->modules_size;
	for (uint64_t i = 0; i < size; i += sizeof(pad))
		memcpy(ring->modules + i, &pad, sizeof(pad));
	ring->header->modules_head = size;
	bench_drain(&b, false);
	assert_int_equal(s->records_damaged, 0);
	assert_int_equal(s->modules_tail, size);
	ring->header->modules_head += size - 8;
	bench_drain(&b, false);
	assert_int_equal(s->records_damaged, 1);
	assert_int_equal(s->modules_tail, ring->header->modules_head);
	ring->header->modules_head += size + 8;
	bench_drain(&b, false);
	assert_int_equal(s->records_damaged, 2);
	assert_int_equal(s->modules_tail, ring->header->modules_head);
	bench_close(&b);
}

/* What the program writes over an announcement, once the agent has read it, changes nothing. */
static void test_announced_once(void **state)
{
	struct bench b = {0};
	struct run *run = &b.stream.run;
	struct capture_source *source;

	(void)state;
	bench_open(&b);
	source = b.stream.source;
	announce(&b, 1, RING_MODULE_LOAD, 1, 0x500000, 0x501000, "/lib/first.so");
	for (int i = 0; i < 10 && !run->count; i++)
		source->ops->fill(source, false, run);
	assert_int_equal(run->count, 1);
	assert_int_equal(run->item[0].kind, RUN_LOAD);
	memset(b.ring.ring->modules, 'x', b.ring.ring->modules_size);
	assert_true(stream_take(&b.stream));
	assert_int_equal(b.stream.modules.count, 1);
	assert_memory_equal(b.stream.modules.entry[0].path, "/lib/first.so", 13);
	assert_int_equal(b.stream.modules.entry[0].build_id[0], 0xab);
	bench_close(&b);
}

static unsigned fills(struct bench *b)
{
	struct capture_source *source = b->stream.source;
	struct run *run = &b->stream.run;
	unsigned modules = 0;

	run->complete = false;
	do {
		run->count = 0;
		source->ops->fill(source, false, run);
		modules += run->count && run->item[0].kind == RUN_LOAD;
		if (modules && modules < 9) /* a program that never stops */
			announce(b, 3 + modules, RING_MODULE_LOAD, 1, 0x1000 * (4 + modules),
				 0x1000 * (5 + modules), "/lib/again.so");
	} while (!run->complete);
	return modules;
}

/* A round takes what was announced when it began, and no more. */
static void test_announced_meanwhile(void **state)
{
	struct bench b = {0};

	(void)state;
	bench_open(&b);
	announce(&b, 1, RING_MODULE_LOAD, 1, 0x1000, 0x2000, "/lib/first.so");
	announce(&b, 2, RING_MODULE_LOAD, 1, 0x2000, 0x3000, "/lib/second.so");
	assert_int_equal(fills(&b), 2);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_announced_sizes),
		cmocka_unit_test(test_announced_segments),
		cmocka_unit_test(test_announced_short),
		cmocka_unit_test(test_announced_beyond),
		cmocka_unit_test(test_announced_once),
		cmocka_unit_test(test_announced_meanwhile),
		cmocka_unit_test(test_channel_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
