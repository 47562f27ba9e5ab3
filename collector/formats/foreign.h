#pragma once
/* Files of other tools that can't be imported, though their lines may look like those of a format
 * that can. */
#include <stddef.h>
#include <stdint.h>

/* What a file is by its first (unpacked) bytes: "a file of massif"; NULL: none that is known here.
 */
const char *format_foreign(const uint8_t *head, size_t length);
