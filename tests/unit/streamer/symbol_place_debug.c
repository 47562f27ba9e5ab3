/*
 * Which of several files is opened as a module's: the one that was mapped, or its separate debug
 * file, which a build id or a debug link names, in a root folder of the program's own.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/net/symbol_place.h"
#include "heapcast.pb-c.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/streamer/elf_made.h"
#include "tests/unit/temporary.h"

#define REFUSED(why) HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_##why
#define DEBUG	     "/usr/lib/debug"
#define BY_ID	     DEBUG "/.build-id/ab/0c00000000000000000000000000000000000f.debug"
#define FILES	     4
#define OTHER	     8 /* with another build id */
#define LARGEST	     2048

static const uint8_t build_id[ELF_MADE_ID] = {0xab, 0x0c, [18] = 0, [19] = 0x0f};
static const char *const folders[] = {"/bin",
				      "/bin/.debug",
				      "/usr",
				      "/usr/lib",
				      DEBUG,
				      DEBUG "/.build-id",
				      DEBUG "/.build-id/ab",
				      DEBUG "/bin"};

static void make(const char *path, unsigned with, const char *link, size_t size, mode_t mode)
{
	uint8_t id[ELF_MADE_ID], bytes[LARGEST];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memcpy(id, build_id, sizeof(id));
	id[ELF_MADE_ID - 1] ^= (with & OTHER) != 0;
	elf_make(bytes, size, id, with & ~(unsigned)OTHER, link);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* A child whose root is the temporary folder. 0: not allowed here. */
static pid_t begin_rooted(void)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chroot(temporary_folder) &&
		    (unshare(CLONE_NEWUSER) || chroot(temporary_folder)))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(child, NULL, 0);
		child = 0;
	}
	close(ready[0]);
	return child;
}

static int open_place(pid_t pid, const char *path, const void *start, enum symbol_policy policy,
		      uint64_t *ret_size)
{
	struct symbol_place place = {.uid = geteuid(),
				     .pid = pid,
				     .start = (uintptr_t)start,
				     .build_id_length = ELF_MADE_ID};
	struct symbol_opened opened;
	int r;

	memcpy(place.build_id, build_id, ELF_MADE_ID);
	snprintf(place.path, sizeof(place.path), "%s", path);
	r = symbol_place_open(&place, policy, &opened);
	if (r)
		return r;
	*ret_size = opened.size;
	assert_int_equal(symbol_identity(opened.fd), opened.identity);
	close(opened.fd);
	return 0;
}

static const struct {
	struct {
		const char *path, *link;
		unsigned with;
		mode_t mode; /* 0: all may read it */
	} file[FILES];
	int found; /* file[found], or -1 */
	int refusal;
} cases[] = {
	{{{"/bin/app", NULL, ELF_MADE_SYMBOLS, 0}}, 0, 0},
	{{{"/bin/app", NULL, ELF_MADE_BARE, 0}}, -1, REFUSED(STRIPPED)},
	{{{"/bin/app", NULL, ELF_MADE_SYMBOLS | OTHER, 0}}, -1, REFUSED(GONE)},
	/* By build id: what has debug information is better. */
	{{{"/bin/app", NULL, ELF_MADE_BARE, 0}, {BY_ID, NULL, ELF_MADE_DEBUG_INFO, 0}}, 1, 0},
	{{{"/bin/app", NULL, ELF_MADE_SYMBOLS, 0}, {BY_ID, NULL, ELF_MADE_DEBUG_INFO, 0}}, 1, 0},
	{{{"/bin/app", NULL, ELF_MADE_SYMBOLS, 0}, {BY_ID, NULL, ELF_MADE_SYMBOLS, 0}}, 0, 0},
	{{{"/bin/app", NULL, ELF_MADE_BARE, 0}, {BY_ID, NULL, ELF_MADE_SYMBOLS, 0}}, 1, 0},
	{{{"/bin/app", NULL, ELF_MADE_DEBUG_INFO, 0}, {BY_ID, NULL, ELF_MADE_DEBUG_INFO, 0}}, 0, 0},
	{{{"/bin/app", NULL, ELF_MADE_SYMBOLS, 0}, {BY_ID, NULL, ELF_MADE_DEBUG_INFO | OTHER, 0}},
	 0,
	 0},
	{{{BY_ID, NULL, ELF_MADE_DEBUG_INFO, 0}}, 0, 0}, /* the file itself is gone */
	/* What is wrong with a debug file is not said. */
	{{{"/bin/app", NULL, ELF_MADE_BARE, 0}, {BY_ID, NULL, ELF_MADE_DEBUG_INFO, 0200}},
	 -1,
	 REFUSED(STRIPPED)},
	{{{BY_ID, NULL, ELF_MADE_DEBUG_INFO, 0200}}, -1, REFUSED(GONE)},
	/* By the debug link: beside the file, in .debug, in the folder of debug files. */
	{{{"/bin/app", "a.debug", ELF_MADE_SYMBOLS, 0},
	  {"/bin/a.debug", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 1,
	 0},
	{{{"/bin/app", "a.debug", ELF_MADE_BARE, 0},
	  {"/bin/.debug/a.debug", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 1,
	 0},
	{{{"/bin/app", "a.debug", ELF_MADE_SYMBOLS, 0},
	  {DEBUG "/bin/a.debug", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 1,
	 0},
	{{{"/bin/app", "a.debug", ELF_MADE_SYMBOLS, 0},
	  {BY_ID, NULL, ELF_MADE_DEBUG_INFO, 0},
	  {"/bin/a.debug", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 1,
	 0},
	{{{"/bin/app", "a.debug", ELF_MADE_DEBUG_INFO, 0},
	  {"/bin/a.debug", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 0,
	 0},
	{{{"/bin/app", "a.debug", ELF_MADE_SYMBOLS, 0},
	  {"/bin/a.debug", NULL, ELF_MADE_DEBUG_INFO | OTHER, 0},
	  {DEBUG "/bin/a.debug", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 2,
	 0},
	{{{"/bin/app", NULL, ELF_MADE_SYMBOLS, 0}, {"/bin/a.debug", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 0,
	 0},
	/* The first link counts, however short, also that of a debug file. */
	{{{"/bin/app", "d", ELF_MADE_SYMBOLS, 0},
	  {"/bin/d", "ee", ELF_MADE_SYMBOLS, 0},
	  {"/bin/.debug/ee", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 0,
	 0},
	{{{"/bin/app", "d", ELF_MADE_SYMBOLS, 0},
	  {"/bin/d", "ee", ELF_MADE_SYMBOLS, 0},
	  {"/bin/.debug/d", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 2,
	 0},
	{{{BY_ID, "d", ELF_MADE_SYMBOLS, 0}, {"/bin/.debug/d", NULL, ELF_MADE_DEBUG_INFO, 0}},
	 1,
	 0},
};

static void in_its_root(void **state)
{
	const char *inside;
	char path[256];
	pid_t child = begin_rooted();

	(void)state;
	if (!child)
		skip(); /* neither root nor user namespaces */
	assert_int_equal(chmod(temporary_folder, 0755), 0);
	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", temporary_folder, folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
		assert_int_equal(chmod(path, 0755), 0);
	}
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t size = 0;

		for (unsigned k = 0; k < FILES && (inside = cases[i].file[k].path); k++) {
			mode_t mode = cases[i].file[k].mode;

			snprintf(path, sizeof(path), "%s%s", temporary_folder, inside);
			make(path, cases[i].file[k].with, cases[i].file[k].link,
			     ELF_MADE_FEWEST + k, mode ? mode : 0644);
		}
		assert_int_equal(open_place(child, "/bin/app", NULL, SYMBOLS_PUBLIC, &size),
				 cases[i].refusal);
		assert_int_equal(size, cases[i].found < 0 ? 0 : ELF_MADE_FEWEST + cases[i].found);
		for (unsigned k = 0; k < FILES && (inside = cases[i].file[k].path); k++) {
			snprintf(path, sizeof(path), "%s%s", temporary_folder, inside);
			assert_int_equal(unlink(path), 0);
		}
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A file that was deleted or replaced is the one that is mapped, where all may leave the host. */
static void by_mapping(void **state)
{
	unsigned descriptors = descriptors_open();
	uint64_t size = 0;
	char path[128];
	void *mapped;
	int fd;

	(void)state;
	assert_int_equal(chmod(temporary_folder, 0755), 0);
	snprintf(path, sizeof(path), "%s/app", temporary_folder);
	make(path, ELF_MADE_DEBUG_INFO, NULL, ELF_MADE_FEWEST + 9, 0644);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	mapped = mmap(NULL, ELF_MADE_FEWEST, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(mapped != MAP_FAILED);
	close(fd);
	assert_int_equal(unlink(path), 0);
	if (open_place(getpid(), path, mapped, SYMBOLS_ALL, &size)) {
		munmap(mapped, ELF_MADE_FEWEST);
		skip(); /* the kernel shows the files of mappings to root only */
	}
	assert_int_equal(size, ELF_MADE_FEWEST + 9);
	assert_int_equal(open_place(getpid(), path, mapped, SYMBOLS_PUBLIC, &size), REFUSED(GONE));
	assert_int_equal(open_place(0, path, mapped, SYMBOLS_ALL, &size), REFUSED(GONE));
	assert_int_equal(open_place(getpid(), path, NULL, SYMBOLS_ALL, &size), REFUSED(GONE));
	make(path, ELF_MADE_DEBUG_INFO | OTHER, NULL, ELF_MADE_FEWEST, 0644);
	assert_int_equal(open_place(getpid(), path, mapped, SYMBOLS_ALL, &size), 0);
	assert_int_equal(size, ELF_MADE_FEWEST + 9);
	make(path, ELF_MADE_SYMBOLS, NULL, ELF_MADE_FEWEST + 3, 0644);
	assert_int_equal(open_place(getpid(), path, mapped, SYMBOLS_ALL, &size), 0);
	assert_int_equal(size, ELF_MADE_FEWEST + 3); /* what stands at the path comes first */
	munmap(mapped, ELF_MADE_FEWEST);
	assert_int_equal(descriptors_open(), descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(in_its_root),
		TEST_IN_FOLDER(by_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
