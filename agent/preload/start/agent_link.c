/* Finds an agent, sends the hello, and maps the ring from the answer; see agent_link.h. */
#include "agent/preload/start/agent_link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/preload/system/env.h"
#include "agent/preload/record/reach.h"
#include "agent/preload/start/say.h"
#include "agent/preload/start/settings.h"
#include "agent/preload/start/spawn.h"
#include "agent/preload/system/sys.h"
#include "arch.h"

#include "agent/preload/poison.h"

#define ANSWER_MS	1000
#define ANSWER_AGAIN_MS 50
#define PATIENCE_MS	10000 /* for an answer that RING_WAIT has announced */
#define ANSWERS_MAX	3     /* RING_WAIT, RING_SAY, and the answer itself */
#define START_MS	2000
#define START_PIECE_MS	5
#define LEFT_MS		500 /* for the agent that serves instead of the one started here */
#define SYSTEM_SOCKET	"/run/heapcast/agent.sock"
#define USER_SOCKET	"/heapcast/agent.sock" /* below $XDG_RUNTIME_DIR */
/* Followed by the user's id: the agent of a user without such a directory. */
#define ANY_SOCKET "@heapcast-"
/* Number of names for agents that this library starts, in case another user holds some of them. */
#define SELF_NAMES	4
#define SOCKET_NAME_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

/* Sockets. */

static int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	long fd, error;

	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, name, length);
	length += offsetof(struct sockaddr_un, sun_path);
	if (name[0] == '@')
		address.sun_path[0] = 0;
	else
		length++;
	/* The socket is non-blocking because a stopped agent accepts no connections: when its queue
	 * is full, connect would block. */
	fd = sys_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return (int)fd;
	error = sys_call(SYS_connect, fd, &address, length);
	if (error < 0) {
		sys_call(SYS_close, fd);
		return (int)error;
	}
	return (int)fd;
}

/* Any user can take an abstract name, or a name in a directory that others can write to. The peer
 * must therefore be this user or root. */
static bool peer_trusted(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (sys_call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return false;
	return peer.uid == 0 || peer.uid == (uid_t)sys_call(SYS_geteuid);
}

static int connect_trusted(const char *name)
{
	int fd = connect_to(name);

	if (fd >= 0 && !peer_trusted(fd)) {
		sys_call(SYS_close, fd);
		return -EPERM;
	}
	return fd;
}

/* Returns true if any user could have put a socket at this path; false if only the owner can write
 * to each directory on the path. */
static bool anybodys(const char *name)
{
	char folder[SOCKET_NAME_MAX];
	struct statx status;

	for (size_t i = 0; name[i] && i + 1 < sizeof(folder); i++) {
		folder[i] = name[i];
		folder[i + 1] = 0;
		if (name[i] == '/' &&
		    (sys_call(SYS_statx, AT_FDCWD, folder, 0, STATX_MODE, &status) < 0 ||
		     status.stx_mode & S_IWOTH))
			return true;
	}
	return name[0] != '/';
}

/* Connects to the socket that the user names. A user who names a socket in another user's directory
 * trusts that other user. */
static int connect_given(const char *name)
{
	int fd = connect_trusted(name);

	return fd == -EPERM && !anybodys(name) ? connect_to(name) : fd;
}

static bool socket_is(int fd, int option, int value)
{
	int got = -1;
	socklen_t length = sizeof(got);

	return sys_call(SYS_getsockopt, fd, SOL_SOCKET, option, &got, &length) >= 0 && got == value;
}

/* Returns the descriptor that `agent run` left, named as "NUMBER:INODE", or -ENOENT if there is
 * none. Every child inherits the variable but not the descriptor, so the number may be any other
 * file by now. Nothing is written to a socket with another inode. */
static int inherited_socket(void)
{
	const char *text = env_get("HEAPCAST_FD");
	uint64_t fd, inode, got;

	if (!text || !env_pair(text, &fd, &inode) || fd > INT32_MAX || sys_inode((int)fd, &got) ||
	    got != inode || !socket_is((int)fd, SO_DOMAIN, AF_UNIX) ||
	    !socket_is((int)fd, SO_TYPE, SOCK_SEQPACKET))
		return -ENOENT;
	return (int)fd;
}

/* Names. */

static bool name_joined(char *to, const char *first, const char *second)
{
	size_t a = strlen(first), b = strlen(second);

	if (a + b + 1 > SOCKET_NAME_MAX)
		return false;
	memcpy(to, first, a);
	memcpy(to + a, second, b + 1);
	return true;
}

/* Writes "@heapcast-UID". */
static void user_name(char *to)
{
	memcpy(to, ANY_SOCKET, sizeof(ANY_SOCKET));
	spawn_decimal(to + sizeof(ANY_SOCKET) - 1, (unsigned long)sys_call(SYS_geteuid));
}

/* Connects to the user's own daemon, or else to the host's if it lets this user connect. */
static int daemon_socket(void)
{
	const char *folder = env_get("XDG_RUNTIME_DIR");
	char name[SOCKET_NAME_MAX];
	int fd = -ENOENT;

	if (folder && sys_call(SYS_geteuid) && name_joined(name, folder, USER_SOCKET))
		fd = connect_trusted(name);
	if (fd < 0)
		fd = connect_trusted(SYSTEM_SOCKET);
	if (fd >= 0)
		return fd;
	user_name(name);
	return connect_trusted(name);
}

/* Writes "@heapcast-UID-SETTINGS", with "-NUMBER" from the second name on. */
static void self_name(char *to, unsigned number)
{
	size_t length;

	user_name(to);
	length = strlen(to);
	to[length] = '-';
	settings_digits(to + length + 1);
	if (!number)
		return;
	length = strlen(to);
	to[length] = '-';
	spawn_decimal(to + length + 1, number);
}

/* Waits until the agent answers, has ended (-ECHILD), or the timeout is over. */
static int wait_for_started(const char *name, long waiter)
{
	uint64_t now = sys_monotonic_ns(), end = now + START_MS * 1000000ull;
	enum spawn_state state = SPAWN_STARTING;
	int fd = -EAGAIN;

	while (fd < 0 && state != SPAWN_FAILED && now < end) {
		sys_sleep_ms(START_PIECE_MS);
		if (state == SPAWN_STARTING) {
			state = spawn_look(&waiter);
			if (state == SPAWN_LEFT)
				end = now + LEFT_MS * 1000000ull;
		}
		/* After the look: the agent may have ended just before it. */
		fd = connect_trusted(name);
		now = sys_monotonic_ns();
	}
	spawn_done(waiter);
	return fd < 0 && state != SPAWN_STARTING ? -ECHILD : fd;
}

/* Connects to an agent that another process of this user started with the same settings, or starts
 * one. The process that binds the name first serves all. If another user holds the name, the next
 * name is tried. */
static int started_agent(bool may_start)
{
	char name[SOCKET_NAME_MAX];
	int fd = -EPERM;
	long waiter;

	for (unsigned i = 0; fd == -EPERM && i < SELF_NAMES; i++) {
		self_name(name, i);
		fd = connect_trusted(name);
	}
	if (fd >= 0 || fd == -EPERM || !may_start)
		return fd;
	waiter = spawn_agent(name);
	return waiter > 0 ? wait_for_started(name, waiter) : (int)waiter;
}

static int find_agent(bool may_start)
{
	const char *given = env_get("HEAPCAST_SOCKET");
	int fd = inherited_socket();

	if (fd >= 0)
		return fd;
	if (given)
		return connect_given(given);
	fd = daemon_socket();
	return fd >= 0 ? fd : started_agent(may_start);
}

/* Returns true if the process should wait for an agent. If the user says where the agent is, the
 * program may have been started before the agent. */
static bool is_awaited(int error)
{
	return env_get("HEAPCAST_SOCKET") && (error == -ENOENT || error == -ECONNREFUSED);
}

/* Reports that there is no agent, if the user says where an agent is or what to record. */
static void say_none(int error)
{
	const char *socket = env_get("HEAPCAST_SOCKET"), *program = env_get("HEAPCAST_AGENT");
	const char *wanted = settings_wanted();

	if (socket && error == -EPERM)
		say("HEAPCAST_SOCKET: the agent at ", socket,
		    " is neither this user's nor root's, and anybody could have put it there: "
		    "this program is not recorded");
	else if (socket && error == -EACCES)
		say("HEAPCAST_SOCKET: this user may not ask at ", socket,
		    ": this program is not recorded");
	else if (is_awaited(error))
		say("HEAPCAST_SOCKET: no agent answers at ", socket,
		    ": this program is not recorded until one does");
	else if (socket && error != -EAGAIN)
		say("HEAPCAST_SOCKET: ", socket, " can't be asked: this program is not recorded");
	else if (program && error == -ENOENT)
		say("HEAPCAST_AGENT: ", program, " can't be run: this program is not recorded");
	else if (program && error == -ECHILD)
		say("HEAPCAST_AGENT: ", program,
		    " has ended without an answer: this program is not recorded");
	else if (wanted && error == -ENOENT)
		say("HEAPCAST_", wanted,
		    ": there is no agent beside libheapcast.so, and no heapcast-agent in PATH: "
		    "this program is not recorded");
	else if (wanted && error == -ECHILD)
		say("HEAPCAST_", wanted,
		    ": the agent has ended without an answer: this program is not recorded");
	else if (wanted && error == -ENOTSUP)
		say("HEAPCAST_", wanted,
		    ": process 1, and any that takes in orphans, starts no agent (use `agent "
		    "run`): this program is not recorded");
}

/* The handshake. */

static int say_hello(int fd, const struct agent_parent *parent, bool early)
{
	struct ring_hello hello = {
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.byte_order = 0x01020304,
		.pointer_bits = 8 * sizeof(void *),
		.pid = (uint32_t)sys_call(SYS_getpid),
		.flags = early ? RING_HELLO_EARLY : 0,
		.machine = ARCH_MACHINE,
		.page_shift = (uint16_t)__builtin_ctz((unsigned)getpagesize()),
	};
	struct iovec part[1 + SETTINGS_PARTS] = {{.iov_base = &hello, .iov_len = sizeof(hello)}};
	int settings = settings_list(part + 1);
	struct msghdr message = {.msg_iov = part};
	long sent;

	if (settings < 0)
		return settings;
	message.msg_iovlen = 1 + (size_t)settings;
	if (parent) {
		hello.flags = RING_HELLO_FORKED | (parent->unready ? RING_HELLO_UNREADY : 0);
		memcpy(hello.parent_stream, parent->stream, sizeof(hello.parent_stream));
		hello.parent_event = parent->events;
	}
	do
		sent = sys_call(SYS_sendmsg, fd, &message, MSG_NOSIGNAL);
	while (sent == -EINTR);
	return sent >= (long)sizeof(hello) ? 0 : sent < 0 ? (int)sent : -EPROTO;
}

static int wait_answer(int fd, long limit_ms)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	struct {
		long seconds;
		long nanoseconds;
	} left = {.seconds = limit_ms / 1000,
		  /* ppoll(2): the system call itself subtracts the time that has passed, even if a
		   * signal interrupts it. */
		  .nanoseconds = limit_ms % 1000 * 1000000};
	long ready;

	do
		ready = sys_call(SYS_ppoll, &wanted, 1, &left, NULL, 0);
	while (ready == -EINTR);
	return ready > 0 ? 0 : ready < 0 ? (int)ready : -ETIMEDOUT;
}

/* Makes the agent's text printable, because it goes to a terminal. */
static void clean(char *text, size_t length)
{
	text[length < RING_SAY_MAX ? length : RING_SAY_MAX] = 0;
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* Receives an answer and its descriptor. *ret_memory is -1 if the answer has none. */
static int hear_answer(int fd, long limit_ms, struct ring_answer *answer, struct agent_terms *terms,
		       int *ret_memory)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char text[RING_SAY_MAX + 1], *more = terms->entry ? (char *)terms->entry : text;
	struct iovec part[2] = {{.iov_base = answer, .iov_len = sizeof(*answer)},
				{.iov_base = more,
				 .iov_len = terms->entry ? RING_ENTRIES_MAX * sizeof(*terms->entry)
							 : RING_SAY_MAX}};
	struct msghdr message = {.msg_iov = part,
				 .msg_iovlen = 2,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head;
	long got = wait_answer(fd, limit_ms);

	*ret_memory = -1;
	if (got < 0)
		return (int)got;
	do
		got = sys_call(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
	while (got == -EINTR);
	if (got < 0)
		return (int)got;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_memory, CMSG_DATA(head), sizeof(int));
	if (answer->magic == RING_MAGIC_OTHER_ORDER)
		return -EPROTONOSUPPORT;
	if (got < (long)sizeof(*answer) || answer->magic != RING_MAGIC ||
	    answer->version != RING_VERSION)
		return -EPROTO;
	got -= (long)sizeof(*answer);
	if (answer->kind == RING_SAY) {
		clean(more, (size_t)got);
		say(more, NULL, NULL);
	}
	terms->entries = terms->entry ? (uint32_t)((unsigned long)got / sizeof(*terms->entry)) : 0;
	return answer->kind == RING_ACCEPTED || answer->kind == RING_COUNTED ? 0 : -ECONNREFUSED;
}

/* Receives messages up to the final answer. Each message gets a timeout of its own. */
static int hear_all(int fd, enum agent_ask ask, struct ring_answer *answer,
		    struct agent_terms *terms, int *ret_memory)
{
	long limit_ms = ask == AGENT_ASK_AGAIN ? ANSWER_AGAIN_MS : ANSWER_MS;
	int error;

	for (unsigned i = 0; i < ANSWERS_MAX; i++) {
		error = hear_answer(fd, limit_ms, answer, terms, ret_memory);
		if (error != -ECONNREFUSED ||
		    (answer->kind != RING_WAIT && answer->kind != RING_SAY))
			return error;
		if (answer->kind == RING_WAIT && ask == AGENT_ASK_FIRST)
			limit_ms = PATIENCE_MS;
	}
	return -EPROTO;
}

int agent_link(const struct agent_parent *parent, enum agent_ask ask, struct agent_terms *ret_terms)
{
	struct ring_answer answer = {0};
	int fd = find_agent(!parent && ask == AGENT_ASK_FIRST), memory = -1, error;

	if (fd < 0) {
		if (!parent && ask == AGENT_ASK_FIRST && !agent_silent_error(fd))
			say_none(fd);
		return is_awaited(fd) ? -EAGAIN : fd;
	}
	error = say_hello(fd, parent, ret_terms->entry != NULL);
	if (error == -E2BIG && !parent)
		say("the HEAPCAST_ variables take more than 4 KiB: this program is not recorded",
		    NULL, NULL);
	if (!error)
		error = hear_all(fd, ask, &answer, ret_terms, &memory);
	if (error == -EPROTONOSUPPORT && !parent)
		say("the agent has the other byte order: this program is not recorded; run an "
		    "agent that is built for its processor",
		    NULL, NULL);
	if (!error)
		error = memory < 0 ? -EPROTO : reach_map(memory, answer.size, &ret_terms->ring);
	ret_terms->follow = !error && answer.flags & RING_ANSWER_FOLLOW;
	if (memory >= 0)
		sys_call(SYS_close, memory);
	sys_call(SYS_close, fd);
	return error;
}
