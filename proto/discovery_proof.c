/* Authentication of discovery datagrams. discovery_proof.h describes the interface. */
#include "proto/discovery_proof.h"

#include <string.h>

#define LENGTH_DELIMITED 2 /* protobuf's wire type */

static const struct {
	const char *purpose;
	uint8_t tag;
} kinds[] = {
	[DISCOVERY_BEACON] = {"beacon", 8 << 3 | LENGTH_DELIMITED},
	[DISCOVERY_PROBE] = {"probe", 6 << 3 | LENGTH_DELIMITED},
};

int discovery_prove(const struct secret *secret, enum discovery_kind kind, uint8_t *datagram,
		    size_t length)
{
	uint8_t *field = datagram + length;
	int r = secret_mac(secret, kinds[kind].purpose, datagram, length, field + 2);

	if (r < 0)
		return r;
	field[0] = kinds[kind].tag;
	field[1] = SECRET_MAC_SIZE;
	return (int)(length + DISCOVERY_PROOF_SIZE);
}

bool discovery_proven(const struct secret *secret, enum discovery_kind kind,
		      const uint8_t *datagram, size_t length)
{
	const uint8_t *field = datagram + length - DISCOVERY_PROOF_SIZE;
	uint8_t mac[SECRET_MAC_SIZE];

	if (length <= DISCOVERY_PROOF_SIZE || field[0] != kinds[kind].tag ||
	    field[1] != SECRET_MAC_SIZE)
		return false;
	return secret_mac(secret, kinds[kind].purpose, datagram, length - DISCOVERY_PROOF_SIZE,
			  mac) == 0 &&
	       secret_mac_equal(mac, field + 2);
}

bool discovery_names(const struct secret *secret, const uint8_t *key_id, size_t length)
{
	return length == SECRET_ID_SIZE && !memcmp(secret->id, key_id, SECRET_ID_SIZE);
}
