#pragma once
/* Build ids as text: hexadecimal digits. */
#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_TEXT 129

/* Writes the digits, or "-" for an empty id. Returns `out` or a constant text. */
const char *build_id_format(char out[BUILD_ID_TEXT], const uint8_t *id, uint32_t length);
/* Parses the digits. Returns 0, or -EINVAL if the text is not an id of at most `size` bytes. */
int build_id_parse(const char *text, uint8_t *ret_id, size_t size, uint32_t *ret_length);
