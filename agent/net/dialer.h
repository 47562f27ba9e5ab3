#pragma once
/*
 * Dials collectors: the one that --collector names, or one of several. Several are a list (with
 * commas), or a name with several addresses, or both. All addresses stand in one order, which is
 * the agent's own: by rendezvous hashing, the address with the highest hash of agent and address
 * comes first (D. Thaler, C. Ravishankar, 1998). So agents spread evenly over the collectors, each
 * agent finds its own again, and when one collector is gone only its agents move.
 *
 *   look all names up --> dial the first --> no answer: dial the next ... the last --> from the top
 *                            | it says hello                              ^
 *                            v                                            |
 *                          held --- lost: dialled each second, for DIAL_HELD ticks --> not back,
 *                            |                                                 or there is no room
 *                            | it is not the first, and the agent has nothing to send
 *                            v
 *                          each DIAL_HOME ticks: is a better one there? then hang up, from the top
 *
 * A collector that is there and takes nothing counts as away, too: it says that its disk is full
 * (dialer_leave), or acknowledges nothing for DIAL_MUTE ticks. It is put off: dialled after all
 * others, and not left for another one that is off as well. The second time that lasts twice as
 * long. So an agent whose collectors are all full stays where it is, as with one.
 *
 * An agent moves while it records only if it must: moving splits the stream in two (session_parts.c
 * says what happens then). So it goes home when no stream is under way. Owner: the main loop.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "agent/net/dial_address.h"
#include "agent/net/link.h"
#include "agent/net/pending_peers.h"

#define DIAL_LIST 1024
/* Ticks of a second. A collector that is restarted is back sooner than DIAL_HELD. */
#define DIAL_HELD      10 /* a collector that was connected is waited for */
#define DIAL_HELLO     10 /* one that took the connection says hello within this time */
#define DIAL_MUTE      10 /* one that was sent something acknowledges it within this time */
#define DIAL_HOME      30 /* between two looks for a better one; doubled after each that failed */
#define DIAL_HOME_MOST 960

struct dialer {
	uv_loop_t *loop;
	uv_timer_t timer;
	uv_poll_t poll;
	uv_getaddrinfo_t resolve;
	char list[DIAL_LIST]; /* HOST[:PORT],...; empty: none */
	uint16_t port_usual;  /* of an item without a port */
	uint64_t agent;	      /* identifies the agent, for its order; set after dialer_open */
	char host[256];	      /* the one that is looked up or dialled now */
	char port[8];
	uint32_t item, item_next; /* its offset in the list, and that of the one behind it */
	int fd;			  /* connecting; -1: not */
	uint32_t waited;	  /* timer ticks since it started to connect */
	unsigned tries;		  /* number of attempts, failed look-ups included */
	/* The addresses of all names, as of the last look-up, the best first. While names are
	 * looked up these are those of the look-up before. */
	struct dial_address address[DIAL_ADDRESSES], fresh[DIAL_ADDRESSES];
	unsigned addresses, fresh_count;
	unsigned next;	  /* of the addresses: to be dialled next; behind the last: look up anew */
	unsigned current; /* that was dialled last */
	unsigned held;	  /* ticks for which a collector that was connected is still waited for */
	unsigned left; /* that was waited for in vain: not to be dialled first; else behind the last
			*/
	unsigned silent; /* ticks without a hello */
	unsigned mute;	 /* ticks without an acknowledgement, of a collector that owes one */
	uint32_t acks;	 /* link->acks, and bytes that had arrived, a tick ago */
	uint64_t arrived;
	bool resorted; /* none but full ones are left, and one of them was dialled */
	bool up;       /* the collector has said hello */
	bool resolving;
	bool outdated; /* the list has changed: ignore the result of the running look-up */
	bool open;
	bool said;	   /* it is logged that no collector answers */
	bool idle;	   /* the agent has nothing to send: dialer_rest */
	uv_poll_t home;	   /* looks whether a better collector is there */
	int home_fd;	   /* -1: it does not look */
	unsigned home_due; /* ticks until it looks again */
	unsigned home_wait, home_at;
	char preferred[DIAL_NAME]; /* to be dialled first, once; empty: the best */
	struct link *link;	   /* the link for this connection */
	struct pending_peers *pending_peers;
	size_t socket_buffer;
};

/* Starts the dialer. `list` names collectors (DIAL_LIST bytes at most, endpoint_collectors has
 * checked it); "": none yet. `port` is that of an item without one. Returns 0 or a negative
 * errno. */
int dialer_open(struct dialer *dialer, uv_loop_t *loop, struct pending_peers *pending_peers,
		struct link *link, size_t socket_buffer, const char *list, uint16_t port);
/* Closes the connection and dials these collectors from now on; "": none. Returns 0 or a negative
 * errno. */
int dialer_turn(struct dialer *dialer, const char *list, uint16_t port);
/* Says whether the agent has anything to send. If not, it may change the collector. */
void dialer_rest(struct dialer *dialer, bool idle);
/* Writes the address of the collector that has said hello, and returns true, if there are several
 * to choose from. */
bool dialer_at(const struct dialer *dialer, char out[DIAL_NAME]);
/* Begins with this address, as dialer_at gave it, if it is one of the collectors'. Call it after
 * dialer_open. */
void dialer_prefer(struct dialer *dialer, const char *address);
/* The collector takes nothing. Returns true if another one is dialled; false if none is better:
 * then the link stays. */
bool dialer_leave(struct dialer *dialer);
/* Ends the wait for a collector that was connected: what is recorded has no room any more. */
void dialer_hurry(struct dialer *dialer);
/* Returns true if there is more than one address to choose from. */
bool dialer_chooses(const struct dialer *dialer);
/* Returns true if this is the address of one of the collectors, whatever its port. */
bool dialer_knows(const struct dialer *dialer, const struct sockaddr_storage *from);
void dialer_close(struct dialer *dialer);

/* Sets the options of a link's socket: small buffers, keep-alive, no delay. */
void link_socket(int fd, size_t buffer);
