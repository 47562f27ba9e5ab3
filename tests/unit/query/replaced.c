/*
 * A stream whose frames were replaced behind the back of what was derived of them, and whose rows
 * are damaged, so that they would be derived again, of another program: with more nodes and threads
 * than are known, or with fewer rows. Questions say so, and whoever opens it next sees the other
 * program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/stream.h"

#define MANY 8000 /* nodes */

static void build(struct builder *b, uint32_t node_count, uint32_t threads, unsigned rows,
		  uint64_t sizes)
{
	static struct stack_node nodes[MANY];
	uint64_t random = 5;

	builder_init(b, 5);
	for (uint32_t i = 0; i < node_count; i++)
		nodes[i] = (struct stack_node){
			.parent = (i + 1) / 2, .module = 2, .offset = 16 * (i + 1)};
	test_first_batch(b, nodes, node_count, "/nowhere/libexample.so", 0, false);
	for (unsigned i = 0; i < rows; i++) {
		struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				  .thread = 1 + i % threads,
				  .time_ns = 100 + 10 * i,
				  .address = 0x10000 + 64 * i};

		e.size = e.weight = test_random(&random) % sizes;
		e.stack = 1 + (uint32_t)(test_random(&random) % node_count);
		builder_event(b, &e);
	}
	builder_end(b, 0);
}

/* Of the same length and time: what was derived seems to fit. */
static void replace_frames(const struct builder *with)
{
	struct stat st;
	uint8_t *bytes;

	assert_int_equal(stat(stream_path, &st), 0);
	bytes = calloc(1, (size_t)st.st_size);
	assert_non_null(bytes);
	assert_true(with->file.length < (size_t)st.st_size);
	memcpy(bytes, with->file.data, with->file.length);
	stream_write(bytes, (size_t)st.st_size);
	free(bytes);
	assert_int_equal(
		utimensat(AT_FDCWD, stream_path, (struct timespec[]){st.st_atim, st.st_mtim}, 0),
		0);
}

static void damage_rows(void)
{
	char path[200];
	struct stat st;
	uint8_t byte;
	int fd;

	snprintf(path, sizeof(path), "%s/rows.1", stream_columns);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t at = 0; at < st.st_size; at += 16) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x55;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
}

struct shape {
	uint32_t nodes, threads, rows;
};

/* Of small blocks and of large ones: it takes more room then. */
static void build_shape(struct builder *b, const struct shape *shape, bool large)
{
	build(b, shape->nodes, shape->threads, shape->rows, large ? 1000000 : 10);
}

static void ask_some(struct view *view, int wanted)
{
	static int (*const ask[])(struct view *, const struct filter *,
				  uint64_t *) = {ask_survivors, ask_thread_groups, ask_groups};

	for (size_t i = 0; i < sizeof(ask) / sizeof(*ask); i++) {
		struct filter f;
		uint64_t d = 1;

		filter_init(&f);
		f.size_min = 1;
		assert_int_equal(ask[i](view, &f, &d), wanted);
	}
}

static void check_text(struct view *view)
{
	struct err_text err = {0};
	struct report report;
	struct filter f;

	filter_init(&f);
	f.size_min = 1;
	assert_int_equal(query_report(view, &f, &report, &err), -EIO);
	assert_non_null(strstr(err.text, "has changed since"));
}

static void check(struct shape before, struct shape after)
{
	struct test_recording t;
	struct builder b, other;

	build_shape(&b, &before, true);
	build_shape(&other, &after, false);
	stream_make(&b);
	replace_frames(&other);
	damage_rows();
	stream_open(&t);
	assert_int_equal(recording_nodes(t.recording), before.nodes);
	assert_int_equal(recording_rows(t.recording), before.rows);
	ask_some(t.view, -EIO);
	check_text(t.view);
	test_close(&t);
	stream_open(&t);
	assert_int_equal(recording_nodes(t.recording), after.nodes);
	assert_int_equal(recording_rows(t.recording), after.rows);
	ask_some(t.view, 0);
	test_close(&t);
	builder_done(&b);
	builder_done(&other);
}

#define ROWS (ROWS_PER_BLOCK + 500)

static void test_more_nodes(void **state)
{
	(void)state;
	check((struct shape){5, 1, ROWS}, (struct shape){6, 1, ROWS});
}

static void test_more_threads(void **state)
{
	(void)state;
	check((struct shape){5, 1, ROWS}, (struct shape){5, 2, ROWS});
}

static void test_fewer_rows(void **state)
{
	(void)state;
	check((struct shape){5, 1, ROWS}, (struct shape){5, 1, ROWS - 1});
}

/* Nothing is to be seen of it that they were derived again. */
static void test_the_same(void **state)
{
	const struct shape shape = {MANY, 3, ROWS};
	struct test_recording t;
	struct builder b;

	(void)state;
	build_shape(&b, &shape, true);
	stream_make(&b);
	damage_rows();
	stream_open(&t);
	ask_some(t.view, 0);
	assert_non_null(recording_rederived(t.recording));
	test_close(&t);
	builder_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_more_nodes),
		TEST_IN_FOLDER(test_more_threads),
		TEST_IN_FOLDER(test_fewer_rows),
		TEST_IN_FOLDER(test_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
