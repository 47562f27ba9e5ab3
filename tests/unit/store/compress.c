/*
 * Recordings that are compressed where they lie: what a stream needs to be compressed, what is kept
 * of the file, who may use it meanwhile, and what becomes of a stream that goes on.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/compress.h"
#include "collector/catalogue/compress_streams.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/compressed.h"
#include "collector/recording/file.h"
#include "collector/recording/written.h"
#include "proto/message.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

static const struct stream_id id = {{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}};
static struct store *store;
static struct builder b;
static char *path;
static unsigned opened;

static void put_events(void)
{
	for (uint64_t i = 1; i <= 4; i++) {
		for (uint64_t k = 0; k < 20000; k++)
			builder_malloc(&b, 100000 * i + k, 1, 16 * (k * i * k + k), i * k % 999);
		builder_close(&b, 100000 * i + 50000);
	}
}

static int begin(void **state)
{
	char data[128];

	if (temporary_setup(state) < 0)
		return -1;
	opened = descriptors_open();
	snprintf(data, sizeof(data), "%s/store", temporary_folder);
	assert_int_equal(store_open(data, STORE_WRITE, &store, NULL), 0);
	path = stream_recording_path(store, &id);
	builder_init(&b, 7);
	put_events();
	return 0;
}

static int end(void **state)
{
	store_close(store);
	free(path);
	builder_done(&b);
	if (descriptors_open() != opened)
		return -1;
	return temporary_teardown(state);
}

/* ---- a stream ---- */

static void append(struct stream_writer *w, size_t from_frame)
{
	struct message_reader *reader = message_reader_new();

	for (size_t i = from_frame; i < b.frame_count; i++) {
		const uint8_t *frame = b.file.data + (i ? b.ends[i - 1] : 0);
		size_t length = b.ends[i] - (i ? b.ends[i - 1] : 0);
		ProtobufCMessage *message;

		assert_int_equal(message_reader_open(reader, &heapcast__batch__descriptor, frame,
						     length, &message, NULL),
				 0);
		assert_int_equal(stream_writer_append(w, frame, length,
						      (const Heapcast__Batch *)message, NULL),
				 0);
	}
	message_reader_free(reader);
}

static struct stream_writer *open_writer(void)
{
	struct stream_writer *w;
	uint64_t cut = 99;

	assert_int_equal(stream_writer_open(store, &id, &w, &cut, NULL), 0);
	assert_int_equal(cut, 0);
	return w;
}

/* Whoever ends a stream derives its rows, too. */
static void close_writer(struct stream_writer *w, bool ended)
{
	struct stream_position durable;

	assert_int_equal(stream_writer_sync(w, &durable, NULL), 0);
	if (ended)
		assert_int_equal(stream_writer_finish(w, NULL), 0);
	stream_writer_close(w);
}

static void put_stream(bool ended)
{
	struct stream_writer *w = open_writer();

	if (ended)
		builder_end(&b, 0);
	append(w, 0);
	close_writer(w, ended);
}

static void age(unsigned seconds)
{
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool never(void *context)
{
	(void)context;
	return false;
}

static void compress_all(unsigned after_s)
{
	struct compression c = {.after_ns = after_s * 1000000000ull, .stop = never};

	assert_int_equal(store_compress(store, &c, NULL), 0);
	assert_int_equal(c.tried.length, 0);
	buf_done(&c.tried);
}

static bool is_compressed(void)
{
	struct compressed head;
	int fd = open(path, O_RDONLY), r = compressed_look(path, fd, &head, NULL);

	close(fd);
	return r == 1;
}

/* What readers get is what was received. */
static void reads_as_before(void)
{
	struct err_text err = {0};
	uint8_t *bytes = malloc(b.file.length + 1);
	int fd = recording_file(path, &err);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, b.file.length + 1, 0), b.file.length);
	assert_memory_equal(bytes, b.file.data, b.file.length);
	close(fd);
	free(bytes);
}

static void no_draft(void)
{
	char draft[300];

	snprintf(draft, sizeof(draft), "%s.draft", path);
	assert_int_equal(access(draft, F_OK), -1);
}

/* ---- tests ---- */

static void when_it_is_due(void **state)
{
	struct stream_writer *w;

	(void)state;
	put_stream(true);
	age(50);
	compress_all(100);
	assert_false(is_compressed());
	w = open_writer();
	compress_all(10);
	assert_false(is_compressed());
	stream_writer_close(w);
	compress_all(10);
	assert_true(is_compressed());
	reads_as_before();
	no_draft();
	assert_int_equal(recording_compress(path, NULL, NULL, NULL), 1);
}

static void what_is_kept(void **state)
{
	struct stat before, after, told;
	struct recording *r;

	(void)state;
	put_stream(true);
	age(50);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(stat(path, &before), 0);
	compress_all(10);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_mode, after.st_mode);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	assert_true(after.st_size < before.st_size);
	assert_int_equal(recording_file_stat(path, &told), 0);
	assert_int_equal(told.st_size, before.st_size);
	/* Rows that were derived before are not derived again. */
	assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
	assert_null(recording_rederived(r));
	assert_int_equal(recording_ledger(r)->stored, 80000);
	recording_close(r);
}

/* With the rows that are kept, the bytes of the recording are not needed. */
static void only_what_is_needed(void **state)
{
	struct compressed head;
	struct err_text err = {0};
	struct recording *r;
	struct stat st;
	int fd;

	(void)state;
	put_stream(true);
	age(50);
	close_writer(open_writer(), true);
	compress_all(10);
	assert_int_equal(stat(path, &st), 0);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "damage", 6, st.st_size / 2), 6);
	assert_int_equal(compressed_look(path, fd, &head, NULL), 1);
	assert_int_equal(futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim}), 0);
	close(fd);
	assert_int_equal(recording_open(path, NULL, NULL, &r, &err), 0);
	recording_close(r);
	/* Who needs them is told. */
	assert_int_equal(recording_file(path, &err), -EBADMSG);
	assert_non_null(strstr(err.text, path));
	age(10);
	assert_int_equal(recording_open(path, NULL, NULL, &r, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged"));
	fd = open(path, O_RDWR);
	assert_int_equal(recording_decompress(path, fd, NULL, &err), -EBADMSG);
	close(fd);
	no_draft();
}

static void without_an_end(void **state)
{
	struct stream_writer *w;
	size_t frames;

	(void)state;
	put_stream(false);
	age(3000);
	compress_all(10);
	assert_false(is_compressed());
	age(4000);
	compress_all(10);
	assert_true(is_compressed());
	reads_as_before();
	/* It goes on. */
	frames = b.frame_count;
	builder_end(&b, 0);
	w = open_writer();
	assert_false(is_compressed());
	compress_all(0);
	append(w, frames);
	close_writer(w, true);
	assert_false(is_compressed());
	reads_as_before();
	compress_all(0);
	assert_true(is_compressed());
	reads_as_before();
}

/* Nothing is appended to a stream with an end, not even what comes late. */
static void with_an_end(void **state)
{
	Heapcast__Batch late = HEAPCAST__BATCH__INIT;
	struct stream_position durable;
	struct stream_writer *w;

	(void)state;
	builder_done(&b);
	builder_init(&b, 7);
	b.incarnation = 2;
	put_events();
	put_stream(true);
	age(50);
	compress_all(10);
	w = open_writer();
	assert_true(is_compressed());
	late.stream = builder_bytes(id.bytes, sizeof(id.bytes));
	late.incarnation = 1;
	late.catch_up = true;
	late.next = 1;
	assert_int_equal(stream_writer_append(w, b.file.data, b.ends[0], &late, NULL), 1);
	assert_int_equal(stream_writer_derive(w, NULL), 0);
	assert_int_equal(stream_writer_sync(w, &durable, NULL), 0);
	assert_int_equal(durable.next, b.number + 1);
	assert_int_equal(stream_writer_finish(w, NULL), 0);
	stream_writer_close(w);
	assert_true(is_compressed());
	reads_as_before();
}

static void by_two(void **state)
{
	char draft[300];
	int fd, from;

	(void)state;
	put_stream(true);
	snprintf(draft, sizeof(draft), "%s.draft", path);
	/* A draft that a process left which was killed. */
	fd = open(draft, O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(fd, "left", 4), 4);
	/* One that another process is writing. */
	assert_int_equal(recording_mark_written(fd), 0);
	assert_int_equal(recording_compress(path, NULL, NULL, NULL), -EBUSY);
	close(fd);
	assert_int_equal(recording_compress(path, NULL, NULL, NULL), 0);
	no_draft();
	from = open(path, O_RDWR);
	fd = open(path, O_RDWR);
	assert_int_equal(recording_mark_written(fd), 0);
	assert_int_equal(recording_decompress(path, from, NULL, NULL), -EBUSY);
	close(fd);
	no_draft();
	assert_int_equal(recording_decompress(path, from, &fd, NULL), 0);
	assert_true(recording_is_written(from) == false);
	assert_false(is_compressed());
	assert_int_equal(recording_compress(path, NULL, NULL, NULL), -EBUSY);
	/* The file that was replaced is not at the path any more. */
	assert_int_equal(recording_mark_at(from, path), -ESTALE);
	close(fd);
	close(from);
	reads_as_before();
	/* A draft that is another file. */
	assert_int_equal(symlink("/dev/null", draft), 0);
	assert_int_equal(recording_compress(path, NULL, NULL, NULL), -ELOOP);
	assert_int_equal(unlink(draft), 0);
	assert_int_equal(link(path, draft), 0);
	assert_int_equal(recording_compress(path, NULL, NULL, NULL), -EEXIST);
	reads_as_before();
}

/* One that can't be compressed is told of once, and the others are compressed. */
static void one_fails(void **state)
{
	struct compression c = {.stop = never};
	struct err_text err = {0};
	char draft[300];

	(void)state;
	put_stream(true);
	snprintf(draft, sizeof(draft), "%s.draft", path);
	assert_int_equal(mkdir(draft, 0700), 0);
	assert_int_equal(store_compress(store, &c, &err), -EISDIR);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(c.tried.length, sizeof(id));
	assert_int_equal(store_compress(store, &c, &err), 0);
	assert_false(is_compressed());
	assert_int_equal(rmdir(draft), 0);
	buf_done(&c.tried);
	compress_all(0);
	assert_true(is_compressed());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(when_it_is_due), TEST(what_is_kept), TEST(only_what_is_needed),
		TEST(without_an_end), TEST(with_an_end),  TEST(by_two),
		TEST(one_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
