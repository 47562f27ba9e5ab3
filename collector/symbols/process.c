/* Starts, asks and stops the worker. process.h describes the interface. */
#include "collector/symbols/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/spawn.h"
#include "collector/symbols/protocol.h"

#include "base/ban.h"

static int process_start(struct process *process, struct err_text *err)
{
	char name[] = "heapcast-symbols", command[] = WORKER_COMMAND;
	char *arguments[] = {name, command, NULL};
	cleanup(cleanup_free) char **environment = NULL;
	int pair[2], error;

	if (process->pid)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_set(err, -errno, "no socket for the symbol worker: %s", strerror(errno));
	environment = spawn_environment();
	error = !environment
			? -ENOMEM
			: spawn(&(struct spawn){.program = process->program,
						.arguments = arguments,
						.environment = environment,
						.input = pair[1],
						.output = pair[1],
						.error = SPAWN_NOTHING,
						.own_group =
							true}, /* Ctrl-C reaches the collector,
								* which stops its worker in order */
				&process->pid);
	close(pair[1]);
	if (error) {
		close(pair[0]);
		process->pid = 0;
		return err_set(err, error, "can't start the symbol worker %s: %s", process->program,
			       strerror(-error));
	}
	process->socket = pair[0];
	return 0;
}

void process_stop(struct process *process)
{
	if (!process->pid)
		return;
	close(process->socket);
	kill(process->pid, SIGKILL);
	while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
	process->socket = -1;
}

/* ---- I/O with a deadline ---- */

static int64_t process_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int process_wait_for(int fd, short events, int64_t deadline_ms)
{
	struct pollfd p = {.fd = fd, .events = events};
	int64_t left;
	int n;

	do {
		left = deadline_ms - process_now_ms();
		if (left <= 0)
			return -ETIME;
		n = poll(&p, 1, left > 1000 ? 1000 : (int)left);
	} while (n == 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

static int send_all(int fd, const uint8_t *data, size_t length, int64_t deadline_ms)
{
	while (length) {
		int error = process_wait_for(fd, POLLOUT, deadline_ms);
		ssize_t n;

		if (error)
			return error;
		n = send(fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return -EIO;
		data += n;
		length -= (size_t)n;
	}
	return 0;
}

static int receive_all(int fd, uint8_t *to, size_t length, int64_t deadline_ms)
{
	while (length) {
		int error = process_wait_for(fd, POLLIN, deadline_ms);
		ssize_t n;

		if (error)
			return error;
		n = recv(fd, to, length, MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return -EIO;
		to += n;
		length -= (size_t)n;
	}
	return 0;
}

static int receive_answer(int fd, const struct request *request, int64_t deadline_ms,
			  struct answer *ret_answer)
{
	cleanup(cleanup_free) uint8_t *data = NULL;
	uint8_t head[4];
	struct reader r = reader_of(head, sizeof(head));
	size_t length;
	int error = receive_all(fd, head, sizeof(head), deadline_ms);

	if (error)
		return error;
	length = reader_u32le(&r);
	if (length > MESSAGE_MAX)
		return -EIO;
	data = malloc(length + 1);
	if (!data)
		return -ENOMEM;
	error = receive_all(fd, data, length, deadline_ms);
	if (!error)
		error = answer_decode(data, length, request, ret_answer);
	return error == -EBADMSG ? -EIO : error;
}

int process_ask(struct process *process, const struct request *request, struct answer *ret_answer,
		struct err_text *err)
{
	int64_t deadline_ms = process_now_ms() + (int64_t)request->seconds * 1000 + 1000;
	struct buf out = {0};
	int error = process_start(process, err);

	if (error)
		return error;
	request_encode(&out, request);
	error = buf_error(&out);
	if (!error)
		error = send_all(process->socket, out.data, out.length, deadline_ms);
	if (!error)
		error = receive_answer(process->socket, request, deadline_ms, ret_answer);
	buf_done(&out);
	if (!error)
		return 0;
	process_stop(process);
	if (error == -ETIME)
		return err_set(err, error, "reading it took more than %llu s",
			       (unsigned long long)request->seconds);
	return err_set(err, error, "the reader failed on it");
}
