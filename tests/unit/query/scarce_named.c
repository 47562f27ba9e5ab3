/*
 * As scarce.c, of a recording with a bit of everything: names, culled blocks or readings of maps,
 * labels and marks. The file stays where it is, for readings come from there.
 */
#include "tests/unit/scarce.h"

#include "collector/query/sweep/parallel.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/history.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/golden_recordings.h"

#define EVENTS 120

static struct test_recording t;

struct question {
	const struct ask_question *what;
	uint64_t answer; /* with plenty of memory; 0: not known yet */
};

/* Of a view that has not been asked yet. */
static int ask(void *context)
{
	struct question *q = context;
	struct view *view;
	struct filter f;
	uint64_t d = 1;
	int r = view_new(t.recording, t.symbols, &view, NULL);

	if (r)
		return r;
	filter_init(&f);
	r = q->what->ask(view, &f, &d);
	view_free(view);
	if (!r && !q->answer)
		q->answer = d;
	if (!r && d != q->answer)
		fail_msg("%s: another answer with less memory", q->what->name);
	return r;
}

static void ask_all(struct builder *b)
{
	char *path = builder_save(b, b->file.length);

	assert_int_equal(recording_open(path, NULL, NULL, &t.recording, NULL), 0);
	assert_int_equal(symbols_new(&(struct symbols_options){0}, &t.symbols, NULL), 0);
	ask_about.at_ns = recording_end_ns(t.recording) / 2;
	for (size_t i = 0; i < ASK_QUESTIONS; i++) {
		struct question q = {.what = &ask_questions[i]};

		assert_int_equal(ask(&q), 0);
		if (!scarce_some(ask, &q, SCARCE_STEP) || !scarce_lasting(ask, &q, SCARCE_STEP))
			fail_msg("%s: no allocation", q.what->name);
	}
	symbols_free(t.symbols);
	recording_close(t.recording);
	unlink(path);
	free(path);
}

static void named(void **state)
{
	struct builder b;

	(void)state;
	golden_named(&b, 91, EVENTS);
	ask_all(&b);
	builder_done(&b);
}

static void thinned(void **state)
{
	struct builder b;

	(void)state;
	golden_thinned(&b, 33, 20);
	ask_all(&b);
	builder_done(&b);
}

static void culled(void **state)
{
	struct program *p = malloc(sizeof(*p));

	(void)state;
	assert_non_null(p);
	program_init(p, 61, PROGRAM_CULLS | PROGRAM_EXECS, EVENTS);
	ask_all(&p->b);
	program_done(p);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named),
		cmocka_unit_test(thinned),
		cmocka_unit_test(culled),
	};

	parallel_limit(1); /* each time the same allocation is the n-th */
	sweep_set_piece(64);
	history_set_sizes(16, 50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
