/*
 * A datagram from anybody, as a collector that listens for agents sees it. What is taken for a beacon must keep to
 * proto/README.md, "Discovery": and only then may the address that it gives be connected to.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/ingest/state.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t agent[STREAM_ID_SIZE] = {0};
	uint32_t streams = 0;
	uint16_t port = 0;

	if (beacon_parse(data, size, agent, &port, &streams) < 0)
		return 0;
	if (!port || !size || size > DISCOVERY_BEACON_MAX)
		abort();
	fuzz_touch(agent, sizeof(agent));
	return 0;
}
