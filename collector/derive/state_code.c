/* The coder of a recording's state. */
#include "collector/derive/state_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ban.h"

#define TEXT_MAX (1u << 16)

void code_bytes(struct coder *c, void *data, size_t length)
{
	const uint8_t *from;

	if (c->out) {
		buf_append(c->out, data, length);
		return;
	}
	from = reader_bytes(&c->in, length);
	if (from)
		memcpy(data, from, length);
}

void code_text(struct coder *c, char **text)
{
	uint64_t length = c->out && *text ? strlen(*text) + 1 : 0;

	code_u64(c, &length);
	if (!length)
		return;
	if (!c->out) {
		if (length > TEXT_MAX || length - 1 > reader_left(&c->in)) {
			code_refuse(c);
			return;
		}
		*text = calloc(1, length);
		if (!*text) {
			c->error = -ENOMEM;
			return;
		}
	}
	code_bytes(c, *text, length - 1);
}

bool state_failed(const struct coder *c)
{
	return c->error || (!c->out && reader_error(&c->in));
}

bool code_array(struct coder *c, void *array, uint32_t *count, uint32_t *capacity, size_t size)
{
	uint32_t n = *count;

	code_u32(c, &n);
	if (!c->out && (state_failed(c) || n > reader_left(&c->in))) {
		code_refuse(c);
		return false;
	}
	if (!c->out && n && array_reserve(array, capacity, n, size) < 0) {
		c->error = -ENOMEM;
		return false;
	}
	*count = n;
	return n;
}
