#pragma once
/*
 * Opening frames that a stranger sent: decompression and unpacking with a bound on memory. A
 * message of small elements can unpack to many times its length; here all of it goes into one
 * arena, which has a limit and is used again for the next.
 */
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

struct err_text;

/* Most memory that one unpacked message may take. */
#define MESSAGE_MAX_MEMORY (64u << 20)

struct message_reader;
struct message_reader *message_reader_new(void); /* NULL: no memory */
void message_reader_free(struct message_reader *reader);

/* Opens one whole frame that holds a message of type `type`. The message lies in the reader's
 * memory until the next call. 0; -EBADMSG: damaged, or more than MESSAGE_MAX_MEMORY, the sentence
 * says what; -ENOMEM. */
int message_reader_open(struct message_reader *reader, const ProtobufCMessageDescriptor *type,
			const uint8_t *frame, size_t length, ProtobufCMessage **ret_message,
			struct err_text *err);
/* Bytes that the message takes, and what was kept for it. */
size_t message_reader_memory(const struct message_reader *reader);
