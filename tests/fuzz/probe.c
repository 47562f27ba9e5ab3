/*
 * A datagram from anybody, as an agent that can be found sees it. With a key it answers none that
 * was not proven, and it never answers what is smaller than an answer.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/net/probe.h"
#include "proto/discovery_proof.h"
#include "tests/fuzz/fuzz.h"

static const struct secret secret = {.key = "only for the fuzzer, of 32 bytes",
				     .key_length = 32,
				     .name = "fuzzer",
				     .id = "kkkkkkkk"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct probe_limit limit;
	uint8_t nonce[DISCOVERY_NONCE_SIZE] = {0};
	struct sockaddr_storage from = {.ss_family = size % 2 ? AF_INET : AF_INET6};
	int plain = probe_parse(NULL, data, size, nonce),
	    keyed = probe_parse(&secret, data, size, nonce);

	if (plain == 0 && (size < DISCOVERY_PROBE_SIZE || size > DISCOVERY_BEACON_MAX))
		abort();
	if (keyed == 0 && (plain < 0 || !discovery_proven(&secret, DISCOVERY_PROBE, data, size)))
		abort();
	fuzz_touch(nonce, sizeof(nonce));
	memcpy((char *)&from + 2, data, size < sizeof(from) - 2 ? size : sizeof(from) - 2);
	probe_allowed(&limit, &from, size / 7);
	if (limit.sources > PROBE_SOURCES)
		abort();
	return 0;
}
