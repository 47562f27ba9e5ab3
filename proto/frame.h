#pragma once
/*
 * Framing: a stream of messages is a row of standard LZ4 frames (content size and content checksum
 * present, blocks independent), each of which holds one element of a repeated field number 1: the
 * byte 0x0a, the length as a varint, the message. So the decompressed whole is itself a protobuf
 * message (Recording, or Orders in the other direction), and `lz4 -dc` and protoc read it. LZ4
 * frame format: lz4_Frame_format.md, version 1.6.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

/* Longest decompressed element, all included, that anybody may send; and the longest frame that can
 * result. */
#define FRAME_MAX_CONTENT (8u << 20)
#define FRAME_MAX	  (FRAME_MAX_CONTENT + (FRAME_MAX_CONTENT >> 6) + 64)

/* Bytes that must be free in front of a message that is to be framed: the element's tag and length
 * go there. */
#define FRAME_HEADROOM 8

/* Compression: one state, used again for every frame; allocates nothing after frame_encoder_new. */
struct frame_encoder;
struct frame_encoder *frame_encoder_new(void); /* NULL: no memory */
void frame_encoder_free(struct frame_encoder *encoder);
/* Room that a frame of a message of `length` bytes needs at most. */
size_t frame_bound(size_t length);
/* Frames `length` bytes at `message` (FRAME_HEADROOM bytes before it are overwritten) into `out`.
 * Returns the frame's length; -EMSGSIZE: longer than FRAME_MAX_CONTENT or than `size` holds; -EIO:
 * the compressor failed. */
long frame_encode(struct frame_encoder *encoder, uint8_t *message, size_t length, uint8_t *out,
		  size_t size);

/* Length of the frame that begins at `data`, found from its block headers alone. 1: known, in
 * ret_length, and all of it is there; 0: more bytes are needed (ret_length: at least so many);
 * -EBADMSG: not a frame of ours; -EMSGSIZE: too long. */
int frame_length(const uint8_t *data, size_t available, size_t *ret_length, struct err_text *err);

/* Of `available` bytes that are no whole frame: are they how a good one begins? Else they are
 * damaged: its header's checksum is wrong, a block can't be unpacked or is longer than a block of
 * ours can be, or the end is there where no block should end. */
bool frame_is_beginning(const uint8_t *data, size_t available);

/* Decompression: the message lies in the decoder's memory until the next call. */
struct frame_decoder;
struct frame_decoder *frame_decoder_new(void);
void frame_decoder_free(struct frame_decoder *decoder);
/* Opens one whole frame. 0; -EBADMSG: damaged (checksum, sizes, element), the sentence says what;
 * -ENOMEM. */
int frame_decode(struct frame_decoder *decoder, const uint8_t *frame, size_t length,
		 const uint8_t **ret_message, size_t *ret_length, struct err_text *err);
