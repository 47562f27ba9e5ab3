/*
 * Handles beacons of agents: proto/README.md, "Discovery".
 *
 * Without keys a beacon is trusted as far as it is harmless: the collector connects to its sender,
 * which gets a share of the available places (peer.c). With keys from pairing such beacons still
 * count, but proven ones have priority. With a fixed key the sender must prove that it has the key.
 * Before the collector connects to a new address, the sender must also answer a probe, to prove
 * that it is there now.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/ingest/state.h"
#include "base/ban.h"

#define READ_TURN 256 /* datagrams before the loop continues */

static bool discovery_is_whole(const Heapcast__Beacon *m)
{
	return m->magic == DISCOVERY_BEACON_MAGIC && m->protocol == PROTOCOL_VERSION &&
	       m->agent.len == STREAM_ID_SIZE && m->port && m->port <= UINT16_MAX &&
	       (!m->key_id.len || m->key_id.len == SECRET_ID_SIZE) &&
	       m->authentication.len == (m->key_id.len ? SECRET_MAC_SIZE : 0) &&
	       (!m->nonce.len || m->nonce.len == DISCOVERY_NONCE_SIZE);
}

int beacon_parse(const uint8_t *data, size_t length, struct beacon_seen *ret)
{
	Heapcast__Beacon *m;
	int r = -EBADMSG;

	if (!length || length > DISCOVERY_BEACON_MAX)
		return -EBADMSG;
	m = heapcast__beacon__unpack(NULL, length, data);
	if (!m)
		return -EBADMSG;
	if (discovery_is_whole(m)) {
		*ret = (struct beacon_seen){.port = (uint16_t)m->port,
					    .sequence = m->sequence,
					    .streams = m->streams,
					    .keyed = m->key_id.len,
					    .answers = m->nonce.len};
		memcpy(ret->agent, m->agent.data, STREAM_ID_SIZE);
		if (ret->keyed)
			memcpy(ret->key_id, m->key_id.data, SECRET_ID_SIZE);
		if (ret->answers)
			memcpy(ret->nonce, m->nonce.data, DISCOVERY_NONCE_SIZE);
		r = 0;
	}
	heapcast__beacon__free_unpacked(m, NULL);
	return r;
}

/* Returns the key that proves the beacon, or NULL if it is none of ours. */
static const struct secret *proven_by(const struct ingest *ingest, const struct beacon_seen *b,
				      const uint8_t *data, size_t length)
{
	for (size_t i = 0; b->keyed && i < ingest->secret_count; i++)
		if (discovery_names(&ingest->secrets[i], b->key_id, SECRET_ID_SIZE) &&
		    discovery_proven(&ingest->secrets[i], DISCOVERY_BEACON, data, length))
			return &ingest->secrets[i];
	return NULL;
}

static const char *other_key_words(const struct ingest *ingest, bool keyed)
{
	if (!keyed)
		return ingest->paired ? "is not paired, and --paired-only takes no other "
					"('collector pair' here and "
					"'agent pair CODE' there make a key)"
				      : "has no key, and this collector takes none without (give "
					"it --key, too)";
	if (ingest->paired && ingest->secret_count)
		return "has a key that this collector has not ('collector pair' makes one for "
		       "both)";
	if (ingest->proven && !ingest->paired)
		return "has none of the keys given here (--key)";
	return "talks only to collectors with its key ('collector pair' makes one, or --key FILE)";
}

/*
 * An agent that is paired with several collectors sends a beacon for each. It is a stranger only if
 * none of them is for us.
 */
static bool has_no_other(struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE])
{
	struct unproven *oldest = &ingest->unproven[0], *u;
	uint64_t now_ms = uv_now(ingest->loop);

	if (peer_is_proven(ingest, agent))
		return false;
	for (u = ingest->unproven; u < ingest->unproven + UNPROVEN_MAX; u++) {
		if (u->since_ms && !memcmp(u->agent, agent, STREAM_ID_SIZE))
			return now_ms - u->since_ms > UNPROVEN_MS;
		if (u->since_ms < oldest->since_ms)
			oldest = u;
	}
	memcpy(oldest->agent, agent, STREAM_ID_SIZE);
	oldest->since_ms = now_ms;
	return false;
}

static void tell_key(struct ingest *ingest, const struct beacon_seen *beacon,
		     const struct sockaddr_storage *from)
{
	char text[ADDRESS_TEXT];

	if (ingest->told_key || (beacon->keyed && ingest->paired && ingest->secret_count &&
				 !has_no_other(ingest, beacon->agent)))
		return;
	ingest->told_key = true;
	address_format(text, (const struct sockaddr *)from);
	*strrchr(text, ':') = '\0';
	ingest_warn(ingest, "an agent at %s %s: such agents are skipped", text,
		    other_key_words(ingest, beacon->keyed));
}

static void discovery_take(struct ingest *ingest, const uint8_t *data, size_t length,
			   const struct sockaddr_storage *from)
{
	const struct secret *secret;
	struct beacon_seen beacon;
	bool answers, news;

	if (beacon_parse(data, length, &beacon) < 0) {
		ingest->beacons_refused++;
		return;
	}
	secret = proven_by(ingest, &beacon, data, length);
	if (!secret && (beacon.keyed || ingest->proven)) {
		ingest->beacons_unproven++;
		tell_key(ingest, &beacon, from);
		return;
	}
	ingest->beacons++;
	answers = beacon.answers && probe_is_fresh(ingest, beacon.nonce);
	news = !answers && peer_is_news(ingest, &beacon, from);
	if (news && !beacon.answers)
		probe_one(ingest, secret, from);
	if (!news || !secret)
		peer_beacon(ingest, &beacon, from, answers);
}

/* Recognizes agents that wait for pairing, which another command handles. */
static bool is_pairing(const uint8_t *data, size_t length)
{
	static const uint8_t magic[] = {0x08, 0xc1, 0xa0,
					0x8d, 0xc2, 0x04}; /* DISCOVERY_PAIRING_MAGIC */

	return length > sizeof(magic) && !memcmp(data, magic, sizeof(magic));
}

/* Recognizes probes of other collectors. */
static bool is_probe(const uint8_t *data, size_t length)
{
	Heapcast__Probe *m = heapcast__probe__unpack(NULL, length, data);
	bool is = m && m->magic == DISCOVERY_PROBE_MAGIC;

	if (m)
		heapcast__probe__free_unpacked(m, NULL);
	return is;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct ingest *ingest = poll->data;
	enum discovery_socket which = (enum discovery_socket)(poll - ingest->udp);
	uint8_t data[DISCOVERY_BEACON_MAX];
	struct sockaddr_storage from;
	int n = 0;

	(void)status;
	(void)events;
	for (unsigned i = 0; n >= 0 && i < READ_TURN && !ingest->stopping; i++) {
		n = discovery_net_receive(&ingest->net, which, data, sizeof(data), &from);
		if (n > 0 && !is_pairing(data, (size_t)n) && !is_probe(data, (size_t)n))
			discovery_take(ingest, data, (size_t)n, &from);
		ingest->beacons_refused += n == 0;
	}
}

static void discovery_on_closed(uv_handle_t *handle)
{
	ingest_released(handle->data);
}

int discovery_start(struct ingest *ingest, const char *interface, struct err_text *err)
{
	size_t used = strlen(ingest->where);
	int r = discovery_net_open(&ingest->net, interface, 0, err);

	if (r < 0) {
		discovery_net_close(&ingest->net);
		return r == -EADDRINUSE
			       ? err_prefix(
					 err, r,
					 "agents can't be found here; name them (collector gather "
					 "HOST:PORT --no-discovery)")
			       : r;
	}
	ingest->has_udp = true;
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++) {
		ingest->udp[i].data = ingest;
		if (ingest->net.fd[i] < 0)
			continue;
		uv_poll_init(ingest->loop, &ingest->udp[i], ingest->net.fd[i]);
		ingest->pending++;
	}
	for (unsigned i = 0; !r && i < DISCOVERY_SOCKETS; i++)
		if (ingest->net.fd[i] >= 0)
			r = uv_poll_start(&ingest->udp[i], UV_READABLE, on_readable);
	if (r < 0)
		return err_set(err, r, "cannot listen for agents: %s", uv_strerror(r));
	snprintf(ingest->where + used, sizeof(ingest->where) - used,
		 "%sUDP port %d for beacons%s%s%s", used ? ", " : "", DISCOVERY_UDP_PORT,
		 ingest->net.fd[DISCOVERY_SIX_ALL] < 0 ? " (IPv4 only)" : "",
		 interface ? " from the networks of " : "", interface ? interface : "");
	return 0;
}

void discovery_stop(struct ingest *ingest)
{
	for (unsigned i = 0; ingest->has_udp && i < DISCOVERY_SOCKETS; i++)
		if (ingest->net.fd[i] >= 0)
			uv_close((uv_handle_t *)&ingest->udp[i], discovery_on_closed);
	if (ingest->has_udp)
		discovery_net_close(&ingest->net);
	ingest->has_udp = false;
}
