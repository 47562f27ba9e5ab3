/* Whole buffers into a pipe: in many pieces, through signals, and what cannot be written. */
#include "base/write.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES 300000 /* more than a pipe holds */

static uint8_t data[BYTES], got[BYTES + 1];

static void fill(void)
{
	for (unsigned i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 24); /* no period that a pipe has */
}

static size_t read_all(int fd)
{
	size_t length = 0;
	ssize_t n;

	while ((n = read(fd, got + length, sizeof(got) - length)) > 0)
		length += (size_t)n;
	return length;
}

static void nothing(int signal)
{
	(void)signal;
}

static void to_the_last_byte(void **state)
{
	struct sigaction action = {.sa_handler = nothing}, before;
	int fds[2], status;
	pid_t writer;

	(void)state;
	fill();
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	writer = fork();
	if (!writer) {
		close(fds[0]);
		_exit(write_all(fds[1], data, BYTES) == 0 ? 0 : 1);
	}
	close(fds[1]);
	for (int i = 0; i < 50; i++) { /* while it waits for room, before and behind some bytes */
		usleep(1000);
		kill(writer, SIGUSR1);
		if (i == 25)
			assert_true(read(fds[0], got, 1) == 1 && got[0] == data[0]);
	}
	assert_int_equal(read_all(fds[0]), BYTES - 1);
	assert_memory_equal(got, data + 1, BYTES - 1);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	close(fds[0]);
	sigaction(SIGUSR1, &before, NULL);
}

/* What was written until the error is the beginning. */
static void until_an_error(void **state)
{
	int fds[2], end;
	size_t length;

	(void)state;
	fill();
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(write_all(fds[1], data, 1), 0);
	assert_int_equal(write_all(fds[1], data + 1, BYTES - 1), -EAGAIN);
	close(fds[1]);
	length = read_all(fds[0]);
	assert_in_range(length, 2, BYTES - 1);
	assert_memory_equal(got, data, length);
	close(fds[0]);
	assert_int_equal(write_all(-1, data, 1), -EBADF);
	assert_int_equal(write_all(-1, data, 0), 0);
	end = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (end >= 0) {
		assert_int_equal(write_all(end, data, 1), -ENOSPC);
		close(end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_the_last_byte),
		cmocka_unit_test(until_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
