#pragma once
/*
 * Orders: start, stop, another mode, a snapshot, a mark; from collectors (replies.h) and from
 * people on this host (control_socket.h).
 *
 *   order --> mark in the open batch, with the time and who wanted it
 *         --> the ring's control line --> batch closed at once
 *
 * It has taken effect once order_give returns: each thread of the program looks at the control line
 * at its next event, and one that has none has nothing to record. A stream whose batch has no room
 * for the mark refuses, so that no change goes without one. Main loop only; what it takes of a
 * stream it takes under the stream's lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_TEXT_MAX 1024 /* bytes of a mark's text */
#define ORDER_BY_MAX   128  /* who gave it, with the NUL */

struct stream;

/* Whose orders are obeyed, beside those of people on this host (control_socket.h): of no collector;
 * of those on this host, and of others those that change nothing (a snapshot, a mark); of all. */
enum order_policy { ORDERS_NO, ORDERS_LOCAL, ORDERS_YES };
#define ORDER_POLICIES 3
/* As options have it. */
static inline const char *order_policy_name(enum order_policy policy)
{
	static const char *const names[ORDER_POLICIES] = {
		[ORDERS_NO] = "no", [ORDERS_LOCAL] = "local", [ORDERS_YES] = "yes"};

	return names[policy];
}
/* `local`: it comes from this host. */
bool order_is_allowed(enum order_policy policy, bool local, int action);

struct order {
	int action;	/* enum Action */
	int mode;	/* enum Mode; ACTION_MODE */
	uint64_t value; /* sample interval, 0: as before; number of the snapshot, 0: the next */
	const uint8_t *text; /* of a mark: anything */
	size_t text_length;
	const char *by;
};

struct order_result {
	int status;	  /* enum ReplyStatus */
	const char *text; /* why not, or what to know besides; static, never NULL */
	uint32_t streams; /* in how many it took effect */
	uint64_t time_ns; /* stream time */
	int mode;	  /* enum Mode, from then on */
	uint64_t sample_interval;
	uint64_t snapshot;
};

/* Carries it out in a stream. */
struct order_result order_give(struct stream *stream, const struct order *order);
/* In all of these that live; the result is that of the last one that took it, else of the last that
 * did not. */
struct order_result order_give_all(struct stream *const *streams, uint32_t count,
				   const struct order *order);

/*
 * A limit on how many orders are taken: a bucket of `most` that fills again at `each_second`.
 */
struct order_limit {
	uint64_t full_ns; /* CLOCK_MONOTONIC when the bucket will be full */
};
#define ORDER_LIMIT_MOST 64
#define ORDER_LIMIT_EACH 16
/* Takes one out; false: it is empty. */
bool order_limit_take(struct order_limit *limit, uint64_t now_ns);
