/*
 * A catalogue with any of its bytes changed: SQLite itself vouches for its structure only, not for
 * what stands in its rows. Whatever it says, the recording loses nothing, the agent goes on where
 * the recording ends, and the list shows what is true.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

#define BATCHES 5

static struct builder b;
static struct stream_id id;
static char store_folder[128], catalogue[160], recording[256];

static struct store *open_store(void)
{
	struct err_text err = {0};
	struct store *store;

	if (store_open(store_folder, STORE_WRITE, &store, &err) < 0)
		fail_msg("%s", err.text);
	return store;
}

static void receive_all(void)
{
	struct store *store = open_store();
	struct stream_position position;
	struct stream_writer *w;
	struct scan_item item;
	struct scan scan;
	uint64_t cut;
	char *file = builder_save(&b, b.file.length);
	int fd = open(file, O_RDONLY);

	assert_int_equal(stream_writer_open(store, &id, &w, &cut, NULL), 0);
	assert_int_equal(scan_init(&scan, fd, 0, NULL), 0);
	while (scan_next(&scan, b.file.length, &item) == 1)
		assert_int_equal(stream_writer_append(w, b.file.data + item.offset, item.length,
						      item.batch, NULL),
				 0);
	assert_int_equal(stream_writer_sync(w, &position, NULL), 0);
	stream_writer_close(w);
	store_close(store);
	scan_done(&scan);
	close(fd);
	unlink(file);
	free(file);
}

static int begin(void **state)
{
	char text[STREAM_ID_TEXT];

	if (temporary_setup(state) < 0)
		return -1;
	builder_init(&b, 7);
	for (uint64_t i = 0; i < BATCHES; i++) {
		builder_malloc(&b, 10 + 10 * i, 1, 0x1000 * (i + 1), 100);
		builder_close(&b, 10 + 10 * i);
	}
	memcpy(id.bytes, b.id, sizeof(id.bytes));
	snprintf(store_folder, sizeof(store_folder), "%s/store", temporary_folder);
	snprintf(catalogue, sizeof(catalogue), "%s/catalogue.sqlite", store_folder);
	snprintf(recording, sizeof(recording), "%s/streams/%s/recording.heapcast", store_folder,
		 stream_id_format(text, &id));
	receive_all();
	return 0;
}

static int end(void **state)
{
	builder_done(&b);
	return temporary_teardown(state);
}

/* All that is said of the stream is true. */
static void check_list(struct store *store, off_t at)
{
	struct stream_summary *list;
	size_t count;

	assert_int_equal(store_list(store, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	if (list->events != BATCHES || list->recording_bytes != b.file.length ||
	    list->pid != 4711 || list->last_ns != 10 * BATCHES ||
	    strcmp(list->executable, "/usr/bin/example") != 0)
		fail_msg("byte %ld of the catalogue changed what is listed: %llu events, %llu "
			 "bytes, %s",
			 (long)at, (unsigned long long)list->events,
			 (unsigned long long)list->recording_bytes, list->executable);
	store_list_free(list, count);
}

static void check_writer(struct store *store, off_t at)
{
	struct stream_position position;
	struct stream_writer *w;
	uint64_t cut = 0;
	struct stat st;

	assert_int_equal(stream_writer_open(store, &id, &w, &cut, NULL), 0);
	position = stream_writer_position(w);
	assert_int_equal(stat(recording, &st), 0);
	if (cut || position.next != BATCHES + 1 || (size_t)st.st_size != b.file.length)
		fail_msg("byte %ld of the catalogue: %llu bytes were cut off, the next batch is "
			 "%llu",
			 (long)at, (unsigned long long)cut, (unsigned long long)position.next);
	stream_writer_close(w);
}

static void every_byte(void **state)
{
	struct stat st;
	uint8_t *bytes;
	int fd;

	(void)state;
	assert_int_equal(stat(catalogue, &st), 0);
	bytes = malloc((size_t)st.st_size);
	fd = open(catalogue, O_RDWR);
	assert_true(fd >= 0 && pread(fd, bytes, (size_t)st.st_size, 0) == st.st_size);
	close(fd);
	for (off_t at = 0; at < st.st_size; at++) {
		uint8_t changed = bytes[at] ^ (uint8_t)(1u << at % 8);
		struct store *store;

		if (!bytes[at] && at % 128)
			continue; /* pages are mostly empty */
		fd = open(catalogue, O_RDWR | O_CREAT | O_TRUNC, 0600);
		assert_true(fd >= 0 && write(fd, bytes, (size_t)st.st_size) == st.st_size);
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		close(fd);
		store = open_store();
		check_list(store, at);
		check_writer(store, at);
		store_close(store);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_byte, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
