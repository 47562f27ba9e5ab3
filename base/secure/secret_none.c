/* Built without OpenSSL: no keys. See secret.h. */
#include "base/secure/secret_hmac.h"

#include <errno.h>

int secret_hmac(const void *key, size_t key_length, const void *data, size_t length,
		uint8_t *ret_mac)
{
	(void)key;
	(void)key_length;
	(void)data;
	(void)length;
	(void)ret_mac;
	return -ENOTSUP;
}
