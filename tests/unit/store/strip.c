/*
 * Recordings that are stripped: what pairing makes of what is left, and the sums, are what it made
 * of the whole. Programs are made up: threads that allocate, free and reallocate, whose stamps are
 * wrong by the clock's error, with births and deaths that are missing, an exec, and another agent
 * that goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/columns.h"
#include "proto/culled.h"
#include "collector/columns/row_block.h"
#include "collector/recording/recording.h"
#include "collector/rewrite/rewrite.h"
#include "collector/rewrite/short_lived.h"
#include "collector/rewrite/strip.h"
#include "tests/unit/store/builder.h"

#define EVENTS	  4000
#define ADDRESSES 40
#define THREADS	  3
#define SIZES	  64
#define TICK_NS	  1000

static uint64_t random_state;

static uint32_t chance(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % below;
}

/* ---- a program ---- */

struct program {
	struct event events[EVENTS + 8];
	uint32_t count;
	uint64_t now_ns;
	uint64_t busy_until_ns[ADDRESSES]; /* of a reallocation that has given it back and not
					      returned */
	bool alive[ADDRESSES];
	uint32_t jitter_ns, missing; /* stamps are wrong by up to; 1 in so many events is missing */
};

static uint64_t address_of(uint32_t i)
{
	return 0x10000 + 64 * (uint64_t)i;
}

static void add(struct program *p, struct event e)
{
	if (p->missing && !chance(p->missing))
		return;
	e.thread = e.thread ? e.thread : 1 + chance(THREADS);
	e.time_ns += p->jitter_ns ? chance(p->jitter_ns) : 0;
	e.stack = e.kind == HEAPCAST__EVENT_KIND__EVENT_FREE ? 1 : 1 + chance(2);
	p->events[p->count++] = e;
}

static void step(struct program *p)
{
	uint32_t i = chance(ADDRESSES), k = chance(ADDRESSES);
	uint64_t size = chance(SIZES), call = 100 + chance(chance(4) ? 1000 : 20000);

	p->now_ns += 1 + chance(chance(8) ? 3000 : 200000);
	if (!p->alive[i]) {
		p->alive[i] = true;
		add(p, (struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				      .time_ns = p->now_ns,
				      .address = address_of(i),
				      .size = size});
	} else if (chance(3)) {
		p->alive[i] = false;
		add(p, (struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_FREE,
				      .time_ns = p->now_ns,
				      .address = address_of(i)});
	} else if (i == k || !p->alive[k]) {
		p->alive[i] = false;
		p->alive[k] = true;
		add(p, (struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC,
				      .time_ns = p->now_ns + call,
				      .call_time_ns = call,
				      .old_address = address_of(i),
				      .address = chance(20) ? address_of(k) : 0,
				      .size = size});
		p->now_ns += chance(2) ? call : 0; /* or others run meanwhile */
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void make(struct program *p, uint64_t seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	*p = (struct program){.now_ns = 1000000,
			      .jitter_ns = seed % 3 ? 0 : 3000,
			      .missing = seed % 4 == 1 ? 50 : 0};
	while (p->count < EVENTS)
		step(p);
	qsort(p->events, p->count, sizeof(*p->events), by_time);
}

/* Stamps of one thread ascend. */
static void build(struct builder *b, struct program *p, uint64_t seed)
{
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Mark exec = HEAPCAST__MARK__INIT;
	Heapcast__Thread thread[THREADS], *threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		heapcast__thread__init(&thread[i]);
		thread[i].number = i + 1;
		threads[i] = &thread[i];
	}
	builder_init_tick(b, 1, TICK_NS);
	exec.kind = HEAPCAST__MARK_KIND__MARK_EXEC;
	process.image = 1;
	for (uint32_t i = 0; i < p->count; i++) {
		builder_event(b, &p->events[i]);
		if (!chance(300))
			builder_close(b, chance(2) ? b->last_ns : b->last_ns - 100000);
		if (seed % 5 == 2 && i == p->count / 2) {
			builder_close(b, b->last_ns);
			exec.time_ns = b->last_ns + 500;
			b->mark = &exec;
			b->process = &process;
		}
		if (seed % 5 == 3 && i == p->count / 2) {
			builder_close(b, b->last_ns);
			b->incarnation = 2;
			b->number = 0;
			b->catch_up = true; /* it tells its definitions */
			b->threads = threads;
			b->thread_count = THREADS;
			builder_close(b, b->last_ns);
			i += 60; /* that nobody has */
		}
	}
	builder_end(b, 0);
}

/* ---- what is known of a recording ---- */

/* By end, thread, node and size. */
struct known {
	uint64_t blocks[BLOCK_EXEC + 1][THREADS + 1][4][SIZES];
	uint64_t all, bytes;
};

static void know_rows(const struct recording *r, struct known *k)
{
	for (uint32_t i = 0; i < recording_blocks(r); i++) {
		const struct row_block *b = recording_block(r, i);

		for (uint32_t j = 0; j < b->count; j++) {
			unsigned end = b->end[j] == BLOCK_REALLOCATED ? BLOCK_FREED : b->end[j];

			k->blocks[end][b->thread[j]][b->stack[j]][b->size[j]]++;
			k->all++;
			k->bytes += b->size[j];
		}
	}
}

/* Sizes of a sum are known by their highest bit only: those of a class are counted under the lowest
 * size of it. */
static unsigned class_of(uint64_t size)
{
	return size ? 1u << (63 - __builtin_clzll(size)) : 0;
}

static void put_classes(struct known *k)
{
	for (unsigned end = 0; end <= BLOCK_EXEC; end++)
		for (unsigned thread = 0; thread <= THREADS; thread++)
			for (unsigned stack = 0; stack < 4; stack++)
				for (unsigned size = 0; size < SIZES; size++) {
					uint64_t *from = &k->blocks[end][thread][stack][size],
						 count = *from;

					*from = 0;
					k->blocks[end][thread][stack][class_of(size)] += count;
				}
}

static void know(const struct recording *r, struct known *k)
{
	*k = (struct known){0};
	know_rows(r, k);
	put_classes(k);
	for (uint32_t i = 0; i < recording_culled_count(r); i++) {
		const struct culled_row *row = recording_culled(r, i);

		k->blocks[BLOCK_FREED][row->thread][row->stack][class_of(row->size_least)] +=
			row->blocks;
		k->all += row->blocks;
		k->bytes += row->bytes;
	}
}

static char *strip(const char *from, uint64_t threshold_ns, struct strip_result *ret_result)
{
	char *path = strdup("/tmp/heapcast-test-XXXXXX");
	struct err_text err = {0};
	struct copy_settings settings = {.fd = mkstemp(path)};

	assert_true(settings.fd >= 0);
	assert_int_equal(recording_strip(from, threshold_ns, &settings, ret_result, &err), 0);
	close(settings.fd);
	return path;
}

static void compare(const char *before, const char *after, uint64_t seed)
{
	static struct known known[2];
	const char *const paths[] = {before, after};
	struct recording *r[2];
	struct err_text err = {0};

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(recording_open(paths[i], NULL, NULL, &r[i], &err), 0);
		know(r[i], &known[i]);
		if (!recording_adds_up(r[i], &err))
			fail_msg("seed %llu, %s: %s", (unsigned long long)seed,
				 i ? "after" : "before", err.text);
	}
	if (memcmp(&known[0], &known[1], sizeof(known[0])) != 0)
		fail_msg("seed %llu: %llu blocks with %llu bytes before, %llu with %llu after",
			 (unsigned long long)seed, (unsigned long long)known[0].all,
			 (unsigned long long)known[0].bytes, (unsigned long long)known[1].all,
			 (unsigned long long)known[1].bytes);
	assert_int_equal(recording_ledger(r[0])->produced, recording_ledger(r[1])->produced);
	assert_int_equal(recording_pairing(r[0])->orphan_frees,
			 recording_pairing(r[1])->orphan_frees);
	assert_int_equal(recording_pairing(r[0])->inferred, recording_pairing(r[1])->inferred);
	assert_int_equal(recording_pairing(r[0])->failed, recording_pairing(r[1])->failed);
	recording_close(r[0]);
	recording_close(r[1]);
}

static void totals_stay(void **state)
{
	static const uint64_t thresholds[] = {5000, 100000, STRIP_ALL};
	static struct program program;
	uint64_t blocks = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct strip_result result;
		struct builder b;
		char *before, *after;

		make(&program, seed);
		build(&b, &program, seed);
		before = builder_save(&b, b.file.length);
		after = strip(before, thresholds[seed % 3], &result);
		compare(before, after, seed);
		assert_true(result.events_after < result.events_before);
		blocks += result.blocks;
		unlink(before);
		unlink(after);
		free(before);
		free(after);
		builder_done(&b);
	}
	/* Most of what was freed: else there would be nothing to it. */
	assert_true(blocks > 60 * EVENTS / 8);
}

/* What was stripped already holds sums: they stay, and those of longer lives join them. */
static void stripped_again(void **state)
{
	static struct program program;
	uint64_t blocks = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 17; seed++) {
		struct strip_result first, second;
		struct builder b;
		char *paths[3];

		make(&program, seed);
		build(&b, &program, seed);
		paths[0] = builder_save(&b, b.file.length);
		paths[1] = strip(paths[0], 5000, &first);
		paths[2] = strip(paths[1], seed % 2 ? 200000 : STRIP_ALL, &second);
		compare(paths[0], paths[2], seed);
		assert_int_equal(second.events_before, first.events_after);
		assert_true(first.blocks > 0);
		blocks += second.blocks;
		for (unsigned i = 0; i < 3; i++) {
			unlink(paths[i]);
			free(paths[i]);
		}
		builder_done(&b);
	}
	assert_true(blocks > 17 * EVENTS / 20);
}

/* Of one batch no more blocks go than its sums have room for; of the next one as many again. */
static void so_many_of_a_batch(void **state)
{
	const uint32_t more = SHORT_BATCH_MOST + 100;
	struct strip_result result;
	struct recording *r;
	struct builder b;
	char *before, *after;
	uint64_t time_ns = 1000;

	(void)state;
	builder_init_tick(&b, 1, 1);
	for (uint32_t i = 0; i < 2 * more; i++) {
		if (i == more)
			builder_close(&b, time_ns);
		builder_malloc(&b, time_ns += 2, 1, 0x1000 + 64 * (uint64_t)(i % 100), i % SIZES);
		builder_free(&b, time_ns + 1, 1, 0x1000 + 64 * (uint64_t)(i % 100));
	}
	builder_end(&b, 0);
	before = builder_save(&b, b.file.length);
	after = strip(before, STRIP_ALL, &result);
	assert_int_equal(result.blocks, 2 * SHORT_BATCH_MOST);
	compare(before, after, 0);
	assert_int_equal(recording_open(after, NULL, NULL, &r, NULL), 0);
	assert_int_equal(recording_rows(r), 2 * (more - SHORT_BATCH_MOST));
	recording_close(r);
	unlink(before);
	unlink(after);
	free(before);
	free(after);
	builder_done(&b);
}

/* Sampled blocks stand for what they did, wherever the first of them is among those that are
 * left. */
static void weights_stay(void **state)
{
	struct strip_result result;
	struct recording *r;
	struct err_text err = {0};
	struct builder b;
	char *before, *after;
	struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC, .thread = 1, .stack = 2};
	uint64_t weight = 0;

	(void)state;
	builder_init_tick(&b, 1, TICK_NS);
	for (uint32_t i = 0; i < 6; i++) {
		e.time_ns = 10000 * (i + 1);
		e.address = 0x1000 + 64 * i;
		e.size = 32;
		e.weight = i % 3 ? 32 : 4096; /* 0 and 3 */
		builder_event(&b, &e);
	}
	builder_free(&b, 70000, 1, 0x1000); /* the first one */
	builder_end(&b, 0);
	before = builder_save(&b, b.file.length);
	after = strip(before, STRIP_ALL, &result);
	assert_int_equal(result.blocks, 1);
	assert_int_equal(recording_open(after, NULL, NULL, &r, &err), 0);
	assert_int_equal(recording_rows(r), 5);
	for (uint32_t i = 0; i < 5; i++)
		weight += recording_block(r, 0)->weight[i];
	assert_int_equal(weight, 4 * 32 + 4096);
	assert_int_equal(recording_culled(r, 0)->weight, 4096);
	recording_close(r);
	unlink(before);
	unlink(after);
	free(before);
	free(after);
	builder_done(&b);
}

#define OTHERS (SHORT_RECENT - 1)

/*
 * A block is reallocated in place from 1,000 to 1,010 us, and freed by another thread at `free_us`.
 * If that lies between them, the stamp is too early: the free is of the new block, and other blocks
 * are freed until it is known. Returns how many blocks went.
 */
static uint64_t strip_freed_at(uint64_t free_us, bool moved_before, unsigned others)
{
	struct strip_result result;
	struct builder b;
	char *before, *after;

	builder_init_tick(&b, 1, TICK_NS);
	builder_malloc(&b, 10000, 1, moved_before ? 0x2000 : 0x1000, 10);
	if (moved_before)
		builder_realloc(&b, 20000, 21000, 1, 0x2000, 0x1000, 20);
	for (unsigned i = 0; i < others; i++)
		builder_malloc(&b, 100000, 1, 0x10000 + 64 * i, 16);
	if (free_us < 1010)
		builder_free(&b, free_us * 1000, 3, 0x1000);
	for (unsigned i = 0; i < others; i++)
		builder_free(&b, 1009000, 1, 0x10000 + 64 * i);
	builder_realloc(&b, 1000000, 1010000, 2, 0x1000, 0x1000, 30);
	if (free_us >= 1010)
		builder_free(&b, free_us * 1000, 3, 0x1000);
	builder_malloc(&b, 2000000, 3, 0x1000, 40);
	builder_free(&b, 2100000, 1, 0x1000);
	builder_end(&b, 0);
	before = builder_save(&b, b.file.length);
	after = strip(before, STRIP_ALL, &result);
	compare(before, after, free_us);
	unlink(before);
	unlink(after);
	free(before);
	free(after);
	builder_done(&b);
	return result.blocks;
}

static void stamped_too_early(void **state)
{
	(void)state;
	for (unsigned moved = 0; moved < 2; moved++) {
		for (unsigned others = 0; others <= OTHERS; others += OTHERS) {
			/* The old block, and what came later. */
			assert_int_equal(strip_freed_at(999, moved, others), others + 1 + moved);
			assert_int_equal(strip_freed_at(1000, moved, others), others + 1 + moved);
			/* Nothing at this address from the old block on. */
			for (uint64_t us = 1005; us <= 1009; us++)
				assert_int_equal(strip_freed_at(us, moved, others), others + moved);
			/* The old one, the new one, and what came later. */
			assert_int_equal(strip_freed_at(1010, moved, others), others + 3 + moved);
			assert_int_equal(strip_freed_at(1011, moved, others), others + 3 + moved);
		}
	}
}

/*
 * As above, but the new block is reallocated, not freed, by a stamp that is too early: to `where`,
 * from where the block goes on, and its end is seen before the old block's is known. Nothing of
 * these goes.
 */
static void strip_moved_to(uint64_t where, bool freed_early)
{
	struct strip_result result;
	struct builder b;
	char *before, *after;

	builder_init_tick(&b, 1, TICK_NS);
	builder_malloc(&b, 10000, 1, 0x1000, 10);
	builder_realloc(&b, 1005000, 1006000, 3, 0x1000, where, 20);
	if (freed_early)
		builder_free(&b, 1007000, 3, where);
	builder_realloc(&b, 1000000, 1010000, 2, 0x1000, 0x1000, 30);
	if (!freed_early)
		builder_free(&b, 2000000, 1, where);
	builder_malloc(&b, 3000000, 1, 0x5000, 40);
	builder_free(&b, 3001000, 1, 0x5000);
	builder_end(&b, 0);
	before = builder_save(&b, b.file.length);
	after = strip(before, STRIP_ALL, &result);
	compare(before, after, where);
	assert_int_equal(result.blocks, 1);
	assert_int_equal(result.events_after, result.events_before - 2);
	unlink(before);
	unlink(after);
	free(before);
	free(after);
	builder_done(&b);
}

static void moved_too_early(void **state)
{
	(void)state;
	for (unsigned freed_early = 0; freed_early < 2; freed_early++) {
		strip_moved_to(0x3000, freed_early);
		strip_moved_to(0x1000, freed_early);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_stay),	      cmocka_unit_test(stripped_again),
		cmocka_unit_test(so_many_of_a_batch), cmocka_unit_test(weights_stay),
		cmocka_unit_test(stamped_too_early),  cmocka_unit_test(moved_too_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
