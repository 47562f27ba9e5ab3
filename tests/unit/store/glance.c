/* What the two ends of a recording say, without the frames between them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collector/recording/glance.h"
#include "tests/unit/store/builder.h"

static struct builder b;

static int begin(void **state)
{
	(void)state;
	builder_init(&b, 7);
	return 0;
}

static int end(void **state)
{
	(void)state;
	builder_done(&b);
	return 0;
}

/* Of the first `length` bytes. */
static int look(size_t length, struct glance *ret)
{
	char *path = builder_save(&b, length);
	int r = glance_at(path, ret);

	unlink(path);
	free(path);
	return r;
}

static void put_two_frames(Heapcast__Process *process)
{
	b.process = process;
	builder_malloc(&b, 1000, 1, 0x1000, 32);
	builder_close(&b, 1000);
	builder_malloc(&b, 2000, 1, 0x2000, 32);
	builder_close(&b, 2000);
}

/* The peak of the last frame and that of the end: the higher one. */
static void put_end(uint64_t peak)
{
	Heapcast__End last = HEAPCAST__END__INIT;

	last.time_ns = 3000;
	last.kind = HEAPCAST__END_KIND__END_SIGNALLED;
	last.status = 9;
	last.rss_peak = peak;
	b.last_ns = 3000;
	b.end = &last;
	builder_close(&b, UINT64_MAX);
}

static void recorded(void **state)
{
	struct glance g;

	(void)state;
	put_two_frames(NULL);
	assert_int_equal(look(b.file.length, &g), 0);
	assert_int_equal(g.state, GLANCE_BROKEN_OFF);
	assert_int_equal(g.last_ns, 2000);
	assert_int_equal(g.rss_peak, 0);
	assert_string_equal(g.program, "example");
	put_end(4096);
	assert_int_equal(look(b.file.length, &g), 0);
	assert_int_equal(g.state, GLANCE_ENDED);
	assert_int_equal(g.end_kind, HEAPCAST__END_KIND__END_SIGNALLED);
	assert_int_equal(g.end_status, 9);
	assert_int_equal(g.last_ns, 3000);
	assert_int_equal(g.rss_peak, 4096);
	/* Cut in the last frame: what the one before says. */
	assert_int_equal(look(b.file.length - 1, &g), 0);
	assert_int_equal(g.state, GLANCE_BROKEN_OFF);
	assert_int_equal(g.last_ns, 2000);
	/* Cut in the first one. */
	assert_int_equal(look(b.ends[0] - 1, &g), -EBADMSG);
	assert_int_equal(look(0, &g), -EBADMSG);
}

/* An end that has no peak, or a lower one, does not hide what is known. */
static void peaks(void **state)
{
	Heapcast__Figures figures = HEAPCAST__FIGURES__INIT, *list[] = {&figures};
	struct glance g;

	(void)state;
	put_two_frames(NULL);
	figures.rss_peak = 8192;
	b.figures = list;
	b.figures_count = 1;
	put_end(4096);
	assert_int_equal(look(b.file.length, &g), 0);
	assert_int_equal(g.rss_peak, 8192);
}

/* What was imported stays so, also with an end. */
static void imported(void **state)
{
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Origin origin = HEAPCAST__ORIGIN__INIT;
	struct glance g;

	(void)state;
	process.origin = &origin;
	put_two_frames(&process);
	assert_int_equal(look(b.file.length, &g), 0);
	assert_int_equal(g.state, GLANCE_IMPORTED);
	put_end(0);
	assert_int_equal(look(b.file.length, &g), 0);
	assert_int_equal(g.state, GLANCE_IMPORTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(recorded), TEST(peaks), TEST(imported)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
