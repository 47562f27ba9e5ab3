/* What culling holds, sends and sums up, event by event, with a batch that may be full. */
#include "agent/hold/cull.h"

#include "tests/unit/streamer/hold.h"

#define TIME_US UINT64_C(100)

static struct cull c;

static int open_cull_of(uint64_t pending_max)
{
	const struct cull_settings settings = {.time_ns = TIME_US * US, .pending_max = pending_max};

	hold_open();
	assert_int_equal(cull_init(&c, &settings, &host, &arena, &path), 0);
	return 0;
}

static int open_cull(void **state)
{
	(void)state;
	return open_cull_of(0);
}

static int give(unsigned thread, const struct event *e)
{
	struct event event = *e;

	event.class = (enum event_class)event_traits[event.kind].class;
	return cull_event(&c, &threads.entry[thread], &event, thread + 1);
}

static void begin_again(void)
{
	hold_close(NULL);
	open_cull(NULL);
}

/* How many entries of the table have this address. */
static unsigned known_at(uint64_t address)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < c.places; i++)
		count += c.at[i].address == address;
	return count;
}

static uint32_t spare_slots(void)
{
	uint32_t count = 0;

	for (uint32_t i = c.spare; i && count <= c.slots; i = c.slot[i].newer)
		count++;
	return count;
}

/* ---- what belongs together ---- */

/* A birth and a death at an address, with a block that was alive there before or without. */
static void test_doubt(void **state)
{
	const uint64_t doubt_us = CULL_DOUBT_NS / US;
	const struct {
		bool alive_before;
		unsigned thread;
		uint64_t birth_us, death_us;
		bool together;
	} cases[] = {
		{false, 0, 20, 30, true},
		{false, 0, 30, 20, true},
		{true, 0, 20, 20, true},
		{true, 0, 30, 20, true},
		{false, 1, 20, 21, true},
		{false, 1, 20, 20, true},
		{false, 1, 20, 19, false},
		{true, 1, 20, 20 + doubt_us, true},
		{true, 1, 20, 20 + doubt_us - 1, false},
		{true, 1, 20, 20, false},
		{true, 1, 20, 19, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned before = cases[i].alive_before, apart = !cases[i].together;
		uint64_t from_us = cases[i].birth_us, to_us = cases[i].death_us;

		begin_again();
		if (before)
			birth(0, 4096, 10);
		birth(0, 4096, from_us);
		death(cases[i].thread, 4096, to_us);
		assert_int_equal(c.pending, apart);
		assert_int_equal(sums.blocks, !apart);
		assert_int_equal(sums.frees, !apart);
		assert_int_equal(sent_count, before); /* it is in doubt, and may go */
		assert_int_equal(c.held, 2 * apart);
		assert_int_equal(threads.entry[0].counts.culled + threads.entry[1].counts.culled,
				 2 * !apart);
		if (!apart)
			assert_int_equal(
				sums.row[0].lifetime,
				culled_lifetime(to_us > from_us ? (to_us - from_us) * US : 0));
		if (!apart)
			continue;
		/* The next one is not doubted: the block that was there has its end. */
		death(1, 4096, from_us);
		assert_int_equal(sums.blocks, 1);
		assert_int_equal(c.pending, 0);
	}
}

/* A block that lives as long as that is sent with its end. */
static void test_time(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	death(1, 4096, 10 + TIME_US - 1);
	assert_int_equal(sums.blocks, 1);
	assert_int_equal(sums.row[0].thread, 1);
	assert_int_equal(sums.row[0].node, 1);
	assert_int_equal(sums.row[0].bytes, 24);
	assert_int_equal(sums.row[0].first_ns, 10 * US);
	assert_int_equal(sums.row[0].reallocated, 0);
	assert_int_equal(threads.entry[0].counts.culled, 1);
	assert_int_equal(threads.entry[1].counts.culled, 1);
	assert_true(threads.entry[0].counts_news && threads.entry[1].counts_news);
	begin_again();
	birth(0, 4096, 10);
	death(1, 4096, 10 + TIME_US);
	assert_int_equal(sums.blocks, 0);
	assert_int_equal(sent_count, 1);
	assert_sent(0, MALLOC, 4096, 10);
	assert_int_equal(c.held, 1); /* its end goes with the next */
	assert_int_equal(cull_advance(&c, 0, false), 0);
	assert_sent(1, FREE, 4096, 10 + TIME_US);
	assert_int_equal(c.held, 0);
}

/* Time goes on by events and by the watermark; all is sent in order. */
static void test_order(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	death(1, 64, 20); /* of none that is known */
	birth(0, 8192, 30);
	death(0, 64, 40);
	assert_int_equal(sent_count, 0);
	assert_int_equal(cull_advance(&c, (10 + TIME_US) * US - 1, false), 0);
	assert_int_equal(sent_count, 0);
	assert_int_equal(cull_watermark(&c, 1000 * US), 10 * US);
	assert_int_equal(cull_advance(&c, (10 + TIME_US) * US, false), 0);
	assert_int_equal(sent_count, 2);
	assert_sent(0, MALLOC, 4096, 10);
	assert_sent(1, FREE, 64, 20);
	assert_int_equal(sent[0].thread, 1);
	assert_int_equal(sent[0].stack, 1001);
	assert_int_equal(sent[0].size, 24);
	assert_int_equal(sent[1].thread, 2);
	assert_int_equal(cull_watermark(&c, 1000 * US), 30 * US);
	assert_int_equal(cull_watermark(&c, 29 * US), 29 * US);
	assert_int_equal(cull_advance(&c, 5 * US, false), 0); /* never back */
	assert_int_equal(c.now_ns, (10 + TIME_US) * US);
	birth(0, 12288, 30 + TIME_US);
	assert_int_equal(sent_count, 4);
	assert_int_equal(c.held, 1);
	assert_int_equal(threads.entry[0].held, 1);
	assert_int_equal(threads.entry[1].held, 0);
	assert_int_equal(cull_advance(&c, 0, true), 0);
	assert_int_equal(sent_count, 5);
	assert_false(c.flush);
	assert_int_equal(cull_watermark(&c, 1000 * US), 1000 * US);
}

/* The watermark waits for what came late, too, until that is sent. */
static void test_late(void **state)
{
	(void)state;
	birth(0, 4096, 50);
	birth(0, 8192, 50); /* at the same time is not late */
	assert_false(c.has_late);
	birth(1, 12288, 20);
	birth(1, 16384, 60);
	birth(1, 20480, 30); /* later than the other late one */
	birth(0, 24576, 70);
	assert_int_equal(cull_watermark(&c, 1000 * US), 20 * US);
	room = 4;
	assert_int_equal(cull_advance(&c, 0, true), -EAGAIN);
	assert_int_equal(cull_watermark(&c, 1000 * US), 20 * US); /* the last late one is held */
	room = 1;
	assert_int_equal(cull_advance(&c, 0, true), -EAGAIN);
	assert_int_equal(cull_watermark(&c, 1000 * US), 70 * US);
	room = UINT32_MAX;
	birth(0, 28672, 65); /* of what is held, none is newer */
	assert_int_equal(sent_count, 6);
	birth(0, 32768, 60);
	assert_int_equal(cull_watermark(&c, 1000 * US), 60 * US);
}

/* What is no block of the heap, or too large to be summed, is not pending. */
static void test_plain(void **state)
{
	const struct event odd[] = {
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MMAP, .address = 4096, .time_ns = 20 * US},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MUNMAP, .address = 4096, .time_ns = 20 * US},
		{.kind = MALLOC, .address = 0, .time_ns = 20 * US},
		{.kind = FREE, .address = 0, .time_ns = 20 * US},
		{.kind = MALLOC,
		 .address = 64,
		 .size = (uint64_t)1 << 48,
		 .weight = 7,
		 .time_ns = 20 * US},
	};

	(void)state;
	birth(0, 4096, 10);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(give(1, &odd[i]), 0);
	assert_int_equal(c.pending, 1);
	assert_int_equal(c.held, 6);
	death(0, 64, 21);
	assert_int_equal(sums.blocks, 0);
	death(0, 4096, 22); /* the mapping was another space */
	assert_int_equal(sums.blocks, 1);
	assert_int_equal(cull_advance(&c, 0, false), 0);
	assert_int_equal(sent_count, 6);
	assert_int_equal(sent[4].size, (uint64_t)1 << 48);
	assert_int_equal(sent[4].weight, 7);
	begin_again();
	assert_int_equal(give(1, &(struct event){.kind = MALLOC,
						 .address = 64,
						 .size = ((uint64_t)1 << 48) - 1}),
			 0);
	assert_int_equal(c.pending, 1);
}

/* ---- chains ---- */

/* A chain is culled as a whole: each block until the next is born. */
static void test_chain(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	growth(1, 4096, 8192, 30, 5);
	growth(0, 8192, 8192, 70, 0);
	assert_int_equal(c.pending, 3);
	assert_int_equal(sums.blocks, 0);
	death(0, 8192, 10 + TIME_US - 1);
	assert_int_equal(c.pending, 0);
	assert_int_equal(c.held, 0);
	assert_int_equal(sums.blocks, 3);
	assert_int_equal(sums.frees, 1);
	assert_int_equal(sums.count, 3);
	assert_int_equal(sums.row[0].lifetime, culled_lifetime(20 * US));
	assert_int_equal(sums.row[1].lifetime, culled_lifetime(40 * US));
	assert_int_equal(sums.row[2].lifetime, culled_lifetime((TIME_US - 61) * US));
	assert_int_equal(sums.row[0].reallocated, 1);
	assert_int_equal(sums.row[1].reallocated, 1);
	assert_int_equal(sums.row[2].reallocated, 0);
	assert_int_equal(sums.row[1].thread, 2);
	assert_int_equal(threads.entry[0].counts.culled, 3);
	assert_int_equal(threads.entry[1].counts.culled, 1);
	assert_int_equal(sent_count, 0);
}

/* Or sent as a whole, by the age of its first block. */
static void test_old_chain(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	growth(0, 4096, 8192, 30, 5);
	growth(0, 8192, 12288, 70, 0);
	death(0, 12288, 10 + TIME_US);
	assert_int_equal(c.pending, 0);
	assert_int_equal(cull_advance(&c, 0, false), 0);
	assert_int_equal(sums.blocks, 0);
	assert_int_equal(sent_count, 4);
	assert_sent(1, REALLOC, 8192, 30);
	assert_int_equal(sent[1].old_address, 4096);
	assert_int_equal(sent[1].call_time_ns, 5 * US);
	assert_sent(3, FREE, 12288, 10 + TIME_US);
}

/* What grows out of a block that was sent is sent, and so is its end. */
static void test_growth_of_sent(void **state)
{
	(void)state;
	birth(1, 8192, 5);
	growth(0, 4096, 8192, 20, 3);
	assert_int_equal(c.pending, 0); /* also what was there */
	death(0, 8192, 30);
	assert_int_equal(sums.blocks, 0);
	assert_int_equal(c.held, 1);
	assert_int_equal(cull_advance(&c, 0, false), 0);
	assert_int_equal(sent_count, 3);
}

/* A chain has so many blocks at most. */
static void test_long_chain(void **state)
{
	(void)state;
	birth(0, 4096, 1);
	for (unsigned i = 1; i < CULL_CHAIN_MOST; i++)
		growth(0, 4096 + 16 * (i - 1), 4096 + 16 * i, 1 + i, 0);
	assert_int_equal(c.pending, CULL_CHAIN_MOST);
	death(0, 4096 + 16 * (CULL_CHAIN_MOST - 1), 80);
	assert_int_equal(sums.blocks, CULL_CHAIN_MOST);
	begin_again();
	birth(0, 4096, 1);
	for (unsigned i = 1; i <= CULL_CHAIN_MOST; i++)
		growth(0, 4096 + 16 * (i - 1), 4096 + 16 * i, 1 + i, 0);
	assert_int_equal(c.pending, 0);
	death(0, 4096 + 16 * CULL_CHAIN_MOST, 80);
	assert_int_equal(sums.blocks, 0);
	assert_int_equal(cull_advance(&c, 0, false), 0);
	assert_int_equal(sent_count, CULL_CHAIN_MOST + 2);
}

/* The old block ends when the call begins; a chain ends with a block that can't be summed. */
static void test_growth_cases(void **state)
{
	const struct {
		uint64_t birth_us, call_us, size;
		unsigned pending;
	} cases[] = {
		{16, 4, 10, 2},
		{17, 4, 10, 1}, /* it belongs to an earlier one */
		{16, 0, 10, 2},
		{1, 60, 10, 1},
		{16, 4, ((uint64_t)1 << 48) - 1, 2},
		{16, 4, (uint64_t)1 << 48, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct event e = {.kind = REALLOC,
					.address = 8192,
					.old_address = 4096,
					.size = cases[i].size,
					.time_ns = 20 * US,
					.call_time_ns = cases[i].call_us * US};

		begin_again();
		birth(1, 4096, cases[i].birth_us);
		assert_int_equal(give(0, &e), 0);
		assert_int_equal(c.pending, cases[i].pending);
		assert_int_equal(c.held, 2);
		assert_int_equal(known_at(4096), 0);
		assert_int_equal(known_at(8192), 1);
	}
	/* As an allocation. */
	begin_again();
	growth(0, 0, 4096, 20, 0);
	assert_int_equal(c.pending, 1);
	death(0, 4096, 25);
	assert_int_equal(sums.blocks, 1);
}

/* ---- room ---- */

/* So many may be pending; then the oldest is sent before its time, and counts as such. */
static void test_pending_max(void **state)
{
	(void)state;
	hold_close(NULL);
	open_cull_of(3);
	for (unsigned i = 0; i < 3; i++)
		birth(0, 4096 + 16 * i, 10 + i);
	assert_int_equal(sent_count, 0);
	room = 0;
	assert_int_equal(give(0, &(struct event){.kind = MALLOC, .address = 64, .time_ns = US}),
			 -EAGAIN);
	assert_int_equal(sums.early, 0);
	assert_int_equal(c.held, 3);
	room = UINT32_MAX;
	birth(0, 64, 14);
	assert_int_equal(sums.early, 1);
	assert_int_equal(sent_count, 1);
	assert_sent(0, MALLOC, 4096, 10);
	assert_int_equal(c.pending, 3);
	death(0, 4096, 15); /* is sent, too; for it there has to be room as well */
	assert_int_equal(sums.early, 2);
	assert_int_equal(c.pending, 2);
	assert_int_equal(sums.blocks, 0);
}

/* All slots are in use: those that are not pending go without a word. */
static void test_slots(void **state)
{
	uint32_t slots = c.slots;

	(void)state;
	assert_true(slots > 200);
	birth(0, 4096, 1);
	for (uint32_t i = 1; i < slots; i++)
		death(1, 65536 + 16 * i, 1);
	assert_int_equal(c.held, slots);
	assert_int_equal(sent_count, 0);
	death(1, 65536, 1);
	assert_int_equal(sums.early, 1);
	assert_int_equal(sent_count, 1);
	assert_int_equal(c.held, slots);
	assert_int_equal(cull_advance(&c, 0, false), 0);
	assert_int_equal(c.held, 0);
	assert_int_equal(sent_count, slots + 1);
	assert_int_equal(sums.early, 1);
}

/* The sums have room for a whole chain, or the batch is closed first. */
static void test_full_sums(void **state)
{
	(void)state;
	sums.max = CULL_CHAIN_MOST - 1;
	assert_int_equal(give(0, &(struct event){.kind = MALLOC, .address = 64, .time_ns = US}),
			 -EAGAIN);
	assert_int_equal(c.held, 0);
	sums.max++;
	assert_int_equal(give(0, &(struct event){.kind = MALLOC, .address = 64, .time_ns = US}), 0);
	assert_int_equal(c.held, 1);
}

/* Whichever block ends, the others are sent in their order. */
static void test_links(void **state)
{
	(void)state;
	for (unsigned gone = 0; gone < 1u << 4; gone++) {
		unsigned count = 0;

		begin_again();
		for (unsigned i = 0; i < 4; i++)
			birth(0, 4096 + 16 * i, 10 + i);
		for (unsigned i = 0; i < 4; i++)
			if (gone >> i & 1)
				death(1, 4096 + 16 * i, 20);
		assert_int_equal(cull_advance(&c, 0, true), 0);
		for (unsigned i = 0; i < 4; i++)
			if (!(gone >> i & 1))
				assert_sent(count++, MALLOC, 4096 + 16 * i, 10 + i);
		assert_int_equal(sent_count, count);
		assert_int_equal(c.oldest + c.newest + c.held + c.pending, 0);
		assert_int_equal(spare_slots(), c.slots);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(known_at(4096 + 16 * i), 0);
	}
}

/* It needs a little memory, and looks after the stacks of all slots. */
static void test_memory(void **state)
{
	const struct cull_settings settings = {.time_ns = 1, .pending_max = c.slots};
	struct cull other;

	(void)state;
	assert_int_equal(path.depth, c.slots + 1);
	assert_int_equal(path.most, c.slots + 1);
	assert_int_equal(c.pending_max, c.slots);
	arena.used = arena.size;
	assert_int_equal(cull_init(&other, &settings, &host, &arena, &path), -ENOMEM);
}

/* Blocks come and go at addresses that lie side by side in the table. */
static void test_addresses(void **state)
{
	uint32_t count = c.slots / 2;

	(void)state;
	count -= count % 7 == 0;
	for (uint32_t i = 0; i < count; i++)
		birth(0, 4096 + 16 * (uint64_t)i, 1);
	for (uint32_t step = 0; step < count; step++) {
		uint32_t i = (uint32_t)((uint64_t)step * 7 % count);

		sums_clear(&sums);
		death(1, 4096 + 16 * (uint64_t)i, 2);
		assert_int_equal(sums.blocks, 1);
		assert_int_equal(c.held, count - step - 1);
	}
	for (uint32_t i = 0; i < c.places; i++)
		assert_int_equal(c.at[i].address, 0);
	for (uint32_t i = 0; i <= c.slots; i++)
		assert_int_equal(path.node[i], 0);
}

/* Marks that say what is recorded from there on. */
static void test_marks(void **state)
{
	static const struct {
		int kind;
		bool flushes;
	} marks[] = {{HEAPCAST__MARK_KIND__MARK_START, true},
		     {HEAPCAST__MARK_KIND__MARK_STOP, true},
		     {HEAPCAST__MARK_KIND__MARK_MODE, true},
		     {HEAPCAST__MARK_KIND__MARK_SNAPSHOT, true},
		     {HEAPCAST__MARK_KIND__MARK_WAITED, false}};

	(void)state;
	cull_mark(&c, HEAPCAST__MARK_KIND__MARK_START);
	assert_false(c.flush); /* nothing is held */
	for (unsigned i = 0; i < 5; i++) {
		begin_again();
		birth(0, 4096, 10);
		cull_mark(&c, marks[i].kind);
		assert_int_equal(c.flush, marks[i].flushes);
		birth(0, 8192, 11);
		assert_int_equal(sent_count, marks[i].flushes);
		assert_false(c.flush);
		assert_int_equal(c.pending, 2 - marks[i].flushes);
	}
}

/* The next program begins with nothing. */
static void test_clear(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	birth(0, 8192, 5);
	cull_flush(&c);
	cull_clear(&c);
	assert_int_equal(c.held + c.pending + c.oldest + c.newest, 0);
	assert_false(c.has_late || c.flush);
	assert_int_equal(c.now_ns, 0);
	death(0, 4096, 20);
	assert_int_equal(sums.blocks, 0);
	assert_int_equal(cull_watermark(&c, 1000 * US), 20 * US);
	threads.entry[0].held = 0;
	cull_clear(&c);
	for (uint32_t i = 0; i < c.slots; i++)
		birth(0, 4096 + 16 * (uint64_t)i, 1);
	assert_int_equal(c.held, c.slots);
	assert_int_equal(sent_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_cull, hold_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_doubt),	 TEST(test_time),	 TEST(test_order),
		TEST(test_late),	 TEST(test_plain),	 TEST(test_chain),
		TEST(test_old_chain),	 TEST(test_long_chain),	 TEST(test_growth_of_sent),
		TEST(test_growth_cases), TEST(test_pending_max), TEST(test_slots),
		TEST(test_links),	 TEST(test_memory),	 TEST(test_full_sums),
		TEST(test_addresses),	 TEST(test_marks),	 TEST(test_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
