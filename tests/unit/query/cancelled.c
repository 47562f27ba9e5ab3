/*
 * Questions that are withdrawn: at once, too late, or in the middle, whenever a part of the way is
 * done. It is said so, or the answer is what it would have been. And what is told of the way: all
 * of it is done in the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/sweep/parallel.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/history.h"
#include "tests/unit/locks.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/golden_recordings.h"

struct asking {
	struct progress progress;
	atomic_bool cancelled;
	unsigned shown, cancel_at; /* 0: never */
};

static struct test_recording t;
static uint64_t size_min; /* 0: of all rows, from sums that are kept; 1: of rows */
static char *path;

static int open_recording(void **state)
{
	struct builder b;

	(void)state;
	parallel_limit(1);
	sweep_set_piece(64);
	history_set_sizes(16, 50);
	golden_named(&b, 91, 200);
	path = builder_save(&b, b.file.length);
	builder_done(&b);
	assert_int_equal(recording_open(path, NULL, NULL, &t.recording, NULL), 0);
	return symbols_new(&(struct symbols_options){0}, &t.symbols, NULL);
}

static int close_recording(void **state)
{
	(void)state;
	symbols_free(t.symbols);
	recording_close(t.recording);
	unlink(path);
	free(path);
	return 0;
}

static void show(void *context, uint64_t done, uint64_t of)
{
	struct asking *a = context;

	assert_in_range(done, 1, of);
	a->shown++;
	if (a->shown == a->cancel_at)
		a->cancelled = true;
}

/* Of a view that was not asked yet: nothing is kept. */
static int ask(const struct ask_question *q, struct asking *a, uint64_t deadline_ns, uint64_t *d)
{
	struct view *view;
	struct filter f;
	int r;

	assert_int_equal(view_new(t.recording, t.symbols, &view, NULL), 0);
	filter_init(&f);
	f.size_min = size_min;
	a->progress.show = show;
	a->progress.context = a;
	f.progress = &a->progress;
	f.cancel.asked = &a->cancelled;
	f.cancel.deadline_ns = deadline_ns;
	*d = 1;
	r = q->ask(view, &f, d);
	view_free(view);
	return r;
}

/* Whoever looks at no rows is done at once. */
static bool takes_long(const struct ask_question *q)
{
	return q->ask != ask_unnamed && q->ask != ask_mappings && q->ask != ask_culled;
}

static void at_once(void)
{
	for (size_t i = 0; i < ASK_QUESTIONS; i++) {
		const struct ask_question *q = &ask_questions[i];
		struct asking withdrawn = {.cancelled = true}, late = {.shown = 0};
		uint64_t d;

		if (!takes_long(q))
			continue;
		if (ask(q, &withdrawn, 0, &d) != -ECANCELED)
			fail_msg("%s goes on", q->name);
		if (ask(q, &late, 1, &d) != -ETIME)
			fail_msg("%s has time", q->name);
	}
}

static void midway(void)
{
	for (size_t i = 0; i < ASK_QUESTIONS; i++) {
		const struct ask_question *q = &ask_questions[i];
		struct asking all = {.shown = 0};
		uint64_t wanted, d;
		unsigned withdrawn = 0;

		assert_int_equal(ask(q, &all, 0, &wanted), 0);
		if (all.progress.done != all.progress.of)
			fail_msg("%s: %llu of %llu are done", q->name,
				 (unsigned long long)all.progress.done,
				 (unsigned long long)all.progress.of);
		for (unsigned at = 1; at <= all.shown; at++) {
			struct asking a = {.cancel_at = at};
			int r = ask(q, &a, 0, &d);

			if (r != -ECANCELED && (r || d != wanted))
				fail_msg("%s, withdrawn at %u of %u: %s", q->name, at, all.shown,
					 strerror(-r));
			if (a.shown > at + 1) /* the step that was begun may be ended */
				fail_msg("%s, withdrawn at %u of %u, goes on to %u", q->name, at,
					 all.shown, a.shown);
			withdrawn += r == -ECANCELED;
		}
		if (all.shown > 1 && !withdrawn)
			fail_msg("%s cannot be withdrawn", q->name);
	}
}

static void test_at_once(void **state)
{
	(void)state;
	for (size_min = 0; size_min < 2; size_min++)
		at_once();
}

static void test_midway(void **state)
{
	(void)state;
	for (size_min = 0; size_min < 2; size_min++)
		midway();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_midway),
	};

	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
