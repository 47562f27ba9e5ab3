/* The folder: lock, writer, positions, duplicates, recovery, catalogue, finding. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <signal.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/listing.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "proto/columns.h"
#include "proto/message.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

static struct store *open_store(enum store_access access)
{
	struct err_text err = {0};
	struct store *store;
	int r = store_open(temporary_folder, access, &store, &err);

	if (r < 0)
		fail_msg("%s", err_get(&err, r));
	return store;
}

static struct stream_writer *open_writer(struct store *store, const struct builder *b,
					 uint64_t *ret_cut)
{
	struct err_text err = {0};
	struct stream_writer *w;
	struct stream_id id;
	int r;

	memcpy(id.bytes, b->id, sizeof(id.bytes));
	r = stream_writer_open(store, &id, &w, ret_cut, &err);
	if (r < 0)
		fail_msg("%s", err_get(&err, r));
	return w;
}

/* Appends frame `i` of what was built; returns what the writer said. */
static int append_err(struct stream_writer *w, const struct builder *b, size_t i,
		      struct err_text *err)
{
	size_t start = i ? b->ends[i - 1] : 0, length = b->ends[i] - start;
	struct message_reader *reader = message_reader_new();
	ProtobufCMessage *message;
	int r = message_reader_open(reader, &heapcast__batch__descriptor, b->file.data + start,
				    length, &message, NULL);

	assert_int_equal(r, 0);
	r = stream_writer_append(w, b->file.data + start, length, (const Heapcast__Batch *)message,
				 err);
	message_reader_free(reader);
	return r;
}

static int append(struct stream_writer *w, const struct builder *b, size_t i)
{
	return append_err(w, b, i, NULL);
}

static void build_small(struct builder *b, uint8_t name)
{
	builder_init(b, name);
	for (unsigned i = 0; i < 4; i++) {
		builder_malloc(b, 100 * i + 10, 1, 0x1000 + 16 * i, 100);
		builder_close(b, 100 * i + 50);
	}
	builder_end(b, 0);
}

static char *find(struct store *store, const char *name)
{
	struct err_text err = {0};
	char *path = NULL;
	int r = store_find(store, name, &path, &err);

	if (r < 0)
		fail_msg("%s", err_get(&err, r));
	return path;
}

static void one_writer(void **state)
{
	struct store *first = open_store(STORE_WRITE), *second, *reader;
	struct err_text err = {0};
	char pid[32];

	(void)state;
	assert_int_equal(store_open(temporary_folder, STORE_WRITE, &second, &err), -EBUSY);
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	assert_non_null(strstr(err.text, pid));
	reader = open_store(STORE_READ);
	store_close(reader);
	store_close(first);
	first = open_store(STORE_WRITE);
	store_close(first);
	assert_int_equal(store_open("/nonexistent/folder", STORE_READ, &reader, &err), -ENOENT);
}

static void receive_and_list(void **state)
{
	struct store *store = open_store(STORE_WRITE), *reader;
	struct stream_summary *list;
	struct stream_position durable;
	struct stream_writer *w;
	struct builder b;
	size_t count;
	uint64_t cut;
	char *path, *text;

	(void)state;
	build_small(&b, 0xab);
	w = open_writer(store, &b, &cut);
	assert_int_equal(stream_writer_position(w).incarnation, 0);
	assert_int_equal(append(w, &b, 0), 0);
	assert_int_equal(append(w, &b, 1), 0);
	assert_int_equal(append(w, &b, 1), 1); /* a duplicate */
	assert_int_equal(append(w, &b, 0), 1);
	assert_int_equal(stream_writer_position(w).next, 3);
	assert_int_equal(stream_writer_sync(w, &durable, NULL), 0);
	assert_int_equal(durable.next, 3);
	assert_int_equal(durable.incarnation, 1);
	/* What is in use is known to who derives, and comes with the next sync. */
	assert_int_equal(stream_writer_derive(w, NULL), 0);
	assert_int_equal(stream_writer_behind(w), 0);
	assert_true(stream_writer_memory(w) > 0);
	assert_int_equal(stream_writer_sum_up(w, NULL), 0);
	assert_int_equal(stream_writer_park(w, NULL), 0);
	assert_int_equal(stream_writer_memory(w), 0);
	assert_int_equal(stream_writer_sync(w, &durable, NULL), 0);

	reader = open_store(STORE_READ);
	assert_int_equal(store_list(reader, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].state, STREAM_LIVE);
	assert_int_equal(list[0].events, 2);
	assert_int_equal(list[0].in_use_bytes, 200);
	assert_string_equal(list[0].executable, "/usr/bin/example");
	store_list_free(list, count);

	assert_int_equal(append(w, &b, 2), 0);
	assert_int_equal(append(w, &b, 3), 0);
	assert_int_equal(append(w, &b, 4), 0);
	assert_int_equal(stream_writer_sync(w, &durable, NULL), 0);
	assert_int_equal(stream_writer_finish(w, NULL), 0);
	stream_writer_close(w);
	assert_int_equal(store_list(reader, &list, &count, NULL), 0);
	assert_int_equal(list[0].state, STREAM_ENDED);
	assert_int_equal(list[0].in_use_blocks, 4);
	assert_int_equal(list[0].recording_bytes, b.file.length);
	store_list_free(list, count);

	path = find(reader, "last");
	text = find(reader, "abab");
	assert_string_equal(path, text);
	free(text);
	text = find(NULL, path);
	assert_string_equal(path, text);
	free(text);
	free(path);
	store_close(reader);
	store_close(store);
	builder_done(&b);
}

static void finding(void **state)
{
	struct store *store = open_store(STORE_WRITE);
	struct err_text err = {0};
	struct builder b[2];
	uint64_t cut;
	char *path;

	(void)state;
	assert_int_equal(store_find(store, "last", &path, &err), -ENOENT);
	for (uint8_t i = 0; i < 2; i++) {
		struct stream_writer *w;

		build_small(&b[i], 0xa0 + i);
		w = open_writer(store, &b[i], &cut);
		assert_int_equal(append(w, &b[i], 0), 0);
		stream_writer_close(w);
	}
	assert_int_equal(store_find(store, "a", &path, &err), -EEXIST);
	assert_non_null(strstr(err.text, "a1a1a1a1a1a1 (example), a0a0a0a0a0a0"));
	assert_int_equal(store_find(store, "b", &path, &err), -ENOENT);
	path = find(store, "last");
	assert_non_null(strstr(path, "a1a1"));
	free(path);
	path = find(store, "a0");
	assert_non_null(strstr(path, "a0a0"));
	free(path);
	store_close(store);
	builder_done(&b[0]);
	builder_done(&b[1]);
}

/* A collector killed in the middle of a write: at every byte of the last frame. */
static void recovery(void **state)
{
	struct builder b;
	char *path;

	(void)state;
	build_small(&b, 7);
	for (size_t extra = 0; extra < b.ends[2] - b.ends[1]; extra++) {
		struct store *store = open_store(STORE_WRITE);
		struct stream_writer *w;
		struct recording *r;
		uint64_t cut = 0;

		if (!extra) {
			w = open_writer(store, &b, &cut);
			assert_int_equal(append(w, &b, 0), 0);
			assert_int_equal(append(w, &b, 1), 0);
			stream_writer_close(w);
		}
		path = find(store, "last");
		truncate(path, (off_t)b.ends[1]);
		if (extra) {
			int fd = open(path, O_WRONLY | O_APPEND);

			assert_int_equal(write(fd, b.file.data + b.ends[1], extra), (int)extra);
			close(fd);
		}
		w = open_writer(store, &b, &cut);
		assert_int_equal(cut, extra);
		assert_int_equal(stream_writer_position(w).next, 3);
		for (size_t i = 0; i < b.frame_count; i++)
			assert_int_equal(append(w, &b, i), i < 2);
		stream_writer_close(w);
		assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
		assert_int_equal(recording_ledger(r)->stored, 4);
		assert_true(recording_adds_up(r, NULL));
		recording_close(r);
		free(path);
		store_close(store);
	}
	builder_done(&b);
}

static void damage_catalogue(const char *how)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/catalogue.sqlite", temporary_folder);
	if (!strcmp(how, "removed")) {
		unlink(path);
		return;
	}
	fd = open(path, O_WRONLY | (strcmp(how, "garbage") ? 0 : O_TRUNC));
	assert_true(fd >= 0);
	if (!strcmp(how, "garbage"))
		assert_int_equal(write(fd, "no data base at all, but long enough to be asked", 48),
				 48);
	else
		assert_int_equal(pwrite(fd, how, 4, 100), 4);
	close(fd);
}

/* Of which readers would say that it is no recording. */
static void first_frame_that_lies(void **state)
{
	struct store *store = open_store(STORE_WRITE);
	struct stream_summary *list;
	struct stream_writer *w;
	struct builder good, bad;
	uint64_t cut;
	size_t count;

	(void)state;
	build_small(&good, 8);
	w = open_writer(store, &good, &cut);
	for (unsigned lie = 0; lie < 3; lie++) {
		Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
		Heapcast__Thread thread = HEAPCAST__THREAD__INIT, *threads[] = {&thread};
		Heapcast__Module module = HEAPCAST__MODULE__INIT, *modules[] = {&module};

		builder_init(&bad, 8);
		batch.stream = builder_bytes(bad.id, sizeof(bad.id));
		batch.incarnation = batch.number = 1;
		thread.number = lie ? 1u << 30 : 0;
		module.number = 77777777;
		batch.thread = threads;
		batch.n_thread = lie < 2;
		batch.module = modules;
		batch.n_module = lie == 2;
		builder_frame(&bad, &batch);
		assert_int_equal(append(w, &bad, 0), -EBADMSG);
		builder_done(&bad);
		assert_int_equal(store_list(store, &list, &count, NULL), 0);
		assert_int_equal(count, 0);
		store_list_free(list, count);
	}
	assert_int_equal(append(w, &good, 0), 0);
	stream_writer_close(w);
	store_close(store);
	builder_done(&good);
}

/* What could not even begin is not there. */
static void disk_full_at_first(void **state)
{
	struct store *store = open_store(STORE_WRITE);
	struct stream_summary *list;
	struct rlimit before, limit;
	struct stream_writer *w;
	struct stream_id *ids;
	struct builder b;
	uint64_t cut;
	size_t count;

	(void)state;
	build_small(&b, 6);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 10;
	for (unsigned again = 0; again < 2; again++) {
		w = open_writer(store, &b, &cut);
		setrlimit(RLIMIT_FSIZE, &limit);
		assert_int_equal(append(w, &b, 0), -EFBIG);
		setrlimit(RLIMIT_FSIZE, &before);
		assert_int_equal(store_list(store, &list, &count, NULL), 0);
		assert_int_equal(count, 0);
		store_list_free(list, count);
		if (again)
			assert_int_equal(append(w, &b, 0), 0); /* there is room again */
		stream_writer_close(w);
		assert_int_equal(listing_ids(store, &ids, &count, NULL), 0);
		assert_int_equal(count, again);
		free(ids);
	}
	store_close(store);
	builder_done(&b);
}

/* A stream that has ended, or was opened again since, takes nothing more, whoever brings it: not in
 * a new incarnation either. */
static void what_is_behind_the_end(void **state)
{
	struct store *store = open_store(STORE_WRITE);
	struct stream_position durable;
	struct stream_writer *w;
	struct builder b;
	uint64_t cut;

	(void)state;
	build_small(&b, 5);
	builder_malloc(&b, 900, 1, 0x50, 1);
	builder_close(&b, 900);
	b.incarnation = 2;
	b.number = 0;
	builder_malloc(&b, 950, 1, 0x60, 1);
	builder_close(&b, 950);
	w = open_writer(store, &b, &cut);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(append(w, &b, i), 0);
	for (unsigned again = 0; again < 2; again++) {
		assert_int_equal(append(w, &b, 4), 1);
		assert_int_equal(append(w, &b, 5), -EBADMSG);
		assert_int_equal(append(w, &b, 6), -EBADMSG);
		assert_int_equal(stream_writer_position(w).next, 6);
		assert_int_equal(stream_writer_sync(w, &durable, NULL), 0);
		stream_writer_close(w);
		w = open_writer(store, &b, &cut);
		assert_int_equal(cut, 0);
	}
	stream_writer_close(w);
	store_close(store);
	builder_done(&b);
}

static void catalogue_is_rebuilt(void **state)
{
	static const char *const hows[] = {"removed", "garbage", "\xff\xff\xff\xff"};
	struct stream_summary *list;
	struct builder b;
	size_t count;
	uint64_t cut;

	(void)state;
	build_small(&b, 9);
	for (size_t i = 0; i < 3; i++) {
		struct store *store = open_store(STORE_WRITE), *reader;
		struct stream_position durable;
		struct stream_writer *w = open_writer(store, &b, &cut);

		append(w, &b, 0);
		assert_int_equal(stream_writer_sync(w, &durable, NULL), 0);
		stream_writer_close(w);
		store_close(store);
		damage_catalogue(hows[i]);

		reader = open_store(STORE_READ); /* before the writer has repaired it */
		assert_int_equal(store_list(reader, &list, &count, NULL), 0);
		assert_int_equal(count, 1);
		assert_int_equal(list[0].events, 1);
		assert_int_equal(list[0].state, STREAM_INTERRUPTED);
		store_list_free(list, count);
		store_close(reader);

		store = open_store(STORE_WRITE);
		assert_int_equal(store_list(store, &list, &count, NULL), 0);
		assert_int_equal(count, 1);
		assert_int_equal(list[0].events, 1);
		store_list_free(list, count);
		store_close(store);
	}
	builder_done(&b);
}

/* A disk that is full in the middle of a frame (here: a limit on the length of files). */
static void disk_full(void **state)
{
	struct store *store = open_store(STORE_WRITE);
	struct rlimit before, limit;
	struct stream_position durable;
	struct stream_writer *w;
	struct recording *r;
	struct builder b;
	struct err_text err = {0};
	struct stat st;
	uint64_t cut;
	char *path;

	(void)state;
	build_small(&b, 5);
	w = open_writer(store, &b, &cut);
	assert_int_equal(append(w, &b, 0), 0);
	path = find(store, "last");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = b.ends[0] + 10;
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(append_err(w, &b, 1, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_non_null(strstr(err.text, "cannot write the recording: ")); /* and it was cut off */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, b.ends[0]);
	assert_int_equal(stream_writer_position(w).next, 2);
	assert_int_equal(append(w, &b, 1), 0); /* there is room again */
	assert_int_equal(stream_writer_sync(w, &durable, NULL), 0);
	assert_int_equal(durable.next, 3);
	stream_writer_close(w);
	assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
	assert_int_equal(recording_ledger(r)->stored, 2);
	assert_int_equal(recording_ledger(r)->cut_bytes, 0);
	recording_close(r);
	free(path);
	store_close(store);
	builder_done(&b);
}

/* Another stream, another incarnation, numbers that make no sense. */
static void what_is_refused(void **state)
{
	struct store *store = open_store(STORE_WRITE);
	struct stream_writer *w;
	struct builder b, other;
	uint64_t cut;

	(void)state;
	build_small(&b, 3);
	build_small(&other, 4);
	w = open_writer(store, &b, &cut);
	assert_int_equal(append(w, &other, 0), -EBADMSG);
	assert_int_equal(append(w, &b, 1), -EBADMSG); /* out of order */
	assert_int_equal(append(w, &b, 0), 0);
	assert_int_equal(append(w, &b, 2), -EBADMSG);
	b.incarnation = 2;
	b.number = 0;
	builder_malloc(&b, 900, 1, 0x50, 1);
	builder_close(&b, 900);
	assert_int_equal(append(w, &b, b.frame_count - 1), 0);
	assert_int_equal(stream_writer_position(w).incarnation, 2);
	assert_int_equal(append(w, &b, 1), 1); /* of the incarnation before: too late */
	stream_writer_close(w);
	store_close(store);
	builder_done(&b);
	builder_done(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(one_writer),
		TEST_IN_FOLDER(receive_and_list),
		TEST_IN_FOLDER(finding),
		TEST_IN_FOLDER(recovery),
		TEST_IN_FOLDER(disk_full),
		TEST_IN_FOLDER(disk_full_at_first),
		TEST_IN_FOLDER(first_frame_that_lies),
		TEST_IN_FOLDER(what_is_refused),
		TEST_IN_FOLDER(what_is_behind_the_end),
		TEST_IN_FOLDER(catalogue_is_rebuilt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
