/* The composer: what it writes is read back as it was put in, in batches of bounded size, and
 * balances. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/recording/info.h"
#include "collector/rewrite/compose.h"
#include "proto/columns.h"
#include "proto/culled.h"
#include "collector/recording/names.h"
#include "collector/recording/recording.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"

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

static struct recording *end(struct composer *c)
{
	struct err_text err = {0};
	struct recording *r;

	if (composer_end(c, NULL, &err) < 0 || recording_open(path, NULL, NULL, &r, &err) < 0)
		fail_msg("%s", err.text);
	composer_free(c);
	if (!recording_adds_up(r, &err))
		fail_msg("%s", err.text);
	assert_int_equal(recording_ledger(r)->cut_bytes, 0);
	assert_int_equal(recording_ledger(r)->damaged_places, 0);
	assert_true(recording_process(r)->ended);
	return r;
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

static void events_come_back(void **state)
{
	struct composer *c = begin(false);
	const uint32_t count = 100000; /* several batches */
	const struct row_block *block;
	struct recording *r;
	uint32_t node[2], again;

	(void)state;
	assert_int_equal(composer_node(c, 0, 0, 5000, &node[0]), 0);
	assert_int_equal(composer_node(c, node[0], 0, 5001, &node[1]), 0);
	assert_int_equal(composer_node(c, 0, 0, 5000, &again), 0);
	assert_int_equal(again, node[0]);
	for (uint32_t i = 0; i < count; i++)
		put(c, HEAPCAST__EVENT_KIND__EVENT_MALLOC, i * 1000u,
		    composer_address(c, 24 + i % 100), 24 + i % 100, node[i % 2]);
	put(c, HEAPCAST__EVENT_KIND__EVENT_FREE, count * 1000u, 1u << 20, 0, 0);
	r = end(c);
	assert_int_equal(recording_rows(r), count);
	assert_int_equal(recording_ledger(r)->stored, count + 1);
	for (uint32_t i = 0; i < count; i++) {
		block = recording_block(r, i / ROWS_PER_BLOCK);
		again = i % ROWS_PER_BLOCK;
		assert_int_equal(block->birth_ns[again], i * 1000u);
		assert_int_equal(block->size[again], 24 + i % 100);
		assert_int_equal(block->stack[again], node[i % 2]);
		assert_int_equal(block->thread[again], 7);
	}
	assert_int_equal(recording_block(r, 0)->end[0], BLOCK_FREED);
	assert_int_equal(recording_block(r, 0)->end[1], BLOCK_IN_USE);
	recording_close(r);
}

static void sums_become_blocks(void **state)
{
	struct composer *c = begin(true);
	uint64_t blocks = 0, bytes = 0, freed = 0;
	const struct row_block *b;
	struct recording *r;
	uint32_t node;

	(void)state;
	assert_int_equal(composer_node(c, 0, 0, 5000, &node), 0);
	assert_int_equal(composer_blocks(c, 1, node, 10, 1234567, false), 0);
	assert_int_equal(composer_blocks(c, 1, node, 3, 0, false), 0);
	assert_int_equal(composer_blocks(c, 1, node, 1000000000, 7000000003, true), 0);
	assert_int_equal(composer_blocks(c, 1, node, 0, 0, true), 0);
	r = end(c);
	assert_int_equal(recording_rows(r), 5);
	b = recording_block(r, 0);
	for (uint32_t i = 0; i < b->count; i++) {
		uint64_t one = b->size[i] ? b->size[i] : 1, n = b->weight[i] / one;

		assert_int_equal(b->weight[i] % one, 0);
		blocks += n;
		bytes += n * b->size[i];
		freed += b->end[i] == BLOCK_FREED ? n : 0;
	}
	assert_int_equal(blocks, 1000000013);
	assert_int_equal(bytes, 7001234570);
	assert_int_equal(freed, 1000000000);
	assert_true(recording_process(r)->origin.exact);
	assert_string_equal(recording_process(r)->origin.file, "a file");
	recording_close(r);
}

static void names_come_back(void **state)
{
	struct composer *c = begin(false);
	const struct composer_frame frames[] = {
		{"inner", "a.c", 7}, {"outer", "a.c", 0}, {NULL, NULL, 0}};
	Heapcast__Module module = HEAPCAST__MODULE__INIT;
	uint32_t number, first, count, many = 200000;
	struct named_frame frame;
	struct recording *r;
	char text[32];

	(void)state;
	module.path = composer_text("/lib/libx.so");
	assert_int_equal(composer_module(c, &module, &number), 0);
	assert_int_equal(composer_name(c, number, 0x123, frames, 3), 0);
	assert_int_equal(composer_name(c, number, 0x124, NULL, 0), 0);
	for (uint32_t i = 0; i < many; i++) {
		snprintf(text, sizeof(text), "function %u", i);
		assert_int_equal(composer_name(c, 0, COMPOSER_FIRST_PLACE + i,
					       &(struct composer_frame){.function = text}, 1),
				 0);
	}
	assert_int_equal(composer_name(c, 0, 2, frames, 1), -EINVAL);
	composer_free(c);
	c = begin(false);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(composer_module(c, &module, &number), 0);
	assert_int_equal(composer_name(c, number, 0x123, frames, 3), 0);
	assert_int_equal(composer_name(c, number, 0x124, NULL, 0), 0);
	for (uint32_t i = 0; i < many; i++) {
		snprintf(text, sizeof(text), "function %u", i);
		composer_name(c, 0, COMPOSER_FIRST_PLACE + i,
			      &(struct composer_frame){.function = text}, 1);
	}
	r = end(c);
	assert_int_equal(recording_named(r, number, 0x123, &first, &count), 1);
	assert_int_equal(count, 3);
	frame = recording_named_frame(r, first);
	assert_string_equal(frame.function, "inner");
	assert_string_equal(frame.file, "a.c");
	assert_int_equal(frame.line, 7);
	assert_string_equal(recording_named_frame(r, first + 1).function, "outer");
	assert_null(recording_named_frame(r, first + 2).function);
	assert_int_equal(recording_named(r, number, 0x124, &first, &count), 1);
	assert_int_equal(count, 0);
	assert_int_equal(recording_named(r, number, 0x125, &first, &count), 0);
	for (uint32_t i = 0; i < many; i++) {
		snprintf(text, sizeof(text), "function %u", i);
		assert_int_equal(recording_named(r, 0, COMPOSER_FIRST_PLACE + i, &first, &count),
				 1);
		assert_string_equal(recording_named_frame(r, first).function, text);
	}
	recording_close(r);
}

/* What a reader would not take is not written either, and both say why. */
static void names_are_bounded(void **state)
{
	static const struct composer_frame frames[NAMES_FRAMES_MAX];
	const uint64_t most =
		NAMES_BYTES_MAX /
		(NAMES_PLACE_BYTES + sizeof(frames) / sizeof(*frames) * NAMES_FRAME_BYTES);
	struct composer *c = begin(false);
	struct err_text err = {0};
	struct names names = {0};
	uint64_t count = 0;

	(void)state;
	while (!composer_name(c, 0, COMPOSER_FIRST_PLACE + count, frames, NAMES_FRAMES_MAX))
		count++;
	assert_int_equal(count, most);
	assert_int_equal(composer_end(c, NULL, &err), -E2BIG);
	assert_non_null(strstr(err.text, "256 MiB of names"));
	composer_free(c);

	for (count = 0; !names_put_frame(&names, (struct name_frame){0}); count++)
		;
	assert_int_equal(count, NAMES_BYTES_MAX / NAMES_FRAME_BYTES);
	assert_int_equal(names_put_place(&names, 0, 1, 1), -EBADMSG);
	assert_int_equal(names_put_text(&names, "text", 4), -EBADMSG);
	names_done(&names);
}

/* Places that were made to fall together under a hash that everybody knows (a finalizer of
 * splitmix64 over both parts): they did under ours, once. */
static void names_do_not_collide(void **state)
{
	const uint32_t many = 60000;
	struct names names = {0};
	uint64_t inverse = 0x9e3779b97f4a7c15ull;
	clock_t begun = clock();

	(void)state;
	for (int i = 0; i < 5; i++) /* Newton: of the odd factor, modulo 2^64 */
		inverse *= 2 - 0x9e3779b97f4a7c15ull * inverse;
	for (uint32_t i = 1; i <= many; i++)
		assert_int_equal(names_put_place(&names, i, (0 - (uint64_t)i) * inverse, 0), 0);
	for (uint32_t i = 1; i <= many; i++)
		assert_int_equal(names_find(&names, i, (0 - (uint64_t)i) * inverse)->module, i);
	assert_null(names_find(&names, many + 1, (0 - (uint64_t)(many + 1)) * inverse));
	/* It takes milliseconds. */
	assert_true(clock() - begun < 2 * CLOCKS_PER_SEC);
	names_done(&names);
}

/* A note of which the reason comes late. */
static void the_last_note_holds(void **state)
{
	struct composer *c = begin(true);
	struct recording *r;
	uint32_t node;

	(void)state;
	assert_int_equal(composer_note(c, "first"), 0);
	assert_int_equal(composer_node(c, 0, 0, 5000, &node), 0);
	for (unsigned i = 0; i < 100000; i++)
		put(c, HEAPCAST__EVENT_KIND__EVENT_MALLOC, i, composer_address(c, 8), 8, node);
	assert_int_equal(composer_note(c, "first; last"), 0);
	r = end(c);
	assert_string_equal(recording_process(r)->origin.note, "first; last");
	assert_string_equal(recording_process(r)->origin.file, "a file");
	assert_int_equal(recording_rows(r), 100000);
	assert_int_equal(recording_process(r)->images, 1);
	recording_close(r);
}

static void accounts_balance(void **state)
{
	struct composer *c = begin(false);
	const struct culled_row row = {.thread = 3,
				       .stack = 1,
				       .lifetime = 4,
				       .blocks = 10,
				       .bytes = 105,
				       .reallocated = 2,
				       .size_least = 10,
				       .size_most = 11};
	Heapcast__Gap gap = HEAPCAST__GAP__INIT;
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;
	Heapcast__Thread thread = HEAPCAST__THREAD__INIT;
	struct recording *r;
	uint32_t node;

	(void)state;
	assert_int_equal(composer_node(c, 0, 0, 5000, &node), 0);
	thread.number = 3;
	thread.name = composer_text("worker");
	assert_int_equal(composer_thread(c, &thread), 0);
	for (int i = 0; i < 5000; i++) /* more than one message */
		assert_int_equal(composer_culled(c, &row), 0);
	gap.thread = 3;
	gap.from = 1;
	gap.to = gap.events = 5;
	gap.frees = 5;
	gap.reason = HEAPCAST__REASON__REASON_RING_FULL;
	assert_int_equal(composer_gap(c, &gap), 0);
	put(c, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 10000, 4096, 1, node);
	mark.time_ns = 20000;
	mark.kind = HEAPCAST__MARK_KIND__MARK_TEXT;
	mark.text = composer_text("here");
	assert_int_equal(composer_mark(c, &mark), 0);
	composer_account(c, 100, 1, 2);
	r = end(c);
	assert_int_equal(recording_ledger(r)->produced, 1 + 5000 * 18 + 5 + 100);
	assert_int_equal(recording_ledger(r)->culled, 5000 * 18);
	assert_int_equal(recording_culled_totals(r)->bytes, 5000 * 105);
	assert_int_equal(recording_ledger(r)->lost, 5);
	assert_int_equal(recording_marks(r), 1);
	assert_int_equal(recording_mark(r, 0)->time_ns, 20000);
	assert_string_equal(recording_thread(r, 3)->name, "worker");
	assert_int_equal(recording_thread(r, 3)->lost, 5);
	assert_int_equal(recording_thread(r, 3)->culled, 5000 * 18);
	assert_int_equal(recording_thread(r, 7)->stored, 1);
	recording_close(r);
}

static void mistakes_last(void **state)
{
	struct composer *c = begin(false);
	struct err_text err = {0};
	uint32_t node;

	(void)state;
	put(c, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 10000, 4096, 1, 0);
	assert_int_equal(
		composer_event(
			c, &(struct event){.kind = 1, .thread = 1, .time_ns = 9000, .address = 16}),
		-EINVAL);
	assert_int_equal(composer_node(c, 0, 0, 5000, &node), -EINVAL);
	assert_int_equal(composer_end(c, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "descend"));
	composer_free(c);
	c = begin(false);
	assert_int_equal(
		composer_event(c,
			       &(struct event){.kind = 1, .thread = 1, .address = 16, .stack = 1}),
		-EINVAL);
	composer_free(c);
	c = begin(false);
	assert_int_equal(composer_node(c, 0, 1, 5000, &node), -EINVAL);
	composer_free(c);
}

static void a_full_disk_is_told(void **state)
{
	int full = open("/dev/full", O_WRONLY), file = fd;
	struct err_text err = {0};
	struct composer *c;

	(void)state;
	if (full < 0)
		skip();
	fd = full;
	c = begin(false);
	fd = file;
	put(c, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 10000, 4096, 1, 0);
	assert_int_equal(composer_end(c, NULL, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "writing the recording"));
	composer_free(c);
	close(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events_come_back, open_file, close_file),
		cmocka_unit_test_setup_teardown(sums_become_blocks, open_file, close_file),
		cmocka_unit_test_setup_teardown(names_come_back, open_file, close_file),
		cmocka_unit_test_setup_teardown(names_are_bounded, open_file, close_file),
		cmocka_unit_test(names_do_not_collide),
		cmocka_unit_test_setup_teardown(the_last_note_holds, open_file, close_file),
		cmocka_unit_test_setup_teardown(accounts_balance, open_file, close_file),
		cmocka_unit_test_setup_teardown(mistakes_last, open_file, close_file),
		cmocka_unit_test_setup_teardown(a_full_disk_is_told, open_file, close_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
