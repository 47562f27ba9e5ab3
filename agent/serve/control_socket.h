#pragma once
/*
 * Serves the agent's control socket: a Unix socket where people on this host query the agent and
 * give orders (`agent ctl`). Each connection carries one question of one line. The answer has
 * several lines; the last is "ok" or "no WHY" (order_line.h). The socket lies next to the one where
 * programs ask, as NAME.ctl.
 *
 * Access control uses the peer's credentials (SO_PEERCRED): the agent's own user and root may do
 * everything, other users only what concerns their own programs. The file mode lets other users
 * connect only if their programs may be recorded.
 *
 * The number of connections is fixed, and the length of a question is bounded. An answer is sent at
 * once or not at all. Only the main loop calls this. Nothing is allocated.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "agent/serve/order_line.h"

#define CONTROL_CLIENTS	   4
#define CONTROL_NAME_MAX   112
#define CONTROL_SUFFIX	   ".ctl"
#define CONTROL_ANSWER_MAX (32u << 10)

struct control_socket;
struct arena;

struct control_client {
	struct control_socket *control_socket;
	uv_poll_t poll;
	int fd; /* -1: the place is free */
	bool closing;
	uint64_t since_ns;
	size_t length;
	char line[ORDER_LINE_MAX];
};

struct control_socket {
	uv_loop_t *loop;
	uv_poll_t poll;
	int fd; /* the listening socket; -1: not open */
	bool full;
	char name[CONTROL_NAME_MAX];
	ino_t inode; /* inode of the socket file that we created; 0: none */
	struct control_client client[CONTROL_CLIENTS];
	struct order_limit limit;
	/* Writes the answer to `out`, of CONTROL_ANSWER_MAX bytes, and returns its length. `all`:
	 * the peer may see and order all programs. */
	size_t (*answer)(void *context, uid_t uid, bool all, const struct order_question *question,
			 char *out);
	void *context;
	char *out;
};

/* Initializes a closed control socket, on which every call has no effect. */
void control_socket_init(struct control_socket *control_socket);
/* Listens at `name`, and replaces a socket file that a dead agent left there. `answer` writes to
 * `out`, of CONTROL_ANSWER_MAX bytes. Returns 0; -EADDRINUSE if another process serves at `name`;
 * or another negative errno. */
int control_socket_open(struct control_socket *control_socket, uv_loop_t *loop, const char *name,
			bool others,
			size_t (*answer)(void *context, uid_t uid, bool all,
					 const struct order_question *question, char *out),
			void *context, char *out);
/* Changes whether other users may connect from now on. */
void control_socket_admit(const struct control_socket *control_socket, bool others);
/* Closes connections that have not asked in time. Call this regularly. */
void control_socket_tick(struct control_socket *control_socket, uint64_t now_ns);
void control_socket_close(struct control_socket *control_socket);
