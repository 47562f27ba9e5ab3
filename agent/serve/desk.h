#pragma once
/*
 * The agent's desk: a Unix socket where people on this host ask how it is, and order (`agent ctl`).
 * One question a connection, one line; the answer is some lines, of which the last is "ok" or "no
 * WHY" (order_line.h). It lies beside the socket where programs ask: NAME.ctl.
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

#define DESK_CLIENTS	4
#define DESK_NAME_MAX	112
#define DESK_SUFFIX	".ctl"
#define DESK_ANSWER_MAX (32u << 10)

struct desk;
struct arena;

struct desk_client {
	struct desk *desk;
	uv_poll_t poll;
	int fd; /* -1: the place is free */
	bool closing;
	uint64_t since_ns;
	size_t length;
	char line[ORDER_LINE_MAX];
};

struct desk {
	uv_loop_t *loop;
	uv_poll_t poll;
	int fd; /* listening; -1: not */
	bool full;
	char name[DESK_NAME_MAX];
	ino_t inode; /* of the file that we have made; 0: none */
	struct desk_client client[DESK_CLIENTS];
	struct order_limit limit;
	/* Writes the answer to `out`, of DESK_ANSWER_MAX bytes; its length. `all`: the peer may
	 * order all programs. */
	size_t (*answer)(void *context, uid_t uid, bool all, const struct order_question *question,
			 char *out);
	void *context;
	char *out;
};

/* Not open yet: of no effect. */
void desk_init(struct desk *desk);
/* Serves at `name`; what an agent that is gone has left there is replaced. The answer is made in
 * `out`, of DESK_ANSWER_MAX bytes. 0; -EADDRINUSE: somebody serves there; other negative errno. */
int desk_open(struct desk *desk, uv_loop_t *loop, const char *name, bool others,
	      size_t (*answer)(void *context, uid_t uid, bool all,
			       const struct order_question *question, char *out),
	      void *context, char *out);
/* Other users may connect from now on, or not any more. */
void desk_admit(const struct desk *desk, bool others);
/* To be called now and then: who connects and does not ask gives the place up. */
void desk_tick(struct desk *desk, uint64_t now_ns);
void desk_close(struct desk *desk);
