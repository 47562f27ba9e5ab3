/* Announces the agent. See beacon.h. */
#include "agent/net/beacon.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define READ_MAX 256 /* datagrams a second */

/* Makes the next beacon, authenticated by `secret` unless that is NULL. `nonce` is that of the
 * probe it answers, or NULL. Returns its length, or 0 if it can't be authenticated. */
static size_t beacon_make(struct beacon *b, const struct secret *secret, const uint8_t *nonce,
			  uint8_t packed[DISCOVERY_BEACON_MAX])
{
	Heapcast__Beacon m = HEAPCAST__BEACON__INIT;
	size_t length;
	int r;

	m.magic = DISCOVERY_BEACON_MAGIC;
	m.protocol = PROTOCOL_VERSION;
	m.agent = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)b->agent_id};
	m.port = b->port;
	m.sequence = ++b->sequence;
	m.streams = b->live(b->context);
	if (nonce)
		m.nonce = (ProtobufCBinaryData){DISCOVERY_NONCE_SIZE, (uint8_t *)(uintptr_t)nonce};
	if (secret)
		m.key_id = (ProtobufCBinaryData){SECRET_ID_SIZE, (uint8_t *)(uintptr_t)secret->id};
	length = heapcast__beacon__pack(&m, packed);
	if (!secret)
		return length;
	r = discovery_prove(secret, DISCOVERY_BEACON, packed, length);
	return r < 0 ? 0 : (size_t)r;
}

/* Returns the number of beacons to send: one for each key, or one without a key. */
static size_t ways(const struct beacon *b)
{
	return b->keys->count || b->keys->only ? b->keys->count : 1;
}

static const struct secret *way(const struct beacon *b, size_t number)
{
	return b->keys->count ? &b->keys->secret[number] : NULL;
}

void beacon_send(struct beacon *b)
{
	uint8_t packed[DISCOVERY_BEACON_MAX];

	for (size_t i = 0; b->open && i < ways(b); i++) {
		size_t length = beacon_make(b, way(b, i), NULL, packed);

		if (length)
			discovery_net_send(&b->net, packed, length);
	}
}

static void beacon_answer(struct beacon *b, const uint8_t *data, size_t length,
			  const struct sockaddr_storage *from)
{
	uint8_t nonce[DISCOVERY_NONCE_SIZE], packed[DISCOVERY_BEACON_MAX];
	size_t i = 0;

	while (i < ways(b) && probe_parse(way(b, i), data, length, nonce) < 0)
		i++;
	if (i == ways(b) ||
	    !probe_allowed(&b->limit, from, uv_now(b->timer.loop) / DISCOVERY_INTERVAL_MS))
		return;
	length = beacon_make(b, way(b, i), nonce, packed);
	if (length)
		discovery_net_answer(&b->net, from, packed, length);
}

static void hear(uv_poll_t *poll, int status, int events)
{
	struct beacon *b = poll->data;
	enum discovery_socket which = (enum discovery_socket)(poll - b->poll);
	uint8_t data[DISCOVERY_BEACON_MAX];
	struct sockaddr_storage from;
	int n = 0;

	(void)status;
	(void)events;
	while (n >= 0 && b->read < READ_MAX) {
		n = discovery_net_receive(&b->net, which, data, sizeof(data), &from);
		b->read += n >= 0;
		if (n > 0)
			beacon_answer(b, data, (size_t)n, &from);
	}
	if (b->read < READ_MAX)
		return;
	b->deaf = true;
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		if (b->net.fd[i] >= 0)
			uv_poll_stop(&b->poll[i]);
}

static void listen_again(struct beacon *b)
{
	b->deaf = false;
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		if (b->net.fd[i] >= 0)
			uv_poll_start(&b->poll[i], UV_READABLE, hear);
}

static void second(uv_timer_t *timer)
{
	struct beacon *b = timer->data;

	b->read = 0;
	if (b->deaf)
		listen_again(b);
	beacon_send(b);
}

int beacon_open(struct beacon *b, uv_loop_t *loop, const char *interface,
		const struct beacon_keys *keys, const uint8_t *agent_id, uint16_t port,
		uint32_t (*live)(void *context), void *context, struct err_text *err)
{
	struct err_text why = {0};
	int r;

	*b = (struct beacon){
		.keys = keys, .agent_id = agent_id, .port = port, .live = live, .context = context};
	r = discovery_net_open(&b->net, interface, BEACON_SOCKET_BUFFER, &why);
	if (b->net.fd[DISCOVERY_FOUR_OWN] < 0 && b->net.fd[DISCOVERY_SIX_OWN] < 0) {
		discovery_net_close(&b->net);
		return err_set(err, r < 0 ? r : -EAFNOSUPPORT, "can't announce by UDP: %s",
			       err_get(&why, r));
	}
	if (r < 0)
		log_warn("collectors find this agent by its beacons only: %s", err_get(&why, r));
	discovery_net_only_probes(&b->net);
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++) {
		b->poll[i].data = b;
		if (b->net.fd[i] >= 0)
			uv_poll_init(loop, &b->poll[i], b->net.fd[i]);
	}
	listen_again(b);
	b->open = true;
	b->timer.data = b;
	uv_timer_init(loop, &b->timer);
	return uv_timer_start(&b->timer, second, 0, DISCOVERY_INTERVAL_MS);
}

void beacon_close(struct beacon *b)
{
	if (!b->open)
		return;
	b->open = false;
	for (unsigned i = 0; i < DISCOVERY_SOCKETS; i++)
		if (b->net.fd[i] >= 0)
			uv_close((uv_handle_t *)&b->poll[i], NULL);
	discovery_net_close(&b->net);
	uv_close((uv_handle_t *)&b->timer, NULL);
}
