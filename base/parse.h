#pragma once
/*
 * Numbers as people write them: sizes (8M, 512K; binary units), durations (10s, 5m, 1h30m, 100ms,
 * 5us) and plain numbers.
 */
#include <stdbool.h>
#include <stdint.h>

/*
 * The parse functions return 0, -EINVAL for bad syntax or -ERANGE for a value that does not fit.
 * They write a result only on success. Sizes and durations are rounded to the nearest byte and
 * nanosecond; those above 2^53 are as exact as a double.
 */
int parse_u64(const char *text, uint64_t *ret_value); /* decimal, or hexadecimal after 0x */
int parse_size(const char *text,
	       uint64_t *ret_bytes); /* K, M, G and T are powers of 1024; "B" or "iB" may follow */
int parse_duration(const char *text,
		   uint64_t *ret_ns); /* a bare number means seconds; minutes after hours (1h30);
				       * seconds after minutes (5m30). After other units it is
				       * refused. Fractions are allowed: 0.5s */
/*
 * Parses a time of the clock: "2026-11-30 14:05", also with a T between and with seconds; of this
 * machine's time zone, or of UTC with a Z behind it; or "@SECONDS" since the epoch. The result is
 * in nanoseconds since the epoch. -ERANGE: it is before the epoch or after 2262.
 */
int parse_wall(const char *text, uint64_t *ret_ns);
int parse_switch(const char *text, bool *ret_on); /* 1, yes, true, on; 0, no, false, off and "" */
/*
 * Parses "HOST:PORT", "[::1]:PORT" or "HOST". Writes the host (at most `size` bytes with its NUL)
 * and the port, 0 if it is absent.
 */
int parse_endpoint(const char *text, char *ret_host, unsigned size, uint16_t *ret_port);

/*
 * Format for people: "1.5 MiB", "213 B"; "1.50 s", "12.3 us", "2 min 5 s". `out` has room for 32
 * bytes and is returned.
 */
char *format_size(char *out, double bytes);
char *format_duration(char *out, uint64_t ns);
/* Groups the digits in threes: 1,234,567. */
char *format_count(char *out, uint64_t count);
/* Adds the noun in the right number: "1 event", "1,413 events". `out` has room for FORMAT_COUNTED
 * bytes. */
#define FORMAT_COUNTED 64
char *format_counted(char *out, uint64_t count, const char *noun);
