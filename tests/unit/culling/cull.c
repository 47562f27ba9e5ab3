/*
 * Culling against a naive model: random programs write a ring by hand, with stamps of a clock of their own, and what comes out,
 * events and sums, must add up to what they did: by call site, by class of lifetime and size, and block by block for what is alive at
 * the end.
 */
#include "tests/unit/streamer/harness.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/culling/collector/read.h"

#define PAST_NS	  3600000000000 /* programs run that long ago */
#define CULL_NS	  50000000
#define THREADS	  3
#define SITES	  12
#define ADDRESSES 400
#define PC_BASE	  UINT64_C(0x500000)
#define CLASSES	  64
#define CALL_NS	  2000

struct block {
	bool alive, sent; /* sent: it will surely be among the events */
	unsigned site;
	uint32_t size;
	uint64_t birth_ns;
};

struct sum {
	uint64_t blocks, bytes;
};

/* What the program did, and what of it should be culled. */
struct model {
	struct bench b;
	struct writer w[THREADS];
	uint64_t now_ns, random, start_ns;
	uint64_t cull_ns;
	struct block block[ADDRESSES];
	struct sum born[SITES], culled[SITES][CLASSES][CLASSES];
	uint64_t events;
	bool exact;	     /* stamps are in their true order, and nothing comes before its time */
	unsigned addresses;  /* in use */
	int file;	     /* what came out, as a recording */
	uint64_t stalled_ns; /* thread 0 is in a hook since then; 0: it is not */
	uint64_t skew_ns[THREADS], last_stamp[THREADS];
	/* What came out. */
	struct sum got_born[SITES], got_culled[SITES][CLASSES][CLASSES];
	int32_t balance[ADDRESSES]; /* births less deaths, in events */
	uint64_t got_events, got_culled_events, early, watermark_ns, last_ns, batch;
	unsigned site_of_node[1 << 16];
};

static uint64_t dice(struct model *m, uint64_t sides)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random % sides;
}

static uint64_t address_of(unsigned i)
{
	return READ_FIRST + (uint64_t)i * READ_STEP;
}

static unsigned bits_of(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* ---- reading ---- */

static void read_nodes(struct model *m, const Heapcast__Stacks *stacks)
{
	struct stacks_decoder decoder;
	struct stack_node node;
	struct err_text err;
	uint32_t number;

	assert_int_equal(stacks_decoder_init(&decoder, stacks, &err), 0);
	while (stacks_decoder_next(&decoder, &number, &node, &err) == 1) {
		assert_true(number < 1 << 16);
		m->site_of_node[number] = (unsigned)((node.offset - PC_BASE) / 16);
	}
}

static void read_event(struct model *m, const struct event *e)
{
	assert_true(e->time_ns >= m->watermark_ns);
	if (m->exact)
		assert_true(e->time_ns >= m->last_ns);
	m->last_ns = e->time_ns;
	m->got_events++;
	if (e->class == EVENT_CLASS_FREE)
		m->balance[(e->address - READ_FIRST) / READ_STEP]--;
	if (e->class == EVENT_CLASS_FREE || !e->address)
		return;
	if (e->old_address)
		m->balance[(e->old_address - READ_FIRST) / READ_STEP]--;
	m->balance[(e->address - READ_FIRST) / READ_STEP]++;
	m->got_born[m->site_of_node[e->stack]].blocks++;
	m->got_born[m->site_of_node[e->stack]].bytes += e->size;
}

static void read_culled(struct model *m, const Heapcast__Culled *culled)
{
	struct culled_decoder decoder;
	struct culled_row row;
	struct err_text err;
	int r;

	assert_int_equal(culled_decoder_init(&decoder, culled, &err), 0);
	while ((r = culled_decoder_next(&decoder, &row, &err)) == 1) {
		unsigned site = m->site_of_node[row.stack], bits = bits_of(row.size_least);

		assert_in_range(row.thread, 1, THREADS);
		assert_int_equal(bits, bits_of(row.size_most));
		assert_true(row.first_ns <= row.last_ns);
		m->got_born[site].blocks += row.blocks;
		m->got_born[site].bytes += row.bytes;
		m->got_culled[site][row.lifetime][bits].blocks += row.blocks;
		m->got_culled[site][row.lifetime][bits].bytes += row.bytes;
	}
	assert_int_equal(r, 0);
	m->got_culled_events += culled->allocations + culled->frees;
	m->early += culled->early;
}

static void read_batch(struct model *m, const Heapcast__Batch *batch)
{
	struct events_decoder decoder;
	struct event event;
	struct err_text err = {{0}};
	int r = 0;

	if (batch->stacks)
		read_nodes(m, batch->stacks);
	if (batch->events) {
		assert_int_equal(events_decoder_init(&decoder, batch->events, &err), 0);
		while ((r = events_decoder_next(&decoder, &event, &err)) == 1)
			read_event(m, &event);
		assert_string_equal(err.text, "");
		assert_int_equal(r, 0);
		events_decoder_done(&decoder);
	}
	if (batch->culled)
		read_culled(m, batch->culled);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->culled, m->got_culled_events);
	assert_int_equal(batch->ledger->delivered, m->got_events);
	assert_true(batch->watermark_ns >= m->watermark_ns);
	m->watermark_ns = batch->watermark_ns;
}

static void read_all(struct model *m)
{
	for (; m->batch < m->b.stream.spool.next; m->batch++) {
		Heapcast__Batch *batch = bench_batch(&m->b, m->batch);
		size_t length;
		const uint8_t *frame = spool_get(&m->b.stream.spool, m->batch, &length);

		assert_int_equal(write(m->file, frame, length), length);
		read_batch(m, batch);
		heapcast__batch__free_unpacked(batch, NULL);
	}
	if (m->batch > 1)
		assert_int_equal(spool_ack(&m->b.stream.spool, m->batch - 1), 0);
}

/* ---- the program ---- */

static void drain(struct model *m, bool end)
{
	for (unsigned i = 0; i < THREADS; i++) {
		m->w[i].slice->entered = end ? 0 : m->start_ns + m->now_ns - 100000;
		if (!i && m->stalled_ns)
			m->w[i].slice->entered = m->start_ns + m->stalled_ns;
		if (end)
			writer_die(&m->w[i]);
	}
	/* A batch now and then, as if a quarter of a second had passed. */
	m->b.stream.batch.opened_ns = 1;
	for (int i = 0; i < 50 && m->b.stream.state != STREAM_ENDED; i++) {
		bench_drain(&m->b, end && !i);
		read_all(m);
		if (!end)
			break;
	}
}

/* The stamp that the thread reads: off by the clock's error, and never going back. */
static uint64_t stamp(struct model *m, unsigned thread, uint64_t time_ns)
{
	uint64_t skew = m->skew_ns[thread] ? dice(m, m->skew_ns[thread]) : 0,
		 at = m->start_ns + time_ns + skew;

	if (at < m->last_stamp[thread])
		at = m->last_stamp[thread];
	m->last_stamp[thread] = at;
	return at;
}

static void put(struct model *m, unsigned thread, unsigned kind, unsigned address, uint32_t size,
		unsigned site, const unsigned *old)
{
	struct writer *w = &m->w[thread];
	uint64_t at = stamp(m, thread, m->now_ns);

	w->slice->events++;
	writer_pad(w, 6);
	writer_word(w, RING_WORD0(kind, 1, 0, 0, 0, size));
	writer_word(w, address_of(address));
	writer_word(w, at);
	if (old) {
		writer_word(w, address_of(*old));
		writer_word(w, at - CALL_NS);
	}
	writer_word(w, PC_BASE + site * 16);
	writer_publish(w);
	m->events++;
	if (w->head - w->slice->tail > RING_FIRST_WORDS / 2)
		drain(m, false);
}

static void born(struct model *m, unsigned i, unsigned site, uint32_t size, bool sent)
{
	m->block[i] = (struct block){true, sent, site, size, m->now_ns};
	m->born[site].blocks++;
	m->born[site].bytes += size;
}

static uint64_t tick(uint64_t ns)
{
	return ns / BATCH_TICK_NS * BATCH_TICK_NS;
}

/* Is it culled? Then it counts. */
static bool dies(struct model *m, unsigned i)
{
	struct block *b = &m->block[i];
	uint64_t lived = tick(m->now_ns) - tick(b->birth_ns);
	struct sum *sum = &m->culled[b->site][culled_lifetime(lived)][bits_of(b->size)];

	b->alive = false;
	if (b->sent || lived >= m->cull_ns)
		return false;
	sum->blocks++;
	sum->bytes += b->size;
	return true;
}

static void act(struct model *m)
{
	unsigned i = (unsigned)dice(m, m->addresses), thread = (unsigned)dice(m, THREADS),
		 site = (unsigned)dice(m, SITES);
	uint32_t size = (uint32_t)dice(m, dice(m, 8) ? 100 : 5000);

	if (!m->block[i].alive) {
		put(m, thread, HEAPCAST__EVENT_KIND__EVENT_MALLOC, i, size, site, NULL);
		born(m, i, site, size, false);
	} else if (dice(m, 4)) {
		put(m, thread, HEAPCAST__EVENT_KIND__EVENT_FREE, i, 0, site, NULL);
		dies(m, i);
	} else {
		unsigned to = dice(m, 2) ? i : (unsigned)dice(m, m->addresses);

		if (m->block[to].alive && to != i)
			return;
		put(m, thread, HEAPCAST__EVENT_KIND__EVENT_REALLOC, to, size, site, &i);
		born(m, to, site, size, !dies(m, i));
	}
}

static void model_open(struct model *m, const struct cull_settings *settings, uint64_t seed)
{
	*m = (struct model){
		.random = seed * 0x9e3779b97f4a7c15 + 1, .batch = 1, .cull_ns = settings->time_ns};
	m->addresses = ADDRESSES;
	m->file = memfd_create("recording", MFD_CLOEXEC);
	assert_true(m->file >= 0);
	bench_open_culling(&m->b, settings->time_ns ? settings : NULL);
	m->start_ns = m->b.stream.start_ns - PAST_NS;
	m->b.stream.start_ns = m->b.stream.source.start_ns = m->start_ns;
	for (unsigned i = 0; i < THREADS; i++) {
		m->w[i] = writer_claim(&m->b, i, 1000 + i);
		m->w[i].slice->claim_stamp = m->start_ns;
	}
}

static uint64_t mistakes(const struct model *m);

static void check(struct model *m)
{
	assert_int_equal(m->b.stream.state, STREAM_ENDED);
	assert_int_equal(m->got_events + m->got_culled_events, m->events);
	assert_memory_equal(m->got_born, m->born, sizeof(m->born));
	for (unsigned i = 0; i < ADDRESSES; i++)
		assert_int_equal(m->balance[i], m->block[i].alive);
	if (m->exact) {
		assert_memory_equal(m->got_culled, m->culled, sizeof(m->culled));
		assert_int_equal(mistakes(m), 0);
	}
}

static void model_close(struct model *m)
{
	bench_close(&m->b);
	close(m->file);
}

/* What a collector makes of it: blocks that it takes for alive and are not, or the other way round, or for others, and frees that it finds no block for. */
static uint64_t mistakes(const struct model *m)
{
	struct read_alive alive[ADDRESSES] = {0};
	uint64_t count;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->file);
	count = culling_read(path, alive, ADDRESSES);
	assert_int_not_equal(count, UINT64_MAX);
	for (unsigned i = 0; i < ADDRESSES; i++)
		count += alive[i].blocks != m->block[i].alive ||
			 (m->block[i].alive && alive[i].bytes != m->block[i].size);
	return count;
}

static struct model *model_new(void)
{
	struct model *m = malloc(sizeof(*m));

	assert_non_null(m);
	return m;
}

/* The order of stamps is the true one, and there is room: just the blocks that should be culled are. */
static void test_random(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();

	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		model_open(m, &settings, seed);
		m->exact = true;
		for (unsigned i = 0; i < 20000; i++) {
			m->now_ns += 10000 + dice(m, seed % 3 ? 20000 : 2000000);
			act(m);
		}
		drain(m, true);
		assert_int_equal(m->early, 0);
		assert_true(m->got_culled_events > m->events / 20);
		check(m);
		model_close(m);
	}
	free(m);
}

/* A program whose threads follow each other within the clock's error. What a collector gets wrong about it. */
static uint64_t run_inverted(struct model *m, uint64_t cull_ns, unsigned seed)
{
	const struct cull_settings settings = {.time_ns = cull_ns};
	uint64_t wrong;

	model_open(m, &settings, seed);
	m->addresses = seed % 2 ? 20 : ADDRESSES;
	for (unsigned i = 0; i < THREADS; i++)
		m->skew_ns[i] = 4000;
	for (unsigned i = 0; i < 20000; i++) {
		m->now_ns += dice(m, 10) ? dice(m, 5000) : dice(m, 200000);
		act(m);
	}
	drain(m, true);
	assert_int_equal(m->got_culled_events != 0, cull_ns != 0);
	check(m);
	wrong = mistakes(m);
	model_close(m);
	return wrong;
}

/* Stamps are in the wrong order: nothing is lost or made up, and a collector is no more wrong than without culling. */
static void test_inverted_stamps(void **state)
{
	struct model *m = model_new();
	uint64_t without = 0, with = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		without += run_inverted(m, 0, seed);
		with += run_inverted(m, CULL_NS, seed);
	}
	print_message("mistakes: %u without culling, %u with\n", (unsigned)without, (unsigned)with);
	assert_true(with <= without);
	free(m);
}

/* Few may wait: the oldest are sent before their time, in order, and counted. */
static void test_no_room(void **state)
{
	const struct cull_settings few = {.time_ns = CULL_NS, .pending_max = 7};
	struct model *m = model_new();

	(void)state;
	for (unsigned seed = 1; seed <= 5; seed++) {
		model_open(m, &few, seed);
		for (unsigned i = 0; i < 20000; i++) {
			m->now_ns += 10000;
			act(m);
			assert_true(m->b.stream.cull.pending <= 7);
		}
		drain(m, true);
		assert_true(m->early > 1000);
		check(m);
		model_close(m);
	}
	free(m);
}

/* The list itself is full. */
static void test_full_list(void **state)
{
	const struct cull_settings long_time = {.time_ns = 1000000000000};
	struct model *m = model_new();
	uint32_t slots;

	(void)state;
	model_open(m, &long_time, 1);
	slots = m->b.stream.cull.slots;
	assert_in_range(slots, 500, 50000);
	for (unsigned i = 0; i < slots + 1000; i++) {
		/* Of a mapping: never culled, and behind the first block it waits all the same. */
		m->now_ns += 10000;
		put(m, 0, i ? HEAPCAST__EVENT_KIND__EVENT_MMAP : HEAPCAST__EVENT_KIND__EVENT_MALLOC,
		    5, 100, 1, NULL);
	}
	drain(m, true);
	assert_int_equal(m->got_events, slots + 1000);
	assert_int_equal(m->early, 1);
	model_close(m);
	free(m);
}

/* An order to send all: what waited is there, and what comes after it is culled again. */
static void test_flush(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();

	(void)state;
	model_open(m, &settings, 1);
	for (unsigned i = 0; i < 100; i++) {
		m->now_ns += 10000;
		put(m, i % THREADS, HEAPCAST__EVENT_KIND__EVENT_MALLOC, i, 10, 2, NULL);
		born(m, i, 2, 10, true);
	}
	drain(m, false);
	assert_int_equal(m->got_events, 0);
	assert_int_equal(capture_mark(&m->b.stream, NULL, HEAPCAST__MARK_KIND__MARK_SNAPSHOT, 1,
				      m->now_ns, NULL, 0),
			 0);
	drain(m, false);
	drain(m, false);
	assert_int_equal(m->b.stream.cull.held, 0);
	assert_true(m->got_events > 90); /* the last ones may be younger than the watermark */
	for (unsigned i = 0; i < 1000; i++) {
		m->now_ns += 10000;
		act(m);
	}
	drain(m, true);
	assert_true(m->got_culled_events > 0);
	check(m);
	model_close(m);
	free(m);
}

/* Stacks are forgotten and numbered anew while blocks wait. */
static void test_generations(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();
	uint64_t pc = 0x7f0000000000;

	(void)state;
	model_open(m, &settings, 3);
	m->exact = true;
	for (unsigned i = 0; i < 20000; i++) {
		struct stacks *stacks = &m->b.stream.stacks;
		uint32_t node = 0;

		m->now_ns += 10000 + dice(m, 20000);
		act(m);
		/* As if another thread had many stacks. */
		for (unsigned k = 0;
		     k < 3 && stacks_has_room(stacks, 40) &&
		     stacks->nodes < stacks->sent + m->b.stream.batch.nodes_max - 40;
		     k++)
			node = stacks_child(stacks, node, 0, pc += 16);
		if (!stacks_has_room(stacks, 80))
			m->b.stream.renewal_wanted = true;
	}
	drain(m, true);
	assert_true(m->b.stream.stacks.generations > 0);
	check(m);
	model_close(m);
	free(m);
}

/* A thread was stalled in a hook: its event comes behind younger ones. Until it is sent no batch says that nothing older follows. */
static void test_late(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	const uint64_t stalled_ns = 2000000;
	struct model *m = model_new();

	(void)state;
	model_open(m, &settings, 1);
	for (unsigned i = 0; i < 20; i++) {
		m->now_ns = 1000000 + i * 2000000;
		put(m, 1, HEAPCAST__EVENT_KIND__EVENT_MALLOC, i, 10, 1, NULL);
		born(m, i, 1, 10, true);
	}
	m->stalled_ns = stalled_ns;
	drain(m, false);
	m->now_ns = stalled_ns;
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 50, 10, 2, NULL);
	born(m, 50, 2, 10, true);
	drain(m, false);
	m->stalled_ns = 0;
	m->now_ns = 41000000;
	put(m, 1, HEAPCAST__EVENT_KIND__EVENT_FREE, 0, 0, 1,
	    NULL); /* the oldest goes, and the late one is not in front */
	m->block[0].alive = false;
	m->b.stream.batch.marks = 0;
	assert_int_equal(capture_mark(&m->b.stream, NULL, HEAPCAST__MARK_KIND__MARK_TEXT, 1,
				      m->now_ns, NULL, 0),
			 0);
	drain(m, false);
	assert_in_range(m->watermark_ns, 1, stalled_ns);
	drain(m, true);
	assert_int_equal(m->got_culled_events, 2);
	check(m);
	model_close(m);
	free(m);
}

/* A block that stands for others takes its weight with it. */
static void test_weights(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();
	uint64_t weight = 0;

	(void)state;
	model_open(m, &settings, 1);
	for (unsigned i = 0; i < 3; i++) {
		struct writer *w = &m->w[0];

		m->now_ns += 10000;
		w->slice->events++;
		writer_word(w, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_MALLOC, 1, 0, 0, 1, 100));
		writer_word(w, address_of(i));
		writer_word(w, stamp(m, 0, m->now_ns));
		writer_word(w, 1000); /* the interval */
		writer_word(w, PC_BASE);
		writer_publish(w);
		m->events++;
		if (i < 2)
			put(m, 0, HEAPCAST__EVENT_KIND__EVENT_FREE, i, 0, 0, NULL);
	}
	drain(m, false);
	assert_int_equal(m->b.stream.cull.sums, 1);
	assert_int_equal(m->b.stream.cull.sum[0].blocks, 2);
	weight = m->b.stream.cull.sum[0].weight;
	assert_int_equal(weight, 1051); /* 100 / (1 - exp(-0.1)) = 1050.8 */
	drain(m, true);
	assert_int_equal(m->got_culled_events, 4);
	assert_int_equal(m->got_events, 1);
	model_close(m);
	free(m);
}

static void test_lifetimes(void **state)
{
	(void)state;
	assert_int_equal(culled_lifetime(0), 0);
	assert_int_equal(culled_lifetime(UINT64_MAX), culled_lifetimes - 1);
	for (uint8_t i = 0; i < culled_lifetimes; i++) {
		assert_int_equal(culled_lifetime(culled_lifetime_least(i)), i);
		assert_int_equal(culled_lifetime(culled_lifetime_most(i)), i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	cmocka_unit_test(test_inverted_stamps),
		cmocka_unit_test(test_no_room), cmocka_unit_test(test_full_list),
		cmocka_unit_test(test_flush),	cmocka_unit_test(test_generations),
		cmocka_unit_test(test_weights), cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
