/* LZ4 framing. frame.h describes the interface. */
#include "proto/frame.h"

#include <errno.h>
#include <lz4.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ban.h"

#define LZ4_MAGIC	0x184d2204u
#define FLAG_VERSION	0x40
#define FLAG_BLOCKSUM	0x10
#define FLAG_SIZE	0x08
#define FLAG_CONTENTSUM 0x04
#define FLAG_DICTIONARY 0x01
#define BLOCK_STORED	0x80000000u
#define HEADER_SIZE	15 /* magic, FLG, BD, content size, header checksum */
#define ELEMENT_TAG	0x0a

struct frame_encoder {
	LZ4F_cctx *context;
};

struct frame_decoder {
	LZ4F_dctx *context;
	uint8_t *content;
	size_t capacity;
};

static LZ4F_preferences_t preferences(size_t content)
{
	return (LZ4F_preferences_t){
		.frameInfo = {.blockSizeID = LZ4F_max4MB,
			      .blockMode = LZ4F_blockIndependent,
			      .contentChecksumFlag = LZ4F_contentChecksumEnabled,
			      .contentSize = content},
		.autoFlush = 1,
	};
}

struct frame_encoder *frame_encoder_new(void)
{
	struct frame_encoder *e = calloc(1, sizeof(*e));

	if (e && LZ4F_isError(LZ4F_createCompressionContext(&e->context, LZ4F_VERSION))) {
		free(e);
		return NULL;
	}
	return e;
}

void frame_encoder_free(struct frame_encoder *e)
{
	if (!e)
		return;
	LZ4F_freeCompressionContext(e->context);
	free(e);
}

size_t frame_bound(size_t length)
{
	LZ4F_preferences_t p = preferences(length + FRAME_HEADROOM);

	return LZ4F_compressFrameBound(length + FRAME_HEADROOM, &p);
}

long frame_encode(struct frame_encoder *e, uint8_t *message, size_t length, uint8_t *out,
		  size_t size)
{
	uint8_t prefix[1 + VARINT_MAX];
	size_t prefix_length, content, n, used;
	LZ4F_preferences_t p;

	prefix[0] = ELEMENT_TAG;
	prefix_length = (size_t)(varint_put(prefix + 1, length) - prefix);
	content = prefix_length + length;
	if (content > FRAME_MAX_CONTENT || frame_bound(length) > size)
		return -EMSGSIZE;
	memcpy(message - prefix_length, prefix, prefix_length);
	p = preferences(content);
	used = LZ4F_compressBegin(e->context, out, size, &p);
	if (LZ4F_isError(used))
		return -EIO;
	n = LZ4F_compressUpdate(e->context, out + used, size - used, message - prefix_length,
				content, &(LZ4F_compressOptions_t){.stableSrc = 1});
	if (LZ4F_isError(n))
		return -EIO;
	used += n;
	n = LZ4F_compressEnd(e->context, out + used, size - used, NULL);
	if (LZ4F_isError(n))
		return -EIO;
	return (long)(used + n);
}

int frame_length(const uint8_t *data, size_t available, size_t *ret_length, struct err_text *err)
{
	struct reader r = reader_of(data, available);
	size_t length = HEADER_SIZE;
	uint8_t flags;
	uint64_t content;

	*ret_length = HEADER_SIZE + 4;
	for (size_t i = 0; i < available && i < 4; i++)
		if (data[i] != (uint8_t)(LZ4_MAGIC >> (8 * i)))
			return err_set(err, -EBADMSG, "no LZ4 frame begins here");
	if (available < HEADER_SIZE)
		return 0;
	reader_u32le(&r);
	flags = reader_u8(&r);
	reader_u8(&r);
	content = reader_u64le(&r);
	reader_u8(&r);
	if ((flags & 0xc0) != FLAG_VERSION || !(flags & FLAG_SIZE) || !(flags & FLAG_CONTENTSUM) ||
	    flags & FLAG_DICTIONARY)
		return err_set(
			err, -EBADMSG,
			"the LZ4 frame has no content size or no checksum, so it is none of ours");
	if (content > FRAME_MAX_CONTENT)
		return err_set(err, -EMSGSIZE,
			       "the LZ4 frame holds %llu bytes, more than the %u that are allowed",
			       (unsigned long long)content, FRAME_MAX_CONTENT);
	for (;;) {
		uint32_t block = reader_u32le(&r), stored = block & ~BLOCK_STORED;

		length += 4;
		if (reader_error(&r)) {
			*ret_length = length;
			return 0;
		}
		if (!block)
			break;
		if (!stored || stored > FRAME_MAX - length)
			return err_set(err, -EBADMSG, "the LZ4 frame has a block of %u bytes",
				       stored);
		length += stored + (flags & FLAG_BLOCKSUM ? 4 : 0);
		if (length > available) {
			*ret_length = length + 4;
			return 0;
		}
		reader_bytes(&r, length - r.offset);
	}
	length += 4;
	*ret_length = length;
	if (length > FRAME_MAX)
		return err_set(err, -EMSGSIZE, "the LZ4 frame is %zu bytes long", length);
	return length <= available;
}

/* ---- incomplete frames ---- */

#define BLOCK_CONTENT_MAX (4u << 20)
#define FRAME_END	  8 /* end mark and content checksum */

/*
 * Tells whether a block of `size` bytes is valid. A compressed block must decompress to a full
 * block of content, or to `left` bytes if it is the last.
 */
static bool block_opens(const uint8_t *data, uint32_t size, bool stored, uint64_t left, char *room)
{
	int content = (int)(left < BLOCK_CONTENT_MAX ? left : BLOCK_CONTENT_MAX);

	if (stored || size > (uint32_t)content)
		return stored && size == (uint32_t)content;
	return LZ4_decompress_safe((const char *)data, room, (int)size, content) == content;
}

/* Checks the blocks from `data` on, of a frame with `left` bytes of content. */
static bool blocks_begin(const uint8_t *data, size_t available, uint64_t left, char *room)
{
	struct reader r = reader_of(data, available);

	while (left && reader_left(&r) >= 4) {
		uint32_t word = reader_u32le(&r), size = word & ~BLOCK_STORED;
		uint64_t content = left < BLOCK_CONTENT_MAX ? left : BLOCK_CONTENT_MAX;
		bool stored = word & BLOCK_STORED;

		if (!size || size > content)
			return false;
		if (reader_left(&r) < size) {
			/*
			 * The block is cut off, unless the remaining bytes are a shorter block and
			 * the end of a frame.
			 */
			size_t rest = reader_left(&r);

			return rest <= FRAME_END ||
			       !block_opens(data + r.offset, (uint32_t)(rest - FRAME_END), stored,
					    left, room);
		}
		if (!block_opens(data + r.offset, size, stored, left, room))
			return false;
		reader_bytes(&r, size);
		left -= content;
	}
	for (unsigned i = 0; !left && i < 4 && reader_more(&r); i++)
		if (reader_u8(&r))
			return false; /* the end mark is missing */
	return true;
}

bool frame_is_beginning(const uint8_t *data, size_t available)
{
	LZ4F_frameInfo_t info;
	LZ4F_dctx *context = NULL;
	size_t header = available;
	bool whole, good = true;
	char *room;

	for (size_t i = 0; i < available && i < 4; i++)
		good = good && data[i] == (uint8_t)(LZ4_MAGIC >> (8 * i));
	if (!good || available < HEADER_SIZE)
		return good;
	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return true;
	whole = !LZ4F_isError(LZ4F_getFrameInfo(context, &info, data, &header));
	LZ4F_freeDecompressionContext(context);
	if (!whole || info.contentSize > FRAME_MAX_CONTENT || !info.contentSize)
		return false;
	room = malloc(BLOCK_CONTENT_MAX);
	if (room)
		good = blocks_begin(data + header, available - header, info.contentSize, room);
	free(room);
	return good;
}

/* ---- decompression ---- */

struct frame_decoder *frame_decoder_new(void)
{
	struct frame_decoder *d = calloc(1, sizeof(*d));

	if (d && LZ4F_isError(LZ4F_createDecompressionContext(&d->context, LZ4F_VERSION))) {
		free(d);
		return NULL;
	}
	return d;
}

void frame_decoder_free(struct frame_decoder *d)
{
	if (!d)
		return;
	LZ4F_freeDecompressionContext(d->context);
	free(d->content);
	free(d);
}

int frame_decode(struct frame_decoder *d, const uint8_t *frame, size_t length,
		 const uint8_t **ret_message, size_t *ret_length, struct err_text *err)
{
	LZ4F_frameInfo_t info;
	size_t header = length, used, produced, left;
	struct reader r;

	LZ4F_resetDecompressionContext(d->context);
	left = LZ4F_getFrameInfo(d->context, &info, frame, &header);
	if (LZ4F_isError(left))
		return err_set(err, -EBADMSG, "the LZ4 frame's header is damaged (%s)",
			       LZ4F_getErrorName(left));
	if (!info.contentSize || info.contentSize > FRAME_MAX_CONTENT)
		return err_set(err, -EBADMSG, "the LZ4 frame says it holds %llu bytes",
			       info.contentSize);
	if (info.contentSize > d->capacity) {
		uint8_t *content = realloc(d->content, info.contentSize);

		if (!content)
			return -ENOMEM;
		d->content = content;
		d->capacity = info.contentSize;
	}
	used = length - header;
	produced = info.contentSize;
	left = LZ4F_decompress(d->context, d->content, &produced, frame + header, &used, NULL);
	if (LZ4F_isError(left) && !strcmp(LZ4F_getErrorName(left), "ERROR_allocation_failed"))
		return -ENOMEM;
	if (LZ4F_isError(left))
		return err_set(err, -EBADMSG, "the LZ4 frame is damaged (%s)",
			       LZ4F_getErrorName(left));
	if (left || produced != info.contentSize || header + used != length)
		return err_set(err, -EBADMSG, "the LZ4 frame does not end where it says");
	r = reader_of(d->content, produced);
	if (reader_u8(&r) != ELEMENT_TAG || reader_varint(&r) != reader_left(&r) ||
	    reader_error(&r))
		return err_set(err, -EBADMSG, "the LZ4 frame does not hold one whole message");
	*ret_message = d->content + r.offset;
	*ret_length = reader_left(&r);
	return 0;
}
