#pragma once
/* Code written in the test as text: two digits a byte. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static inline size_t bytes_of(const char *hex, uint8_t *out)
{
	size_t count = 0;
	unsigned value;
	int read;

	for (; sscanf(hex, " %2x%n", &value, &read) == 1; hex += read)
		out[count++] = (uint8_t)value;
	return count;
}
