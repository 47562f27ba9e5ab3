#pragma once
/*
 * The sockets by which agents and collectors hear of each other; both ends have the same four.
 * Interfaces come, go and change their addresses: they are looked at anew whenever something is
 * sent.
 *
 *   *_ALL   at DISCOVERY_UDP_PORT, shared by all programs of the host: what is sent to the
 *           broadcast address of an interface or to the group arrives in each of them
 *   *_OWN   at a port of its own, from which everything is sent: so what is sent back to where a
 *           datagram came from arrives there and nowhere else
 */
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct err_text;

enum discovery_socket {
	DISCOVERY_FOUR_ALL,
	DISCOVERY_SIX_ALL,
	DISCOVERY_FOUR_OWN,
	DISCOVERY_SIX_OWN,
	DISCOVERY_SOCKETS
};

#define DISCOVERY_NETWORKS_MAX 16

struct discovery_network {
	uint32_t address, mask; /* host order */
};

struct discovery_net {
	int fd[DISCOVERY_SOCKETS];   /* -1: not open, as IPv6 where the host has none */
	char interface[IF_NAMESIZE]; /* empty: all */
	/* As of the last look, of the interface if one is given: */
	unsigned index; /* 0: it is not there */
	struct discovery_network network[DISCOVERY_NETWORKS_MAX];
	unsigned networks;
	uint64_t shape; /* sum of all interfaces and addresses */
};

/* Opens what can be opened; `buffer` bytes for what arrives and what leaves at each socket, 0: as
 * the kernel has it. 0; -ENODEV with a sentence: there is no such interface; another negative errno
 * with a sentence: it will hear nothing at the shared port, but can send, if `fd` of one of its own
 * is there. Closed by discovery_net_close in any case. */
int discovery_net_open(struct discovery_net *net, const char *interface, int buffer,
		       struct err_text *err);
void discovery_net_close(struct discovery_net *net);
/* From now on nothing but probes arrives: the kernel drops other agents' beacons (and floods of
 * them) before anybody wakes. Where it can't, they arrive as before. */
void discovery_net_only_probes(const struct discovery_net *net);
/* Looks at the interfaces, joins the group where that is new, and sends this to all of them (NULL:
 * nothing). True: interfaces or addresses are not what they were. */
bool discovery_net_send(struct discovery_net *net, const void *data, size_t length);
/* To one. */
void discovery_net_answer(const struct discovery_net *net, const struct sockaddr_storage *to,
			  const void *data, size_t length);
/* The next datagram of this socket. Its length; 0: one that is of no use was dropped; -EAGAIN:
 * there is none; or another errno. */
int discovery_net_receive(const struct discovery_net *net, enum discovery_socket which, void *data,
			  size_t size, struct sockaddr_storage *ret_from);
/* Is this an address of the networks of the interface? Always, if none is given. */
bool discovery_net_admits(const struct discovery_net *net, const struct sockaddr_storage *address);
/* An address of the interface itself, with port 0: IPv4 if it has one, else link-local. False: it
 * has none now. */
bool discovery_interface_address(const char *interface, struct sockaddr_storage *ret_address);
/* Is this an address of the interface itself? */
bool discovery_interface_has(const char *interface, const struct sockaddr_storage *address);
/* An address of IPv4 in the clothes of IPv6 becomes what it is, others stay. */
void discovery_unmap(struct sockaddr_storage *address);
bool discovery_is_loopback(const struct sockaddr_storage *address);
