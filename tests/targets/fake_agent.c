/* What the shim starts in the test of starting: writes how it was started to the file named in
 * HEAPCAST_TEST_REPORT, waits for one hello on the socket that it was told of, and refuses it: after HEAPCAST_TEST_WAIT
 * milliseconds, which it announces, if that is set. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "proto/ring.h"
#include "proto/ring_handshake.h"
#include "tests/targets/target.h"

static int report;

static void tell_number(const char *name, long value)
{
	dprintf(report, "%s %ld\n", name, value);
}

static int is_null(int fd)
{
	struct stat here, there;

	return !fstat(fd, &here) && !stat("/dev/null", &there) && here.st_rdev == there.st_rdev;
}

static void hear_hello(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ring_answer answer = {
		.magic = RING_MAGIC, .version = RING_VERSION, .kind = RING_REFUSED};
	const char *wait_ms = getenv("HEAPCAST_TEST_WAIT");
	struct ring_hello hello;
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fd;
	struct pollfd wait_for = {.fd = listener, .events = POLLIN};
	size_t length = strlen(name);

	if (length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, name, length);
	address.sun_path[0] = 0;
	if (bind(listener, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) ||
	    listen(listener, 1) || poll(&wait_for, 1, 2000) != 1)
		return;
	fd = accept(listener, NULL, NULL);
	if (recv(fd, &hello, sizeof(hello), 0) != sizeof(hello))
		return;
	tell_number("hello", hello.pid);
	if (wait_ms) {
		answer.kind = RING_WAIT;
		send(fd, &answer, sizeof(answer), 0);
		usleep(1000 * (unsigned)atoi(wait_ms));
		answer.kind = RING_REFUSED;
	}
	tell_number("told", send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer));
}

int main(int argc, char **argv)
{
	const char *path = getenv("HEAPCAST_TEST_REPORT");
	struct sigaction action;
	sigset_t mask;
	long beyond = 0;

	for (int fd = 3; fd < 256; fd++)
		beyond += fcntl(fd, F_GETFD) >= 0;
	report = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (report < 0 || argc != 8)
		return 2;
	for (int i = 1; i < argc; i++)
		dprintf(report, "%s ", argv[i]);
	dprintf(report, "\n");
	tell_number("parent", getppid());
	tell_number("session", getsid(0));
	tell_number("beyond", beyond);
	tell_number("null", is_null(0) && is_null(1) && is_null(2));
	tell_number("preload", getenv("LD_PRELOAD") != NULL);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaction(SIGPIPE, NULL, &action);
	tell_number("blocked", sigismember(&mask, SIGUSR1));
	tell_number("ignored", action.sa_handler == SIG_IGN);
	hear_hello(argv[5]);
	return 0;
}
