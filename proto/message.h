#pragma once
/*
 * Decompresses and unpacks untrusted frames in bounded memory. A message of small elements can
 * unpack to many times its length. Everything therefore goes into one arena, which has a limit and
 * is reused for the next message.
 */
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

struct err_text;

/* Most memory that one unpacked message may take. */
#define MESSAGE_MAX_MEMORY (64u << 20)

struct message_reader;
struct message_reader *message_reader_new(void); /* NULL if memory is short */
void message_reader_free(struct message_reader *reader);

/*
 * Decodes one whole frame with a message of type `type`. The message is in the reader's memory
 * until the next call. Returns 0, -ENOMEM, or -EBADMSG with a sentence if the frame is damaged or
 * the message needs more than MESSAGE_MAX_MEMORY.
 */
int message_reader_open(struct message_reader *reader, const ProtobufCMessageDescriptor *type,
			const uint8_t *frame, size_t length, ProtobufCMessage **ret_message,
			struct err_text *err);
/* Returns the bytes that the reader holds: the message and the memory kept for it. */
size_t message_reader_memory(const struct message_reader *reader);
