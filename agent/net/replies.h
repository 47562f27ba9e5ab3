#pragma once
/*
 * Orders of a collector, at its link: taken as they come, within a limit, and what became of each
 * waits here until there is room for it on the link, between two frames. Main loop only.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/stream/batch.h"
#include "agent/serve/orders.h"
#include "heapcast.pb-c.h"
#include "proto/discovery.h"

#define REPLIES_MAX ORDER_LIMIT_MOST

struct replies {
	struct reply {
		uint64_t id;
		struct order_result result;
	} reply[REPLIES_MAX];
	uint32_t first, count; /* a circle */
	struct order_limit limit;
	char by[ORDER_BY_MAX]; /* the collector, for people */
	bool local;	       /* it is on this host */
};

/* Who is at the other end: as it says, and its address. */
void replies_name(struct replies *replies, const char *host, const char *address);
/* Carries an order out, which may hold anything, as far as it is allowed. True: something may have
 * changed in a stream. */
bool replies_order(struct replies *replies, struct stream *const *streams, uint32_t count,
		   enum order_policy policy, const Heapcast__Control *order);
/* Makes a frame in `out` of what waits. Its length; 0: nothing does; negative: a fault of ours. */
long replies_pack(struct replies *replies, struct packer *packer, uint8_t *out, size_t size);
