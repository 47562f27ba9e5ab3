#pragma once
/*
 * The coder of state.h: one description of a member serves for writing and reading. Values that are
 * read are untrusted. The coder checks that a value fits its type and the remaining bytes; the
 * description checks what the value refers to. After an error further calls are harmless, and the
 * values are undefined.
 */
#include <errno.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes.h"

struct definitions;

/* Visits the members in one order, for writing (`out`) or reading. */
struct coder {
	struct buf *out; /* NULL: reading */
	struct reader in;
	int error;
};

/* Records that a value is impossible. An earlier error stays, so a lack of memory is not reported
 * as damage. */
static inline void code_refuse(struct coder *c)
{
	if (!c->error)
		c->error = -EBADMSG;
}

static inline void code_u64(struct coder *c, uint64_t *value)
{
	uint8_t *room;

	if (!c->out) {
		*value = reader_varint(&c->in);
		return;
	}
	room = buf_reserve(c->out, VARINT_MAX);
	if (room)
		c->out->length = (size_t)(varint_put(room, *value) - c->out->data);
}

static inline void code_u32(struct coder *c, uint32_t *value)
{
	uint64_t wide = *value;

	code_u64(c, &wide);
	if (wide > UINT32_MAX)
		code_refuse(c);
	*value = (uint32_t)wide;
}

static inline void code_u8(struct coder *c, uint8_t *value)
{
	uint32_t wide = *value;

	code_u32(c, &wide);
	*value = (uint8_t)wide;
}

static inline void code_bool(struct coder *c, bool *value)
{
	uint8_t byte = *value;

	code_u8(c, &byte);
	*value = byte;
}

static inline void code_row(struct coder *c, uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		code_u64(c, &words[i]);
}

/* For a struct whose members are all uint64_t. */
#define code_words(c, p) code_row(c, (uint64_t *)(p), sizeof(*(p)) / sizeof(uint64_t))

void code_bytes(struct coder *coder, void *data, size_t length);
/* NULL stays NULL. A text that was read belongs to the caller. */
void code_text(struct coder *coder, char **text);
bool state_failed(const struct coder *coder);
/*
 * Codes the number of elements and, when reading, reserves room for them. Every element takes at
 * least a byte, which bounds the number. Returns false if there are none.
 */
bool code_array(struct coder *coder, void *array, uint32_t *count, uint32_t *capacity, size_t size);
/* Codes all definitions, in their order (state_definitions.c). */
void code_definitions(struct coder *coder, struct definitions *definitions);
