/* Unpacks messages into a bounded arena. message.h describes the interface. */
#include "proto/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "proto/frame.h"
#include "base/ban.h"

#define CHUNK_SIZE (256u << 10)

struct chunk {
	struct chunk *next;
	size_t size, used;
	_Alignas(16) uint8_t data[];
};

struct message_reader {
	struct frame_decoder *frames;
	struct chunk *chunks; /* the current chunk first; the last chunk is kept from message to
			       * message */
	size_t total;
	bool short_of_memory; /* while this message was unpacked */
	ProtobufCAllocator allocator;
};

static struct chunk *chunk_new(struct message_reader *r, size_t size)
{
	struct chunk *c;

	if (size > MESSAGE_MAX_MEMORY - r->total)
		return NULL;
	c = malloc(sizeof(*c) + size);
	r->short_of_memory = !c;
	if (!c)
		return NULL;
	r->total += size;
	*c = (struct chunk){.next = r->chunks, .size = size};
	r->chunks = c;
	return c;
}

static void *arena_alloc(void *context, size_t size)
{
	struct message_reader *r = context;
	struct chunk *c = r->chunks;

	if (size > MESSAGE_MAX_MEMORY)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size)
		c = chunk_new(r, size > CHUNK_SIZE ? size : CHUNK_SIZE);
	if (!c)
		return NULL;
	c->used += size;
	return c->data + c->used - size;
}

static void arena_free(void *context, void *pointer)
{
	(void)context;
	(void)pointer;
}

static void arena_clear(struct message_reader *r)
{
	while (r->chunks && r->chunks->next) {
		struct chunk *c = r->chunks;

		r->chunks = c->next;
		r->total -= c->size;
		free(c);
	}
	if (r->chunks)
		r->chunks->used = 0;
}

struct message_reader *message_reader_new(void)
{
	struct message_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->frames = frame_decoder_new();
	r->allocator =
		(ProtobufCAllocator){.alloc = arena_alloc, .free = arena_free, .allocator_data = r};
	if (!r->frames) {
		free(r);
		return NULL;
	}
	return r;
}

void message_reader_free(struct message_reader *r)
{
	if (!r)
		return;
	arena_clear(r);
	free(r->chunks);
	frame_decoder_free(r->frames);
	free(r);
}

int message_reader_open(struct message_reader *r, const ProtobufCMessageDescriptor *type,
			const uint8_t *frame, size_t length, ProtobufCMessage **ret_message,
			struct err_text *err)
{
	ProtobufCMessage *message;
	const uint8_t *content;
	size_t size;
	int e = frame_decode(r->frames, frame, length, &content, &size, err);

	if (e < 0)
		return e;
	arena_clear(r);
	r->short_of_memory = false;
	message = protobuf_c_message_unpack(type, &r->allocator, size, content);
	if (!message && r->short_of_memory)
		return -ENOMEM;
	if (!message)
		return err_set(err, -EBADMSG, "the frame does not hold a %s that can be unpacked",
			       type->short_name);
	*ret_message = message;
	return 0;
}

size_t message_reader_memory(const struct message_reader *r)
{
	return r->total;
}
