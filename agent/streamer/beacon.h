#pragma once
/* The datagram by which collectors find the agent: once a second, to the broadcast address of each interface. */
#include <stdint.h>
#include <uv.h>

struct beacon {
	uv_timer_t timer;
	int fd; /* -1: closed */
	char interface[32]; /* empty: all that can broadcast */
	const uint8_t *agent_id;
	uint16_t port;
	uint64_t sequence;
	uint32_t (*live)(void *context); /* how many streams there are */
	void *context;
};

int beacon_open(struct beacon *beacon, uv_loop_t *loop, const char *interface, const uint8_t *agent_id, uint16_t port,
		uint32_t (*live)(void *context), void *context);
/* Sends one now: the set of streams has changed. */
void beacon_send(struct beacon *beacon);
void beacon_close(struct beacon *beacon);
/* The IPv4 address of an interface, host byte order. 0; -ENODEV: there is no such interface, or it has none. */
int beacon_interface_address(const char *interface, uint32_t *ret_address);
