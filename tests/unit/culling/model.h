#pragma once
/*
 * A program that is recorded by an agent which does not send everything, as a naive model: it
 * writes a ring by hand, with stamps of a clock of its own, and notes what it did; what comes out,
 * events and sums, is read as a collector does. What tests of culling and of the flight recorder
 * share.
 */
#include "tests/unit/streamer/harness.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/culled.h"
#include "tests/unit/culling/collector/read.h"

/* programs run that long ago: longer than any of them runs, and shorter than this machine does */
#define PAST_NS	       60000000000
#define CULL_NS	       50000000
#define THREADS	       3
#define SITES	       12
#define ADDRESSES      400
#define PC_BASE	       UINT64_C(0x500000)
#define CLASSES	       64
#define CALL_NS	       2000
#define STALLED_NS     2000000
#define DELIVERIES_MAX 64

#define CHAIN_MOST 64 /* as culling has it */

struct block {
	bool alive, sent; /* sent: it will surely be among the events */
	unsigned site;
	uint32_t size;
	uint64_t birth_ns;
	/* What it was made of by reallocations, while all of the chain may still be culled. */
	unsigned links;
	struct link {
		unsigned site;
		uint32_t size;
		uint64_t birth_ns;
	} link[CHAIN_MOST];
};

struct sum {
	uint64_t blocks, bytes;
};

struct noted {
	uint64_t time_ns; /* of the tick */
	unsigned address; /* its number */
	unsigned kind;
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
	/* All events as they went in and came out, and when all was sent. NULL: they are not
	 * noted. */
	struct noted *in, *out;
	struct delivery {
		uint64_t time_ns, whole_ns;
	} delivery[DELIVERIES_MAX];
	unsigned deliveries;
};

static inline uint64_t tick(uint64_t ns)
{
	return ns / BATCH_TICK_NS * BATCH_TICK_NS;
}

static inline uint64_t dice(struct model *m, uint64_t sides)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random % sides;
}

static inline uint64_t address_of(unsigned i)
{
	return READ_FIRST + (uint64_t)i * READ_STEP;
}

static inline unsigned bits_of(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* ---- reading ---- */

static inline void read_nodes(struct model *m, const Heapcast__Stacks *stacks)
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

static inline void read_event(struct model *m, const struct event *e)
{
	assert_true(e->time_ns >= m->watermark_ns);
	if (m->exact)
		assert_true(e->time_ns >= m->last_ns);
	m->last_ns = e->time_ns;
	if (m->out)
		m->out[m->got_events] = (struct noted){
			e->time_ns, (unsigned)((e->address - READ_FIRST) / READ_STEP), e->kind};
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

static inline void read_culled(struct model *m, const Heapcast__Culled *culled)
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

static inline void read_batch(struct model *m, const Heapcast__Batch *batch)
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
	for (size_t i = 0; i < batch->n_mark; i++)
		if (batch->mark[i]->kind == HEAPCAST__MARK_KIND__MARK_DELIVERY &&
		    m->deliveries < DELIVERIES_MAX)
			m->delivery[m->deliveries++] =
				(struct delivery){batch->mark[i]->time_ns, batch->mark[i]->value};
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->culled, m->got_culled_events);
	assert_int_equal(batch->ledger->delivered, m->got_events);
	assert_true(batch->watermark_ns >= m->watermark_ns);
	m->watermark_ns = batch->watermark_ns;
}

static inline void read_all(struct model *m)
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
		assert_int_equal(spool_ack(&m->b.stream.spool, m->batch - 1, m->batch - 1), 0);
}

/* ---- the program ---- */

static inline void drain(struct model *m, bool end)
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
static inline uint64_t stamp(struct model *m, unsigned thread, uint64_t time_ns)
{
	uint64_t skew = m->skew_ns[thread] ? dice(m, m->skew_ns[thread]) : 0,
		 at = m->start_ns + time_ns + skew;

	if (at < m->last_stamp[thread])
		at = m->last_stamp[thread];
	m->last_stamp[thread] = at;
	return at;
}

static inline void put(struct model *m, unsigned thread, unsigned kind, unsigned address,
		       uint32_t size, unsigned site, const unsigned *old)
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
	if (m->in)
		m->in[m->events] = (struct noted){tick(m->now_ns), address, kind};
	m->events++;
	if (w->head - w->slice->tail > RING_FIRST_WORDS / 2)
		drain(m, false);
}

static inline void born(struct model *m, unsigned i, unsigned site, uint32_t size, bool sent)
{
	m->block[i] = (struct block){
		.alive = true, .sent = sent, .site = site, .size = size, .birth_ns = m->now_ns};
	m->born[site].blocks++;
	m->born[site].bytes += size;
}

static inline bool may_be_culled(const struct model *m, const struct block *b)
{
	uint64_t first_ns = b->links ? b->link[0].birth_ns : b->birth_ns;

	return !b->sent && tick(m->now_ns) - tick(first_ns) < m->cull_ns;
}

static inline void is_culled(struct model *m, unsigned site, uint32_t size, uint64_t birth_ns,
			     uint64_t end_ns)
{
	struct sum *sum =
		&m->culled[site][culled_lifetime(tick(end_ns) - tick(birth_ns))][bits_of(size)];

	sum->blocks++;
	sum->bytes += size;
}

/* If its chain is culled it counts. */
static inline void dies(struct model *m, unsigned i)
{
	struct block *b = &m->block[i];

	b->alive = false;
	if (!may_be_culled(m, b))
		return;
	for (unsigned k = 0; k < b->links; k++)
		is_culled(m, b->link[k].site, b->link[k].size, b->link[k].birth_ns,
			  k + 1 < b->links ? b->link[k + 1].birth_ns : b->birth_ns);
	is_culled(m, b->site, b->size, b->birth_ns, m->now_ns);
}

/* A reallocation at `from` makes a block at `to`. */
static inline void grows(struct model *m, unsigned from, unsigned to, unsigned site, uint32_t size)
{
	struct block old = m->block[from];
	bool sent = !may_be_culled(m, &old) || old.links + 1 == CHAIN_MOST;

	m->block[from].alive = false;
	born(m, to, site, size, sent);
	if (sent)
		return;
	old.link[old.links++] = (struct link){old.site, old.size, old.birth_ns};
	memcpy(m->block[to].link, old.link, sizeof(old.link));
	m->block[to].links = old.links;
}

static inline void act(struct model *m)
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
		grows(m, i, to, site, size);
	}
}

/* The program for a while, as if another thread had so many stacks that they are forgotten and
 * numbered anew; to its end. */
static inline void act_among_stacks(struct model *m)
{
	struct stacks *stacks = &m->b.stream.stacks;
	uint64_t pc = 0x7f0000000000;

	for (unsigned i = 0; i < 20000; i++) {
		uint32_t node = 0;

		m->now_ns += 10000 + dice(m, 20000);
		act(m);
		for (unsigned k = 0;
		     k < 3 && stacks_has_room(stacks, 40) &&
		     stacks->nodes < stacks->sent + m->b.stream.batch.nodes_max - 40;
		     k++)
			node = stacks_child(stacks, node, 0, pc += 16);
		if (!stacks_has_room(stacks, 80))
			m->b.stream.renewal_wanted = true;
	}
	drain(m, true);
	assert_true(stacks->generations > 0);
}

/* Twenty blocks of one thread, and then one of another that was in its hook since STALLED_NS. */
static inline void put_stalled(struct model *m)
{
	for (unsigned i = 0; i < 20; i++) {
		m->now_ns = 1000000 + i * 2000000;
		put(m, 1, HEAPCAST__EVENT_KIND__EVENT_MALLOC, i, 10, 1, NULL);
		born(m, i, 1, 10, true);
	}
	m->stalled_ns = STALLED_NS;
	drain(m, false);
	m->now_ns = STALLED_NS;
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 50, 10, 2, NULL);
	born(m, 50, 2, 10, true);
	drain(m, false);
	m->stalled_ns = 0;
}

static inline void model_begin(struct model *m, const struct cull_settings *cull,
			       const struct flight_settings *flight, uint64_t seed)
{
	*m = (struct model){.random = seed * 0x9e3779b97f4a7c15 + 1,
			    .batch = 1,
			    .cull_ns = cull ? cull->time_ns : 0,
			    .in = m->in,
			    .out = m->out};
	m->addresses = ADDRESSES;
	m->file = memfd_create("recording", MFD_CLOEXEC);
	assert_true(m->file >= 0);
	bench_open_holding(&m->b, cull && cull->time_ns ? cull : NULL, flight);
	assert_true(m->b.stream.start_ns > PAST_NS);
	m->start_ns = m->b.stream.start_ns - PAST_NS;
	m->b.stream.start_ns = m->b.ring.start_ns = m->start_ns;
	for (unsigned i = 0; i < THREADS; i++) {
		m->w[i] = writer_claim(&m->b, i, 1000 + i);
		m->w[i].slice->claim_stamp = m->start_ns;
	}
}

static inline void model_open(struct model *m, const struct cull_settings *settings, uint64_t seed)
{
	model_begin(m, settings, NULL, seed);
}

static inline uint64_t mistakes(const struct model *m);

static inline void check(struct model *m)
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

static inline void model_close(struct model *m)
{
	bench_close(&m->b);
	close(m->file);
}

/* What a collector makes of it: blocks that it takes for alive and are not, or the other way round,
 * or for others, and frees that it finds no block for. */
static inline uint64_t mistakes(const struct model *m)
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

static inline struct model *model_new(void)
{
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	return m;
}
