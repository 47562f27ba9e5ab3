/*
 * The store's folder: who may open it, what is made of it and with which permissions, the note of
 * the one who writes, the cache of symbols, and drafts of streams.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/store.h"
#include "collector/recording/written.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

static char folder[128];
static unsigned opened;

static int begin(void **state)
{
	opened = descriptors_open();
	if (temporary_setup(state) < 0)
		return -1;
	snprintf(folder, sizeof(folder), "%s/store", temporary_folder);
	return 0;
}

static int end(void **state)
{
	return descriptors_open() == opened ? temporary_teardown(state) : -1;
}

static const char *inside(const char *name)
{
	static char path[2][256];
	static unsigned k;

	k = !k;
	snprintf(path[k], sizeof(path[k]), "%s/%s", folder, name);
	return path[k];
}

static unsigned mode_of(const char *name)
{
	struct stat st;

	return stat(inside(name), &st) < 0 ? 0 : st.st_mode & 07777;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_true(file && fputs(text, file) >= 0);
	fclose(file);
}

static void read_file(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, size - 1, file)] = 0;
	fclose(file);
}

static void check_refused(enum store_access access, int error, const char *before,
			  const char *after)
{
	struct store *store = NULL;
	struct err_text err = {0};
	char expected[512];

	assert_int_equal(store_open(folder, access, &store, &err), error);
	snprintf(expected, sizeof(expected), "%s%s%s", before, folder, after);
	assert_string_equal(err.text, expected);
	assert_null(store);
}

#define NONE ": 'collector gather' makes them, --data names another folder"

static void who_may_open_it(void **state)
{
	struct store *writer, *adder, *reader;
	char text[32], expected[512];

	(void)state;
	check_refused(STORE_READ, -ENOENT, "there is no folder ",
		      ": 'collector gather' makes it, --data names another");
	assert_int_equal(access(folder, F_OK), -1);
	assert_int_equal(store_open(folder, STORE_WRITE, &writer, NULL), 0);
	assert_string_equal(store_path(writer), folder);
	assert_int_equal(mode_of("."), 0700);
	assert_int_equal(mode_of("streams"), 0700);
	assert_int_equal(mode_of("lock"), 0600);
	assert_int_equal(mode_of("catalogue.sqlite"), 0600);
	read_file(inside("lock"), text, sizeof(text));
	snprintf(expected, sizeof(expected), "%d\n", (int)getpid());
	assert_string_equal(text, expected);
	snprintf(expected, sizeof(expected), "another collector (pid %d) is writing to ",
		 (int)getpid());
	check_refused(STORE_WRITE, -EBUSY, expected,
		      "; stop it, or give another folder with --data");
	assert_int_equal(store_open(folder, STORE_ADD, &adder, NULL), 0);
	assert_int_equal(store_open(folder, STORE_READ, &reader, NULL), 0);
	assert_true(adder->catalogue && reader->catalogue);
	store_close(adder);
	store_close(reader);
	write_file(inside("lock"), "");
	check_refused(STORE_WRITE, -EBUSY, "another collector (pid unknown) is writing to ",
		      "; stop it, or give another folder with --data");
	store_close(writer);
	/* The pid of one that is gone, and longer than ours. */
	write_file(inside("lock"), "123456789012345678\n");
	assert_int_equal(store_open(folder, STORE_WRITE, &writer, NULL), 0);
	read_file(inside("lock"), text, sizeof(text));
	snprintf(expected, sizeof(expected), "%d\n", (int)getpid());
	assert_string_equal(text, expected);
	store_close(writer);
	store_close(NULL);
}

static void what_is_in_the_way(void **state)
{
	struct store *store;
	char before[160];

	(void)state;
	write_file(folder, "a file");
	check_refused(STORE_READ, -ENOENT, "there are no recordings in ", NONE);
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	write_file(inside("streams"), "a file");
	check_refused(STORE_READ, -ENOENT, "there are no recordings in ", NONE);
	assert_int_equal(unlink(inside("streams")), 0);
	assert_int_equal(mkdir(inside("lock"), 0700), 0);
	check_refused(STORE_WRITE, -EISDIR, "cannot open ", "/lock: Is a directory");
	assert_int_equal(store_open(folder, STORE_ADD, &store, NULL), 0); /* takes no lock */
	store_close(store);
	assert_int_equal(rmdir(inside("lock")), 0);
	assert_int_equal(unlink(inside("catalogue.sqlite")), 0);
	assert_int_equal(mkdir(inside("catalogue.sqlite"), 0700), 0);
	check_refused(STORE_WRITE, -EACCES, "cannot open ", "/catalogue.sqlite: Permission denied");
	assert_int_equal(store_open(folder, STORE_ADD, &store, NULL), 0); /* without it, then */
	assert_null(store->catalogue);
	store_close(store);
	assert_int_equal(store_open(folder, STORE_READ, &store, NULL), 0);
	assert_null(store->catalogue);
	assert_int_equal(store_catalogue_lost(store), 0);
	store_close(store);
	snprintf(before, sizeof(before), "%s/x/y", folder);
	snprintf(folder, sizeof(folder), "%s", before);
	check_refused(STORE_ADD, -ENOENT, "cannot make the folder ", ": No such file or directory");
}

static void a_catalogue_of_another_version(void **state)
{
	struct store *store;

	(void)state;
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	assert_false(store_was_rebuilt(store));
	store_close(store);
	write_file(inside("catalogue.sqlite"), "what somebody else has put here, and no data base");
	assert_int_equal(store_open(folder, STORE_READ, &store, NULL), 0);
	assert_null(store->catalogue);
	store_close(store);
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	assert_true(store_was_rebuilt(store));
	assert_non_null(store->catalogue);
	store_close(store);
}

/* ---- the note ---- */

static void set_age(const char *name, time_t seconds)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}};

	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, inside(name), times, 0), 0);
}

static void the_note(void **state)
{
	struct store *store;
	char note[STORE_NOTE_MAX], longest[STORE_NOTE_MAX + 50];

	(void)state;
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	assert_false(store_note(store, note));
	store_set_note(store, NULL);
	store_set_note(store, "the disk is full\33[1m");
	assert_true(store_note(store, note));
	assert_string_equal(note, "the disk is full?[1m");
	assert_int_equal(mode_of("note"), 0600);
	assert_int_equal(access(inside("note.new"), F_OK), -1);
	store_set_note(store, "short");
	assert_true(store_note(store, note));
	assert_string_equal(note, "short");
	set_age("note", STORE_NOTE_S - 1);
	assert_true(store_note(store, note));
	set_age("note", STORE_NOTE_S + 2);
	assert_false(store_note(store, note));
	store_set_note(store, "again");
	assert_true(store_note(store, note));
	store_set_note(store, NULL);
	assert_false(store_note(store, note));
	assert_int_equal(access(inside("note"), F_OK), -1);
	store_set_note(store, "");
	assert_false(store_note(store, note));
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	store_set_note(store, longest);
	assert_true(store_note(store, note));
	assert_int_equal(strlen(note), STORE_NOTE_MAX - 1);
	assert_memory_equal(note, longest, STORE_NOTE_MAX - 1);
	store_close(store);
}

/* ---- the cache of symbols ---- */

static void the_cache_of_symbols(void **state)
{
	struct store *store;
	struct sqlite3 *db;
	uint8_t head[20];
	sqlite3_int64 before;
	int fd;

	(void)state;
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	assert_int_equal(access(inside("symbols.sqlite"), F_OK), -1);
	db = store_symbol_cache(store);
	assert_non_null(db);
	assert_ptr_equal(store_symbol_cache(store), db);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(mode_of("symbols.sqlite"), 0600);
	store_close(store);
	fd = open(inside("symbols.sqlite"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, head, sizeof(head)), sizeof(head));
	assert_true(head[18] == 2 && head[19] == 2); /* a write-ahead log: others read meanwhile */
	close(fd);
	assert_int_equal(unlink(inside("symbols.sqlite")), 0);
	assert_int_equal(mkdir(inside("symbols.sqlite"), 0700), 0);
	assert_int_equal(store_open(folder, STORE_READ, &store, NULL), 0);
	before = sqlite3_memory_used();
	assert_null(store_symbol_cache(store));
	assert_null(store_symbol_cache(store));
	assert_int_equal(sqlite3_memory_used(), before); /* nothing stays open */
	store_close(store);
}

static void files_are_made_private(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(folder, 0700), 0);
	umask(0);
	folder_make_private(inside("a"));
	umask(022);
	assert_int_equal(mode_of("a"), 0600);
	write_file(inside("a"), "stays");
	folder_make_private(inside("a"));
	assert_int_equal(stat(inside("a"), &st), 0);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(symlink("elsewhere", inside("link")), 0);
	folder_make_private(inside("link"));
	assert_int_equal(access(inside("elsewhere"), F_OK), -1);
}

/* ---- drafts ---- */

static unsigned count_streams(const char *prefix)
{
	DIR *dir = opendir(inside("streams"));
	struct dirent *entry;
	unsigned count = 0;

	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix));
	closedir(dir);
	return count;
}

static void drafts(void **state)
{
	struct new_stream *draft, *second;
	char *place, *recording;
	struct store *store;
	int fd;

	(void)state;
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	assert_int_equal(new_stream_new(store, &draft, NULL), 0);
	assert_int_equal(new_stream_new(store, &second, NULL), 0);
	assert_memory_not_equal(new_stream_id(draft), new_stream_id(second), STREAM_ID_SIZE);
	assert_int_equal(count_streams("draft-"), 2);
	new_stream_free(second);
	assert_int_equal(count_streams(""), 1);
	assert_int_equal(write(new_stream_fd(draft), "bytes", 5), 5);
	assert_int_equal(new_stream_sync(draft, NULL), 0);
	place = stream_folder_path(store, new_stream_id(draft));
	recording = stream_recording_path(store, new_stream_id(draft));
	assert_int_equal(access(place, F_OK), -1);
	assert_int_equal(new_stream_place(draft, NULL), 0);
	assert_int_equal(count_streams("draft-"), 0);
	assert_int_equal(access(recording, F_OK), 0);
	fd = open(recording, O_RDONLY | O_CLOEXEC);
	assert_true(recording_is_written(fd));
	new_stream_close(draft);
	assert_int_equal(new_stream_fd(draft), -1);
	assert_false(recording_is_written(fd));
	close(fd);
	new_stream_withdraw(draft);
	new_stream_withdraw(draft);
	new_stream_free(draft);
	assert_int_equal(count_streams(""), 0);
	new_stream_free(NULL);
	free(place);
	free(recording);
	store_close(store);
}

static void drafts_that_fail(void **state)
{
	struct new_stream *draft;
	struct err_text err = {0};
	struct store *store;
	char *place, other[256], expected[512];

	(void)state;
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	assert_int_equal(new_stream_new(store, &draft, NULL), 0);
	place = stream_folder_path(store, new_stream_id(draft));
	snprintf(other, sizeof(other), "%s/x", place);
	assert_int_equal(mkdir(place, 0700), 0);
	assert_int_equal(mkdir(other, 0700), 0); /* not empty: it is not replaced */
	assert_int_equal(new_stream_place(draft, &err), -ENOTEMPTY);
	snprintf(expected, sizeof(expected), "cannot make the folder %s: Directory not empty",
		 place);
	assert_string_equal(err.text, expected);
	new_stream_free(draft);
	assert_int_equal(count_streams(""), 1);
	assert_int_equal(rmdir(other), 0);
	assert_int_equal(rmdir(place), 0);
	free(place);
	assert_int_equal(rmdir(inside("streams")), 0);
	draft = NULL;
	assert_int_equal(new_stream_new(store, &draft, &err), -ENOENT);
	snprintf(expected, sizeof(expected), "cannot make the folder %s/streams/draft-", folder);
	assert_memory_equal(err.text, expected, strlen(expected));
	assert_non_null(strstr(err.text, ": No such file or directory"));
	assert_null(draft);
	store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(who_may_open_it),
		TEST(what_is_in_the_way),
		TEST(a_catalogue_of_another_version),
		TEST(the_note),
		TEST(the_cache_of_symbols),
		TEST(files_are_made_private),
		TEST(drafts),
		TEST(drafts_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
