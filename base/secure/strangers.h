#pragma once
/*
 * How much is given to connections that have not shown yet who they are: so many at a time, so many
 * of one address, so many new ones a second; and what is said of those that are refused. A flood
 * from one address costs that address its places, and nobody else.
 *
 *   listener --strangers_admit--> half-open --[proved]--> a link
 *                                    ^ strangers_gives_way: whose place a newcomer gets
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* connections that are looked at; the others wait with the kernel */
#define STRANGERS_A_SECOND     200
#define STRANGERS_SHAKE_MS     5000 /* for proving who one is */
#define STRANGERS_TOLD	       32   /* addresses that are remembered as told of */
#define STRANGERS_TOLD_MS      60000
#define STRANGERS_TOLD_AT_ONCE 8 /* so many lines in a row, then one in so long: */
#define STRANGERS_TELL_MS      10000

/* Where somebody is: IPv4 as ::ffff:a.b.c.d; of IPv6 the network (64 bits), as a host has all of
 * that. */
struct stranger_address {
	uint8_t bytes[16];
};
struct stranger_address stranger_address(const struct sockaddr *address);

/* A half-open connection. */
struct stranger {
	struct stranger_address from;
	uint64_t since_ms;
};

/* Who of `count` half-open ones has to go, so that there is a place for a newcomer from `from`,
 * when there are `places`, and `each` for an address: the oldest of the address that has most, or
 * of its own. -1: there is room. */
int strangers_gives_way(const struct stranger *strangers, size_t count, size_t places, size_t each,
			const struct stranger_address *from);

struct strangers {
	uint64_t filled_ms, told_ms;
	unsigned tokens, lines;
	struct stranger told[STRANGERS_TOLD];
};

/* May one more be accepted now? */
bool strangers_admit(struct strangers *strangers, uint64_t now_ms);
/* Is what happened to somebody from there worth a line in the log? Once a minute an address, and
 * not too many of all. */
bool strangers_tell(struct strangers *strangers, const struct stranger_address *from,
		    uint64_t now_ms);
