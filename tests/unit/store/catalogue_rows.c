/*
 * The rows of the catalogue: what is put in comes back, in the order that is asked for, as a few
 * naive lines say; a row of which any column was changed is not there; and what is done with a file
 * that is missing, of another version, or no catalogue.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "collector/catalogue/catalogue.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/locks.h"
#include "tests/unit/temporary.h"

#define ROWS 48

static struct catalogue *catalogue;
static char path[128];
static struct stream_id ids[ROWS];
static struct totals rows[ROWS];
static unsigned opened;

static uint64_t chance(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Numbers at their bounds, and others. */
static uint64_t number(uint64_t *state)
{
	static const uint64_t bounds[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
	uint64_t k = chance(state) % 10;

	return k < 5 ? bounds[k] : chance(state);
}

static char *words(uint64_t *state)
{
	static const char *const some[] = {"", "a", "b", "/bin/\xc3\xa4", "it's \"quoted\""};
	uint64_t k = chance(state) % 6;

	return k < 5 ? (char *)(uintptr_t)some[k] : NULL;
}

static void make_rows(void)
{
	uint64_t state = 88172645463325252ull;

	for (size_t i = 0; i < ROWS; i++) {
		struct totals *t = &rows[i];

		for (size_t k = 0; k < sizeof(ids[i].bytes); k++)
			ids[i].bytes[k] = (uint8_t)(chance(&state) >> 32);
		ids[i].bytes[0] = (uint8_t)(i * 37 % 4 * 85); /* many begin alike */
		*t = (struct totals){
			.name = words(&state),
			.executable = words(&state),
			.command_line = words(&state),
			.host = words(&state),
			.architecture = words(&state),
			.labels = {words(&state), words(&state), words(&state), words(&state)},
			.began_on = i % 5 ? NULL : words(&state),
			.pid = (uint32_t)number(&state),
			.start_wall_ns = chance(&state) % 8,
			.last_ns = number(&state),
			.events = number(&state),
			.bytes = number(&state),
			.position = {(uint32_t)number(&state), number(&state)},
			.ended = i % 3 == 0,
			.summed_up = i % 2 == 0};
		if (!t->summed_up)
			continue;
		t->in_use_bytes = number(&state);
		t->in_use_blocks = number(&state);
		t->summed_bytes = number(&state);
		t->incomplete = words(&state);
	}
}

static int begin(void **state)
{
	bool rebuilt = true;

	if (temporary_setup(state) < 0)
		return -1;
	opened = descriptors_open();
	snprintf(path, sizeof(path), "%s/catalogue.sqlite", temporary_folder);
	make_rows();
	if (catalogue_open_write(path, &catalogue, &rebuilt, NULL) < 0 || rebuilt)
		return -1;
	for (size_t i = 0; i < ROWS; i++)
		if (catalogue_put(catalogue, &ids[i], &rows[i], NULL) < 0)
			return -1;
	return 0;
}

static int end(void **state)
{
	unsigned left;

	catalogue_close(catalogue);
	left = descriptors_open();
	return left == opened ? temporary_teardown(state) : -1;
}

static void same_text(const char *a, const char *b)
{
	assert_true(!a == !b);
	if (a)
		assert_string_equal(a, b);
}

static void same(const struct totals *a, const struct totals *b)
{
	same_text(a->name, b->name);
	same_text(a->labels.board, b->labels.board);
	same_text(a->labels.cgroup, b->labels.cgroup);
	same_text(a->labels.build, b->labels.build);
	same_text(a->labels.tags, b->labels.tags);
	same_text(a->began_on, b->began_on);
	same_text(a->executable, b->executable);
	same_text(a->command_line, b->command_line);
	same_text(a->host, b->host);
	same_text(a->architecture, b->architecture);
	same_text(a->incomplete, b->incomplete);
	assert_true(a->pid == b->pid && a->start_wall_ns == b->start_wall_ns);
	assert_true(a->last_ns == b->last_ns && a->events == b->events && a->bytes == b->bytes);
	assert_true(a->position.incarnation == b->position.incarnation &&
		    a->position.next == b->position.next);
	assert_true(a->ended == b->ended && a->summed_up == b->summed_up);
	assert_true(a->summed_bytes == b->summed_bytes && a->in_use_bytes == b->in_use_bytes &&
		    a->in_use_blocks == b->in_use_blocks);
}

static int get(const struct stream_id *id, struct totals *ret_totals)
{
	*ret_totals = (struct totals){.pid = 4711};
	return catalogue_get(catalogue, id, ret_totals);
}

/* ---- what comes back ---- */

static int compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct stream_id));
}

static size_t index_of(const struct stream_id *id)
{
	size_t i = 0;

	while (i < ROWS && memcmp(&ids[i], id, sizeof(*id)) != 0)
		i++;
	return i;
}

struct seen {
	struct stream_id ids[ROWS + 1];
	size_t count, until;
};

static int see(void *context, const struct stream_id *id, struct totals *totals)
{
	struct seen *seen = context;

	assert_true(seen->count <= ROWS);
	seen->ids[seen->count++] = *id;
	same(totals, &rows[index_of(id)]);
	return seen->count == seen->until ? 17 : 0;
}

static void check_each(size_t expected)
{
	struct seen seen = {0}, some = {.until = 3};

	assert_int_equal(catalogue_each(catalogue, see, &seen), 0);
	assert_int_equal(seen.count, expected);
	for (size_t i = 1; i < seen.count; i++)
		assert_true(compare_ids(&seen.ids[i - 1], &seen.ids[i]) < 0);
	assert_int_equal(catalogue_each(catalogue, see, &some), 17);
	assert_int_equal(some.count, 3);
}

static void check_readable(void)
{
	const struct stream_id unknown = {{9, 9, 9}};
	struct totals totals;

	for (size_t i = 0; i < ROWS; i++) {
		assert_int_equal(get(&ids[i], &totals), 1);
		same(&totals, &rows[i]);
		totals_done(&totals);
	}
	assert_int_equal(get(&unknown, &totals), 0);
	check_each(ROWS);
}

static void rows_come_back(void **state)
{
	struct catalogue *writer = catalogue;
	struct totals totals;

	(void)state;
	check_readable();
	assert_int_equal(catalogue_open_read(path, &catalogue), 0);
	check_readable();
	catalogue_close(catalogue);
	assert_int_equal(catalogue_open_add(path, &catalogue), 0);
	check_readable();
	assert_int_equal(catalogue_put(catalogue, &ids[0], &rows[1], NULL), 0);
	catalogue_close(catalogue);
	catalogue = writer;
	assert_int_equal(get(&ids[0], &totals), 1);
	same(&totals, &rows[1]);
	totals_done(&totals);
	assert_int_equal(catalogue_put(catalogue, &ids[0], &rows[0], NULL), 0);
	check_readable();
	assert_int_equal(catalogue_lost(catalogue), 0);
}

static void rows_go(void **state)
{
	struct totals totals;

	(void)state;
	catalogue_remove(catalogue, &ids[5]);
	catalogue_remove(catalogue, &ids[5]);
	assert_int_equal(get(&ids[5], &totals), 0);
	check_each(ROWS - 1);
}

static void no_catalogue(void **state)
{
	struct totals totals = {0};
	struct stream_id id = {{0}};

	(void)state;
	assert_int_equal(catalogue_get(NULL, &id, &totals), 0);
	assert_int_equal(catalogue_put(NULL, &id, &totals, NULL), 0);
	assert_int_equal(catalogue_each(NULL, see, NULL), 0);
	assert_int_equal(catalogue_find(NULL, "", &id, 1), 0);
	assert_int_equal(catalogue_newest(NULL, &id, 1), 0);
	assert_int_equal(catalogue_lost(NULL), 0);
	catalogue_remove(NULL, &id);
	catalogue_close(NULL);
}

/* ---- what is found ---- */

static void check_find(const char *prefix, size_t most)
{
	struct stream_id found[ROWS + 1], sorted[ROWS];
	size_t count = catalogue_find(catalogue, prefix, found, most), expected = 0;
	char text[STREAM_ID_TEXT];

	memcpy(sorted, ids, sizeof(ids));
	qsort(sorted, ROWS, sizeof(*sorted), compare_ids);
	for (size_t i = 0; i < ROWS && expected < most; i++) {
		stream_id_format(text, &sorted[i]);
		if (strncmp(text, prefix, strlen(prefix)) != 0)
			continue;
		assert_true(expected < count);
		assert_memory_equal(&found[expected], &sorted[i], sizeof(*found));
		expected++;
	}
	assert_int_equal(count, expected);
}

static void beginnings_are_found(void **state)
{
	static const char *const some[] = {"", "0", "00", "5", "55", "aa", "f", "ff", "e", "1"};
	char text[STREAM_ID_TEXT + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		for (size_t most = 0; most <= ROWS; most++)
			check_find(some[i], most);
	for (size_t length = 0; length < STREAM_ID_TEXT; length++) {
		stream_id_format(text, &ids[7]);
		text[length] = 0;
		check_find(text, 2);
		if (!length)
			continue;
		text[length - 1] = text[length - 1] == 'f' ? '0' : 'f';
		check_find(text, 2);
	}
	stream_id_format(text, &ids[7]);
	strncat(text, "0", 2);
	assert_int_equal(catalogue_find(catalogue, text, ids, 1), 0);
}

static void the_newest_are_found(void **state)
{
	struct stream_id found[ROWS + 1];

	(void)state;
	for (size_t most = 0; most <= ROWS + 1; most++) {
		size_t count = catalogue_newest(catalogue, found, most);

		assert_int_equal(count, most < ROWS ? most : ROWS);
		for (size_t i = 0; i < count; i++) {
			uint64_t start = rows[index_of(&found[i])].start_wall_ns;
			size_t newer = 0; /* than this one, in the naive order */

			for (size_t k = 0; k < ROWS; k++)
				newer += rows[k].start_wall_ns > start ||
					 (rows[k].start_wall_ns == start &&
					  compare_ids(&ids[k], &found[i]) > 0);
			assert_int_equal(newer, i);
		}
	}
}

/* ---- what is damaged ---- */

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

/* Each column of each row in turn: that row is not there, the others are. */
static void changed_rows_are_not_there(void **state)
{
	static const char *const columns[] = {
		"name",		 "executable", "command_line", "host",
		"architecture",	 "incomplete", "board",	       "cgroup",
		"build",	 "tags",       "began_on",     "pid",
		"start_wall_ns", "last_ns",    "events",       "recording_bytes",
		"incarnation",	 "next_batch", "in_use_bytes", "in_use_blocks",
		"summed_bytes",	 "checksum"};
	struct totals totals;
	char sql[256], id[STREAM_ID_TEXT];

	(void)state;
	for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++) {
		size_t i = 2 * k; /* its sums are there */

		snprintf(
			sql, sizeof(sql),
			k < 11 ? "UPDATE streams SET %s = coalesce(%s, '') || 'x' "
				 "WHERE hex(id) = upper('%s')"
			       : "UPDATE streams SET %s = (%s & 1) = 0 WHERE hex(id) = upper('%s')",
			columns[k], columns[k], stream_id_format(id, &ids[i]));
		change(sql);
		assert_int_equal(get(&ids[i], &totals), 0);
		check_each(ROWS - 1);
		assert_int_equal(catalogue_put(catalogue, &ids[i], &rows[i], NULL), 0);
	}
	check_readable();
	snprintf(sql, sizeof(sql),
		 "UPDATE streams SET ended = 1 - ended WHERE hex(id) = upper('%s')",
		 stream_id_format(id, &ids[1]));
	change(sql);
	assert_int_equal(get(&ids[1], &totals), 0);
	change("UPDATE streams SET in_use_bytes = NULL");
	assert_int_equal(get(&ids[0], &totals), 0);
	assert_int_equal(get(&ids[3], &totals), 1); /* it had no sums */
	totals_done(&totals);
	/* Ids that are none. */
	change("INSERT INTO streams (id, start_wall_ns) VALUES (x'0011', 9), (x'', 9)");
	assert_int_equal(catalogue_find(catalogue, "001", ids, ROWS), 0);
	assert_int_equal(catalogue_newest(catalogue, ids, 3), 1);
}

/* Whether it is written in the way that lets others read meanwhile: "write-ahead log" stands in
 * bytes 18 and 19. */
static void files_are_private(void **state)
{
	uint8_t head[20] = {0};
	struct stat st;
	int fd = open(path, O_RDONLY);

	(void)state;
	assert_int_equal(read(fd, head, sizeof(head)), sizeof(head));
	assert_true(head[18] == 2 && head[19] == 2);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
}

/* The file goes, or another one comes in its place: a new one is made, without the others' rows. */
static void the_file_goes(void **state)
{
	struct totals totals;
	char other[160];

	(void)state;
	for (unsigned again = 1; again < 4; again++) {
		if (again == 2) {
			snprintf(other, sizeof(other), "%s.other", path);
			close(open(other, O_WRONLY | O_CREAT, 0600));
			assert_int_equal(rename(other, path), 0);
		} else {
			unlink(path);
		}
		assert_int_equal(catalogue_lost(catalogue), again - 1);
		assert_int_equal(catalogue_put(catalogue, &ids[again], &rows[again], NULL), 0);
		assert_int_equal(catalogue_lost(catalogue), again);
		assert_int_equal(catalogue_put(catalogue, &ids[again], &rows[again], NULL), 0);
		assert_int_equal(catalogue_lost(catalogue), again);
		assert_int_equal(get(&ids[again], &totals), 1);
		same(&totals, &rows[again]);
		totals_done(&totals);
		assert_int_equal(get(&ids[again - 1], &totals), 0);
		assert_int_equal(access(path, F_OK), 0);
	}
}

/* ---- opening ---- */

static void write_text(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_true(file && fputs(text, file) >= 0);
	fclose(file);
}

static int open_anew(bool *ret_rebuilt, struct err_text *err)
{
	struct catalogue *c = NULL;
	struct totals totals;
	int r = catalogue_open_write(path, &c, ret_rebuilt, err);

	if (!r) {
		assert_int_equal(catalogue_get(c, &ids[0], &totals), !*ret_rebuilt);
		if (!*ret_rebuilt)
			totals_done(&totals);
	}
	catalogue_close(c);
	return r;
}

static void what_is_none_is_made_anew(void **state)
{
	static const char *const damages[] = {"PRAGMA user_version = 5", "PRAGMA user_version = 7",
					      "PRAGMA user_version = 0", NULL};
	struct catalogue *other = NULL;
	bool rebuilt = true;

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		assert_int_equal(open_anew(&rebuilt, NULL), 0);
		assert_false(rebuilt);
		if (damages[i]) {
			change(damages[i]);
			assert_int_equal(catalogue_open_add(path, &other), -EBADMSG);
			assert_int_equal(catalogue_open_read(path, &other), -EBADMSG);
		} else {
			write_text("this is no data base at all, whatever its name says it is");
			assert_int_equal(catalogue_open_add(path, &other), -EBADMSG);
			assert_int_equal(catalogue_open_read(path, &other), -EBADMSG);
		}
		assert_null(other);
		assert_int_equal(open_anew(&rebuilt, NULL), 0);
		assert_true(rebuilt);
		catalogue_close(catalogue);
		assert_int_equal(catalogue_open_write(path, &catalogue, &rebuilt, NULL), 0);
		assert_int_equal(catalogue_put(catalogue, &ids[0], &rows[0], NULL), 0);
	}
}

static void what_cannot_be_opened(void **state)
{
	struct catalogue *other = NULL;
	struct err_text err = {0};
	char expected[256];
	bool rebuilt;

	(void)state;
	catalogue_close(catalogue);
	catalogue = NULL;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(catalogue_open_read(path, &other), -EACCES);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(catalogue_open_add(path, &other), 0); /* makes one */
	assert_int_equal(catalogue_put(other, &ids[0], &rows[0], NULL), 0);
	catalogue_close(other);
	assert_int_equal(catalogue_open_read(path, &other), 0);
	assert_int_equal(catalogue_put(other, &ids[0], &rows[0], &err), -EACCES);
	assert_string_equal(err.text,
			    "cannot write the catalogue: attempt to write a readonly database");
	catalogue_close(other);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(catalogue_open_write(path, &other, &rebuilt, &err), -EACCES);
	snprintf(expected, sizeof(expected), "cannot open %s: Permission denied", path);
	assert_string_equal(err.text, expected);
	assert_int_equal(rmdir(path), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(rows_come_back),
		TEST(rows_go),
		cmocka_unit_test(no_catalogue),
		TEST(beginnings_are_found),
		TEST(the_newest_are_found),
		TEST(changed_rows_are_not_there),
		TEST(files_are_private),
		TEST(the_file_goes),
		TEST(what_is_none_is_made_anew),
		TEST(what_cannot_be_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
