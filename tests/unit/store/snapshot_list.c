/*
 * The list of snapshots: random ones come back as they went in, in their order; each column in turn
 * is made one that cannot be, which is said; what fails in between leaves nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/snapshots.h"
#include "collector/catalogue/snapshots_file.h"
#include "collector/catalogue/store.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define SNAPSHOTS   12
#define MEMBERS_MAX 20

static struct store *store;
static struct snapshot list[SNAPSHOTS];
static struct snapshot_member members[SNAPSHOTS][MEMBERS_MAX];
static char path[128];
static unsigned opened;

static uint64_t chance(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void make_member(struct snapshot_member *m, uint64_t *state)
{
	static const char *const texts[] = {"", "a", "board 'one'", "/bin/\xc3\xa4"};

	for (size_t i = 0; i < sizeof(m->stream.bytes); i++)
		m->stream.bytes[i] = (uint8_t)(chance(state) >> 20);
	m->build_id_length = (uint32_t)(chance(state) % (sizeof(m->build_id) + 1));
	for (size_t i = 0; i < m->build_id_length; i++)
		m->build_id[i] = (uint8_t)(chance(state) >> 20);
	m->host = (char *)(uintptr_t)texts[chance(state) % 4];
	m->executable = (char *)(uintptr_t)texts[chance(state) % 4];
	m->missing = chance(state) % 3 ? NULL : (char *)(uintptr_t)texts[chance(state) % 4];
	m->pid = (uint32_t)chance(state);
	m->wall_ns = chance(state);
	m->mark = chance(state);
	m->time_ns = chance(state);
	m->blocks = chance(state);
	m->bytes = chance(state);
	m->samples = chance(state);
	m->blocks_error = (double)chance(state) / 3;
	m->bytes_error = (double)chance(state) / 7;
}

static int nothing(void *context, struct err_text *err)
{
	(void)context;
	(void)err;
	return 0;
}

static int fail_within(void *context, struct err_text *err)
{
	(void)context;
	return err_set(err, -EXDEV, "within");
}

static int begin(void **state)
{
	uint64_t random = 88172645463325252ull;

	if (temporary_setup(state) < 0)
		return -1;
	opened = descriptors_open();
	assert_int_equal(store_open(temporary_folder, STORE_WRITE, &store, NULL), 0);
	snprintf(path, sizeof(path), "%s/snapshots.sqlite", temporary_folder);
	for (size_t i = 0; i < SNAPSHOTS; i++) {
		struct snapshot *s = &list[i];

		*s = (struct snapshot){.wall_ns = 1000 + i / 3,
				       .took_ns = chance(&random),
				       .members = members[i],
				       .count = i * 2 % MEMBERS_MAX};
		memset(members[i], 0, sizeof(members[i]));
		snprintf(s->name, sizeof(s->name), "s%02zu%.*s", i, (int)(i ? 0 : 61),
			 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
		for (size_t k = 0; k < s->count; k++) {
			make_member(&members[i][k], &random);
			s->missing += members[i][k].missing != NULL;
		}
		s->stream.bytes[0] = (uint8_t)(i + 1);
	}
	for (size_t i = SNAPSHOTS; i--;) /* the last one first */
		assert_int_equal(
			snapshots_file_put(temporary_folder, &list[i], nothing, NULL, NULL), 0);
	return 0;
}

static int end(void **state)
{
	store_close(store);
	if (descriptors_open() != opened)
		return -1;
	return temporary_teardown(state);
}

static void same_member(const struct snapshot_member *x, const struct snapshot_member *y)
{
	assert_memory_equal(&x->stream, &y->stream, sizeof(x->stream));
	assert_string_equal(x->host, y->host);
	assert_string_equal(x->executable, y->executable);
	assert_int_equal(x->build_id_length, y->build_id_length);
	assert_memory_equal(x->build_id, y->build_id, sizeof(x->build_id));
	assert_true(!x->missing == !y->missing);
	if (x->missing)
		assert_string_equal(x->missing, y->missing);
	assert_true(x->pid == y->pid && x->wall_ns == y->wall_ns && x->mark == y->mark);
	assert_true(x->time_ns == y->time_ns && x->blocks == y->blocks && x->bytes == y->bytes);
	assert_true(x->samples == y->samples);
	assert_true(x->blocks_error == y->blocks_error && x->bytes_error == y->bytes_error);
}

static void same(const struct snapshot *x, const struct snapshot *y)
{
	assert_string_equal(x->name, y->name);
	assert_memory_equal(&x->stream, &y->stream, sizeof(x->stream));
	assert_true(x->wall_ns == y->wall_ns && x->took_ns == y->took_ns);
	assert_int_equal(x->count, y->count);
	assert_int_equal(x->missing, y->missing);
	for (size_t i = 0; i < x->count; i++)
		same_member(&x->members[i], &y->members[i]);
}

static void all_come_back(void **state)
{
	struct snapshot *read, one;
	struct stream_id *ids;
	struct err_text err = {0};
	char expected[256];
	size_t count;
	struct stat st;

	(void)state;
	assert_int_equal(store_snapshots(store, &read, &count, NULL), 0);
	assert_int_equal(count, SNAPSHOTS);
	for (size_t i = 0; i < count; i++)
		same(&read[i], &list[i]);
	store_snapshots_free(read, count);
	for (size_t i = 0; i < SNAPSHOTS; i++) {
		assert_int_equal(store_snapshot_get(store, list[i].name, &one, NULL), 0);
		same(&one, &list[i]);
		snapshot_done(&one);
		assert_int_equal(one.count, 0);
		assert_null(one.members);
	}
	assert_int_equal(store_snapshot_get(store, "s", &one, &err), -ENOENT);
	snprintf(expected, sizeof(expected),
		 "no snapshot in %s is called 's': 'collector snapshot list' shows what there is",
		 temporary_folder);
	assert_string_equal(err.text, expected);
	assert_int_equal(store_snapshot_ids(store, &ids, &count, NULL), 0);
	assert_int_equal(count, SNAPSHOTS);
	for (size_t i = 0; i < SNAPSHOTS; i++) {
		assert_true(stream_id_among(&list[i].stream, ids, count));
		assert_false(stream_id_among(&(struct stream_id){{0}}, ids, count));
		assert_true(stream_id_among(&ids[i], &ids[i], 1));
		assert_false(stream_id_among(&ids[i], ids, i));
	}
	free(ids);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static size_t members_left(void)
{
	sqlite3 *db;
	sqlite3_stmt *s;
	size_t count;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM members", -1, &s, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	count = (size_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return count;
}

static void they_go_with_their_members(void **state)
{
	size_t left = 0, count;
	struct snapshot *read;

	(void)state;
	for (size_t i = 0; i < SNAPSHOTS; i++)
		left += list[i].count;
	for (size_t i = 0; i < SNAPSHOTS; i++) {
		assert_int_equal(members_left(), left);
		assert_int_equal(snapshots_file_remove(temporary_folder, list[i].name, NULL), 0);
		assert_int_equal(snapshots_file_remove(temporary_folder, list[i].name, NULL), 0);
		left -= list[i].count;
		assert_int_equal(store_snapshots(store, &read, &count, NULL), 0);
		assert_int_equal(count, SNAPSHOTS - 1 - i);
		store_snapshots_free(read, count);
	}
	assert_int_equal(members_left(), 0);
}

/* A name that there is, a stream that has one, and what fails last: nothing has changed. */
static void what_fails_leaves_nothing(void **state)
{
	struct snapshot s = list[3], *read;
	struct err_text err = {0};
	size_t count, before = members_left();

	(void)state;
	s.stream.bytes[0] = 200;
	assert_int_equal(snapshots_file_put(temporary_folder, &s, nothing, NULL, &err), -EEXIST);
	assert_string_equal(err.text,
			    "there is a snapshot called 's03' already: take another name, or "
			    "remove that one first ('collector snapshot remove s03')");
	snprintf(s.name, sizeof(s.name), "another");
	assert_int_equal(snapshots_file_put(temporary_folder, &s, fail_within, NULL, &err), -EXDEV);
	assert_string_equal(err.text, "within");
	assert_int_equal(members_left(), before);
	assert_int_equal(store_snapshots(store, &read, &count, NULL), 0);
	assert_int_equal(count, SNAPSHOTS);
	store_snapshots_free(read, count);
	assert_int_equal(snapshots_file_put(temporary_folder, &s, nothing, NULL, &err), 0);
	assert_int_equal(members_left(), before + s.count);
}

/* ---- damage ---- */

static void change(const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, sql, NULL, NULL, &why);
	if (why)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

#define MALFORMED "the list of snapshots (snapshots.sqlite): database disk image is malformed"

static void check_unreadable(const char *sentence, bool ids_too)
{
	struct snapshot *read = NULL, one;
	struct stream_id *ids = NULL;
	struct err_text err = {0};
	size_t count = 77;

	assert_int_equal(store_snapshots(store, &read, &count, &err), -EBADMSG);
	assert_string_equal(err.text, sentence);
	assert_null(read);
	assert_int_equal(count, 77);
	assert_int_equal(store_snapshot_get(store, "s05", &one, &err), -EBADMSG);
	assert_string_equal(err.text, sentence);
	err.text[0] = 0;
	assert_int_equal(store_snapshot_ids(store, &ids, &count, &err), ids_too ? -EBADMSG : 0);
	assert_string_equal(err.text, ids_too ? sentence : "");
	free(ids);
}

static void what_cannot_be(void **state)
{
	(void)state;
	change("UPDATE members SET stream = x'00' WHERE snapshot = 's05' AND position = 9");
	check_unreadable(MALFORMED, false);
	change("UPDATE members SET stream = zeroblob(16)");
	change("UPDATE snapshots SET stream = zeroblob(17) WHERE name = 's05'");
	check_unreadable(MALFORMED, true);
	change("UPDATE snapshots SET stream = randomblob(16)");
	change("PRAGMA user_version = 2");
	check_unreadable("the list of snapshots (snapshots.sqlite) is of version 2, which this "
			 "collector does not know",
			 true);
}

static void names_that_cannot_be(void **state)
{
	struct snapshot *read;
	struct err_text err = {0};
	size_t count;

	(void)state;
	change("UPDATE snapshots SET name = '../x' WHERE name = 's05'");
	assert_int_equal(store_snapshots(store, &read, &count, &err), -EBADMSG);
	assert_string_equal(err.text, MALFORMED);
}

/* A text that is missing is empty, and a build id that is too long none. */
static void what_may_be_missing(void **state)
{
	struct snapshot one;

	(void)state;
	change("UPDATE members SET host = NULL, executable = NULL, build_id = zeroblob(33)");
	assert_int_equal(store_snapshot_get(store, "s05", &one, NULL), 0);
	assert_int_equal(one.count, 10);
	for (size_t i = 0; i < one.count; i++) {
		assert_string_equal(one.members[i].host, "");
		assert_string_equal(one.members[i].executable, "");
		assert_int_equal(one.members[i].build_id_length, 0);
	}
	snapshot_done(&one);
}

static void bad_names(void **state)
{
	struct err_text err = {0};

	(void)state;
	assert_int_equal(snapshot_name_check("a/b", &err), -EINVAL);
	assert_string_equal(err.text,
			    "a snapshot's name has letters, digits, '.', '-' and '_', 64 at most, "
			    "and begins with a letter or digit; 'a/b' is none");
}

/* ---- with its stream ---- */

static void kept_and_removed(void **state)
{
	struct snapshot s = {.name = "kept", .wall_ns = 5}, one;
	struct new_stream *draft;
	struct stream_id id;
	char *recording;

	(void)state;
	assert_int_equal(new_stream_new(store, &draft, NULL), 0);
	id = *new_stream_id(draft);
	recording = stream_recording_path(store, &id);
	assert_int_equal(store_snapshot_keep(store, draft, &s, NULL, NULL), 0);
	assert_memory_equal(&s.stream, &id, sizeof(id));
	new_stream_free(draft);
	assert_int_equal(access(recording, F_OK), 0);
	assert_int_equal(store_snapshot_get(store, "kept", &one, NULL), 0);
	assert_memory_equal(&one.stream, &id, sizeof(id));
	snapshot_done(&one);
	/* One that cannot be kept leaves no stream. */
	assert_int_equal(new_stream_new(store, &draft, NULL), 0);
	assert_int_equal(store_snapshot_keep(store, draft, &s, NULL, NULL), -EEXIST);
	new_stream_free(draft);
	assert_int_equal(store_snapshot_remove(store, "kept", NULL), 0);
	assert_int_equal(access(recording, F_OK), -1);
	assert_int_equal(store_snapshot_get(store, "kept", &one, NULL), -ENOENT);
	assert_int_equal(store_snapshot_remove(store, "kept", NULL), -ENOENT);
	free(recording);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(all_come_back),
		TEST(they_go_with_their_members),
		TEST(what_fails_leaves_nothing),
		TEST(what_cannot_be),
		TEST(names_that_cannot_be),
		TEST(what_may_be_missing),
		TEST(kept_and_removed),
		cmocka_unit_test(bad_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
