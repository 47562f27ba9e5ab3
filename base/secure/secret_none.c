/* The build without OpenSSL: no keys. secret_hmac.h describes the interface. */
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

int secret_sha256(const void *data, size_t length, uint8_t ret_digest[32])
{
	(void)data;
	(void)length;
	(void)ret_digest;
	return -ENOTSUP;
}
