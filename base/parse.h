#pragma once
/* Numbers as people write them: sizes (8M, 512K, binary), times (10s, 5m, 1h30m, 100ms, 5us), plain
 * numbers. */
#include <stdint.h>

/* All return 0, or -EINVAL (not of that form) or -ERANGE (does not fit), and write only on
 * success. */
int parse_u64(const char *text, uint64_t *ret_value); /* decimal, or hexadecimal after 0x */
int parse_size(const char *text,
	       uint64_t *ret_bytes); /* K, M, G, T: powers of 1024; an ending "B" or "iB" is fine */
int parse_duration(const char *text,
		   uint64_t *ret_ns); /* a bare number means seconds; decimals are fine: 0.5s */
/* "HOST:PORT", "[::1]:PORT" or "HOST"; writes `host` (at most `size` bytes with NUL) and the port
 * (0 where absent). */
int parse_endpoint(const char *text, char *ret_host, unsigned size, uint16_t *ret_port);

/* For a person: "1.5 MiB", "213 B"; "1.50 s", "12.3 us", "2 min 5 s". `out` has room for 32 bytes;
 * returns it. */
char *format_size(char *out, double bytes);
char *format_duration(char *out, uint64_t ns);
/* With thin groups of three: 1,234,567. */
char *format_count(char *out, uint64_t count);
