/* The sockets of discovery. discovery_net.h describes the interface. */
#include "proto/discovery_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "proto/discovery.h"
#include "base/ban.h"

#define LOOPBACK_BROADCAST 0x7fffffffu
#define FNV_BASIS	   0xcbf29ce484222325u
#define FNV_PRIME	   0x100000001b3u

static const struct sockaddr_in *four(const void *address)
{
	return address;
}

static const struct sockaddr_in6 *six(const void *address)
{
	return address;
}

/* ---- sockets ---- */

static int open_socket(int family, uint16_t port, int buffer)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} at = {0};
	int on = 1, fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r = 0;

	if (fd < 0)
		return -errno;
	at.any.sa_family = (sa_family_t)family;
	at.four.sin_port = htons(port); /* the port is at the same offset in both structs */
	if (port)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (buffer) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	}
	if (family == AF_INET6)
		r = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	else
		r = setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	if (!r)
		r = bind(fd, &at.any, family == AF_INET6 ? sizeof(at.six) : sizeof(at.four));
	if (r < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

static int in_words(int r, struct err_text *err)
{
	if (r == -EADDRINUSE)
		return err_set(err, r,
			       "UDP port %d, where agents and collectors look for each other, is "
			       "taken by a program that does not share it ('ss -lunp' shows which)",
			       DISCOVERY_UDP_PORT);
	return err_set(err, r, "cannot listen on UDP port %d: %s", DISCOVERY_UDP_PORT,
		       strerror(-r));
}

int discovery_net_open(struct discovery_net *net, const char *interface, int buffer,
		       struct err_text *err)
{
	static const struct {
		int family;
		uint16_t port;
	} sockets[] = {
		[DISCOVERY_FOUR_ALL] = {AF_INET, DISCOVERY_UDP_PORT},
		[DISCOVERY_SIX_ALL] = {AF_INET6, DISCOVERY_UDP_PORT},
		[DISCOVERY_FOUR_OWN] = {AF_INET, 0},
		[DISCOVERY_SIX_OWN] = {AF_INET6, 0},
	};
	int r;

	*net = (struct discovery_net){0};
	snprintf(net->interface, sizeof(net->interface), "%s", interface ? interface : "");
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		net->fd[i] = open_socket(sockets[i].family, sockets[i].port, buffer);
	r = net->fd[DISCOVERY_FOUR_ALL] == -EAFNOSUPPORT ? net->fd[DISCOVERY_SIX_ALL]
							 : net->fd[DISCOVERY_FOUR_ALL];
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		net->fd[i] = net->fd[i] < 0 ? -1 : net->fd[i];
	if (r < 0)
		return in_words(r, err);
	discovery_net_send(net, NULL, 0);
	if (interface && !net->index)
		return err_set(err, -ENODEV,
			       "there is no interface '%s' with an address that is up (ip address "
			       "shows all)",
			       interface);
	return 0;
}

/*
 * The filter matches the magic number, which is the first field, 08 d0 a6 8d c2 04, behind the 8
 * bytes of the UDP header.
 */
void discovery_net_only_probes(const struct discovery_net *net)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x08d0a68d, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xc204, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};

	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		if (net->fd[i] >= 0)
			setsockopt(net->fd[i], SOL_SOCKET, SO_ATTACH_FILTER, &program,
				   sizeof(program));
}

void discovery_net_close(struct discovery_net *net)
{
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++) {
		if (net->fd[i] >= 0)
			close(net->fd[i]);
		net->fd[i] = -1;
	}
}

/* ---- interfaces ---- */

static bool discovery_net_is_wanted(const char *interface, const struct ifaddrs *i)
{
	return i->ifa_addr && i->ifa_flags & IFF_UP &&
	       (!*interface || !strcmp(interface, i->ifa_name));
}

/* The group is joined per interface. The error for a group that is already joined is ignored. */
static void send_six(const struct discovery_net *net, unsigned index, const void *data,
		     size_t length)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6,
				  .sin6_port = htons(DISCOVERY_UDP_PORT),
				  .sin6_scope_id = index};
	struct ipv6_mreq join = {.ipv6mr_interface = index};

	if (inet_pton(AF_INET6, DISCOVERY_GROUP, &to.sin6_addr) != 1)
		return;
	join.ipv6mr_multiaddr = to.sin6_addr;
	setsockopt(net->fd[DISCOVERY_SIX_ALL], IPPROTO_IPV6, IPV6_JOIN_GROUP, &join, sizeof(join));
	if (data)
		sendto(net->fd[DISCOVERY_SIX_OWN], data, length, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *)&to, sizeof(to));
}

static void send_four(const struct discovery_net *net, uint32_t address, const void *data,
		      size_t length)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(DISCOVERY_UDP_PORT),
				 .sin_addr.s_addr = htonl(address)};

	if (data)
		sendto(net->fd[DISCOVERY_FOUR_OWN], data, length, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *)&to, sizeof(to));
}

static void use_four(struct discovery_net *net, const struct ifaddrs *i, const void *data,
		     size_t length)
{
	uint32_t address = ntohl(four(i->ifa_addr)->sin_addr.s_addr);
	uint32_t mask = i->ifa_netmask ? ntohl(four(i->ifa_netmask)->sin_addr.s_addr) : UINT32_MAX;

	if (*net->interface && net->networks < DISCOVERY_NETWORKS_MAX)
		net->network[net->networks++] = (struct discovery_network){address, mask};
	if (i->ifa_flags & IFF_LOOPBACK && *net->interface)
		send_four(net, LOOPBACK_BROADCAST, data, length);
	else if (i->ifa_flags & IFF_BROADCAST && i->ifa_broadaddr)
		send_four(net, ntohl(four(i->ifa_broadaddr)->sin_addr.s_addr), data, length);
}

static void use_six(const struct discovery_net *net, const struct ifaddrs *i, const void *data,
		    size_t length)
{
	if (i->ifa_flags & IFF_MULTICAST && !(i->ifa_flags & IFF_LOOPBACK) &&
	    IN6_IS_ADDR_LINKLOCAL(&six(i->ifa_addr)->sin6_addr))
		send_six(net, six(i->ifa_addr)->sin6_scope_id, data, length);
}

static uint64_t discovery_net_mix(uint64_t sum, const void *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		sum = (sum ^ ((const uint8_t *)data)[i]) * FNV_PRIME;
	return sum;
}

static uint64_t mix_address(uint64_t sum, const struct ifaddrs *i)
{
	sum = discovery_net_mix(sum, i->ifa_name, strlen(i->ifa_name) + 1);
	return i->ifa_addr->sa_family == AF_INET
		       ? discovery_net_mix(sum, &four(i->ifa_addr)->sin_addr,
					   sizeof(struct in_addr))
		       : discovery_net_mix(sum, &six(i->ifa_addr)->sin6_addr,
					   sizeof(struct in6_addr));
}

bool discovery_net_send(struct discovery_net *net, const void *data, size_t length)
{
	uint64_t before = net->shape;
	struct ifaddrs *list = NULL;

	if (getifaddrs(&list) < 0)
		return false;
	net->shape = FNV_BASIS;
	net->networks = net->index = 0;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!discovery_net_is_wanted(net->interface, i) ||
		    (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
			continue;
		net->shape = mix_address(net->shape, i);
		if (*net->interface && !net->index)
			net->index = if_nametoindex(net->interface);
		if (i->ifa_addr->sa_family == AF_INET)
			use_four(net, i, data, length);
		else
			use_six(net, i, data, length);
	}
	freeifaddrs(list);
	return net->shape != before;
}

void discovery_net_answer(const struct discovery_net *net, const struct sockaddr_storage *to,
			  const void *data, size_t length)
{
	bool is_six = to->ss_family == AF_INET6;

	sendto(net->fd[is_six ? DISCOVERY_SIX_OWN : DISCOVERY_FOUR_OWN], data, length,
	       MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to,
	       is_six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
}

int discovery_net_receive(const struct discovery_net *net, enum discovery_socket which, void *data,
			  size_t size, struct sockaddr_storage *ret_from)
{
	socklen_t length = sizeof(*ret_from);
	ssize_t n;

	memset(ret_from, 0, sizeof(*ret_from));
	n = recvfrom(net->fd[which], data, size, MSG_DONTWAIT | MSG_TRUNC,
		     (struct sockaddr *)ret_from, &length);
	if (n < 0)
		return -errno;
	return (size_t)n <= size && discovery_net_admits(net, ret_from) ? (int)n : 0;
}

bool discovery_net_admits(const struct discovery_net *net, const struct sockaddr_storage *address)
{
	if (!*net->interface)
		return true;
	if (address->ss_family == AF_INET6)
		return net->index && six(address)->sin6_scope_id == net->index;
	for (unsigned i = 0; address->ss_family == AF_INET && i < net->networks; i++)
		if (!((ntohl(four(address)->sin_addr.s_addr) ^ net->network[i].address) &
		      net->network[i].mask))
			return true;
	return false;
}

bool discovery_interface_address(const char *interface, struct sockaddr_storage *ret_address)
{
	struct ifaddrs *list = NULL;
	bool found = false;

	if (getifaddrs(&list) < 0)
		return false;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!discovery_net_is_wanted(interface, i))
			continue;
		if (i->ifa_addr->sa_family == AF_INET) {
			memcpy(ret_address, i->ifa_addr, sizeof(struct sockaddr_in));
			found = true;
			break;
		}
		if (i->ifa_addr->sa_family == AF_INET6 && !found &&
		    IN6_IS_ADDR_LINKLOCAL(&six(i->ifa_addr)->sin6_addr)) {
			memcpy(ret_address, i->ifa_addr, sizeof(struct sockaddr_in6));
			found = true;
		}
	}
	freeifaddrs(list);
	return found;
}

void discovery_unmap(struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *mapped = six(address);
	struct sockaddr_in plain = {.sin_family = AF_INET};

	if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&mapped->sin6_addr))
		return;
	plain.sin_port = mapped->sin6_port;
	memcpy(&plain.sin_addr, &mapped->sin6_addr.s6_addr[12], sizeof(plain.sin_addr));
	memset(address, 0, sizeof(*address));
	memcpy(address, &plain, sizeof(plain));
}

static bool same_host(const void *a, const void *b)
{
	return four(a)->sin_family == AF_INET
		       ? !memcmp(&four(a)->sin_addr, &four(b)->sin_addr, sizeof(struct in_addr))
		       : !memcmp(&six(a)->sin6_addr, &six(b)->sin6_addr, sizeof(struct in6_addr));
}

bool discovery_interface_has(const char *interface, const struct sockaddr_storage *address)
{
	struct sockaddr_storage plain = *address;
	struct ifaddrs *list = NULL;
	bool found = false;

	discovery_unmap(&plain);
	if (getifaddrs(&list) < 0)
		return false;
	for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
		found = discovery_net_is_wanted(interface, i) &&
			i->ifa_addr->sa_family == plain.ss_family &&
			(plain.ss_family == AF_INET || plain.ss_family == AF_INET6) &&
			same_host(i->ifa_addr, &plain);
	freeifaddrs(list);
	return found;
}

bool discovery_is_loopback(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6
		       ? IN6_IS_ADDR_LOOPBACK(&six(address)->sin6_addr)
		       : address->ss_family == AF_INET &&
				 ntohl(four(address)->sin_addr.s_addr) >> 24 == 127;
}
