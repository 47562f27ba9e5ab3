#pragma once
/* Inside of base/secret: the primitive, from a library. The build chooses the source. */
#include <stddef.h>
#include <stdint.h>

/* HMAC-SHA-256. 0; -ENOTSUP: built without; -EIO: the library fails. */
int secret_hmac(const void *key, size_t key_length, const void *data, size_t length,
		uint8_t *ret_mac);
