/*
 * What is settled once all frames that are there have been taken: as long as somebody writes, the
 * last events wait for their order; later they do not, and the recording ends with them. What was
 * read before does not stay when more comes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/written.h"
#include "tests/unit/store/pairing.h"
#include "tests/unit/temporary.h"

/* Two blocks by 2000; one more and a free at 5000 and 6000, in a batch that is of 3000. */
static void build(struct builder *b)
{
	builder_init(b, 1);
	builder_malloc(b, 1000, 1, 0x1000, 16);
	builder_malloc(b, 2000, 1, 0x2000, 16);
	builder_close(b, 2000);
	builder_malloc(b, 5000, 1, 0x3000, 16);
	builder_free(b, 6000, 1, 0x1000);
	b->last_ns = 3000;
	builder_close(b, 3000);
}

static struct recording *open_at(const char *path)
{
	struct recording *r;

	assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
	return r;
}

static void the_last_events(void **state)
{
	struct recording *r;
	struct builder b;
	char *path;
	int fd;

	(void)state;
	build(&b);
	path = builder_save(&b, b.file.length);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(recording_mark_written(fd), 0);
	r = open_at(path);
	assert_int_equal(recording_rows(r), 2);
	assert_int_equal(row_at(r, 0).death, NO_TIME);
	assert_int_equal(recording_end_ns(r), 3000);
	assert_int_equal(recording_refresh(r, NULL), 0);
	assert_int_equal(recording_rows(r), 2);

	close(fd);
	assert_int_equal(recording_refresh(r, NULL), 1);
	assert_int_equal(recording_rows(r), 3);
	assert_int_equal(row_at(r, 0).death, 6000);
	assert_int_equal(recording_end_ns(r), 6000);
	assert_int_equal(recording_refresh(r, NULL), 0);
	recording_close(r);

	r = open_at(path);
	assert_int_equal(recording_rows(r), 3);
	assert_int_equal(recording_end_ns(r), 6000);
	recording_close(r);
	unlink(path);
	free(path);
	builder_done(&b);
}

/* An end that comes is the end, though somebody still has the file open to write. */
static void an_end(void **state)
{
	struct recording *r;
	struct builder b;
	char *path;
	int fd;

	(void)state;
	build(&b);
	builder_end(&b, 0);
	path = builder_save(&b, b.ends[1]);
	fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	assert_int_equal(recording_mark_written(fd), 0);
	r = open_at(path);
	assert_int_equal(recording_rows(r), 2);
	assert_false(r->flushed);
	assert_int_equal(write(fd, b.file.data + b.ends[1], b.file.length - b.ends[1]),
			 (ssize_t)(b.file.length - b.ends[1]));
	assert_int_equal(recording_refresh(r, NULL), 1);
	assert_int_equal(recording_rows(r), 3);
	assert_int_equal(recording_end_ns(r), 6000);
	assert_true(r->flushed);
	close(fd);
	recording_close(r);
	unlink(path);
	free(path);
	builder_done(&b);
}

/* Ends that may be lost: a block of which it was not known is shown as such after more has come. */
static void read_before(void **state)
{
	Heapcast__Gap gap = HEAPCAST__GAP__INIT;
	struct recording *r;
	struct builder b;
	char *path;
	FILE *file;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 1000, 1, 0x1000, 16);
	builder_malloc(&b, 1100, 1, 0x2000, 16);
	builder_close(&b, 1100);
	for (unsigned i = 0; i < 2; i++) {
		gap = (Heapcast__Gap)HEAPCAST__GAP__INIT;
		gap.thread = 1;
		gap.reason = HEAPCAST__REASON__REASON_SPOOL_FULL;
		gap.frees = gap.events = 1;
		gap.from_ns = 1200 + 1000 * i;
		gap.to_ns = 1300 + 1000 * i;
		b.gap = &gap;
		b.lost++;
		b.lost_frees++;
		builder_malloc(&b, 1900 + 1000 * i, 1, 0x3000 + 0x1000 * i, 16);
		builder_close(&b, 1900 + 1000 * i);
	}
	path = builder_save(&b, b.ends[1]);
	r = open_at(path);
	assert_int_equal(row_at(r, 0).end, BLOCK_CENSORED);
	assert_int_equal(row_at(r, 2).end, BLOCK_IN_USE);
	file = fopen(path, "ae");
	assert_int_equal(fwrite(b.file.data + b.ends[1], 1, b.file.length - b.ends[1], file),
			 b.file.length - b.ends[1]);
	fclose(file);
	assert_int_equal(recording_refresh(r, NULL), 1);
	assert_int_equal(row_at(r, 2).end, BLOCK_CENSORED);
	assert_int_equal(row_at(r, 3).end, BLOCK_IN_USE);
	recording_close(r);
	unlink(path);
	free(path);
	builder_done(&b);
}

/* What is stored and has ended is opened without what only a writer needs. */
static void stored(void **state)
{
	struct recording *r;
	char folder[128], path[160];
	struct builder b;
	uint64_t cut;
	FILE *file;
	int e = 1;

	(void)state;
	build(&b);
	builder_end(&b, 0);
	snprintf(folder, sizeof(folder), "%s/stream", temporary_folder);
	snprintf(path, sizeof(path), "%s/recording.heapcast", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	file = fopen(path, "we");
	assert_int_equal(fwrite(b.file.data, 1, b.file.length, file), b.file.length);
	fclose(file);
	assert_int_equal(recording_open_writing(path, &r, &cut, NULL), 0);
	while (e == 1)
		e = recording_derive(r, b.file.length, 1, NULL);
	assert_int_equal(e, 0);
	assert_int_equal(recording_finish(r, NULL), 0);
	recording_close(r);

	r = open_at(path);
	assert_true(r->asleep);
	assert_true(r->flushed);
	assert_int_equal(recording_rows(r), 3);
	assert_int_equal(row_at(r, 0).death, 6000);
	assert_int_equal(recording_end_ns(r), 6000);
	recording_close(r);
	builder_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_events),
		cmocka_unit_test(an_end),
		cmocka_unit_test(read_before),
		cmocka_unit_test_setup_teardown(stored, temporary_setup, temporary_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
