#pragma once
/*
 * How collectors find the agent: a datagram once a second to the broadcast address of each
 * interface and to the group of IPv6, and one at once to whoever asks by a probe. With a key both
 * are authenticated, and only who has the key is answered.
 *
 * Nothing that arrives makes it work without a bound: so many datagrams a second are read, fewer
 * answered (probe.h).
 */
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "agent/net/probe.h"
#include "proto/discovery.h"
#include "proto/discovery_net.h"
#include "proto/discovery_proof.h"

#define BEACON_SOCKET_BUFFER 2304 /* the kernel takes twice: half a dozen datagrams */
/* all receive, two send */
#define BEACON_MEMORY (2 * BEACON_SOCKET_BUFFER * (DISCOVERY_SOCKETS + 2))

/* Keys by which collectors find the agent: a beacon for each. Without one, everybody does, unless
 * there are to be only such. */
struct beacon_keys {
	const struct secret *secret;
	size_t count;
	bool only;
};

struct beacon {
	uv_timer_t timer;
	uv_poll_t poll[DISCOVERY_SOCKETS];
	struct discovery_net net;
	bool open;
	uint32_t read; /* datagrams in this second */
	bool deaf;     /* they were too many: until it is over */
	struct probe_limit limit;
	const struct beacon_keys *keys;
	const uint8_t *agent_id;
	uint16_t port;
	uint64_t sequence;
	uint32_t (*live)(void *context); /* how many streams there are */
	void *context;
};

/* `interface` NULL: all that can. `keys`, which may change, and `agent_id` live as long. 0 or a
 * negative errno with a sentence. */
int beacon_open(struct beacon *beacon, uv_loop_t *loop, const char *interface,
		const struct beacon_keys *keys, const uint8_t *agent_id, uint16_t port,
		uint32_t (*live)(void *context), void *context, struct err_text *err);
/* Sends one now: the set of streams has changed. */
void beacon_send(struct beacon *beacon);
void beacon_close(struct beacon *beacon);
