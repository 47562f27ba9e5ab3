/* Checks probes. See probe.h. */
#include "agent/net/probe.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "heapcast.pb-c.h"
#include "proto/discovery_proof.h"
#include "base/ban.h"

static bool probe_is_whole(const Heapcast__Probe *m)
{
	return m->magic == DISCOVERY_PROBE_MAGIC && m->protocol == PROTOCOL_VERSION &&
	       m->collector.len == STREAM_ID_SIZE && m->nonce.len == DISCOVERY_NONCE_SIZE;
}

int probe_parse(const struct secret *secret, const uint8_t *data, size_t length,
		uint8_t ret_nonce[DISCOVERY_NONCE_SIZE])
{
	Heapcast__Probe *m;
	int r = -EBADMSG;

	if (length < DISCOVERY_PROBE_SIZE || length > DISCOVERY_BEACON_MAX)
		return -EBADMSG;
	m = heapcast__probe__unpack(NULL, length, data);
	if (!m)
		return -EBADMSG;
	if (probe_is_whole(m)) {
		memcpy(ret_nonce, m->nonce.data, DISCOVERY_NONCE_SIZE);
		r = !secret || (discovery_names(secret, m->key_id.data, m->key_id.len) &&
				discovery_proven(secret, DISCOVERY_PROBE, data, length))
			    ? 0
			    : -EACCES;
	}
	heapcast__probe__free_unpacked(m, NULL);
	return r;
}

/* Returns the IPv4 address, or the half of an IPv6 address that identifies the host in its
 * network. */
static uint64_t host_of(const struct sockaddr_storage *from)
{
	const struct sockaddr_in6 *six = (const void *)from;
	const struct sockaddr_in *four = (const void *)from;
	uint64_t host;

	if (from->ss_family != AF_INET6)
		return four->sin_addr.s_addr;
	memcpy(&host, &six->sin6_addr.s6_addr[8], sizeof(host));
	return host;
}

bool probe_allowed(struct probe_limit *l, const struct sockaddr_storage *from, uint64_t second)
{
	uint64_t host = host_of(from);
	uint32_t i = 0;

	if (l->second != second)
		*l = (struct probe_limit){.second = second};
	while (i < l->sources && l->source[i].address != host)
		i++;
	if (i == PROBE_SOURCES)
		return false;
	if (i == l->sources)
		l->source[l->sources++].address = host;
	return l->source[i].answers++ < PROBE_EACH;
}
