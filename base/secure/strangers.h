#pragma once
/*
 * Limits for connections that have not authenticated yet: on their number, on their number per
 * address, on new ones per second, and on log lines about refused ones. A flood from one address
 * takes only that address's places.
 *
 *   listener --strangers_admit--> half-open --[authenticated]--> a link
 *                                    ^ strangers_gives_way: whose place a newcomer gets
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* connections accepted per second; the others wait in the kernel */
#define STRANGERS_A_SECOND     200
#define STRANGERS_SHAKE_MS     5000 /* time to authenticate */
#define STRANGERS_TOLD	       32   /* addresses whose last log line is remembered */
#define STRANGERS_TOLD_MS      60000
#define STRANGERS_TOLD_AT_ONCE 8 /* log lines in a row, then one per interval: */
#define STRANGERS_TELL_MS      10000

/*
 * The origin of a connection: IPv4 as ::ffff:a.b.c.d, IPv6 as the 64-bit network, because one host
 * has a whole network.
 */
struct stranger_address {
	uint8_t bytes[16];
};
struct stranger_address stranger_address(const struct sockaddr *address);

/* A half-open connection. */
struct stranger {
	struct stranger_address from;
	uint64_t since_ms;
};

/*
 * Chooses which of `count` half-open connections has to close to make room for a newcomer from
 * `from`. The limits are `places` in total and `each` per address. The victim is the oldest one of
 * the newcomer's address if that is at its limit, else the oldest one of the address with the most.
 * Returns its index, or -1 if there is room.
 */
int strangers_gives_way(const struct stranger *strangers, size_t count, size_t places, size_t each,
			const struct stranger_address *from);

struct strangers {
	uint64_t filled_ms, told_ms;
	unsigned tokens, lines;
	struct stranger told[STRANGERS_TOLD];
};

/* Tells whether one more connection may be accepted now. */
bool strangers_admit(struct strangers *strangers, uint64_t now_ms);
/*
 * Tells whether an event of this address deserves a log line: one per minute and address, and a
 * bounded number in total.
 */
bool strangers_tell(struct strangers *strangers, const struct stranger_address *from,
		    uint64_t now_ms);
