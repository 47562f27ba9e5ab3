/* Broadcasting where the agent listens. See beacon.h. */
#include "agent/streamer/beacon.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "heapcast.pb-c.h"
#include "proto/discovery.h"
#include "base/ban.h"

#define LOOPBACK_BROADCAST 0x7fffffffu

static void send_to(struct beacon *b, uint32_t address, const uint8_t *data, size_t length)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(DISCOVERY_UDP_PORT),
				 .sin_addr.s_addr = htonl(address)};

	sendto(b->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to,
	       sizeof(to));
}

static uint32_t address_of(const struct sockaddr *address)
{
	return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);
}

static void send_everywhere(struct beacon *b, const uint8_t *data, size_t length)
{
	struct ifaddrs *list = NULL;

	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP))
			continue;
		if (b->interface[0] && strcmp(b->interface, i->ifa_name))
			continue;
		if (i->ifa_flags & IFF_LOOPBACK && b->interface[0])
			send_to(b, LOOPBACK_BROADCAST, data, length);
		else if (i->ifa_flags & IFF_BROADCAST && i->ifa_broadaddr)
			send_to(b, address_of(i->ifa_broadaddr), data, length);
	}
	freeifaddrs(list);
}

void beacon_send(struct beacon *b)
{
	uint8_t packed[DISCOVERY_BEACON_MAX];
	Heapcast__Beacon m = HEAPCAST__BEACON__INIT;

	if (b->fd < 0)
		return;
	m.magic = DISCOVERY_BEACON_MAGIC;
	m.protocol = PROTOCOL_VERSION;
	m.agent = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)b->agent_id};
	m.port = b->port;
	m.sequence = ++b->sequence;
	m.streams = b->live(b->context);
	send_everywhere(b, packed, heapcast__beacon__pack(&m, packed));
}

static void second(uv_timer_t *timer)
{
	beacon_send(timer->data);
}

int beacon_open(struct beacon *b, uv_loop_t *loop, const char *interface, const uint8_t *agent_id,
		uint16_t port, uint32_t (*live)(void *context), void *context)
{
	int on = 1;

	*b = (struct beacon){.agent_id = agent_id, .port = port, .live = live, .context = context};
	snprintf(b->interface, sizeof(b->interface), "%s", interface ? interface : "");
	b->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (b->fd < 0)
		return -errno;
	setsockopt(b->fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	b->timer.data = b;
	uv_timer_init(loop, &b->timer);
	return uv_timer_start(&b->timer, second, 0, DISCOVERY_INTERVAL_MS);
}

void beacon_close(struct beacon *b)
{
	if (b->fd < 0)
		return;
	close(b->fd);
	b->fd = -1;
	uv_close((uv_handle_t *)&b->timer, NULL);
}

int beacon_interface_address(const char *interface, uint32_t *ret)
{
	struct ifaddrs *list = NULL;
	int r = -ENODEV;

	if (getifaddrs(&list) < 0)
		return -errno;
	for (const struct ifaddrs *i = list; i && r; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    strcmp(interface, i->ifa_name))
			continue;
		*ret = address_of(i->ifa_addr);
		r = 0;
	}
	freeifaddrs(list);
	return r;
}
