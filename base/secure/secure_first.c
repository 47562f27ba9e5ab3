/* The parts of secure.h that need no TLS library. */
#include "base/secure/secure.h"

#include "base/ban.h"

#define RECORD_ALERT	 21
#define RECORD_HANDSHAKE 22
#define MAJOR		 3

const uint8_t secure_refusal[7] = {RECORD_ALERT, MAJOR, 3, 0, 2, 2, 70};

bool secure_wanted(const struct secure_options *options)
{
	return options->secret_count || options->paired || options->cert || options->cert_key ||
	       options->ca;
}

enum secure_first secure_first(const void *data, size_t length)
{
	const uint8_t *b = data;

	if (!length)
		return SECURE_FIRST_UNKNOWN;
	if ((b[0] != RECORD_ALERT && b[0] != RECORD_HANDSHAKE) || (length > 1 && b[1] != MAJOR))
		return SECURE_FIRST_OTHER;
	if (length < 2)
		return SECURE_FIRST_UNKNOWN;
	return b[0] == RECORD_ALERT ? SECURE_FIRST_REFUSAL : SECURE_FIRST_HANDSHAKE;
}
