/*
 * prctl and syscall with all the words that they may have. Behind libheapcast.so words_behind.so is their next definition, which checks
 * that they come as they were given, and from here: no frame lies between, so that a call which returns twice finds its stack.
 *
 * Alone, or where nobody checks: what libc's do, among it calls that return twice, errno, and six words of a mapping.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/targets/target.h"

#define CHECKED 1000001L /* no system call has this number */

#ifdef SYS_mmap2 /* whose offset counts pages */
#define MAP	   SYS_mmap2
#define OFFSET(at) ((at) / 4096)
#else
#define MAP	   SYS_mmap
#define OFFSET(at) (at)
#endif

extern long words_checked __attribute__((weak)); /* how often */

static int failed;

static void expect(const char *what, long expected, long got)
{
	if (expected == got)
		return;
	dprintf(2, "%s: expected %ld, got %ld\n", what, expected, got);
	failed = 1;
}

static void checked(void)
{
	errno = 77;
	expect("syscall", 107, syscall(CHECKED, 11L, 12L, 13L, 14L, 15L, 16L, 17L));
	expect("its errno", 77, errno);
	expect("prctl", 106, prctl((int)CHECKED, 11L, 12L, 13L, 14L));
	expect("its errno", 77, errno);
	expect("calls that were checked", 2, words_checked);
}

static void errors(void)
{
	errno = 0;
	expect("close", -1, syscall(SYS_close, -1));
	expect("its errno", EBADF, errno);
	errno = 77;
	expect("getpid", getpid(), syscall(SYS_getpid));
	expect("its errno", 77, errno);
	expect("prctl of nothing", -1, prctl(-1, 0, 0, 0, 0));
	expect("its errno", EINVAL, errno);
}

static void names(void)
{
	char name[16] = "";

	expect("PR_SET_NAME", 0, prctl(PR_SET_NAME, "by prctl"));
	expect("PR_GET_NAME", 0, syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0));
	expect("the name", 0, strcmp(name, "by prctl"));
	expect("PR_SET_NAME by syscall", 0, syscall(SYS_prctl, PR_SET_NAME, "by syscall", 0, 0, 0));
	expect("PR_GET_NAME", 0, prctl(PR_GET_NAME, name));
	expect("the name", 0, strcmp(name, "by syscall"));
}

/* The last word says where in the file. */
static void six_words(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/heapcast-words.XXXXXX", *map;
	int fd = mkstemp(path);

	unlink(path);
	if (fd < 0 || ftruncate(fd, 3 * page) || pwrite(fd, "here", 4, 2 * page) != 4)
		exit(77);
	map = (char *)syscall(MAP, NULL, page, PROT_READ, MAP_PRIVATE, fd, OFFSET(2 * page));
	expect("mmap", 0, map == MAP_FAILED || memcmp(map, "here", 4));
	close(fd);
}

static void returns_twice(void)
{
	int status = -1;
	long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!child)
		syscall(SYS_exit_group, 7);
	expect("waitpid", child, waitpid((pid_t)child, &status, 0));
	expect("the child's exit status", 7, WEXITSTATUS(status));
}

int main(void)
{
	if (&words_checked) {
		checked();
	} else {
		errors();
		names();
		six_words();
		returns_twice();
	}
	if (!failed)
		say("done", 1);
	return failed;
}
