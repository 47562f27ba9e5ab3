/* Finds an agent, says hello, maps the ring it answers with; see agent_link.h. */
#include "agent/preload/agent_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/preload/env.h"
#include "agent/preload/spawn.h"
#include "agent/preload/sys.h"
#include "arch.h"

#include "agent/preload/poison.h"

#define ANSWER_S	1
#define PATIENCE_S	10 /* for an answer that was announced: RING_WAIT */
#define START_MS	2000
#define START_PIECE_MS	5
#define LEFT_MS		500 /* for the agent that serves in place of ours */
#define SYSTEM_SOCKET	"/run/heapcast/agent.sock"
#define USER_SOCKET	"/heapcast/agent.sock" /* below $XDG_RUNTIME_DIR */
#define SELF_SOCKET	"@heapcast-" /* and the user's number: agents that were started by a shim */
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
	/* An agent that is stopped accepts nobody: with a full queue connecting would wait for it. */
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

/* The name of an abstract socket is anybody's to take: who holds it must be this user, or root. */
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

static bool socket_is(int fd, int option, int value)
{
	int got = -1;
	socklen_t length = sizeof(got);

	return sys_call(SYS_getsockopt, fd, SOL_SOCKET, option, &got, &length) >= 0 && got == value;
}

/* The descriptor that `agent run` left for us, named as "NUMBER:INODE"; -ENOENT: none. The variable
 * is handed on to every child, the descriptor is not: the number may be anything by now, and
 * nothing is written to a socket that has another inode. */
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

/* The user's own daemon, else the host's, if it lets this user connect. */
static int daemon_socket(void)
{
	const char *folder = env_get("XDG_RUNTIME_DIR");
	char name[SOCKET_NAME_MAX];
	int fd = -ENOENT;

	if (folder && sys_call(SYS_geteuid) && name_joined(name, folder, USER_SOCKET))
		fd = connect_to(name);
	return fd < 0 ? connect_to(SYSTEM_SOCKET) : fd;
}

static void self_name(char *to)
{
	unsigned long uid = (unsigned long)sys_call(SYS_geteuid);
	char digits[12];
	size_t at = sizeof(digits);

	digits[--at] = 0;
	do
		digits[--at] = (char)('0' + uid % 10);
	while (uid /= 10);
	name_joined(to, SELF_SOCKET, digits + at);
}

/* Until the agent answers, is over, or has had its time. */
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
		fd = connect_trusted(name); /* after the look: it may have ended just now */
		now = sys_monotonic_ns();
	}
	spawn_done(waiter);
	return fd;
}

/* One that was started by another process of this user, or by us now. Whoever binds the name first
 * serves all. */
static int started_agent(bool may_start)
{
	char name[SOCKET_NAME_MAX];
	long waiter;
	int fd;

	self_name(name);
	fd = connect_trusted(name);
	if (fd >= 0 || !may_start)
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
		return connect_to(given);
	fd = daemon_socket();
	return fd >= 0 ? fd : started_agent(may_start);
}

/* The handshake. */

static void put_mode(struct ring_hello *hello)
{
	const char *mode = env_get("HEAPCAST_MODE");

	if (!mode)
		return;
	if (!strcmp(mode, "full")) {
		hello->mode = RING_FULL + 1;
	} else if (!strcmp(mode, "off")) {
		hello->mode = RING_OFF + 1;
	} else if (!strcmp(mode, "sample")) {
		hello->mode = RING_SAMPLE + 1; /* the interval is the agent's */
	} else if (!strncmp(mode, "sample=", 7)) {
		hello->sample_interval = env_bytes(mode + 7);
		hello->mode = hello->sample_interval ? RING_SAMPLE + 1 : 0;
	}
}

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
	long sent;

	put_mode(&hello);
	if (parent) {
		hello.flags = RING_HELLO_FORKED | (parent->unready ? RING_HELLO_UNREADY : 0);
		memcpy(hello.parent_stream, parent->stream, sizeof(hello.parent_stream));
		hello.parent_event = parent->events;
	}
	do
		sent = sys_call(SYS_sendto, fd, &hello, sizeof(hello), MSG_NOSIGNAL, NULL, 0);
	while (sent == -EINTR);
	return sent == sizeof(hello) ? 0 : sent < 0 ? (int)sent : -EPROTO;
}

static int wait_answer(int fd, long limit_s)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	struct {
		long seconds;
		long nanoseconds;
	} left = {
		.seconds =
			limit_s}; /* the system call itself takes off what has gone by, signals or not: ppoll(2) */
	long ready;

	do
		ready = sys_call(SYS_ppoll, &wanted, 1, &left, NULL, 0);
	while (ready == -EINTR);
	return ready > 0 ? 0 : ready < 0 ? (int)ready : -ETIMEDOUT;
}

/* The answer, and the descriptor that came with it; -1 in ret_memory if none did. */
static int hear_answer(int fd, long limit_s, struct ring_answer *answer, struct agent_terms *terms,
		       int *ret_memory)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part[2] = {
		{.iov_base = answer, .iov_len = sizeof(*answer)},
		{.iov_base = terms->entry, .iov_len = RING_ENTRIES_MAX * sizeof(*terms->entry)}};
	struct msghdr message = {.msg_iov = part,
				 .msg_iovlen = terms->entry ? 2 : 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head;
	long got = wait_answer(fd, limit_s);

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
	if (answer->magic == __builtin_bswap32(RING_MAGIC)) /* sent before it knew who asks */
		answer->kind = __builtin_bswap32(answer->kind);
	terms->entries = (uint32_t)((unsigned long)got / sizeof(*terms->entry)); /* > the answer */
	if (got < (long)sizeof(*answer) || answer->magic != RING_MAGIC ||
	    answer->version != RING_VERSION)
		return -EPROTO;
	return answer->kind == RING_ACCEPTED ? 0 : -ECONNREFUSED;
}

/* Is every slice inside of the ring? The agent is trusted, but it may be of another version, or
 * confused. */
static bool ring_sound(const struct ring_header *ring, uint64_t size)
{
	const struct ring_slice *slices =
		(const struct ring_slice *)((uintptr_t)ring + (uintptr_t)ring->slices_offset);

	if (ring->magic != RING_MAGIC || ring->version != RING_VERSION || ring->size != size ||
	    ring->slices_offset % 8 || ring->slices_offset > size ||
	    ring->slice_count > (size - ring->slices_offset) / sizeof(*slices) ||
	    ring->modules_offset % 8 || ring->modules_size < 4096 ||
	    (ring->modules_size & (ring->modules_size - 1)) || ring->modules_offset > size ||
	    ring->modules_size > size - ring->modules_offset)
		return false;
	for (uint32_t i = 0; i < ring->slice_count; i++) {
		uint64_t words = slices[i].words, offset = slices[i].data_offset;

		if (words < RING_MIN_WORDS || (words & (words - 1)) || words > size / 8 ||
		    offset % 64 || offset > size || words * 8 > size - offset)
			return false;
	}
	return true;
}

static int map_ring(int memory, uint64_t size, struct ring_header **ret_ring)
{
	const long wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	struct ring_header *ring;

	if (size < RING_HEADER_SIZE || size > SIZE_MAX / 2 ||
	    sys_call(SYS_lseek, memory, 0, SEEK_END) != (long)size ||
	    (sys_call(SYS_fcntl, memory, F_GET_SEALS) & wanted) != wanted)
		return -EPROTO;
	ring = sys_map(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, memory);
	if (!ring)
		return -ENOMEM;
	if (!ring_sound(ring, size)) {
		sys_call(SYS_munmap, ring, size);
		return -EPROTO;
	}
	*ret_ring = ring;
	return 0;
}

int agent_link(const struct agent_parent *parent, struct agent_terms *ret_terms)
{
	struct ring_answer answer = {0};
	int fd = find_agent(!parent), memory = -1, error;

	if (fd < 0)
		return fd;
	error = say_hello(fd, parent, ret_terms->entry != NULL);
	for (long limit_s = ANSWER_S; !error; limit_s = PATIENCE_S) {
		error = hear_answer(fd, limit_s, &answer, ret_terms, &memory);
		if (answer.kind != RING_WAIT || limit_s != ANSWER_S)
			break;
		error = 0;
	}
	if (!error)
		error = memory < 0 ? -EPROTO : map_ring(memory, answer.size, &ret_terms->ring);
	ret_terms->follow = !error && answer.flags & RING_ANSWER_FOLLOW;
	if (memory >= 0)
		sys_call(SYS_close, memory);
	sys_call(SYS_close, fd);
	return error;
}
