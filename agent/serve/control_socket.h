#pragma once
/*
 * The agent's control socket: a Unix socket where people on this host ask how it is, and order
 * (`agent ctl`). One question a connection, one line; the answer is some lines, of which the last
 * is "ok" or "no WHY" (order_line.h). It lies beside the socket where programs ask: NAME.ctl.
 *
 * Who may: as the kernel says (SO_PEERCRED), the agent's own user and root everything, others what
 * concerns programs of their own. The file's mode lets others connect only if their programs may be
 * recorded.
 *
 * Places are few, a question is bounded, an answer is sent at once or not at all. Main loop only;
 * nothing is allocated.
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
	int fd; /* listening; -1: not */
	bool full;
	char name[CONTROL_NAME_MAX];
	ino_t inode; /* of the file that we have made; 0: none */
	struct control_client client[CONTROL_CLIENTS];
	struct order_limit limit;
	/* Writes the answer to `out`, of CONTROL_ANSWER_MAX bytes; its length. `all`: the peer may
	 * order all programs. */
	size_t (*answer)(void *context, uid_t uid, bool all, const struct order_question *question,
			 char *out);
	void *context;
	char *out;
};

/* Not open yet: of no effect. */
void control_socket_init(struct control_socket *control_socket);
/* Serves at `name`; what an agent that is gone has left there is replaced. The answer is made in
 * `out`, of CONTROL_ANSWER_MAX bytes. 0; -EADDRINUSE: somebody serves there; other negative errno.
 */
int control_socket_open(struct control_socket *control_socket, uv_loop_t *loop, const char *name,
			bool others,
			size_t (*answer)(void *context, uid_t uid, bool all,
					 const struct order_question *question, char *out),
			void *context, char *out);
/* Other users may connect from now on, or not any more. */
void control_socket_admit(const struct control_socket *control_socket, bool others);
/* To be called now and then: who connects and does not ask gives the place up. */
void control_socket_tick(struct control_socket *control_socket, uint64_t now_ns);
void control_socket_close(struct control_socket *control_socket);
