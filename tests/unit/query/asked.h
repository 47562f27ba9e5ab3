#pragma once
/*
 * A recording to ask, and the naive answers to it. Its rows are a random program's, as the
 * program's model has them, received by a store that is killed now and then; or those that the
 * store made of events whose order cannot be told, or of samples.
 */
#include "collector/query/sweep/parallel.h"
#include "collector/query/time/history.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/match/view.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "tests/unit/full.h"
#include "tests/unit/query/naive_random.h"
#include "tests/unit/query/receive.h"

#define ASKED_EVENTS 400

struct asked {
	struct test_recording t;
	struct program *program; /* NULL: rows are the store's */
	struct naive n;
	uint64_t seed, random, end;
	bool sampled;
};

/* Threads that share a question, rows that they take at a time, and sizes of bins: whatever they
 * are, answers are the same. */
static inline void asked_set_sizes(uint64_t seed)
{
	static const unsigned threads[] = {1, 2, 8}, pieces[] = {0, 8, 64, 1024};

	parallel_limit(threads[seed % 3]);
	sweep_set_piece(pieces[seed % 4]);
	history_set_sizes(1u << (2 + seed % 7), 1 + seed % 300);
}

static inline void asked_compare(const struct program *p, const struct recording *recording)
{
	const struct pairing_info *pairing = recording_pairing(recording);
	struct err_text err = {0};
	struct naive_rows rows;

	assert_int_equal(recording_rows(recording), p->count);
	naive_rows_init(&rows, recording);
	for (size_t i = 0; i < p->count; i++)
		naive_must_be_same(i, &rows.list[i], &p->rows[i]);
	free(rows.list);
	assert_int_equal(pairing->orphan_frees, p->orphans);
	assert_int_equal(pairing->failed, p->failed);
	assert_int_equal(pairing->inferred, p->inferred);
	assert_int_equal(pairing->repaired, 0);
	assert_int_equal(recording_ledger(recording)->stored, p->stored);
	assert_int_equal(recording_ledger(recording)->lost, p->b.lost);
	assert_int_equal(recording_ledger(recording)->culled_stored, p->b.culled_events);
	if (!recording_adds_up(recording, &err))
		fail_msg("%s", err.text);
}

static inline void asked_view(struct asked *a, uint64_t seed)
{
	struct symbols_options options = {0};

	assert_int_equal(symbols_new(&options, &a->t.symbols, NULL), 0);
	assert_int_equal(view_new(a->t.recording, a->t.symbols, &a->t.view, NULL), 0);
	naive_init(&a->n, &a->t, a->program);
	a->random = seed * 977 + 1;
	a->end = recording_end_ns(a->t.recording) + 1;
	asked_set_sizes(seed);
}

/* Of a program, received. */
static inline void asked_open(struct asked *a, uint64_t seed)
{
	struct receive received;

	*a = (struct asked){.seed = seed, .random = seed * 31 + 7};
	assert_int_equal(temporary_setup(NULL), 0);
	a->program = malloc(sizeof(*a->program));
	assert_non_null(a->program);
	program_init(a->program, seed, (unsigned)(seed % PROGRAM_KINDS), ASKED_EVENTS);
	receive(&received, &a->program->b, &a->random);
	assert_int_equal(recording_open(received.recording, NULL, NULL, &a->t.recording, NULL), 0);
	asked_compare(a->program, a->t.recording);
	asked_view(a, seed);
}

/* Of rows as the store has them. */
static inline void asked_open_rows(struct asked *a, uint64_t seed, bool sampled)
{
	*a = (struct asked){.seed = seed, .sampled = sampled};
	test_disordered_recording(&a->t, seed, ASKED_EVENTS, sampled,
				  (enum test_disorder)(seed / 3 % 3));
	view_free(a->t.view);
	symbols_free(a->t.symbols);
	asked_view(a, seed);
}

static inline void asked_close(struct asked *a)
{
	naive_done(&a->n);
	test_close(&a->t);
	if (!a->program)
		return;
	program_done(a->program);
	free(a->program);
	assert_int_equal(temporary_teardown(NULL), 0);
}

/* What is made of fractions may be rounded apart. */
static inline void asked_equal(const struct asked *a, const char *what, const struct usage *got,
			       const struct usage *wanted)
{
	uint64_t slack = a->sampled ? 1 : 0;

	if (got->bytes + slack - wanted->bytes > 2 * slack ||
	    got->blocks + slack - wanted->blocks > 2 * slack)
		fail_msg("%s of recording %llu: %llu bytes in %llu blocks, not %llu in %llu", what,
			 (unsigned long long)a->seed, (unsigned long long)got->bytes,
			 (unsigned long long)got->blocks, (unsigned long long)wanted->bytes,
			 (unsigned long long)wanted->blocks);
}

/* A sanitizer takes several times as long for each; who looks at all of them is the optimised
 * build. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASKED_SLOWER 4
#else
#define ASKED_SLOWER 1
#endif

static inline uint64_t asked_rounds(uint64_t usual, uint64_t full)
{
	if (test_full())
		return full / ASKED_SLOWER;
	return ASKED_SLOWER > 1 ? usual / 3 : usual;
}

/* Without symbols a call site is the innermost frame. */
static inline const char *asked_site_name(const struct asked *a, uint32_t node)
{
	return view_frame_name(a->t.view, node, 0);
}

/* Random programs, and of each a few random questions, which `check` asks. More of them with
 * HEAPCAST_TEST_FULL. */
static inline void asked_programs(void (*check)(struct asked *, const struct filter *))
{
	for (uint64_t seed = 1; seed <= asked_rounds(16, 2000); seed++) {
		struct asked a;

		asked_open(&a, seed);
		for (unsigned i = 0; i < 4; i++) {
			struct filter f;

			naive_random_filter(&f, &a.n, &a.random, false);
			naive_ask(&a.n, &f);
			check(&a, &f);
			filter_done(&f);
		}
		asked_close(&a);
	}
}
