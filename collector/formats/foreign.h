#pragma once
/* Recognizes files of other tools that cannot be imported. Their lines may look like those of a
 * format that can. */
#include <stddef.h>
#include <stdint.h>

/* Returns what the file is, such as "a file of massif", by its first unpacked bytes. Returns NULL
 * if this table does not know it. */
const char *format_foreign(const uint8_t *head, size_t length);
