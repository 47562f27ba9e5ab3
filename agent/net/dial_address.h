#pragma once
/*
 * The addresses among which an agent chooses its collector: their order, and what is known of each.
 *
 *   off   full
 *    0     -    may be dialled in its turn
 *   > 0    no   did not answer: no reason to leave another collector for it
 *   > 0    yes  answered, and took nothing (its disk is full): dialled after all that are not full
 *
 * `off` counts ticks of the dialer (dialer.h), which is the only one to use this.
 */
#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define DIAL_ADDRESSES 16  /* of all names together; more are left out */
#define DIAL_NAME      128 /* bytes of "HOST PORT", numeric */
/* Ticks of a second. The time of one that takes nothing is doubled each time. */
#define DIAL_OFF      60
#define DIAL_OFF_MOST 960

struct dial_address {
	struct sockaddr_storage at;
	uint64_t weight;
	uint32_t item; /* the offset of its name in the list */
	unsigned off;
	unsigned wait; /* what `off` was when it was put off last */
	bool full;
};

/* Writes host and port as numbers; port: NULL: the host only. */
bool dial_address_numeric(const struct sockaddr_storage *at, char host[NI_MAXHOST],
			  char port[NI_MAXSERV]);
/* Returns the length of "HOST PORT", 0 if there is none. */
size_t dial_address_text(const struct sockaddr_storage *at, char out[DIAL_NAME]);
/* Puts the addresses into this agent's order, and leaves out those that come twice. Returns how
 * many are left. */
unsigned dial_addresses_order(uint64_t agent, struct dial_address *addresses, unsigned count);
/* What is known of an address outlasts the look-up of its name. Both are in order. */
void dial_addresses_keep(struct dial_address *fresh, unsigned count,
			 const struct dial_address *before, unsigned count_before);
/* It answers, and takes nothing. */
void dial_address_put_off(struct dial_address *address);
/* It does not answer. */
void dial_address_unanswered(struct dial_address *address);
/* It takes what it gets. */
void dial_address_put_on(struct dial_address *address);
void dial_addresses_tick(struct dial_address *addresses, unsigned count);
/* Returns the full one whose time is over first; `count` if none is full. */
unsigned dial_addresses_least(const struct dial_address *addresses, unsigned count);
