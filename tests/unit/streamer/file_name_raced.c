/* Files of recordings where others come in between, and where the file system refuses. Some calls
 * of the system pass through this program, which does what another one would do just then. */
#include "agent/spool/file_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define RECORDING "\x04\x22\x4d\x18\x68"
#define ANY_OWNER ((uid_t)-1)

static char path[FILE_NAME_MAX];
static struct file_number numbers;
static uint32_t number;
static struct err_text err;
static unsigned descriptors;

/* What happens at a call: the n-th one, or each one. */
static struct {
	void (*at_lock)(void);
	unsigned locks, lock_at; /* 0: each */
	int lock_error, rename_error, owner_error;
	unsigned owners;
	uid_t owner;
	bool no_random;
	char renamed[2][64];
	unsigned renames;
} other;

static int descriptor_of_other; /* -1: it has none */

int flock(int fd, int operation)
{
	other.locks++;
	if (other.at_lock && (!other.lock_at || other.locks == other.lock_at))
		other.at_lock();
	if (other.lock_error) {
		errno = other.lock_error;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

int renameat(int from, const char *old, int to, const char *new)
{
	if (other.renames < 2)
		snprintf(other.renamed[other.renames++], sizeof(other.renamed[0]), "%s", old);
	if (other.rename_error) {
		errno = other.rename_error;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int fchown(int fd, uid_t owner, gid_t group)
{
	assert_true(fd >= 0);
	assert_int_equal(group, (gid_t)-1);
	other.owners++;
	other.owner = owner;
	errno = other.owner_error;
	return other.owner_error ? -1 : 0;
}

ssize_t getrandom(void *out, size_t size, unsigned flags)
{
	return other.no_random ? (ssize_t)size - 1 : syscall(SYS_getrandom, out, size, flags);
}

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", temporary_folder, name);
	return path;
}

static const char *place(const char *name)
{
	static char at[FILE_NAME_MAX];

	snprintf(at, sizeof(at), "%s/%s", temporary_folder, name);
	return at;
}

static void put(const char *name, const char *text)
{
	int fd = open(place(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static unsigned files(void)
{
	DIR *folder = opendir(temporary_folder);
	unsigned count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2;
}

static int setup(void **state)
{
	numbers = (struct file_number){.next = 0};
	err = (struct err_text){{0}};
	memset(&other, 0, sizeof(other));
	descriptor_of_other = -1;
	descriptors = descriptors_open();
	return temporary_setup(state);
}

static int teardown(void **state)
{
	memset(&other, 0, sizeof(other));
	if (descriptor_of_other >= 0)
		close(descriptor_of_other);
	assert_int_equal(descriptors_open(), descriptors);
	return temporary_teardown(state);
}

/* Opens it, closes it, and compares the name that it got. */
static void expect_opened(const char *name, bool replace, const char *expected)
{
	int fd;

	in_folder(name);
	fd = file_name_open(path, replace, &numbers, &number, &err);
	assert_true(fd >= 0);
	close(fd);
	assert_string_equal(path, place(expected));
	assert_int_equal(number != 0, strcmp(name, expected) != 0);
}

static void expect_text(const char *name, const char *because)
{
	char expected[FILE_NAME_MAX + 200];

	snprintf(expected, sizeof(expected), "can't write a recording to %s: %s", name, because);
	assert_string_equal(err.text, expected);
}

static void expect_refused(const char *name, bool replace, int error, const char *because)
{
	in_folder(name);
	assert_int_equal(file_name_open(path, replace, &numbers, &number, &err), error);
	expect_text(place(name), because);
}

/* ---- others ---- */

static void take_it(void)
{
	descriptor_of_other = open(place("a"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(syscall(SYS_flock, descriptor_of_other, LOCK_EX), 0);
}

static void remove_it(void)
{
	assert_int_equal(unlink(place("a")), 0);
}

static void replace_it(void)
{
	unlink(place("a"));
	put("a", RECORDING);
}

/* A new file that another agent takes for a former recording, before it is locked, is its. */
static void taken_at_once(void **state)
{
	(void)state;
	for (int replace = 0; replace < 2; replace++) {
		other.at_lock = take_it;
		other.lock_at = other.locks + 1;
		expect_opened("a", replace, replace ? "a-3" : "a-2");
		close(descriptor_of_other);
		descriptor_of_other = -1;
		assert_int_equal(unlink(place("a")), 0);
	}
}

/* One that is removed meanwhile is none. */
static void removed_at_once(void **state)
{
	(void)state;
	other.at_lock = remove_it;
	other.lock_at = 1;
	expect_opened("a", true, "a");
	assert_int_equal(access(place("a"), F_OK), 0);
	remove_it();
	other.locks = 0;
	expect_opened("a", false, "a-2");
	assert_int_equal(access(place("a"), F_OK), -1);
}

/* So is a former one. */
static void former_is_removed(void **state)
{
	(void)state;
	put("a", RECORDING);
	other.at_lock = remove_it;
	other.lock_at = 1;
	expect_opened("a", true, "a");
	assert_int_equal(files(), 1);
}

/* If there is another one each time, it gives up. */
static void former_is_replaced_again_and_again(void **state)
{
	(void)state;
	put("a", RECORDING);
	other.at_lock = replace_it;
	expect_opened("a", true, "a-2");
	/* Sixteen attempts, each with two locks, and that of the file with a number. */
	assert_int_equal(other.locks, 16 * 2 + 1);
	assert_int_equal(files(), 2);
}

static void former_is_taken(void **state)
{
	(void)state;
	put("a", RECORDING);
	other.at_lock = take_it;
	other.lock_at = 1;
	expect_opened("a", true, "a-2");
	assert_int_equal(other.renames, 0);
}

/* ---- what the file system refuses ---- */

/* Without locks nothing is protected, and all works. */
static void no_locks(void **state)
{
	(void)state;
	other.lock_error = ENOLCK;
	put("former", RECORDING);
	expect_opened("new", true, "new");
	expect_opened("former", true, "former");
	assert_int_equal(other.renames, 1);
	assert_int_equal(files(), 2);
}

static void no_renaming(void **state)
{
	struct stat st;

	(void)state;
	put("a", RECORDING);
	other.rename_error = EACCES;
	expect_refused("a", true, -EIO, "Permission denied");
	assert_int_equal(files(), 1);
	assert_int_equal(stat(place("a"), &st), 0);
	assert_int_equal(st.st_size, 5);
}

/* The file beside it has a name that nobody can know. */
static void names_beside(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		put("a", RECORDING);
		expect_opened("a", true, "a");
		assert_int_equal(strlen(other.renamed[i]), 10 + 16);
		assert_int_equal(strncmp(other.renamed[i], ".heapcast-", 10), 0);
		assert_int_equal(strspn(other.renamed[i] + 10, "0123456789abcdef"), 16);
	}
	assert_string_not_equal(other.renamed[0], other.renamed[1]);
}

static void no_random_numbers(void **state)
{
	(void)state;
	other.no_random = true;
	put("a", RECORDING);
	expect_refused("a", true, -EIO, "Input/output error");
	err = (struct err_text){{0}};
	assert_int_equal(file_name_try(in_folder("b"), false, ANY_OWNER, &err), -EIO);
	expect_text(place("b"), "Input/output error");
	assert_int_equal(files(), 1);
}

/* The last number is 999999. */
static void no_more_numbers(void **state)
{
	(void)state;
	put("a", "");
	expect_opened("a", false, "a-2");
	numbers.next = 999999;
	expect_opened("a", false, "a-999999");
	expect_refused("a", false, -EEXIST, "File exists");
	assert_int_equal(files(), 3);
	assert_int_equal(unlink(place("a-999999")), 0);
	put("a-999999", "");
	numbers.next = 999999;
	expect_refused("a", false, -EEXIST, "File exists");
}

/* A path that has no room for a number, though each of its parts has. */
static void no_room_for_numbers(void **state)
{
	size_t folder = strlen(temporary_folder);

	(void)state;
	put("a", "");
	memcpy(path, temporary_folder, folder);
	memset(path + folder, '/', sizeof(path) - folder);
	path[sizeof(path) - 2] = 'a';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(file_name_open(path, false, &numbers, &number, &err), -ENAMETOOLONG);
	assert_int_equal(files(), 1);
}

/* The longest folder's name that there may be, and the next one. */
static void long_folders(void **state)
{
	char name[FILE_NAME_MAX + 8];
	size_t folder = strlen(temporary_folder);

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		memcpy(name, temporary_folder, folder);
		memset(name + folder, '/', sizeof(name) - folder);
		memcpy(name + FILE_NAME_MAX - 1 + more, "a", 2);
		assert_int_equal(file_name_try(name, false, ANY_OWNER, &err),
				 more ? -ENAMETOOLONG : 0);
	}
	assert_int_equal(files(), 0);
}

static void long_names(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	expect_refused(name, true, -ENAMETOOLONG, "File name too long");
	err = (struct err_text){{0}};
	assert_int_equal(file_name_try(in_folder(name), false, ANY_OWNER, &err), -ENAMETOOLONG);
	expect_text(path, "File name too long");
}

/* A disk that has no room, or only for a part of what is tried. */
static void disk_is_full(void **state)
{
	struct rlimit whole, little;
	int r[2];

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
	little = (struct rlimit){.rlim_cur = 4095, .rlim_max = whole.rlim_max};
	in_folder("a");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
		r[i] = file_name_try(path, false, ANY_OWNER, &err);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
		expect_text(path, i ? "File too large" : "No space left on device");
		little.rlim_cur = 0;
	}
	assert_int_equal(r[0], -ENOSPC);
	assert_int_equal(r[1], -EFBIG);
	assert_int_equal(files(), 0);
	little.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	r[0] = file_name_try(path, false, ANY_OWNER, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
	assert_int_equal(r[0], 0);
}

/* Whether the file can be given away is tried, too, if it is to be. */
static void owners(void **state)
{
	(void)state;
	in_folder("a");
	assert_int_equal(file_name_try(path, false, ANY_OWNER, &err), 0);
	assert_int_equal(other.owners, 0);
	assert_int_equal(file_name_try(path, false, 12345, &err), 0);
	assert_int_equal(other.owners, 1);
	assert_int_equal(other.owner, 12345);
	other.owner_error = EPERM;
	assert_int_equal(file_name_try(path, false, 12345, &err), -EPERM);
	assert_string_equal(err.text,
			    "can't give recordings to user 12345: Operation not permitted");
	err = (struct err_text){{0}};
	other.owner_error = EINVAL;
	assert_int_equal(file_name_try(path, false, 12345, &err), -EINVAL);
	expect_text(path, "Invalid argument");
	assert_int_equal(files(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(taken_at_once),
		TEST(removed_at_once),
		TEST(former_is_removed),
		TEST(former_is_replaced_again_and_again),
		TEST(former_is_taken),
		TEST(no_locks),
		TEST(no_renaming),
		TEST(names_beside),
		TEST(no_random_numbers),
		TEST(no_more_numbers),
		TEST(no_room_for_numbers),
		TEST(long_folders),
		TEST(long_names),
		TEST(disk_is_full),
		TEST(owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
