/* Snapshots in a store: names and folders come and go together, whatever happens in between; what
 * is told of them comes back as it went in; a list that is damaged is an error, not an empty
 * one. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/snapshots.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "tests/unit/store/builder.h"
#include "tests/unit/temporary.h"

static struct store *store;

static void open_store(void)
{
	char path[128];
	struct store *writer;

	snprintf(path, sizeof(path), "%s/store", temporary_folder);
	assert_int_equal(store_open(path, STORE_WRITE, &writer, NULL), 0);
	store_close(writer);
	assert_int_equal(store_open(path, STORE_READ, &store, NULL), 0);
}

static unsigned folders(void)
{
	struct dirent *entry;
	unsigned count = 0;
	char path[128];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/store/streams", temporary_folder);
	dir = opendir(path);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* A recording of the draft's id. */
static void write_recording(struct new_stream *draft)
{
	struct builder b;

	builder_init(&b, 1);
	memcpy(b.id, new_stream_id(draft)->bytes, sizeof(b.id));
	builder_malloc(&b, 10, 1, 0x1000, 100);
	builder_end(&b, 0);
	assert_int_equal(write(new_stream_fd(draft), b.file.data, b.file.length),
			 (ssize_t)b.file.length);
	builder_done(&b);
}

static struct snapshot_member members[2] = {
	{.stream = {{1}},
	 .host = (char *)(uintptr_t) "host 'a'",
	 .executable = (char *)(uintptr_t) "/bin/\xc3\xa4",
	 .pid = 4294967295u,
	 .build_id = {9, 8, 7},
	 .build_id_length = 3,
	 .wall_ns = 1700000000123456789u,
	 .mark = 5,
	 .time_ns = UINT64_MAX - 1,
	 .incomplete = (char *)(uintptr_t) "Incomplete: 'half' is elsewhere.",
	 .blocks = 1,
	 .bytes = 100,
	 .samples = 3,
	 .blocks_error = 0.5,
	 .bytes_error = 1e9},
	{.stream = {{2}},
	 .host = (char *)(uintptr_t) "",
	 .executable = (char *)(uintptr_t) "",
	 .missing = (char *)(uintptr_t) "why"},
};

static int put(const char *name, struct err_text *err)
{
	struct snapshot snapshot = {
		.wall_ns = 17, .took_ns = 4, .members = members, .count = 2, .missing = 1};
	struct new_stream *draft;
	int r;

	snprintf(snapshot.name, sizeof(snapshot.name), "%s", name);
	assert_int_equal(new_stream_new(store, &draft, err), 0);
	write_recording(draft);
	r = store_snapshot_keep(store, draft, &snapshot, NULL, err);
	new_stream_free(draft);
	return r;
}

static void come_and_go(void **state)
{
	struct stream_summary *streams;
	struct snapshot *list, one;
	struct err_text err = {0};
	struct stream_id id;
	char *path;
	size_t count;

	(void)state;
	open_store();
	assert_int_equal(store_snapshots(store, &list, &count, NULL), 0);
	assert_int_equal(count, 0);
	assert_int_equal(put("a", NULL), 0);
	assert_int_equal(put("b", NULL), 0);
	assert_int_equal(put("a", &err), -EEXIST);
	assert_non_null(strstr(err.text, "'a'"));
	assert_int_equal(folders(), 2);

	assert_int_equal(store_snapshots(store, &list, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_string_equal(list[1].name, "b");
	store_snapshots_free(list, count);
	assert_int_equal(store_snapshot_get(store, "a", &one, NULL), 0);
	assert_int_equal(one.wall_ns, 17);
	assert_int_equal(one.took_ns, 4);
	assert_int_equal(one.count, 2);
	assert_int_equal(one.missing, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct snapshot_member *x = &one.members[i], *y = &members[i];

		assert_memory_equal(&x->stream, &y->stream, sizeof(x->stream));
		assert_string_equal(x->host, y->host);
		assert_string_equal(x->executable, y->executable);
		assert_int_equal(x->build_id_length, y->build_id_length);
		assert_memory_equal(x->build_id, y->build_id, x->build_id_length);
		assert_true(x->pid == y->pid && x->wall_ns == y->wall_ns && x->mark == y->mark &&
			    x->time_ns == y->time_ns);
		assert_true(x->blocks == y->blocks && x->bytes == y->bytes &&
			    x->samples == y->samples);
		assert_true(x->blocks_error == y->blocks_error && x->bytes_error == y->bytes_error);
		assert_true(!x->missing == !y->missing &&
			    (!x->missing || !strcmp(x->missing, y->missing)));
		assert_true(!x->incomplete == !y->incomplete &&
			    (!x->incomplete || !strcmp(x->incomplete, y->incomplete)));
	}

	snapshot_done(&one);

	/* By its stream. */
	assert_int_equal(store_snapshot_get(store, "b", &one, NULL), 0);
	id = one.stream;
	snapshot_done(&one);
	assert_int_equal(store_snapshot_of(store, &id, &one, NULL), 0);
	assert_string_equal(one.name, "b");
	assert_int_equal(one.count, 2);
	snapshot_done(&one);
	id.bytes[0] ^= 1;
	assert_int_equal(store_snapshot_of(store, &id, &one, &err), -ENOENT);

	/* As a stream. */
	assert_int_equal(store_find(store, "snapshot:a", &path, NULL), 0);
	assert_int_equal(access(path, R_OK), 0);
	free(path);
	assert_int_equal(store_find(store, "snapshot:c", &path, NULL), -ENOENT);
	assert_int_equal(store_find(store, "last", &path, NULL), -ENOENT);
	assert_int_equal(store_list(store, &streams, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_true(streams[0].is_snapshot && streams[1].is_snapshot);
	assert_int_equal(streams[0].in_use_bytes, 100);
	store_list_free(streams, count);

	assert_int_equal(store_snapshot_remove(store, "a", NULL), 0);
	assert_int_equal(store_snapshot_remove(store, "a", NULL), -ENOENT);
	assert_int_equal(folders(), 1);
	assert_int_equal(put("a", NULL), 0);
	snapshot_done(&one);
	store_close(store);
}

static void stopped_in_the_middle(void **state)
{
	struct new_stream *draft, *other;
	char path[256];

	(void)state;
	open_store();
	assert_int_equal(new_stream_new(store, &draft, NULL), 0);
	assert_int_equal(folders(), 1);
	new_stream_free(draft);
	assert_int_equal(folders(), 0);

	/* A folder that nobody writes goes, one that somebody writes stays. */
	assert_int_equal(new_stream_new(store, &draft, NULL), 0);
	snprintf(path, sizeof(path), "%s/store/streams/draft-00000000000000000000000000000000",
		 temporary_folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/recording.heapcast");
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(folders(), 2);
	assert_int_equal(new_stream_new(store, &other, NULL), 0);
	assert_int_equal(folders(), 2);
	new_stream_free(other);
	new_stream_free(draft);
	assert_int_equal(folders(), 0);
	store_close(store);
}

static void on_removed(void *context, const struct stream_id *id, uint64_t bytes, bool waited)
{
	(void)id;
	(void)bytes;
	(void)waited;
	++*(unsigned *)context;
}

/* What retention makes of the store, told to keep next to nothing; `removed`: how many streams
 * went. */
static int retain(unsigned *removed, struct err_text *err)
{
	struct store *writer;
	char path[128];
	int r;

	*removed = 0;
	snprintf(path, sizeof(path), "%s/store", temporary_folder);
	assert_int_equal(store_open(path, STORE_WRITE, &writer, NULL), 0);
	r = store_retain(
		writer,
		&(struct retention){.keep_bytes = 1, .removed = on_removed, .context = removed},
		err);
	store_close(writer);
	return r;
}

/* A stream that is no snapshot. */
static void put_stream(void)
{
	struct new_stream *draft;
	char from[256], to[256], id[STREAM_ID_TEXT];

	assert_int_equal(new_stream_new(store, &draft, NULL), 0);
	write_recording(draft);
	stream_id_format(id, new_stream_id(draft));
	snprintf(from, sizeof(from), "%s/store/streams/draft-%s", temporary_folder, id);
	snprintf(to, sizeof(to), "%s/store/streams/%s", temporary_folder, id);
	assert_int_equal(rename(from, to), 0);
	new_stream_free(draft);
}

static void retention(void **state)
{
	struct err_text err = {0};
	char path[128];
	unsigned removed;
	FILE *file;

	(void)state;
	open_store();
	assert_int_equal(put("a", NULL), 0);
	put_stream();
	assert_int_equal(retain(&removed, NULL), 0);
	assert_int_equal(removed, 1);
	assert_int_equal(folders(), 1);

	/* It can't be told which streams are snapshots: all stay. */
	put_stream();
	snprintf(path, sizeof(path), "%s/store/snapshots.sqlite", temporary_folder);
	file = fopen(path, "r+");
	for (int i = 0; i < 200; i++)
		fputc('x', file);
	fclose(file);
	assert_int_equal(retain(&removed, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "snapshots.sqlite"));
	assert_int_equal(removed, 0);
	assert_int_equal(folders(), 2);
	store_close(store);
}

static void damaged(void **state)
{
	struct err_text err = {0};
	struct snapshot *list;
	size_t count;
	char path[128];
	FILE *file;

	(void)state;
	open_store();
	assert_int_equal(put("a", NULL), 0);
	snprintf(path, sizeof(path), "%s/store/snapshots.sqlite", temporary_folder);
	file = fopen(path, "r+");
	for (int i = 0; i < 200; i++)
		fputc('x', file);
	fclose(file);
	assert_int_equal(store_snapshots(store, &list, &count, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "snapshots.sqlite"));
	assert_int_equal(put("b", &err), -EBADMSG);
	assert_int_equal(folders(), 1);
	store_close(store);
}

/* Its first writer was stopped before anything held. */
static void begun(void **state)
{
	struct err_text err = {0};
	struct snapshot *list, one;
	size_t count = 1;
	char path[128];

	(void)state;
	open_store();
	snprintf(path, sizeof(path), "%s/store/snapshots.sqlite", temporary_folder);
	fclose(fopen(path, "w"));
	assert_int_equal(store_snapshots(store, &list, &count, &err), 0);
	assert_int_equal(count, 0);
	assert_int_equal(store_snapshot_get(store, "a", &one, &err), -ENOENT);
	assert_int_equal(put("a", NULL), 0);
	assert_int_equal(store_snapshot_get(store, "a", &one, &err), 0);
	snapshot_done(&one);
	store_close(store);
}

static void names(void **state)
{
	static const char *const good[] = {"a", "2026-11-22T10-11-12", "v1.2_x"},
				 *const bad[] = {"", ".a", "-a", "a/b", "a b", "a@1", "\xc3\xa4"};
	char longest[SNAPSHOT_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(snapshot_name_check(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(snapshot_name_check(bad[i], NULL), -EINVAL);
	memset(longest, 'x', sizeof(longest));
	longest[SNAPSHOT_NAME_MAX + 1] = 0;
	assert_int_equal(snapshot_name_check(longest, NULL), -EINVAL);
	assert_int_equal(snapshot_name_check(longest + 1, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(come_and_go), TEST_IN_FOLDER(stopped_in_the_middle),
		TEST_IN_FOLDER(retention),   TEST_IN_FOLDER(damaged),
		TEST_IN_FOLDER(begun),	     cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
