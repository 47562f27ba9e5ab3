#pragma once
/*
 * The proof that authenticates a discovery datagram: its last field, 34 bytes.
 *
 *   message without it ...             | tag << 3 | 2 | 32 | HMAC-SHA-256 of all before
 *   beacon: tag 8, probe: tag 6          `-- 1 byte      `-- 1 byte
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/secure/secret.h"

#define DISCOVERY_PROOF_SIZE (2 + SECRET_MAC_SIZE)

enum discovery_kind { DISCOVERY_BEACON, DISCOVERY_PROBE };

/*
 * Appends the proof to the `length` bytes at `datagram`, which has room for it. Returns the new
 * length or a negative errno.
 */
int discovery_prove(const struct secret *secret, enum discovery_kind kind, uint8_t *datagram,
		    size_t length);
/* Returns true if the datagram ends with a proof that its sender has this secret. */
bool discovery_proven(const struct secret *secret, enum discovery_kind kind,
		      const uint8_t *datagram, size_t length);
/* Returns true if a message's `key_id`, of any length, is that of the secret. */
bool discovery_names(const struct secret *secret, const uint8_t *key_id, size_t length);
