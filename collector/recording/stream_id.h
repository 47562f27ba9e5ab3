#pragma once
/* The id of a stream: 16 random bytes that the agent chose. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/discovery.h"

struct stream_id {
	uint8_t bytes[STREAM_ID_SIZE];
};

/* Size of an id as text: 32 hexadecimal digits and NUL. */
#define STREAM_ID_TEXT 33
char *stream_id_format(char out[STREAM_ID_TEXT], const struct stream_id *id);
/* Returns false if the text is not an id. */
bool stream_id_parse(const char *text, struct stream_id *ret_id);
