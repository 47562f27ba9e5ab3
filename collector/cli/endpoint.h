#pragma once
/* Where to serve HTTP, as people write it. */
#include <stdint.h>

/* "ADDR:PORT", "ADDR", "[ADDR6]:PORT", ":PORT" or "PORT"; what is missing is the default (http.h),
 * port 0 is any free one. 0 or -EINVAL. `host` has room for `size` bytes. */
int http_endpoint_parse(const char *text, char *host, unsigned size, uint16_t *ret_port);
