#pragma once
/*
 * The sockets of discovery; agents and collectors have the same four. Interfaces come, go and
 * change their addresses, so they are enumerated again on every send.
 *
 *   *_ALL   at DISCOVERY_UDP_PORT, shared by all programs of the host: a datagram to an
 *           interface's broadcast address or to the group arrives in each of them
 *   *_OWN   at a private port, from which everything is sent: a reply to the source address
 *           arrives there and nowhere else
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
	uint32_t address, mask; /* host byte order */
};

struct discovery_net {
	int fd[DISCOVERY_SOCKETS];   /* -1 if not open, for example IPv6 on a host without it */
	char interface[IF_NAMESIZE]; /* empty: all interfaces */
	/* Results of the last enumeration, for the interface if one is set: */
	unsigned index; /* 0 if the interface does not exist */
	struct discovery_network network[DISCOVERY_NETWORKS_MAX];
	unsigned networks;
	uint64_t shape; /* hash of all interfaces and addresses, to detect changes */
};

/*
 * Opens the sockets. `buffer` is the size of each socket's receive and send buffer in bytes; 0
 * keeps the kernel's default. Returns 0, -ENODEV with a sentence if the interface does not exist,
 * or another negative errno with a sentence: the shared port then receives nothing, but sending
 * works if one of the *_OWN descriptors is open. The caller calls discovery_net_close in every
 * case.
 */
int discovery_net_open(struct discovery_net *net, const char *interface, int buffer,
		       struct err_text *err);
void discovery_net_close(struct discovery_net *net);
/*
 * From now on only probes arrive. The kernel drops beacons of other agents, and floods of them,
 * before the process wakes. If the kernel cannot filter, they arrive as before.
 */
void discovery_net_only_probes(const struct discovery_net *net);
/*
 * Enumerates the interfaces, joins the group on new ones and sends the datagram to all of them.
 * With NULL it sends nothing. Returns true if interfaces or addresses have changed.
 */
bool discovery_net_send(struct discovery_net *net, const void *data, size_t length);
/* Sends a datagram to one address. */
void discovery_net_answer(const struct discovery_net *net, const struct sockaddr_storage *to,
			  const void *data, size_t length);
/*
 * Receives the next datagram of a socket. Returns its length, 0 if a useless datagram was dropped,
 * -EAGAIN if there is none, or another negative errno.
 */
int discovery_net_receive(const struct discovery_net *net, enum discovery_socket which, void *data,
			  size_t size, struct sockaddr_storage *ret_from);
/* Tells whether an address is in a network of the interface. Always true if no interface is set. */
bool discovery_net_admits(const struct discovery_net *net, const struct sockaddr_storage *address);
/*
 * Returns an address of the interface itself, with port 0: IPv4 if it has one, else link-local.
 * Returns false if it has no address at present.
 */
bool discovery_interface_address(const char *interface, struct sockaddr_storage *ret_address);
/* Tells whether an address belongs to the interface itself. */
bool discovery_interface_has(const char *interface, const struct sockaddr_storage *address);
/* Converts an IPv4-mapped IPv6 address to IPv4. Other addresses stay. */
void discovery_unmap(struct sockaddr_storage *address);
bool discovery_is_loopback(const struct sockaddr_storage *address);
