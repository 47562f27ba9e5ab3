#pragma once
/*
 * Announces the agent to collectors: one datagram a second to the broadcast address of each
 * interface and to the IPv6 multicast group, and one at once in answer to a collector's probe. With
 * a key, both are authenticated, and only collectors with the key get an answer.
 *
 * The work for incoming datagrams is bounded: the agent reads a limited number per second, and
 * answers fewer (probe.h).
 */
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "agent/net/probe.h"
#include "proto/discovery.h"
#include "proto/discovery_net.h"
#include "proto/discovery_proof.h"

#define BEACON_SOCKET_BUFFER 2304 /* the kernel takes twice as much: half a dozen datagrams */
/* All sockets receive; two sockets send. */
#define BEACON_MEMORY (2 * BEACON_SOCKET_BUFFER * (DISCOVERY_SOCKETS + 2))

/* The keys by which collectors find the agent; each has its own beacon. Without a key, all
 * collectors find the agent. If `only` is set, no collector finds it until a key exists. */
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
	uint32_t read; /* datagrams read in this second */
	bool deaf;     /* the limit is reached: the agent reads nothing until the second is over */
	struct probe_limit limit;
	const struct beacon_keys *keys;
	const uint8_t *agent_id;
	uint16_t port;
	uint64_t sequence;
	uint32_t (*live)(void *context); /* returns the number of streams */
	void *context;
};

/* Starts the beacon. `interface` NULL: all usable interfaces. `keys`, which may change, and
 * `agent_id` must live as long as the beacon. Returns 0, or a negative errno with the reason. */
int beacon_open(struct beacon *beacon, uv_loop_t *loop, const char *interface,
		const struct beacon_keys *keys, const uint8_t *agent_id, uint16_t port,
		uint32_t (*live)(void *context), void *context, struct err_text *err);
/* Sends a beacon now, because the set of streams has changed. */
void beacon_send(struct beacon *beacon);
void beacon_close(struct beacon *beacon);
