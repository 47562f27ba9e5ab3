#pragma once
/* Checks collectors' probes: if a datagram is a valid probe, and if it may be answered now. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "proto/discovery.h"

struct secret;

/* Parses a probe and returns its nonce. A probe must be complete and at least as large as any
 * answer. If `secret` is not NULL, the probe must be authenticated by it. Returns 0, -EBADMSG or
 * -EACCES. */
int probe_parse(const struct secret *secret, const uint8_t *data, size_t length,
		uint8_t ret_nonce[DISCOVERY_NONCE_SIZE]);

#define PROBE_SOURCES 16 /* addresses that are answered in one second */
#define PROBE_EACH    4	 /* answers for each address: a host may run several collectors */

struct probe_limit {
	uint64_t second;
	struct {
		uint64_t address;
		uint32_t answers;
	} source[PROBE_SOURCES];
	uint32_t sources;
};

/* Counts an answer to this address. `second` may come from any clock. Returns false if no more
 * answers are allowed in this second. */
bool probe_allowed(struct probe_limit *limit, const struct sockaddr_storage *from, uint64_t second);
