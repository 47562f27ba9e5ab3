/*
 * A recording that grows while it is asked: after each part that came, it and its answers are what
 * they would be if it were opened then, whatever was kept of answers before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/recording/written.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/ask_recording.h"
#include "tests/unit/query/asked.h"
#include "tests/unit/query/golden_recordings.h"

#define PARTS  5
#define EVENTS 250

static uint64_t answers(struct view *view)
{
	struct recording *r = view_recording(view);
	uint64_t d = 1;

	ask_about.at_ns = recording_end_ns(r) / 2;
	for (unsigned i = 0; i < 2; i++) {
		struct filter f;

		filter_init(&f);
		f.size_min = i * 100;
		for (size_t q = 0; q < ASK_QUESTIONS; q++)
			assert_int_equal(ask_questions[q].ask(view, &f, &d), 0);
	}
	assert_int_equal(ask_recording(r, &d), 0);
	return d;
}

static uint64_t answers_afresh(const char *path)
{
	struct test_recording t;
	uint64_t d;

	assert_int_equal(recording_open(path, NULL, NULL, &t.recording, NULL), 0);
	assert_int_equal(symbols_new(&(struct symbols_options){0}, &t.symbols, NULL), 0);
	assert_int_equal(view_new(t.recording, t.symbols, &t.view, NULL), 0);
	d = answers(t.view);
	test_close(&t);
	return d;
}

static void check_same(const struct test_recording *t, const char *path)
{
	assert_true(answers(t->view) == answers_afresh(path));
	assert_int_equal(recording_refresh(t->recording, NULL), 0);
}

/* Somebody writes it, until all is there; then what waits for its order does so no more. */
static void check_growing(const struct builder *b)
{
	size_t length = b->ends[b->frame_count / PARTS];
	char *path = builder_save(b, length);
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	struct test_recording t;

	assert_int_equal(recording_mark_written(fd), 0);
	assert_int_equal(recording_open(path, NULL, NULL, &t.recording, NULL), 0);
	assert_int_equal(symbols_new(&(struct symbols_options){0}, &t.symbols, NULL), 0);
	assert_int_equal(view_new(t.recording, t.symbols, &t.view, NULL), 0);
	for (unsigned part = 2; length < b->file.length; part++) {
		size_t more = part < PARTS ? b->ends[part * b->frame_count / PARTS]
					   : b->ends[b->frame_count - 2];

		/* The end comes last, and alone. */
		if (more <= length)
			more = b->file.length;
		assert_true(recording_is_growing(t.recording));
		check_same(&t, path);
		assert_int_equal(write(fd, b->file.data + length, more - length),
				 (ssize_t)(more - length));
		assert_int_equal(recording_refresh(t.recording, NULL), 1);
		assert_int_equal(view_refresh(t.view, NULL), 0);
		length = more;
	}
	close(fd);
	assert_false(recording_is_growing(t.recording));
	check_same(&t, path);
	test_close(&t);
	unlink(path);
	free(path);
}

static void test_programs(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < PROGRAM_KINDS; kind++) {
		struct program *p = malloc(sizeof(*p));

		assert_non_null(p);
		asked_set_sizes(kind);
		program_init(p, 60 + kind, kind, EVENTS);
		check_growing(&p->b);
		program_done(p);
		free(p);
	}
}

static void test_named(void **state)
{
	struct builder b;

	(void)state;
	golden_named(&b, 93, EVENTS);
	check_growing(&b);
	builder_done(&b);
}

static void test_thinned(void **state)
{
	struct builder b;

	(void)state;
	golden_thinned(&b, 32, 60);
	check_growing(&b);
	builder_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_thinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
