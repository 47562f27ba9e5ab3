/*
 * What the composer writes, compared whole with tests/golden/rewritten/composed... ("--update"
 * writes these files: read the diff), how much goes into a batch, and what is refused.
 */
#include "tests/unit/store/dump.h"

#include <errno.h>

#include "base/error.h"
#include "collector/recording/definitions.h"
#include "collector/recording/stream_id.h"
#include "collector/rewrite/compose.h"
#include "proto/columns.h"
#include "proto/culled.h"
#include "proto/event.h"
#include "proto/stack_columns.h"

static const struct stream_id id = {{1, 2, 3}};
static char path[] = "/tmp/heapcast-test-XXXXXX";
static int fd;

static int open_file(void **state)
{
	(void)state;
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	return fd < 0;
}

static int close_file(void **state)
{
	(void)state;
	close(fd);
	return unlink(path);
}

static struct composer *begin(bool exact)
{
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Origin origin = HEAPCAST__ORIGIN__INIT;
	struct composer *c;
	char format[] = "test", file[] = "a file";

	origin.format = format;
	origin.file = composer_text(file);
	origin.exact = exact;
	process.origin = &origin;
	process.capture = HEAPCAST__CAPTURE__CAPTURE_IMPORT;
	process.start_wall_ns = 1700000000000000000u;
	assert_int_equal(composer_new(fd, &id, &process, &c, NULL), 0);
	return c;
}

static void put(struct composer *c, unsigned kind, uint64_t time, uint64_t address, uint64_t size,
		uint32_t stack)
{
	assert_int_equal(composer_event(c, &(struct event){.kind = (uint8_t)kind,
							   .thread = 7,
							   .time_ns = time,
							   .address = address,
							   .size = size,
							   .stack = stack}),
			 0);
}

static void put_definitions(struct composer *c, uint32_t *ret_node)
{
	const struct composer_frame frames[] = {{"inner", "a.c", 7}, {"outer", "", 0}};
	Heapcast__Module module = HEAPCAST__MODULE__INIT;
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT;
	uint32_t number;

	module.number = 99; /* is ignored */
	module.path = composer_text("/lib/libx.so");
	module.build_id = composer_text("an id");
	module.end = 0x3000;
	assert_int_equal(composer_module(c, &module, &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(composer_module(c, &module, &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(composer_node(c, 0, 1, 0x123, ret_node), 0);
	assert_int_equal(composer_node(c, *ret_node, 2, 0x99, ret_node), 0);
	assert_int_equal(*ret_node, 2);
	assert_int_equal(composer_name(c, 1, 0x123, frames, 2), 0);
	assert_int_equal(composer_name(c, 2, 0x99, frames + 1, 1), 0);
	assert_int_equal(composer_name(c, 0, COMPOSER_FIRST_PLACE, NULL, 0), 0);
	thread.number = 3;
	thread.tid = 4711;
	thread.name = composer_text("worker");
	assert_int_equal(composer_thread(c, &thread), 0);
}

static void put_events(struct composer *c, uint32_t node)
{
	struct event e = {.thread = 3, .time_ns = 5000, .address = 4096, .size = 10, .stack = node};

	for (e.kind = 1; e.kind < EVENT_KIND_LIMIT; e.kind++) {
		if (event_class(e.kind) == EVENT_CLASS_NONE)
			continue;
		e.time_ns += 1000;
		e.thread = 3 + e.kind % 2;
		assert_int_equal(composer_event(c, &e), 0);
	}
	assert_int_equal(composer_address(c, 1), 1 << 20);
	assert_int_equal(composer_address(c, 0), (1 << 20) + 32);
	assert_int_equal(composer_address(c, (1 << 20) - 1), (1 << 20) + 64);
	assert_int_equal(composer_blocks(c, 5, node, 1, 0, false), 0);
	assert_int_equal(composer_blocks(c, 5, node, 3, 11, true), 0);
	assert_int_equal(composer_blocks(c, 5, node, 4, 8, false), 0);
	assert_int_equal(composer_blocks(c, 5, node, 2, 3, false), 0);
}

static void put_others(struct composer *c)
{
	Heapcast__Gap gap = HEAPCAST__GAP__INIT;
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;
	struct culled_row row = {.thread = 6,
				 .stack = 2,
				 .lifetime = 4,
				 .blocks = 10,
				 .bytes = 105,
				 .reallocated = 2,
				 .size_least = 10,
				 .size_most = 11};

	assert_int_equal(composer_culled(c, &row), 0);
	row.reallocated = row.blocks;
	row.lifetime = culled_lifetimes - 1;
	row.stack = 0;
	assert_int_equal(composer_culled(c, &row), 0);
	gap.events = 7;
	gap.allocations = 4;
	gap.frees = 3;
	gap.bytes = 55;
	assert_int_equal(composer_gap(c, &gap), 0); /* of nobody */
	gap.thread = 3;
	assert_int_equal(composer_gap(c, &gap), 0);
	mark.time_ns = 50000000;
	mark.kind = HEAPCAST__MARK_KIND__MARK_NUMBER;
	mark.value = 9;
	assert_int_equal(composer_mark(c, &mark), 0);
	composer_account(c, 100, 1, 2);
}

static void observe(struct composer *c)
{
	Heapcast__Figures figures = HEAPCAST__FIGURES__INIT;
	Heapcast__Maps maps = HEAPCAST__MAPS__INIT;
	Heapcast__Allocator allocator = HEAPCAST__ALLOCATOR__INIT;

	figures.rss = 1;
	maps.regions = 2;
	allocator.arena = 3;
	assert_int_equal(composer_observed(c, &figures, NULL, NULL), 0);
	assert_int_equal(composer_observed(c, &figures, &maps, NULL), 0);  /* a batch ends here */
	assert_int_equal(composer_observed(c, NULL, NULL, &allocator), 0); /* and here */
	assert_int_equal(composer_observed(c, NULL, NULL, NULL), 0);
}

static void compare(struct composer *c, const Heapcast__End *last, const char *name)
{
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	assert_int_equal(composer_end(c, last, NULL), 0);
	assert_int_equal(composer_node(c, 0, 0, 5000, &(uint32_t){0}), -EINVAL); /* too late */
	fprintf(out, "%llu events\n\n", (unsigned long long)composer_events(c));
	composer_free(c);
	dump_recording(out, fd);
	fclose(out);
	dump_compare(GOLDEN_REWRITTEN, name, text);
}

static void all_that_can_be_composed(void **state)
{
	Heapcast__End last = HEAPCAST__END__INIT;
	uint32_t node;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct composer *c = begin(i);

		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(ftruncate(fd, 0), 0);
		if (i)
			assert_int_equal(composer_tick(c, i == 1 ? 1 : EVENTS_MAX_TICK_NS), 0);
		put_definitions(c, &node);
		put_events(c, node);
		put_others(c);
		observe(c);
		last.kind = HEAPCAST__END_KIND__END_EXITED;
		last.status = 3;
		last.time_ns = i == 1 ? 60000000 : 10;
		compare(c, i ? &last : NULL,
			i == 0	 ? "composed"
			: i == 1 ? "composed-exactly"
				 : "composed-roughly");
	}
}

/* How much is in each batch. */
static void count_batches(struct composer *c, const char *expected)
{
	uint64_t size;
	struct scan_item item;
	struct scan scan;
	char told[512];
	int used = 0;

	assert_int_equal(composer_end(c, NULL, NULL), 0);
	composer_free(c);
	size = (uint64_t)lseek(fd, 0, SEEK_END);
	assert_int_equal(scan_init(&scan, fd, 0, NULL), 0);
	while (scan_next(&scan, size, &item) == 1) {
		const Heapcast__Batch *batch = item.batch;

		used += snprintf(told + used, sizeof(told) - (size_t)used, "%u,%zu,%zu,%u,%zu ",
				 batch->events ? batch->events->count : 0, batch->n_thread,
				 batch->stacks ? batch->stacks->parent.len : 0,
				 batch->culled ? batch->culled->count : 0,
				 batch->names ? batch->names->texts.len : 0);
		assert_true((size_t)used < sizeof(told));
	}
	scan_done(&scan);
	assert_string_equal(told, expected);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
}

/* Batches are closed when they are full: events, threads, bytes of parents, sums, bytes of texts.
 */
static void batches_are_full(void **state)
{
	static char name[4096];
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT;
	const struct composer_frame frame = {.function = name};
	struct composer *c;
	uint32_t node;

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		c = begin(false);
		for (uint32_t i = 0; i < 32768 + more; i++)
			put(c, HEAPCAST__EVENT_KIND__EVENT_MALLOC, i, 4096 + 16 * i, 8, 0);
		count_batches(c, more ? "32768,1,0,0,0 1,0,0,0,0 " : "32768,1,0,0,0 ");
		c = begin(false);
		for (uint32_t i = 0; i < 4096 + more; i++)
			assert_int_equal(composer_culled(c, &(struct culled_row){.thread = 1,
										 .blocks = 1,
										 .bytes = 1,
										 .size_least = 1,
										 .size_most = 1}),
					 0);
		count_batches(c, more ? "0,1,0,4096,0 0,0,0,1,0 " : "0,1,0,4096,0 ");
		c = begin(false);
		for (uint32_t i = 0; i < (1 << 20) / STACKS_NODE_MAX - 1 + more; i++)
			assert_int_equal(composer_node(c, 0, 0, i, &node), 0);
		count_batches(c, more ? "0,0,52428,0,0 0,0,0,0,0 " : "0,0,52427,0,0 ");
		/* A row of 4,096 bytes. */
		c = begin(false);
		memset(name, 'n', sizeof(name));
		thread.number = 1;
		thread.name = (ProtobufCBinaryData){4088, (uint8_t *)name};
		for (uint32_t i = 0; i < 255 + more; i++)
			assert_int_equal(composer_thread(c, &thread), 0);
		count_batches(c, more ? "0,256,0,0,0 0,0,0,0,0 " : "0,255,0,0,0 ");
		c = begin(false);
		for (uint32_t i = 0; i < 255 + more; i++) {
			snprintf(name, sizeof(name), "%04090u", i);
			assert_int_equal(composer_name(c, 0, COMPOSER_FIRST_PLACE + i, &frame, 1),
					 0);
		}
		count_batches(c, more ? "0,0,0,0,1047296 0,0,0,0,0 " : "0,0,0,0,1043205 ");
	}
}

/* Each of these is refused, and why is said at the end; what was put in before is written. */
static void what_is_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 14; i++) {
		struct composer *c = begin(i != 13);
		struct err_text err = {0};
		Heapcast__Thread thread = HEAPCAST__THREAD__INIT;
		Heapcast__Mark mark = HEAPCAST__MARK__INIT;
		struct event e = {.kind = 1, .thread = 1, .time_ns = 1000, .address = 16};
		struct culled_row row = {.thread = 1, .stack = 0, .blocks = 1, .bytes = 1};
		const char *why = NULL;
		uint32_t node;
		int r = 0;

		assert_int_equal(composer_node(c, 0, 0, 5000, &node), 0);
		assert_int_equal(composer_event(c, &e), 0);
		switch (i) {
		case 0:
			r = composer_node(c, 2, 0, 1, &node);
			why = "a node of a caller or module that is not defined";
			break;
		case 1:
			r = composer_node(c, 1, 1, 1, &node);
			why = "a node of a caller or module that is not defined";
			break;
		case 2:
			r = composer_name(c, 1, 5000, NULL, 0);
			why = "a name for a place that can have none";
			break;
		case 3:
			r = composer_name(c, 0, COMPOSER_FIRST_PLACE - 1, NULL, 0);
			why = "a name for a place that can have none";
			break;
		case 4:
			r = composer_thread(c, &thread);
			why = "a thread without a number";
			break;
		case 5:
			thread.number = THREADS_MAX + 1;
			r = composer_thread(c, &thread);
			why = "a thread without a number";
			break;
		case 6:
			e.time_ns = 999;
			r = composer_event(c, &e);
			why = "times that descend";
			break;
		case 7:
			e.stack = 2;
			r = composer_event(c, &e);
			why = "an event of a stack that is not defined";
			break;
		case 8:
			e.kind = 15;
			r = composer_event(c, &e);
			why = "an event of no kind";
			break;
		case 9:
			mark.time_ns = (uint64_t)INT64_MAX + 1;
			r = composer_mark(c, &mark);
			why = "times that descend";
			break;
		case 10:
			row.stack = 2;
			r = composer_culled(c, &row);
			why = "a row of short-lived blocks that is impossible";
			break;
		case 11:
			row.reallocated = 2;
			r = composer_culled(c, &row);
			why = "a row of short-lived blocks that is impossible";
			break;
		case 12:
			row.lifetime = culled_lifetimes;
			r = composer_culled(c, &row);
			why = "a row of short-lived blocks that is impossible";
			break;
		case 13:
			r = composer_blocks(c, 1, 1, 0, 1, false);
			why = "bytes of no block";
			break;
		}
		assert_int_equal(r, -EINVAL);
		assert_int_equal(composer_observed(c, NULL, NULL, NULL), -EINVAL);
		assert_int_equal(composer_gap(c, &(Heapcast__Gap)HEAPCAST__GAP__INIT), -EINVAL);
		assert_int_equal(composer_end(c, NULL, &err), -EINVAL);
		if (strncmp(err.text, why, strlen(why)) != 0)
			fail_msg("%u: %s", i, err.text);
		composer_free(c);
	}
}

static void ticks_that_are_refused(void **state)
{
	static const uint32_t ticks[] = {0, EVENTS_MAX_TICK_NS + 1, 1};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct composer *c = begin(false);

		if (i == 2)
			put(c, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 1000, 4096, 1, 0);
		assert_int_equal(composer_tick(c, ticks[i]), -EINVAL);
		composer_free(c);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_that_can_be_composed, open_file, close_file),
		cmocka_unit_test_setup_teardown(batches_are_full, open_file, close_file),
		cmocka_unit_test_setup_teardown(what_is_refused, open_file, close_file),
		cmocka_unit_test_setup_teardown(ticks_that_are_refused, open_file, close_file),
	};

	dump_update = argc == 2 && !strcmp(argv[1], "--update");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
