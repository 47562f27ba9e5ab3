#pragma once
/*
 * Carries out orders: start, stop, change the mode, take a snapshot, set a mark. Orders come from
 * collectors (replies.h) and from people on this host (control_socket.h).
 *
 *   order --> mark in the open batch, with the time and the origin of the order
 *         --> the ring's control line --> batch closed at once
 *
 * The order has taken effect when order_give returns: each thread of the program reads the control
 * line at its next event, and a thread without events has nothing to record. A stream refuses the
 * order if its batch has no room for the mark, so every change has its mark. Only the main loop
 * calls this. It accesses a stream's state under the stream's lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_TEXT_MAX 1024 /* bytes of a mark's text */
#define ORDER_BY_MAX   128  /* origin of an order, with the NUL */

struct stream;

/* The collectors whose orders are obeyed. ORDERS_NO: none. ORDERS_LOCAL: those on this host;
 * collectors on other hosts may only give orders that change nothing (a snapshot, a mark).
 * ORDERS_YES: all. Orders of people on this host (control_socket.h) are always obeyed. */
enum order_policy { ORDERS_NO, ORDERS_LOCAL, ORDERS_YES };
#define ORDER_POLICIES 3
/* Returns the policy's name on the command line. */
static inline const char *order_policy_name(enum order_policy policy)
{
	static const char *const names[ORDER_POLICIES] = {
		[ORDERS_NO] = "no", [ORDERS_LOCAL] = "local", [ORDERS_YES] = "yes"};

	return names[policy];
}
/* Returns true if the policy permits the action. `local`: the order comes from this host. */
bool order_is_allowed(enum order_policy policy, bool local, int action);

struct order {
	int action;	/* enum Action */
	int mode;	/* enum Mode; for ACTION_MODE */
	uint64_t value; /* sample interval in bytes, 0: unchanged; or number of the snapshot, 0: the
			 * next */
	const uint8_t *text; /* text of a mark; arbitrary bytes */
	size_t text_length;
	const char *by;
};

struct order_result {
	int status;	  /* enum ReplyStatus */
	const char *text; /* why it was refused, or a remark; static, never NULL */
	uint32_t streams; /* number of streams in which it took effect */
	uint64_t time_ns; /* stream time */
	int mode;	  /* enum Mode, after the order */
	uint64_t sample_interval;
	uint64_t snapshot;
};

/* Carries out the order in a stream. */
struct order_result order_give(struct stream *stream, const struct order *order);
/* Carries out the order in all live streams among these. Returns the result of the last stream that
 * accepted it, or else of the last one that refused it. */
struct order_result order_give_all(struct stream *const *streams, uint32_t count,
				   const struct order *order);

/*
 * A rate limit on orders: a bucket of ORDER_LIMIT_MOST orders that refills at ORDER_LIMIT_EACH per
 * second.
 */
struct order_limit {
	uint64_t full_ns; /* CLOCK_MONOTONIC when the bucket will be full */
};
#define ORDER_LIMIT_MOST 64
#define ORDER_LIMIT_EACH 16
/* Takes one order from the bucket. Returns false if the bucket is empty. */
bool order_limit_take(struct order_limit *limit, uint64_t now_ns);
