/*
 * Probes for agents, so that a collector need not wait for the next beacon: at once, then with
 * growing pauses, and from the start again when interfaces change. Each probe has a nonce. An agent
 * that echoes it is there now, and not a replayed beacon.
 */
#include <string.h>
#include <sys/random.h>

#include "collector/ingest/state.h"
#include "base/ban.h"

#define PAUSE_FIRST_MS 250
#define PAUSE_MAX_MS   10000
#define NONCE_MS       1000 /* lifetime of a nonce for sending */
/* not the one second of agents' beacons, so that probes do not always meet a flooded agent at the
 * wrong moment */
#define SOON_MS 700

/* Makes a new nonce when the last one is old. Returns false if no random numbers are available. */
static bool renew_nonce(struct prober *p, uint64_t now_ms)
{
	unsigned next = (p->last + 1) % NONCES;

	if (p->any && now_ms - p->nonce[p->last].sent_ms < NONCE_MS)
		return true;
	if (getrandom(p->nonce[next].bytes, DISCOVERY_NONCE_SIZE, GRND_NONBLOCK) !=
	    DISCOVERY_NONCE_SIZE)
		return false;
	p->nonce[next].sent_ms = now_ms;
	p->last = next;
	p->any = true;
	return true;
}

bool probe_is_fresh(const struct ingest *ingest, const uint8_t nonce[DISCOVERY_NONCE_SIZE])
{
	const struct prober *p = &ingest->prober;
	uint64_t now_ms = uv_now(ingest->loop);

	for (unsigned i = 0; p->any && i < NONCES; i++)
		if (p->nonce[i].sent_ms && now_ms - p->nonce[i].sent_ms < FRESH_MS &&
		    !memcmp(p->nonce[i].bytes, nonce, DISCOVERY_NONCE_SIZE))
			return true;
	return false;
}

/*
 * Makes a probe, padded to the length of the longest answer, and proven by `secret` unless that is
 * NULL. Returns its length, or 0.
 */
static size_t probe_make(const struct ingest *ingest, const struct secret *secret,
			 uint8_t packed[DISCOVERY_BEACON_MAX])
{
	static uint8_t zeros[DISCOVERY_PROBE_SIZE];
	Heapcast__Probe m = HEAPCAST__PROBE__INIT;
	size_t length;
	int r;

	m.magic = DISCOVERY_PROBE_MAGIC;
	m.protocol = PROTOCOL_VERSION;
	m.collector = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)ingest->id};
	m.nonce = (ProtobufCBinaryData){
		DISCOVERY_NONCE_SIZE,
		(uint8_t *)(uintptr_t)ingest->prober.nonce[ingest->prober.last].bytes};
	if (secret)
		m.key_id = (ProtobufCBinaryData){SECRET_ID_SIZE, (uint8_t *)(uintptr_t)secret->id};
	length = heapcast__probe__get_packed_size(&m) + (secret ? DISCOVERY_PROOF_SIZE : 0);
	m.padding = (ProtobufCBinaryData){DISCOVERY_PROBE_SIZE - length - 2, zeros};
	length = heapcast__probe__pack(&m, packed);
	if (!secret)
		return length;
	r = discovery_prove(secret, DISCOVERY_PROBE, packed, length);
	return r < 0 ? 0 : (size_t)r;
}

/* Sends to all if `to` is NULL. */
static void ask_by(struct ingest *ingest, const struct secret *secret,
		   const struct sockaddr_storage *to)
{
	uint8_t packed[DISCOVERY_BEACON_MAX];
	size_t length = probe_make(ingest, secret, packed);

	if (length && to)
		discovery_net_answer(&ingest->net, to, packed, length);
	else if (length)
		discovery_net_send(&ingest->net, packed, length);
}

/*
 * Sends a probe for each key, because an agent answers only to its own, and one without a key if
 * agents without a key are accepted.
 */
static void ask_all(struct ingest *ingest)
{
	for (size_t i = 0; i < ingest->secret_count; i++)
		ask_by(ingest, &ingest->secrets[i], NULL);
	if (!ingest->proven)
		ask_by(ingest, NULL, NULL);
}

static bool may_challenge(struct prober *p, struct stranger_address to)
{
	unsigned own = 0;

	for (unsigned i = 0; i < p->challenges; i++)
		own += !memcmp(&p->challenged[i], &to, sizeof(to));
	if (p->challenges == CHALLENGES_MAX || own >= CHALLENGES_EACH)
		return false;
	p->challenged[p->challenges++] = to;
	return true;
}

void probe_one(struct ingest *ingest, const struct secret *secret,
	       const struct sockaddr_storage *to)
{
	struct prober *p = &ingest->prober;
	uint64_t now_ms = uv_now(ingest->loop);

	if (p->second != now_ms / 1000)
		p->challenges = 0;
	p->second = now_ms / 1000;
	if (may_challenge(p, stranger_address((const struct sockaddr *)to)) &&
	    renew_nonce(p, now_ms))
		ask_by(ingest, secret, to);
}

void probe_soon(struct ingest *ingest)
{
	struct prober *p = &ingest->prober;
	uint64_t soon_ms = uv_now(ingest->loop) + SOON_MS;

	if (p->next_ms > soon_ms)
		p->next_ms = soon_ms;
}

void probe_tick(struct ingest *ingest, uint64_t now_ms)
{
	struct prober *p = &ingest->prober;

	if (!ingest->has_udp)
		return;
	if (now_ms >= p->look_ms) {
		p->look_ms = now_ms + LOOK_MS;
		if (discovery_net_send(&ingest->net, NULL, 0))
			p->next_ms = p->pause_ms = 0;
	}
	if (now_ms < p->next_ms || !renew_nonce(p, now_ms))
		return;
	p->pause_ms = p->pause_ms ? p->pause_ms * 2 : PAUSE_FIRST_MS;
	if (p->pause_ms > PAUSE_MAX_MS)
		p->pause_ms = PAUSE_MAX_MS;
	p->next_ms = now_ms + p->pause_ms;
	ask_all(ingest);
}
