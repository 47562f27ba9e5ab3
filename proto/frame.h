#pragma once
/*
 * Framing. A stream of messages is a sequence of standard LZ4 frames (with content size and content
 * checksum, with independent blocks). Each frame holds one element of a repeated field number 1:
 * the byte 0x0a, the length as a varint, the message. The decompressed stream is therefore itself a
 * protobuf message (Recording, or Orders in the other direction), which `lz4 -dc` and protoc can
 * read. LZ4 frame format: lz4_Frame_format.md, version 1.6.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

/*
 * The longest decompressed element that a peer may send, with its tag and length; and the longest
 * frame that can result from it.
 */
#define FRAME_MAX_CONTENT (8u << 20)
#define FRAME_MAX	  (FRAME_MAX_CONTENT + (FRAME_MAX_CONTENT >> 6) + 64)

/*
 * Bytes that must be free in front of a message to be framed. They receive the element's tag and
 * length.
 */
#define FRAME_HEADROOM 8

/*
 * The compressor. It reuses one state for all frames and allocates nothing after frame_encoder_new.
 */
struct frame_encoder;
struct frame_encoder *frame_encoder_new(void); /* NULL if memory is short */
void frame_encoder_free(struct frame_encoder *encoder);
/* Returns the greatest length of a frame with a message of `length` bytes. */
size_t frame_bound(size_t length);
/*
 * Compresses `length` bytes at `message` into `out`. Overwrites the FRAME_HEADROOM bytes in front
 * of the message. Returns the length of the frame, -EMSGSIZE if the element exceeds
 * FRAME_MAX_CONTENT or the frame does not fit into `size` bytes, or -EIO if the compressor failed.
 */
long frame_encode(struct frame_encoder *encoder, uint8_t *message, size_t length, uint8_t *out,
		  size_t size);

/*
 * Determines the length of the frame at `data` from its block headers alone. Returns 1 and the
 * length if the whole frame is available; 0 if more bytes are needed, with the least total number
 * of bytes in ret_length; -EBADMSG if it is not one of our frames; or -EMSGSIZE if it is too long.
 */
int frame_length(const uint8_t *data, size_t available, size_t *ret_length, struct err_text *err);

/*
 * Tells whether `available` bytes that are not a whole frame are the beginning of a valid one. If
 * not, they are damaged: the header checksum is wrong, a block cannot be decompressed or is longer
 * than our blocks, or the end marker is in the wrong place.
 */
bool frame_is_beginning(const uint8_t *data, size_t available);

/* The decompressor. A decoded message lies in its memory until the next call. */
struct frame_decoder;
struct frame_decoder *frame_decoder_new(void);
void frame_decoder_free(struct frame_decoder *decoder);
/*
 * Decodes one whole frame. Returns 0, -ENOMEM, or -EBADMSG with a sentence if the checksum, a size
 * or the element is wrong.
 */
int frame_decode(struct frame_decoder *decoder, const uint8_t *frame, size_t length,
		 const uint8_t **ret_message, size_t *ret_length, struct err_text *err);
