/*
 * A datagram from anybody, as a collector that listens for agents sees it. What is taken for a
 * beacon must keep to proto/README.md, "Discovery": and only then may the address that it gives be
 * connected to. With a key: what was not proven by it is not believed, and one bit makes the
 * difference.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/ingest/state.h"
#include "tests/fuzz/fuzz.h"

static const struct secret secret = {.key = "only for the fuzzer, of 32 bytes",
				     .key_length = 32,
				     .name = "fuzzer",
				     .id = "kkkkkkkk"};

/* The proof of another message is not this one's. */
static void prove(const uint8_t *data, size_t size)
{
	uint8_t proven[DISCOVERY_BEACON_MAX + DISCOVERY_PROOF_SIZE];
	int length;

	memcpy(proven, data, size);
	length = discovery_prove(&secret, DISCOVERY_BEACON, proven, size);
	if (length < 0)
		return; /* built without */
	if (!discovery_proven(&secret, DISCOVERY_BEACON, proven, (size_t)length) ||
	    discovery_proven(&secret, DISCOVERY_PROBE, proven, (size_t)length))
		abort();
	proven[size / 2] ^= 1;
	if (discovery_proven(&secret, DISCOVERY_BEACON, proven, (size_t)length))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct beacon_seen seen = {0};

	if (size && size <= DISCOVERY_BEACON_MAX)
		prove(data, size);
	discovery_proven(&secret, DISCOVERY_BEACON, data, size);
	if (beacon_parse(data, size, &seen) < 0)
		return 0;
	if (!seen.port || !size || size > DISCOVERY_BEACON_MAX)
		abort();
	fuzz_touch(seen.agent, sizeof(seen.agent));
	fuzz_touch(seen.key_id, sizeof(seen.key_id));
	fuzz_touch(seen.nonce, sizeof(seen.nonce));
	return 0;
}
