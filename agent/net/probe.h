#pragma once
/* What collectors ask with: is this datagram a probe that is to be answered? And may it be answered
 * now? */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "proto/discovery.h"

struct secret;

/* 0 and its nonce: it is whole, large enough for any answer, and with a `secret` (NULL: none)
 * proven by it. -EBADMSG, -EACCES. */
int probe_parse(const struct secret *secret, const uint8_t *data, size_t length,
		uint8_t ret_nonce[DISCOVERY_NONCE_SIZE]);

#define PROBE_SOURCES 16 /* are answered in a second, */
#define PROBE_EACH    4	 /* each so often: hosts can be several collectors */

struct probe_limit {
	uint64_t second;
	struct {
		uint64_t address;
		uint32_t answers;
	} source[PROBE_SOURCES];
	uint32_t sources;
};

/* Counts an answer to this address in this second of any clock; false: no more. */
bool probe_allowed(struct probe_limit *limit, const struct sockaddr_storage *from, uint64_t second);
