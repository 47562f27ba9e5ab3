/* The list of snapshots when memory runs out: it is read whole, or the lack is told. */
#include "tests/unit/scarce.h"

#include "base/error.h"
#include "collector/catalogue/snapshots.h"
#include "collector/catalogue/snapshots_file.h"
#include "collector/catalogue/store.h"
#include "tests/unit/temporary.h"

#define SNAPSHOTS 3
#define MEMBERS	  20

static struct store *store;

static int nothing(void *context, struct err_text *err)
{
	(void)context;
	(void)err;
	return 0;
}

static int begin(void **state)
{
	static struct snapshot_member members[MEMBERS];
	static char host[] = "board", program[] = "/bin/example", gone[] = "it has ended";

	if (temporary_setup(state) < 0)
		return -1;
	assert_int_equal(store_open(temporary_folder, STORE_WRITE, &store, NULL), 0);
	for (unsigned i = 0; i < MEMBERS; i++)
		members[i] = (struct snapshot_member){.host = host,
						      .executable = program,
						      .pid = 1 + i,
						      .missing = i % 4 == 3 ? gone : NULL};
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		struct snapshot s = {.members = members, .count = MEMBERS, .wall_ns = i};

		snprintf(s.name, sizeof(s.name), "s%u", i);
		s.stream.bytes[0] = (uint8_t)(1 + i);
		assert_int_equal(snapshots_file_put(temporary_folder, &s, nothing, NULL, NULL), 0);
	}
	return 0;
}

static int end(void **state)
{
	store_close(store);
	return temporary_teardown(state);
}

static void check_snapshot(const struct snapshot *s, unsigned number)
{
	assert_int_equal(s->name[1], '0' + number);
	assert_int_equal(s->count, MEMBERS);
	assert_int_equal(s->missing, MEMBERS / 4);
	for (unsigned i = 0; i < MEMBERS; i++) {
		const struct snapshot_member *m = &s->members[i];

		assert_int_equal(m->pid, 1 + i);
		assert_string_equal(m->host, "board");
		assert_string_equal(m->executable, "/bin/example");
		assert_int_equal(m->missing != NULL, i % 4 == 3);
	}
}

static int read_all(void *context)
{
	struct snapshot *list = NULL;
	size_t count = 0;
	int r = store_snapshots(store, &list, &count, NULL);

	(void)context;
	if (r) {
		assert_null(list);
		return r;
	}
	assert_int_equal(count, SNAPSHOTS);
	for (unsigned i = 0; i < SNAPSHOTS; i++)
		check_snapshot(&list[i], i);
	store_snapshots_free(list, count);
	return 0;
}

static int read_one(void *context)
{
	struct snapshot one;
	int r = store_snapshot_get(store, "s1", &one, NULL);

	(void)context;
	if (r)
		return r;
	check_snapshot(&one, 1);
	snapshot_done(&one);
	return 0;
}

static int read_ids(void *context)
{
	struct stream_id *ids = NULL;
	size_t count = 0;
	int r = store_snapshot_ids(store, &ids, &count, NULL);

	(void)context;
	if (!r)
		assert_int_equal(count, SNAPSHOTS);
	free(ids);
	return r;
}

static void whole_or_told(void **state)
{
	static int (*const reads[])(void *) = {read_all, read_one, read_ids};

	(void)state;
	for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++) {
		assert_true(scarce_each(reads[i], NULL) > 0);
		assert_true(scarce_lasting(reads[i], NULL, 1) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(whole_or_told)};

	return cmocka_run_group_tests(tests, begin, end);
}
