/* Beacons: who is there. proto/README.md, "Discovery". A datagram is believed as far as it is
 * harmless: we connect to its sender. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/ingest/state.h"
#include "base/ban.h"

int networks_find(struct ingest *ingest, const char *interface, struct err_text *err)
{
	uv_interface_address_t *list = NULL;
	int count = 0, r = uv_interface_addresses(&list, &count);

	if (r < 0)
		return err_set(err, r, "cannot list the network interfaces: %s", uv_strerror(r));
	ingest->networks = calloc((size_t)count + 1, sizeof(*ingest->networks));
	for (int i = 0; ingest->networks && i < count; i++) {
		if (strcmp(list[i].name, interface) ||
		    list[i].address.address4.sin_family != AF_INET)
			continue;
		ingest->networks[ingest->network_count++] =
			(struct network){ntohl(list[i].address.address4.sin_addr.s_addr),
					 ntohl(list[i].netmask.netmask4.sin_addr.s_addr)};
	}
	uv_free_interface_addresses(list, count);
	if (!ingest->networks)
		return -ENOMEM;
	if (!ingest->network_count)
		return err_set(err, -ENODEV,
			       "there is no interface '%s' with an IPv4 address that is up",
			       interface);
	return 0;
}

bool networks_accept(const struct ingest *ingest, const struct sockaddr *address)
{
	const struct sockaddr_in *in = (const void *)address;

	if (!ingest->networks)
		return true;
	if (address->sa_family != AF_INET)
		return false;
	for (size_t i = 0; i < ingest->network_count; i++)
		if (!((ntohl(in->sin_addr.s_addr) ^ ingest->networks[i].address) &
		      ingest->networks[i].mask))
			return true;
	return false;
}

int beacon_parse(const uint8_t *data, size_t length, uint8_t ret_agent[STREAM_ID_SIZE],
		 uint16_t *ret_port, uint32_t *ret_streams)
{
	Heapcast__Beacon *beacon;
	int r = -EBADMSG;

	if (!length || length > DISCOVERY_BEACON_MAX)
		return -EBADMSG;
	beacon = heapcast__beacon__unpack(NULL, length, data);
	if (!beacon)
		return -EBADMSG;
	if (beacon->magic == DISCOVERY_BEACON_MAGIC && beacon->protocol == PROTOCOL_VERSION &&
	    beacon->agent.len == STREAM_ID_SIZE && beacon->port && beacon->port <= UINT16_MAX) {
		memcpy(ret_agent, beacon->agent.data, STREAM_ID_SIZE);
		*ret_port = (uint16_t)beacon->port;
		*ret_streams = beacon->streams;
		r = 0;
	}
	heapcast__beacon__free_unpacked(beacon, NULL);
	return r;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	struct ingest *ingest = handle->data;

	(void)suggested;
	*ret_buf = uv_buf_init((char *)ingest->datagram, sizeof(ingest->datagram));
}

static void on_datagram(uv_udp_t *udp, ssize_t length, const uv_buf_t *buf,
			const struct sockaddr *from, unsigned flags)
{
	struct ingest *ingest = udp->data;
	uint8_t agent[STREAM_ID_SIZE];
	uint32_t streams;
	uint16_t port;

	if (length <= 0 || !from || ingest->stopping)
		return;
	if (flags & UV_UDP_PARTIAL || !networks_accept(ingest, from) ||
	    beacon_parse((const uint8_t *)buf->base, (size_t)length, agent, &port, &streams) < 0) {
		ingest->beacons_refused++;
		return;
	}
	ingest->beacons++;
	peer_beacon(ingest, agent, from, port);
}

static int in_words(int r, struct err_text *err)
{
	if (r == UV_EADDRINUSE)
		return err_set(
			err, r,
			"UDP port %d, where agents announce themselves, is taken by a program that "
			"does not share it; "
			"'ss -lunp' shows which. Or name the agents: collector gather HOST:PORT",
			DISCOVERY_UDP_PORT);
	return err_set(err, r, "cannot listen for agents on UDP port %d: %s", DISCOVERY_UDP_PORT,
		       uv_strerror(r));
}

int discovery_start(struct ingest *ingest, const char *interface, struct err_text *err)
{
	struct sockaddr_in any;
	size_t used = strlen(ingest->where);
	int r = uv_udp_init(ingest->loop, &ingest->udp);

	if (r < 0)
		return in_words(r, err);
	ingest->udp.data = ingest;
	ingest->has_udp = true;
	ingest->pending++;
	uv_ip4_addr("0.0.0.0", DISCOVERY_UDP_PORT, &any);
	/* Shared, so that each collector of a host hears the broadcasts. */
	r = uv_udp_bind(&ingest->udp, (const struct sockaddr *)&any, UV_UDP_REUSEADDR);
	if (!r)
		r = uv_udp_recv_start(&ingest->udp, on_alloc, on_datagram);
	if (r < 0)
		return in_words(r, err);
	snprintf(ingest->where + used, sizeof(ingest->where) - used,
		 "%sUDP port %d for beacons%s%s", used ? ", " : "", DISCOVERY_UDP_PORT,
		 interface ? " from the networks of " : "", interface ? interface : "");
	return 0;
}
