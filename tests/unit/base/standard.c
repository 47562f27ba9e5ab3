/* Programs that were started without standard input, output or error. */
#include "base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static ino_t file_at(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* In a child, with the descriptors of `closed` (a bit each) closed. Returns 0 if all is well, or
 * what is not. */
static int child(unsigned closed)
{
	ino_t before[3];
	char byte = 0;
	int next;

	for (int fd = 0; fd < 3; fd++) {
		before[fd] = file_at(fd);
		if (closed & 1u << fd)
			close(fd);
	}
	standard_reserve();
	for (int fd = 0; fd < 3; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags < 0)
			return 10 + fd;
		if (!(closed & 1u << fd)) { /* left as it was */
			if (file_at(fd) != before[fd] || flags & FD_CLOEXEC)
				return 20 + fd;
			continue;
		}
		if (!(flags & FD_CLOEXEC))
			return 30 + fd;
		if ((fd ? write(fd, &byte, 1) : read(fd, &byte, 1)) != -1 || errno != EBADF)
			return 40 + fd;
	}
	next = dup(0);
	return next > 2 ? 0 : 50;
}

static void numbers_are_taken(void **state)
{
	(void)state;
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			skip(); /* this program was started so */
	for (unsigned closed = 0; closed < 8; closed++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(child(closed));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
