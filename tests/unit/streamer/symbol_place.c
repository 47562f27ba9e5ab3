/*
 * Which symbol files may leave the host: by build id, by who may read them, whatever stands at the
 * path that a program has announced. The program itself is the ELF file that is looked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/net/elf_file.h"
#include "agent/net/symbol_place.h"
#include "heapcast.pb-c.h"
#include "tests/unit/temporary.h"

#define REFUSED(why) HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_##why

static struct elf_file own;
static uid_t user; /* of the program that has announced it */

static void copy_to(const char *path, mode_t mode)
{
	char bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)n), n);
	assert_int_equal(fchmod(to, mode), 0);
	close(from);
	close(to);
}

static int try_path(const char *path, enum symbol_policy policy, uint8_t flip)
{
	struct symbol_place place = {.uid = user, .build_id_length = own.build_id_length};
	struct symbol_opened opened;
	int r;

	memcpy(place.build_id, own.build_id, own.build_id_length);
	place.build_id[0] ^= flip;
	snprintf(place.path, sizeof(place.path), "%s", path);
	r = symbol_place_open(&place, policy, &opened);
	if (!r) {
		assert_int_equal(symbol_identity(opened.fd), opened.identity);
		assert_int_not_equal(opened.identity, 0);
		close(opened.fd);
	}
	return r;
}

static char *in_folder(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", temporary_folder, name);
	return path;
}

static void by_mode(void **state)
{
	gid_t group[65], kept[65], before[65];
	int count = getgroups(65, before);

	(void)state;
	for (unsigned i = 0; i < 65; i++)
		group[i] = getegid() + i;
	user = 12345;
	chmod(temporary_folder, 0755);
	copy_to(in_folder("app"), 0755);
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 0), 0);
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_ALL, 0), 0);
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 1), REFUSED(GONE));
	chmod(in_folder("app"), 0750); /* of another user than the program's */
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 0), REFUSED(PRIVATE));
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_ALL, 0), REFUSED(PRIVATE));
	chmod(in_folder("app"), 0755);
	chmod(temporary_folder, 0700); /* nobody else gets as far as the file */
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 0), REFUSED(PRIVATE));
	chmod(temporary_folder, 0755);
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 0), 0);
	chmod(temporary_folder, 0700);
	chmod(temporary_folder, 0750); /* the agent's groups count for nothing */
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 0), REFUSED(PRIVATE));
	for (int groups = 0; geteuid() == 0 && groups <= 65; groups += groups == 1 ? 63 : 1) {
		assert_int_equal(setgroups((size_t)groups, group), 0);
		assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 0), REFUSED(PRIVATE));
		assert_int_equal(getgroups(0, NULL), groups); /* as they were */
		if (groups)
			assert_int_equal(getgroups(65, kept), groups);
		if (groups)
			assert_memory_equal(kept, group, (size_t)groups * sizeof(*group));
		if (groups >= 64)
			continue;
		chmod(temporary_folder, 0755);
		assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 0), 0);
		chmod(temporary_folder, 0750);
	}
	if (geteuid() == 0)
		assert_int_equal(setgroups(count > 0 ? (size_t)count : 0, before), 0);
	chmod(temporary_folder, 0700);
	user = 0; /* may read it, but not everybody else */
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_PUBLIC, 0), REFUSED(PRIVATE));
	assert_int_equal(try_path(in_folder("app"), SYMBOLS_ALL, 0), 0);
	assert_int_equal(geteuid(), getuid());
	assert_int_equal(access(temporary_folder, W_OK), 0); /* and we are ourselves again */
}

/* An agent that can't become another user looks itself at who may read what. */
static void by_mode_alone(void **state)
{
	enum { OWN = 54321, OTHER = 54322 };
	static const struct {
		mode_t file, folder;
		uid_t user;
		enum symbol_policy policy;
		int refusal;
	} cases[] = {
		{0644, 0755, OTHER, SYMBOLS_PUBLIC, 0},
		{0644, 0711, OTHER, SYMBOLS_PUBLIC, 0},
		{0640, 0755, OTHER, SYMBOLS_PUBLIC, REFUSED(PRIVATE)},
		{0644, 0750, OTHER, SYMBOLS_PUBLIC, REFUSED(PRIVATE)},
		{0644, 0700, OWN, SYMBOLS_PUBLIC, REFUSED(PRIVATE)},
		{0640, 0755, OWN, SYMBOLS_PUBLIC, REFUSED(PRIVATE)},
		{0600, 0700, OWN, SYMBOLS_ALL, 0},
		{0640, 0700, 0, SYMBOLS_ALL, 0},
		{0640, 0755, OTHER, SYMBOLS_ALL, REFUSED(PRIVATE)},
		{0644, 0700, OTHER, SYMBOLS_ALL, 0},
		{0200, 0755, OWN, SYMBOLS_ALL, REFUSED(PRIVATE)},
	};
	bool root = geteuid() == 0;
	uid_t own_user = root ? OWN : geteuid();
	int status;
	pid_t child;

	(void)state;
	copy_to(in_folder("app"), 0644);
	if (root) {
		assert_int_equal(chown(temporary_folder, OWN, OWN), 0);
		assert_int_equal(chown(in_folder("app"), OWN, OWN), 0);
	}
	child = fork();
	if (!child) {
		if (root &&
		    (setgroups(0, NULL) || setresgid(OWN, OWN, OWN) || setresuid(OWN, OWN, OWN)))
			_exit(100);
		for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			user = cases[i].user == OWN ? own_user : cases[i].user;
			if (chmod(in_folder("app"), cases[i].file) ||
			    chmod(temporary_folder, cases[i].folder) ||
			    try_path(in_folder("app"), cases[i].policy, 0) != cases[i].refusal)
				_exit(1 + (int)i);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void by_kind(void **state)
{
	int fd;

	(void)state;
	chmod(temporary_folder, 0755);
	assert_int_equal(try_path(in_folder("nothing"), SYMBOLS_PUBLIC, 0), REFUSED(GONE));
	assert_int_equal(try_path(temporary_folder, SYMBOLS_PUBLIC, 0), REFUSED(GONE));
	assert_int_equal(try_path("relative/path", SYMBOLS_PUBLIC, 0), REFUSED(GONE));
	assert_int_equal(try_path("", SYMBOLS_PUBLIC, 0), REFUSED(GONE));
	assert_int_equal(try_path("/dev/zero", SYMBOLS_PUBLIC, 0), REFUSED(GONE));
	assert_int_equal(mkfifo(in_folder("pipe"), 0644), 0);
	assert_int_equal(chmod(in_folder("pipe"), 0644), 0);
	assert_int_equal(try_path(in_folder("pipe"), SYMBOLS_PUBLIC, 0), REFUSED(GONE));
	assert_int_equal(symlink("/proc/self/exe", in_folder("magic")), 0);
	assert_int_not_equal(try_path(in_folder("magic"), SYMBOLS_PUBLIC, 0), 0);
	assert_int_equal(try_path("/etc/passwd", SYMBOLS_PUBLIC, 0), REFUSED(GONE));
	copy_to(in_folder("large"), 0644);
	fd = open(in_folder("large"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)SYMBOL_FILE_MAX + 1), 0);
	close(fd);
	assert_int_equal(try_path(in_folder("large"), SYMBOLS_PUBLIC, 0), REFUSED(TOO_LARGE));
	copy_to(in_folder("app"), 0644);
	assert_int_equal(symlink("app", in_folder("link")), 0);
	assert_int_equal(try_path(in_folder("link"), SYMBOLS_PUBLIC, 0), 0);
}

/* Whatever a byte is changed to, wherever a file ends: it is read in bounds, and in bounded
 * time. */
static void damaged(void **state)
{
	uint8_t head[4096];
	struct elf_file file;
	struct stat st;
	int fd;

	(void)state;
	copy_to(in_folder("app"), 0644);
	fd = open(in_folder("app"), O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
	for (unsigned i = 0; i < 4000; i++) {
		size_t at = (size_t)random() % (i % 2 ? 64 : 1024);
		uint8_t byte = (uint8_t)random();

		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		elf_file_read(fd, &file);
		assert_true(file.build_id_length <= MODULE_BUILD_ID_MAX);
		assert_int_equal(pwrite(fd, head + at, 1, (off_t)at), 1);
	}
	assert_int_equal(elf_file_read(fd, &file), 0);
	assert_memory_equal(file.build_id, own.build_id, own.build_id_length);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t length = st.st_size; length > 0; length = length * 9 / 10) {
		assert_int_equal(ftruncate(fd, length), 0);
		elf_file_read(fd, &file);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(by_mode),
		TEST_IN_FOLDER(by_mode_alone),
		TEST_IN_FOLDER(by_kind),
		TEST_IN_FOLDER(damaged),
	};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || elf_file_read(fd, &own) || !own.build_id_length || !own.names) {
		printf("SKIPPED: this program has no build id\n");
		return 77;
	}
	close(fd);
	srandom(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
