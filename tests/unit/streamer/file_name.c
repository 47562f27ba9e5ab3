/* Files of recordings: a new one each time, a number where the name is taken, and which former one
 * is replaced. */
#include "agent/spool/file_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"
#include "tests/unit/temporary.h"

/* The beginnings of LZ4 frames: with a content size, as recordings have, and without. */
#define RECORDING "\x04\x22\x4d\x18\x68"
#define OTHER_LZ4 "\x04\x22\x4d\x18\x60"

static char path[FILE_NAME_MAX];
static struct file_number numbers;
static uint32_t number;
static struct err_text err;
static unsigned descriptors;

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", temporary_folder, name);
	return path;
}

static void put(const char *name, const char *text)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static off_t size_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(in_folder(name), &st), 0);
	return st.st_size;
}

static unsigned files(void)
{
	DIR *folder = opendir(temporary_folder);
	unsigned count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2; /* . and .. */
}

static int setup(void **state)
{
	numbers = (struct file_number){.next = 0};
	err = (struct err_text){{0}};
	descriptors = descriptors_open();
	return temporary_setup(state);
}

static int teardown(void **state)
{
	assert_int_equal(descriptors_open(), descriptors);
	return temporary_teardown(state);
}

static int open_name(const char *name, bool replace)
{
	in_folder(name);
	number = 4711;
	return file_name_open(path, replace, &numbers, &number, &err);
}

/* The file is new: empty, its owner's, and locked until it is closed. Closes it. */
static void expect_new(int fd, const char *name, uint32_t expected_number)
{
	struct stat st, there;
	char expected[FILE_NAME_MAX];
	int again;

	assert_true(fd >= 0);
	assert_int_equal(number, expected_number);
	snprintf(expected, sizeof(expected), "%s/%s", temporary_folder, name);
	assert_string_equal(path, expected);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(lstat(path, &there), 0);
	assert_true(there.st_ino == st.st_ino);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	again = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(again, LOCK_SH | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	close(again);
	assert_string_equal(err.text, "");
	close(fd);
}

static void expect_refused(const char *name, int error, const char *because)
{
	char expected[FILE_NAME_MAX + 200];
	unsigned before = files();

	assert_int_equal(open_name(name, true), error);
	snprintf(expected, sizeof(expected), "can't write a recording to %s: %s", path, because);
	assert_string_equal(err.text, expected);
	assert_int_equal(number, 0);
	err = (struct err_text){{0}};
	assert_int_equal(file_name_try(in_folder(name), true, (uid_t)-1, &err), error);
	assert_string_equal(err.text, expected);
	err = (struct err_text){{0}};
	assert_int_equal(files(), before);
}

/* ---- names ---- */

static void taken_names_get_numbers(void **state)
{
	(void)state;
	expect_new(open_name("a.heapcast", false), "a.heapcast", 0);
	put("a.heapcast", RECORDING);
	expect_new(open_name("a.heapcast", false), "a-2.heapcast", 2);
	expect_new(open_name("a.heapcast", false), "a-3.heapcast", 3);
	/* Each number is tried only once, until another name comes. */
	assert_int_equal(unlink(in_folder("a-2.heapcast")), 0);
	expect_new(open_name("a.heapcast", false), "a-4.heapcast", 4);
	put("b", "");
	put("b-2", "");
	expect_new(open_name("b", false), "b-3", 3);
	expect_new(open_name("a.heapcast", false), "a-2.heapcast", 2);
	expect_new(open_name("a.heapcast", false), "a-5.heapcast", 5);
	assert_int_equal(size_of("a.heapcast"), 5);
	assert_int_equal(files(), 8);
}

/* Links are not followed, and folders are no files. */
static void others_names_are_left_alone(void **state)
{
	(void)state;
	put("file", "text");
	assert_int_equal(symlink("nowhere", in_folder("link")), 0);
	assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
	expect_new(open_name("file", false), "file-2", 2);
	expect_new(open_name("link", false), "link-2", 2);
	expect_new(open_name("folder", false), "folder-2", 2);
	assert_int_equal(access(in_folder("nowhere"), F_OK), -1);
	assert_int_equal(size_of("file"), 4);
}

/* Descriptor 0 is one, as the folder's and as the file's. */
static void the_first_descriptor_is_one(void **state)
{
	int fd;

	(void)state;
	put("b", RECORDING);
	first_descriptor_free();
	assert_int_equal(file_name_try(in_folder("b"), true, (uid_t)-1, &err), 0);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	fd = open_name("b", true);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1); /* the folder's is closed */
	first_descriptor_take();
	expect_new(fd, "b", 0);
}

/* A name without a folder is one in the current folder. */
static void names_need_no_folder(void **state)
{
	char name[FILE_NAME_MAX] = "plain.heapcast";
	int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	(void)state;
	assert_int_equal(chdir(temporary_folder), 0);
	for (uint32_t i = 0; i < 2; i++) {
		fd = file_name_open(name, false, &numbers, &number, &err);
		assert_true(fd >= 0);
		assert_int_equal(number, i ? 2 : 0);
		close(fd);
	}
	assert_string_equal(name, "plain-2.heapcast");
	assert_int_equal(file_name_try("plain.heapcast", false, (uid_t)-1, &err), 0);
	assert_int_equal(fchdir(before), 0);
	close(before);
	assert_int_equal(size_of("plain.heapcast") + size_of("plain-2.heapcast"), 0);
	assert_int_equal(files(), 2);
}

static void useless_names_are_refused(void **state)
{
	char name[FILE_NAME_MAX + 40];
	size_t length;

	(void)state;
	expect_refused("none/a", -ENOENT, "No such file or directory");
	expect_refused("", -EISDIR, "Is a directory");
	put("file", "");
	expect_refused("file/a", -ENOTDIR, "Not a directory");
	/* No number fits behind the longest name that there can be. */
	length = (size_t)snprintf(name, sizeof(name), "%s/", temporary_folder);
	memset(name + length, 'x', 254);
	name[length + 254] = '\0';
	for (unsigned i = 0; i < 2; i++) {
		int fd = open_name(name + length, false);

		assert_int_equal(fd < 0 ? fd : 0, i ? -ENAMETOOLONG : 0);
		if (!i)
			expect_new(fd, name + length, 0);
	}
	/* A folder's name that is too long. */
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 2] = '/';
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(name) - 2; i += 40)
		name[i] = '/';
	assert_int_equal(file_name_try(name, false, (uid_t)-1, NULL), -ENAMETOOLONG);
}

/* ---- former recordings ---- */

static void former_recordings_are_replaced(void **state)
{
	struct stat before, after;

	(void)state;
	put("a", RECORDING "and more");
	put("empty", "");
	assert_int_equal(stat(in_folder("a"), &before), 0);
	expect_new(open_name("a", true), "a", 0);
	assert_int_equal(stat(in_folder("a"), &after), 0);
	assert_true(after.st_ino != before.st_ino);
	expect_new(open_name("empty", true), "empty", 0);
	expect_new(open_name("new", true), "new", 0);
	assert_int_equal(files(), 3);
}

/* An agent that writes it holds a lock. When that is gone, the file is a former one. */
static void recordings_in_use_are_kept(void **state)
{
	int fd;

	(void)state;
	fd = open_name("a", true);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, RECORDING, 5), 5);
	expect_new(open_name("a", true), "a-2", 2);
	assert_int_equal(size_of("a"), 5);
	close(fd);
	expect_new(open_name("a", true), "a", 0);
	assert_int_equal(files(), 2);
}

static void what_is_no_recording_is_kept(void **state)
{
	static const char *const texts[] = {"x", "\x04\x22\x4d\x18", OTHER_LZ4,
					    "\x04\x22\x4d\x19\x68", "some text"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put("a", texts[i]);
		expect_refused("a", -EEXIST,
			       "it is there, and is no recording (choose another name, or remove "
			       "it)");
		assert_int_equal(size_of("a"), strlen(texts[i]));
	}
	assert_int_equal(symlink("a", in_folder("link")), 0);
	expect_refused("link", -EEXIST, "it is a link");
	assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
	expect_refused("folder", -EEXIST, "it is a folder");
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	expect_refused("fifo", -EEXIST, "it is no regular file");
	assert_int_equal(files(), 4);
}

static void foreign_recordings_are_kept(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("only root can give files away\n");
		skip();
	}
	put("a", RECORDING);
	assert_int_equal(chown(in_folder("a"), 12345, (gid_t)-1), 0);
	expect_refused("a", -EEXIST, "it belongs to another user (12345)");
}

/* A character device is written to as it is. */
static void devices_stay(void **state)
{
	char null[FILE_NAME_MAX] = "/dev/null";
	struct stat st;
	int fd;

	(void)state;
	for (int replace = 0; replace < 2; replace++) {
		number = 4711;
		fd = file_name_open(null, replace, &numbers, &number, &err);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_true(S_ISCHR(st.st_mode));
		assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(number, 0);
		assert_string_equal(null, "/dev/null");
		assert_int_equal(write(fd, "x", 1), 1);
		close(fd);
		assert_int_equal(file_name_try("/dev/null", replace, (uid_t)-1, &err), 0);
	}
	assert_string_equal(err.text, "");
}

/* ---- the attempt ---- */

/* Leaves nothing behind, and what is there as it is. */
static void attempts_leave_nothing(void **state)
{
	(void)state;
	put("a", RECORDING);
	put("text", "some text");
	assert_int_equal(file_name_try(in_folder("a"), true, (uid_t)-1, &err), 0);
	assert_int_equal(file_name_try(in_folder("a"), false, (uid_t)-1, &err), 0);
	assert_int_equal(file_name_try(in_folder("new"), true, geteuid(), &err), 0);
	assert_int_equal(file_name_try(in_folder("text"), false, (uid_t)-1, &err), 0);
	assert_string_equal(err.text, "");
	assert_int_equal(files(), 2);
	assert_int_equal(size_of("a"), 5);
	assert_int_equal(size_of("text"), 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(taken_names_get_numbers),	   TEST(others_names_are_left_alone),
		TEST(the_first_descriptor_is_one), TEST(names_need_no_folder),
		TEST(useless_names_are_refused),   TEST(former_recordings_are_replaced),
		TEST(recordings_in_use_are_kept),  TEST(what_is_no_recording_is_kept),
		TEST(foreign_recordings_are_kept), TEST(devices_stay),
		TEST(attempts_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
