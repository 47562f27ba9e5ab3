#pragma once
/*
 * Carries out the orders that a collector sends on its link, as they arrive, within a rate limit.
 * Each reply waits here until the link has room for it, between two frames. Only the main loop
 * calls this.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/stream/batch.h"
#include "agent/stream/orders.h"
#include "heapcast.pb-c.h"
#include "proto/discovery.h"

#define REPLIES_MAX ORDER_LIMIT_MOST

struct replies {
	struct reply {
		uint64_t id;
		struct order_result result;
	} reply[REPLIES_MAX];
	uint32_t first, count; /* ring buffer */
	struct order_limit limit;
	char by[ORDER_BY_MAX]; /* name of the collector, for users */
	bool local;	       /* the collector is on this host */
};

/* Sets the collector's name from the host name that it reports and its address. */
void replies_name(struct replies *replies, const char *host, const char *address);
/* Carries out an order if it is allowed. The order is untrusted. Returns true if a stream may have
 * changed. */
bool replies_order(struct replies *replies, struct stream *const *streams, uint32_t count,
		   enum order_policy policy, const Heapcast__Control *order);
/* Packs waiting replies as a frame in `out`. Returns its length, 0 if no reply waits, or a negative
 * errno, which is a bug. */
long replies_pack(struct replies *replies, struct packer *packer, uint8_t *out, size_t size);
