/* Old streams go, the oldest first; what is being written stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/catalogue.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

#define STREAMS 5
#define HOUR_NS 3600000000000u
#define UNENDED 3 /* a stream without an end */

static struct store *store;
static uint64_t removed_bytes;
static unsigned removed_count;
static uint8_t removed_first;

static struct stream_id id_of(uint8_t name)
{
	struct stream_id id;

	memset(id.bytes, name, sizeof(id.bytes));
	return id;
}

static void path_of(char out[256], uint8_t name)
{
	struct stream_id id = id_of(name);
	char text[STREAM_ID_TEXT];

	snprintf(out, 256, "%s/store/streams/%s/recording.heapcast", temporary_folder,
		 stream_id_format(text, &id));
}

/* Received `hours` ago. */
static struct stream_writer *put_stream(uint8_t name, unsigned hours)
{
	struct stream_position position;
	struct stream_writer *w;
	struct stream_id id = id_of(name);
	struct scan_item item;
	struct timespec times[2];
	struct scan scan;
	struct builder b;
	char path[256], *file;
	uint64_t cut;
	int fd;

	builder_init(&b, name);
	for (uint64_t i = 1; i < 20000; i++)
		builder_malloc(&b, 10 * i, 1, 16 * i * i, i % 1000);
	if (name == UNENDED)
		builder_close(&b, 1);
	else
		builder_end(&b, 0);
	file = builder_save(&b, b.file.length);
	fd = open(file, O_RDONLY);
	assert_int_equal(stream_writer_open(store, &id, &w, &cut, NULL), 0);
	assert_int_equal(scan_init(&scan, fd, 0, NULL), 0);
	while (scan_next(&scan, b.file.length, &item) == 1)
		assert_int_equal(stream_writer_append(w, b.file.data + item.offset, item.length,
						      item.batch, NULL),
				 0);
	scan_done(&scan);
	close(fd);
	unlink(file);
	free(file);
	builder_done(&b);
	assert_int_equal(stream_writer_sync(w, &position, NULL), 0);
	assert_int_equal(stream_writer_finish(w, NULL), 0);
	path_of(path, name);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= 3600 * (time_t)hours;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	return w;
}

static int begin(void **state)
{
	char path[128];

	if (temporary_setup(state) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/store", temporary_folder);
	if (store_open(path, STORE_WRITE, &store, NULL) < 0)
		return -1;
	removed_count = 0;
	removed_bytes = 0;
	return 0;
}

static int end(void **state)
{
	store_close(store);
	return temporary_teardown(state);
}

static void on_removed(void *context, const struct stream_id *id, uint64_t bytes, bool waited)
{
	const uint8_t *waiting = context;

	assert_int_equal(waited, *waiting && id->bytes[0] >= *waiting);
	if (!removed_count++)
		removed_first = id->bytes[0];
	removed_bytes += bytes;
}

/* All from this name on. */
static bool waits(void *context, const struct stream_id *id)
{
	const uint8_t *from = context;

	return *from && id->bytes[0] >= *from;
}

static void retain_waiting(uint64_t keep_ns, uint64_t keep_bytes, uint8_t from)
{
	const struct retention retention = {.keep_ns = keep_ns,
					    .keep_bytes = keep_bytes,
					    .waits = waits,
					    .removed = on_removed,
					    .context = &from};

	assert_int_equal(store_retain(store, &retention, NULL), 0);
}

static void retain(uint64_t keep_ns, uint64_t keep_bytes)
{
	retain_waiting(keep_ns, keep_bytes, 0);
}

static bool there(uint8_t name)
{
	char path[256];

	path_of(path, name);
	return access(path, F_OK) == 0;
}

static size_t listed(void)
{
	struct stream_summary *list;
	size_t count;

	assert_int_equal(store_list(store, &list, &count, NULL), 0);
	store_list_free(list, count);
	return count;
}

static int count_row(void *context, const struct stream_id *stream, struct totals *totals)
{
	(void)stream;
	(void)totals;
	++*(unsigned *)context;
	return 0;
}

static unsigned in_catalogue(void)
{
	struct catalogue *catalogue;
	char path[128];
	unsigned count = 0;

	snprintf(path, sizeof(path), "%s/store/catalogue.sqlite", temporary_folder);
	assert_int_equal(catalogue_open_read(path, &catalogue), 0);
	assert_int_equal(catalogue_each(catalogue, count_row, &count), 0);
	catalogue_close(catalogue);
	return count;
}

static void by_age(void **state)
{
	struct stream_writer *live;

	(void)state;
	stream_writer_close(put_stream(1, 10));
	live = put_stream(2, 9);
	stream_writer_close(put_stream(UNENDED, 8));
	stream_writer_close(put_stream(4, 1));
	retain(5 * HOUR_NS, 0);
	assert_true(!there(1) && there(2) && !there(UNENDED) && there(4));
	assert_int_equal(removed_count, 2);
	assert_int_equal(removed_first, 1);
	assert_int_equal(listed(), 2);
	assert_int_equal(in_catalogue(), 2);
	stream_writer_close(live);
	retain(5 * HOUR_NS, 0);
	assert_true(!there(2) && there(4));
}

/* An agent may come back to what has no end; nobody to what has one. */
static void without_an_end(void **state)
{
	(void)state;
	stream_writer_close(put_stream(UNENDED, 0));
	stream_writer_close(put_stream(1, 0));
	usleep(2000);
	retain(1, 0);
	assert_true(there(UNENDED) && !there(1));
}

static void by_size(void **state)
{
	uint64_t each;

	(void)state;
	for (uint8_t i = 1; i <= STREAMS; i++)
		stream_writer_close(put_stream(i == UNENDED ? 9 : i, 20 - i));
	retain(0, 1ull << 40);
	assert_int_equal(removed_count, 0);
	retain(HOUR_NS, 1);
	each = removed_bytes / STREAMS;
	assert_int_equal(removed_count, STREAMS);
	removed_count = 0;
	for (uint8_t i = 1; i <= STREAMS; i++)
		stream_writer_close(put_stream(i == UNENDED ? 9 : i, 20 - i));
	retain(0, each * 5 / 2);
	assert_true(!there(1) && !there(2) && !there(9) && there(4) && there(5));
	assert_int_equal(removed_first, 1);
}

static char *folder_of(uint8_t name)
{
	struct stream_id id = id_of(name);
	char text[STREAM_ID_TEXT], *path;

	assert_true(asprintf(&path, "%s/store/streams/%s", temporary_folder,
			     stream_id_format(text, &id)) > 0);
	return path;
}

/* Of the folder and the two levels in it, which is all that there is. */
static uint64_t blocks_of(const char *path)
{
	uint64_t bytes = 0;
	char inside[512];
	struct dirent *entry;
	struct stat st;
	DIR *dir = opendir(path);

	assert_int_equal(lstat(path, &st), 0);
	bytes = (uint64_t)st.st_blocks * 512;
	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name);
		bytes += blocks_of(inside);
	}
	if (dir)
		closedir(dir);
	return bytes;
}

/* As much as all take is not too much; a byte less is. The oldest goes, and one is enough. */
static void to_the_byte(void **state)
{
	uint64_t all = 0, oldest = 0;

	(void)state;
	for (uint8_t i = 4; i < 4 + STREAMS; i++) {
		char *folder = folder_of(i);

		stream_writer_close(put_stream(i, 10 - i));
		oldest = i == 4 ? blocks_of(folder) : oldest;
		all += blocks_of(folder);
		free(folder);
	}
	retain(0, all);
	assert_int_equal(removed_count, 0);
	retain(0, all - 1);
	assert_int_equal(removed_count, 1);
	assert_int_equal(removed_first, 4);
	assert_int_equal(removed_bytes, oldest);
	retain(0, all - oldest);
	assert_int_equal(removed_count, 1);
	retain(0, 0);
	assert_int_equal(removed_count, 1);
}

/* What something else is to be done with first goes for want of space alone, and last. */
static void waiting(void **state)
{
	uint64_t each;

	(void)state;
	stream_writer_close(put_stream(7, 9));
	stream_writer_close(put_stream(4, 8));
	stream_writer_close(put_stream(8, 7));
	stream_writer_close(put_stream(5, 6));
	retain_waiting(5 * HOUR_NS, 0, 7);
	assert_true(!there(4) && !there(5) && there(7) && there(8));
	each = removed_bytes / 2;
	stream_writer_close(put_stream(5, 1));
	retain_waiting(5 * HOUR_NS, each * 5 / 2, 7);
	assert_true(!there(5) && there(7) && there(8));
	retain_waiting(5 * HOUR_NS, each * 3 / 2, 7);
	assert_true(!there(7) && there(8));
	assert_int_equal(removed_count, 4);
	retain(5 * HOUR_NS, 0);
	assert_false(there(8));
}

static void set_age(uint8_t name, time_t seconds)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}};
	char path[256];

	times[1] = times[0];
	path_of(path, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* An hour without an end is an end; a clock that went back is no age. */
static void to_the_hour(void **state)
{
	(void)state;
	stream_writer_close(put_stream(UNENDED, 0));
	stream_writer_close(put_stream(1, 0));
	set_age(1, -3600);
	set_age(UNENDED, 3590);
	retain(1, 0);
	assert_true(there(UNENDED) && there(1));
	set_age(UNENDED, 3602);
	retain(4000000000000, 0);
	assert_true(there(UNENDED) && there(1));
	retain(3500000000000, 0);
	assert_true(!there(UNENDED) && there(1));
	assert_int_equal(removed_count, 1);
}

/* What a run left that was killed goes; a folder without a recording stays, and what it takes
 * counts as nothing. */
static void leftovers(void **state)
{
	char path[256], *folder = folder_of(9);
	unsigned open_before;

	(void)state;
	stream_writer_close(put_stream(1, 1));
	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(path, sizeof(path), "%s/store/streams/removed-x", temporary_folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path + strlen(path), 8, "/file");
	close(open(path, O_CREAT | O_WRONLY, 0600));
	open_before = descriptors_open();
	retain(2 * HOUR_NS, 0);
	assert_int_equal(descriptors_open(), open_before);
	*strrchr(path, '/') = 0;
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(folder, F_OK), 0);
	assert_true(there(1));
	retain(HOUR_NS / 2, 0);
	assert_false(there(1));
	assert_int_equal(descriptors_open(), open_before);
	assert_int_equal(access(folder, F_OK), 0);
	free(folder);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(by_age),  TEST(without_an_end), TEST(by_size),  TEST(to_the_byte),
		TEST(waiting), TEST(to_the_hour),    TEST(leftovers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
