/*
 * Results that are kept in files beside the rows of a stream that has ended: they are written once
 * and read from then on, with the same answers; what is damaged or no file at all is made again.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/view.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/recording/recording.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/locks.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/stream.h"

#define PREPARED (WHOLE_PEAK | WHOLE_REALLOCATIONS)

static const char *const names[] = {"usage", "usage-leaked", "sums"};
#define NAMES (sizeof(names) / sizeof(*names))

/* ---- a stream of the store ---- */

static void build(struct builder *b, uint64_t rows, bool ended)
{
	struct stack_node nodes[TEST_NODES];
	uint64_t random = 5;

	builder_init(b, 5);
	test_nodes(nodes, &random);
	test_first_batch(b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, false);
	for (uint64_t i = 0; i < rows; i++) {
		struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				  .thread = 1,
				  .time_ns = 100 + 10 * i,
				  .address = 0x10000 + 64 * i};

		e.size = e.weight = test_random(&random) % 1000;
		e.stack = 1 + (uint32_t)(test_random(&random) % TEST_NODES);
		builder_event(b, &e);
		if (i % 3)
			builder_free(b, 105 + 10 * i, 1, e.address - 64 * (i % 3 - 1));
	}
	if (ended)
		builder_end(b, 0);
	else
		builder_close(b, b->last_ns);
}

static void make_stream(uint64_t rows, bool ended)
{
	struct builder b;

	build(&b, rows, ended);
	stream_make(&b);
	builder_done(&b);
}

/* ---- what lies there ---- */

static const char *path_of(const char *name)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s/%s", stream_columns, name);
	return text;
}

/* 0: there is none. */
static ino_t inode_of(const char *name)
{
	struct stat st;

	return lstat(path_of(name), &st) ? 0 : st.st_ino;
}

static unsigned files(void)
{
	DIR *list = opendir(stream_columns);
	unsigned count = 0;

	assert_non_null(list);
	for (struct dirent *e; (e = readdir(list));)
		count += e->d_name[0] != '.';
	closedir(list);
	return count;
}

static uint64_t answers(struct view *view)
{
	struct filter f;
	uint64_t d = 1;

	ask_about.at_ns = recording_end_ns(view_recording(view)) / 2;
	filter_init(&f);
	assert_int_equal(ask_report(view, &f, &d), 0);
	assert_int_equal(ask_timeline(view, &f, &d), 0);
	ask_about.leaked_only = true;
	assert_int_equal(ask_timeline(view, &f, &d), 0);
	ask_about.leaked_only = false;
	assert_int_equal(ask_groups(view, &f, &d), 0);
	return d;
}

/* Whether the view has read them all. */
static bool are_read(const struct view *view)
{
	return view->usage[0].kept.data && view->usage[1].kept.data && view->whole_sums;
}

static uint64_t prepared_answers(bool *ret_read)
{
	struct test_recording t;
	struct err_text err = {0};
	uint64_t d;

	stream_open(&t);
	assert_int_equal(query_prepare(t.view, NULL, &err), 0);
	assert_int_equal(t.view->whole_sums->parts & PREPARED, PREPARED);
	*ret_read = are_read(t.view);
	d = answers(t.view);
	test_close(&t);
	return d;
}

/* ---- tests ---- */

static void test_written_once(void **state)
{
	unsigned before, open_before;
	ino_t inodes[NAMES];
	uint64_t wanted;
	bool read;

	(void)state;
	make_stream(ROWS_PER_BLOCK, true);
	before = files();
	open_before = descriptors_open();
	first_descriptor_free();
	wanted = prepared_answers(&read);
	first_descriptor_take();
	assert_int_equal(descriptors_open(), open_before);
	assert_false(read);
	assert_int_equal(files(), before + NAMES);
	for (size_t i = 0; i < NAMES; i++)
		assert_true((inodes[i] = inode_of(names[i])) != 0);
	first_descriptor_free();
	assert_true(prepared_answers(&read) == wanted);
	first_descriptor_take();
	assert_int_equal(descriptors_open(), open_before);
	assert_true(read);
	for (size_t i = 0; i < NAMES; i++)
		assert_true(inode_of(names[i]) == inodes[i]);
	assert_int_equal(files(), before + NAMES);
}

/* Those of which somebody asks without preparation; a part of the sums that few need is added. */
static void test_written_when_asked(void **state)
{
	const struct whole_sums *whole;
	struct test_recording t;
	struct filter all;
	ino_t inode;

	(void)state;
	make_stream(ROWS_PER_BLOCK, true);
	filter_init(&all);
	stream_open(&t);
	assert_int_equal(view_whole_sums(t.view, &all, 0, &whole, NULL), 0);
	test_close(&t);
	assert_true((inode = inode_of("sums")) != 0);
	assert_true(!inode_of("usage"));

	stream_open(&t);
	assert_int_equal(view_whole_sums(t.view, &all, 0, &whole, NULL), 0);
	assert_int_equal(whole->parts, 0);
	assert_true(inode_of("sums") == inode);
	assert_int_equal(view_whole_sums(t.view, &all, WHOLE_GROUP_PEAKS, &whole, NULL), 0);
	assert_int_equal(whole->parts, WHOLE_GROUP_PEAKS);
	test_close(&t);

	stream_open(&t);
	assert_int_equal(view_whole_sums(t.view, &all, 0, &whole, NULL), 0);
	assert_int_equal(whole->parts, WHOLE_GROUP_PEAKS);
	assert_non_null(whole->group_peaks);
	assert_int_equal(query_prepare(t.view, NULL, NULL), 0);
	assert_int_equal(t.view->whole_sums->parts, PREPARED | WHOLE_GROUP_PEAKS);
	test_close(&t);
}

enum damage { FLIPPED, EMPTY, ELSEWHERE, FOLDER, DAMAGES };

static void damage(const char *name, enum damage how)
{
	char other[256];
	uint8_t byte;
	int fd;

	snprintf(other, sizeof(other), "%s/other", temporary_folder);
	switch (how) {
	case FLIPPED:
		fd = open(path_of(name), O_RDWR | O_CLOEXEC);
		assert_int_equal(pread(fd, &byte, 1, 60), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, 60), 1);
		close(fd);
		break;
	case EMPTY:
		assert_int_equal(truncate(path_of(name), 0), 0);
		break;
	case ELSEWHERE: /* a link is not followed */
		assert_int_equal(rename(path_of(name), other), 0);
		assert_int_equal(symlink(other, path_of(name)), 0);
		break;
	default:
		assert_int_equal(unlink(path_of(name)), 0);
		assert_int_equal(mkdir(path_of(name), 0700), 0);
	}
}

static void test_damaged(void **state)
{
	uint64_t wanted;
	unsigned count;
	bool read;

	(void)state;
	make_stream(ROWS_PER_BLOCK, true);
	wanted = prepared_answers(&read);
	count = files();
	for (enum damage how = 0; how < DAMAGES; how++) {
		for (size_t i = 0; i < NAMES; i++) {
			struct stat st;

			damage(names[i], how);
			assert_true(prepared_answers(&read) == wanted);
			assert_true(read == (i == 2));
			assert_int_equal(files(), count);
			assert_int_equal(lstat(path_of(names[i]), &st), 0);
			/* Nothing can be put in the place of a folder. */
			assert_int_equal(!S_ISREG(st.st_mode), how == FOLDER);
			assert_true(prepared_answers(&read) == wanted);
			if (how != FOLDER)
				assert_true(read);
			else
				assert_int_equal(rmdir(path_of(names[i])), 0);
			assert_true(prepared_answers(&read) == wanted);
		}
	}
}

/* Of what is small, has not ended, or is a file by itself, nothing is made before it is needed. */
static void nothing_is_kept(struct test_recording *t)
{
	assert_int_equal(query_prepare(t->view, NULL, NULL), 0);
	assert_null(t->view->usage[0].index);
	assert_null(t->view->whole_sums);
	answers(t->view);
	assert_non_null(t->view->usage[0].index);
}

static void test_small(void **state)
{
	struct test_recording t;
	unsigned before;

	(void)state;
	make_stream(ROWS_PER_BLOCK - 1, true);
	before = files();
	stream_open(&t);
	nothing_is_kept(&t);
	test_close(&t);
	assert_int_equal(files(), before);
}

static void test_not_ended(void **state)
{
	struct test_recording t;
	unsigned before;

	(void)state;
	make_stream(ROWS_PER_BLOCK, false);
	before = files();
	stream_open(&t);
	nothing_is_kept(&t);
	test_close(&t);
	assert_int_equal(files(), before);
}

static void test_by_itself(void **state)
{
	struct test_recording t;
	struct builder b;

	(void)state;
	build(&b, ROWS_PER_BLOCK, true);
	test_open(&t, &b);
	nothing_is_kept(&t);
	test_close(&t);
	builder_done(&b);
}

static void test_cancelled(void **state)
{
	atomic_bool cancelled = true;
	struct test_recording t;
	struct err_text err = {0};
	unsigned before;

	(void)state;
	make_stream(ROWS_PER_BLOCK, true);
	before = files();
	stream_open(&t);
	assert_int_equal(query_prepare(t.view, &cancelled, &err), -ECANCELED);
	assert_int_equal(files(), before);
	test_close(&t);
}

/* ---- single files ---- */

static void test_single_files(void **state)
{
	static const uint8_t rest[] = "and the rest";
	struct test_recording t;
	struct result_file kept = {0};
	struct buf head = {0};
	uint64_t frames = 0, wanted = 0;
	char taken[32];
	struct stat st;
	unsigned before;
	int fd;

	(void)state;
	make_stream(ROWS_PER_BLOCK, true);
	stream_open(&t);
	assert_int_equal(result_file_open(t.recording, "one", &kept, &frames), -ENOENT);
	assert_true(result_file_wanted(t.recording, "one", &wanted));
	assert_true(wanted > 0 && frames == wanted);
	before = files();
	buf_append(&head, "head ", 5);
	result_file_write(t.recording, "one", &head, rest, sizeof(rest));
	assert_int_equal(files(), before + 1);
	assert_int_equal(lstat(path_of("one"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(result_file_open(t.recording, "one", &kept, &frames), 0);
	assert_int_equal(kept.length, 5 + sizeof(rest));
	assert_memory_equal(kept.data, "head and the rest", kept.length);
	result_file_close(&kept);
	assert_null(kept.data);
	assert_int_equal(kept.length, 0);
	result_file_close(&kept);

	/* Somebody else's temporary file stays, and what was there before, too. */
	snprintf(taken, sizeof(taken), "one.%d", (int)getpid());
	fd = open(path_of(taken), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	head.data[0] = 'H';
	result_file_write(t.recording, "one", &head, rest, sizeof(rest));
	assert_true(inode_of(taken) != 0);
	assert_int_equal(result_file_open(t.recording, "one", &kept, &frames), 0);
	assert_memory_equal(kept.data, "head", 4);
	result_file_close(&kept);
	assert_int_equal(unlink(path_of(taken)), 0);
	result_file_write(t.recording, "one", &head, NULL, 0);
	assert_int_equal(result_file_open(t.recording, "one", &kept, &frames), 0);
	assert_int_equal(kept.length, 5);
	assert_memory_equal(kept.data, "Head ", 5);
	result_file_close(&kept);
	buf_done(&head);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_written_once), TEST_IN_FOLDER(test_written_when_asked),
		TEST_IN_FOLDER(test_damaged),	   TEST_IN_FOLDER(test_small),
		TEST_IN_FOLDER(test_not_ended),	   TEST_IN_FOLDER(test_by_itself),
		TEST_IN_FOLDER(test_cancelled),	   TEST_IN_FOLDER(test_single_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
