/* What the catalogue knows of a stream: which batches count, which are refused, what each adds; the
 * same from a file; names of programs, readings over time, and the lock of who writes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/recording/definitions.h"
#include "collector/recording/figures.h"
#include "collector/recording/other_events.h"
#include "collector/recording/totals.h"
#include "collector/recording/written.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

static struct stream_id id;
static struct totals totals;
static Heapcast__Batch batch;

static int begin(void **state)
{
	(void)state;
	totals_done(&totals);
	memset(id.bytes, 7, sizeof(id.bytes));
	heapcast__batch__init(&batch);
	batch.stream = builder_bytes(id.bytes, sizeof(id.bytes));
	batch.incarnation = 2;
	batch.number = 5;
	batch.time_ns = 100;
	return 0;
}

static int end(void **state)
{
	(void)state;
	totals_done(&totals);
	return 0;
}

static int add(void)
{
	struct err_text err = {0};
	int r = totals_add(&totals, &id, &batch, &err);

	assert_int_equal(r == -EBADMSG, err.text[0] != 0);
	assert_int_equal(totals_add(&totals, &id, &batch, NULL), r == 0 && batch.number ? 1 : r);
	return r;
}

static void check_position(uint32_t incarnation, uint64_t next)
{
	assert_int_equal(totals.position.incarnation, incarnation);
	assert_int_equal(totals.position.next, next);
}

/* Each number once, in order; an agent that took over begins anew. */
static void test_numbers(void **state)
{
	(void)state;
	assert_int_equal(add(), 0);
	check_position(2, 6);
	batch.number = 4;
	assert_int_equal(add(), 1);
	batch.number = 6;
	assert_int_equal(add(), 0);
	batch.number = 9; /* what is missing does not come any more */
	assert_int_equal(add(), 0);
	check_position(2, 10);
	batch.number = 8;
	assert_int_equal(add(), 1);
	batch.incarnation = 1;
	batch.number = 100;
	assert_int_equal(add(), 1);
	check_position(2, 10);
	batch.incarnation = 3;
	batch.number = 1;
	assert_int_equal(add(), 0);
	check_position(3, 2);
	batch.number = UINT64_MAX - 1;
	assert_int_equal(add(), 0);
	check_position(3, UINT64_MAX);
}

static void test_refused(void **state)
{
	uint8_t other[STREAM_ID_SIZE];
	Heapcast__Events events = HEAPCAST__EVENTS__INIT;
	Heapcast__Culled culled = HEAPCAST__CULLED__INIT;

	(void)state;
	memset(other, 7, sizeof(other));
	other[15] = 8;
	batch.stream.data = other;
	assert_int_equal(add(), -EBADMSG);
	batch.stream = builder_bytes(id.bytes, 15);
	assert_int_equal(add(), -EBADMSG);
	begin(NULL);
	batch.incarnation = 0;
	assert_int_equal(add(), -EBADMSG);
	begin(NULL);
	batch.number = UINT64_MAX;
	assert_int_equal(add(), -EBADMSG);
	batch.number = 0;
	assert_int_equal(add(), -EBADMSG);
	batch.catch_up = true; /* but that has none */
	assert_int_equal(add(), 0);
	check_position(0, 0);
	assert_int_equal(totals.last_ns, 100);
	batch.number = 5;
	assert_int_equal(add(), -EBADMSG);
	batch.number = 0;
	for (unsigned i = 0; i < 2; i++) {
		struct err_text err = {0};

		batch.events = i ? NULL : &events;
		batch.culled = i ? &culled : NULL;
		assert_int_equal(totals_add(&totals, &id, &batch, &err), -EBADMSG);
		assert_string_equal(err.text, "a catch-up with events or a number");
	}
	check_position(0, 0);
}

/* Each column is read to its end; if one is wrong, nothing of the batch counts. */
static void test_columns(void **state)
{
	static const uint8_t half[] = {0x80};
	Heapcast__Stacks stacks = HEAPCAST__STACKS__INIT;
	Heapcast__Events events = HEAPCAST__EVENTS__INIT;
	Heapcast__Culled culled = HEAPCAST__CULLED__INIT;
	Heapcast__Names names = HEAPCAST__NAMES__INIT;
	Heapcast__End ended = HEAPCAST__END__INIT;

	(void)state;
	stacks.first = 1;
	stacks.parent = stacks.module = stacks.offset = builder_bytes(half, 1);
	events.count = 1;
	events.kind = events.thread = builder_bytes(half, 1);
	culled.thread = culled.stack = builder_bytes(half, 1);
	names.module = names.offset = names.frames = builder_bytes(half, 1);
	batch.end = &ended;
	for (unsigned i = 0; i < 4; i++) {
		batch.stacks = i == 0 ? &stacks : NULL;
		batch.events = i == 1 ? &events : NULL;
		batch.culled = i == 2 ? &culled : NULL;
		batch.names = i == 3 ? &names : NULL;
		assert_int_equal(add(), -EBADMSG);
		check_position(0, 0);
		assert_false(totals.ended);
		assert_int_equal(totals.last_ns, 0);
		assert_int_equal(totals.events, 0);
	}
	batch.names = NULL;
	assert_int_equal(add(), 0);
	assert_true(totals.ended);
}

static void test_process(void **state)
{
	Heapcast__Process p = HEAPCAST__PROCESS__INIT;
	ProtobufCBinaryData arguments[] = {builder_bytes("run", 3), builder_bytes("", 0),
					   builder_bytes("-v", 2)};

	(void)state;
	p.pid = 12;
	p.executable = builder_bytes("/usr/bin/run", 12);
	p.argument = arguments;
	p.n_argument = 3;
	p.host = (char[]){"board"};
	p.architecture = (char[]){"arm"};
	p.start_wall_ns = 1000;
	batch.process = &p;
	assert_int_equal(add(), 0);
	assert_string_equal(totals.name, "run");
	assert_string_equal(totals.executable, "/usr/bin/run");
	assert_string_equal(totals.command_line, "run  -v");
	assert_string_equal(totals.host, "board");
	assert_string_equal(totals.architecture, "arm");
	assert_int_equal(totals.pid, 12);
	assert_int_equal(totals.start_wall_ns, 1000);
	/* an exec: another program, but the stream began when it did */
	p.name = builder_bytes("other", 5);
	p.n_argument = 0;
	p.pid = 13;
	p.start_wall_ns = 2000;
	batch.number++;
	batch.time_ns = 90;
	assert_int_equal(add(), 0);
	assert_string_equal(totals.name, "other");
	assert_string_equal(totals.command_line, "");
	assert_int_equal(totals.pid, 13);
	assert_int_equal(totals.start_wall_ns, 1000);
	assert_int_equal(totals.last_ns, 100);
	batch.number++;
	batch.time_ns = 101;
	assert_int_equal(add(), 0);
	assert_int_equal(totals.last_ns, 101);
}

static void check_name(const char *file, const char *expected)
{
	Heapcast__Process p = HEAPCAST__PROCESS__INIT;
	char *name;

	p.executable = builder_bytes(file, strlen(file));
	name = program_name(&p);
	assert_string_equal(name, expected);
	free(name);
}

static void test_texts(void **state)
{
	static char longer[CATALOGUE_TEXT + 10];
	Heapcast__Process p = HEAPCAST__PROCESS__INIT;
	ProtobufCBinaryData arguments[3];
	char *text;

	(void)state;
	check_name("/bin/a", "a");
	check_name("a", "a");
	check_name("", "");
	check_name("/bin/", "");
	memset(longer, 'a', sizeof(longer));
	text = outside_text(longer, sizeof(longer));
	assert_int_equal(strlen(text), CATALOGUE_TEXT);
	free(text);
	arguments[0] = builder_bytes(longer, CATALOGUE_TEXT - 1);
	arguments[1] = builder_bytes("b", 1);
	arguments[2] = builder_bytes("c", 1);
	p.argument = arguments;
	p.n_argument = 3;
	text = join_arguments(&p);
	assert_int_equal(strlen(text), CATALOGUE_TEXT);
	assert_int_equal(text[CATALOGUE_TEXT - 1], ' ');
	free(text);
}

static void test_copies(void **state)
{
	struct totals copy = {0}, sums = {.incomplete = strdup("old"), .name = strdup("kept")};

	(void)state;
	assert_int_equal(totals_copy(&totals, &copy), 0); /* without any text */
	assert_null(copy.name);
	totals_done(&copy);
	totals = (struct totals){.name = strdup("n"),
				 .incomplete = strdup("i"),
				 .events = 3,
				 .in_use_bytes = 4,
				 .in_use_blocks = 5,
				 .summed_bytes = 6};
	assert_int_equal(totals_copy(&totals, &copy), 0);
	assert_string_equal(copy.name, "n");
	assert_ptr_not_equal(copy.name, totals.name);
	assert_string_equal(copy.incomplete, "i");
	assert_ptr_not_equal(copy.incomplete, totals.incomplete);
	assert_null(copy.host);
	assert_int_equal(copy.events, 3);
	totals_done(&copy);
	assert_null(copy.name);
	assert_int_equal(totals_copy_sums(&totals, &sums), 0);
	assert_string_equal(sums.name, "kept");
	assert_string_equal(sums.incomplete, "i");
	assert_true(sums.summed_up && sums.in_use_bytes == 4 && sums.in_use_blocks == 5 &&
		    sums.summed_bytes == 6 && !sums.events);
	totals_done(&sums);
}

/* ---- files ---- */

static int save(const struct builder *b)
{
	int fd = memfd_create("totals", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->file.data, b->file.length), b->file.length);
	return fd;
}

static void test_scan(void **state)
{
	struct err_text err = {0};
	struct builder b;
	size_t whole;
	int fd;

	(void)state;
	builder_init(&b, 7);
	for (unsigned i = 0; i < 4; i++) {
		builder_malloc(&b, 10 + i, 1, 0x1000 + 32 * i, 32);
		builder_close(&b, 10 + i);
		if (i == 1) { /* one that is there again, and one of another stream */
			b.number--;
			builder_close(&b, 12);
			b.id[0]++;
			builder_close(&b, 12);
			b.id[0]--;
			b.number--;
		}
	}
	whole = b.file.length;
	builder_end(&b, 0);
	fd = save(&b);
	assert_int_equal(totals_scan(&totals, &id, fd, b.ends[0], &err), 0);
	assert_int_equal(totals.events, 1);
	assert_int_equal(totals.bytes, b.ends[0]);
	assert_int_equal(totals_scan(&totals, &id, fd, b.file.length - 1, &err), 0);
	assert_int_equal(totals.events, 4);
	assert_int_equal(totals.bytes, whole);
	assert_false(totals.ended);
	assert_int_equal(totals_scan(&totals, &id, fd, b.file.length, &err), 0);
	assert_true(totals.ended);
	assert_int_equal(totals.bytes, b.file.length);
	assert_int_equal(err.text[0], 0);
	close(fd);
	assert_int_equal(totals_scan(&totals, &id, -1, b.file.length + 1, &err), -EBADF);
	assert_string_equal(err.text, "cannot read the recording: Bad file descriptor");
	builder_done(&b);
}

/* A batch of `count` readings, numbered on from `first`, the first of which is detailed. */
static void add_readings(struct builder *b, unsigned first, unsigned count)
{
	Heapcast__Figures *readings = calloc(count, sizeof(*readings));
	Heapcast__Figures **list = calloc(count, sizeof(*list));
	Heapcast__Allocator allocator = HEAPCAST__ALLOCATOR__INIT;
	Heapcast__Batch more = HEAPCAST__BATCH__INIT;

	assert_true(readings && list);
	for (unsigned i = 0; i < count; i++) {
		heapcast__figures__init(&readings[i]);
		readings[i].time_ns = first + i;
		readings[i].rss = 10 * (first + i);
		readings[i].pss = first + i;
		readings[i].detailed = !i;
		list[i] = &readings[i];
	}
	allocator.time_ns = first;
	allocator.arena = 77;
	more.figures = list;
	more.n_figures = count;
	more.allocator = &allocator;
	builder_frame(b, &more);
	free(readings);
	free(list);
}

static void save_at(const struct builder *b, char path[96])
{
	FILE *file;

	snprintf(path, 96, "%s/recording", temporary_folder);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(b->file.data, 1, b->file.length, file), b->file.length);
	fclose(file);
}

/* Every reading, or where there are more than 262144, every second one. */
static void test_figures(void **state)
{
	struct figures_history history;
	struct err_text err = {0};
	struct builder b;
	char path[96];

	(void)state;
	for (unsigned more = 0; more < 3; more++) {
		unsigned count = 0, stride = more ? 2 : 1, expected;

		builder_init(&b, 7);
		while (count < FIGURES_KEPT_MAX) {
			add_readings(&b, count, 1 << 14);
			count += 1 << 14;
		}
		if (more) {
			add_readings(&b, count, more);
			count += more;
		}
		save_at(&b, path);
		builder_done(&b);
		assert_int_equal(figures_over_time(path, NULL, &history, &err), 0);
		expected = (count + stride - 1) / stride;
		assert_int_equal(history.figures_count, expected);
		for (unsigned i = 0; i < expected; i++) {
			const struct figures_info *f = &history.figures[i];

			assert_int_equal(f->time_ns, stride * i);
			assert_int_equal(f->rss, 10 * stride * i);
			assert_int_equal(f->detailed_ns, stride * i & ~0x3fffu);
			assert_int_equal(f->pss, stride * i & ~0x3fffu);
		}
		assert_int_equal(history.allocator_count, 16 + !!more);
		assert_int_equal(history.allocator[3].time_ns, 3 << 14);
		assert_int_equal(history.allocator[3].arena, 77);
		figures_history_done(&history);
		assert_null(history.figures);
		assert_int_equal(history.allocator_count, 0);
	}
}

static void test_no_figures(void **state)
{
	static const atomic_bool asked = true;
	const struct cancel cancel = {.asked = &asked};
	struct figures_history history;
	struct err_text err = {0};
	struct builder b;
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/none", temporary_folder);
	assert_int_equal(figures_over_time(path, NULL, &history, &err), -ENOENT);
	assert_non_null(strstr(err.text, "cannot open "));
	assert_int_equal(figures_over_time(temporary_folder, NULL, &history, &err), -EISDIR);
	builder_init(&b, 7);
	builder_end(&b, 0);
	save_at(&b, path);
	assert_int_equal(figures_over_time(path, NULL, &history, &err), 0);
	assert_int_equal(history.figures_count, 0);
	assert_int_equal(history.allocator_count, 0);
	figures_history_done(&history);
	add_readings(&b, 1, 1);
	save_at(&b, path);
	assert_int_equal(figures_over_time(path, &cancel, &history, &err), -ECANCELED);
	builder_done(&b);
}

/* The mark is of the open file: another one finds it, and it ends with the file. */
static void test_written(void **state)
{
	char path[96];
	struct builder b;
	int one, other;

	(void)state;
	builder_init(&b, 7);
	builder_end(&b, 0);
	save_at(&b, path);
	builder_done(&b);
	one = open(path, O_RDWR | O_CLOEXEC);
	other = open(path, O_RDWR | O_CLOEXEC);
	assert_false(recording_is_written(other));
	assert_int_equal(recording_mark_written(one), 0);
	assert_true(recording_is_written(other));
	assert_false(recording_is_written(one)); /* by another one */
	assert_int_equal(recording_mark_written(other), -EBUSY);
	close(one);
	assert_false(recording_is_written(other));
	assert_int_equal(recording_mark_written(other), 0);
	close(other);
	assert_int_equal(recording_mark_written(-1), -EBADF);
	assert_false(recording_is_written(-1));
}

static void test_other_events(void **state)
{
	struct other_events list = {0};
	struct event event = {.size = 9,
			      .old_address = 8,
			      .thread = 7,
			      .stack = 6,
			      .kind = HEAPCAST__EVENT_KIND__EVENT_MMAP};

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		event.time_ns = i;
		event.address = 2 * i;
		assert_int_equal(other_events_add(&list, &event), 0);
	}
	assert_int_equal(list.count, 200);
	for (uint32_t i = 0; i < 200; i++) {
		const struct other_event_info *e = &list.list[i];

		assert_true(e->time_ns == i && e->address == 2 * i && e->size == 9 &&
			    e->old_address == 8 && e->thread == 7 && e->stack == 6 &&
			    e->kind == HEAPCAST__EVENT_KIND__EVENT_MMAP);
	}
	list.count = OTHER_EVENTS_MAX; /* no more are kept */
	assert_int_equal(other_events_add(&list, &event), 0);
	assert_int_equal(list.count, OTHER_EVENTS_MAX);
	other_events_done(&list);
	assert_null(list.list);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_numbers, begin),
		cmocka_unit_test_setup(test_refused, begin),
		cmocka_unit_test_setup(test_columns, begin),
		cmocka_unit_test_setup(test_process, begin),
		cmocka_unit_test(test_texts),
		cmocka_unit_test_setup(test_copies, begin),
		cmocka_unit_test_setup(test_scan, begin),
		TEST_IN_FOLDER(test_figures),
		TEST_IN_FOLDER(test_no_figures),
		TEST_IN_FOLDER(test_written),
		cmocka_unit_test(test_other_events),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
