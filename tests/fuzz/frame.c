/*
 * Framing under arbitrary bytes: as a receiver walks a stream (find the end, open, go on), and the
 * other way round: what was framed must come out again.
 */
#include "proto/frame.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static void walk(struct frame_decoder *decoder, const uint8_t *data, size_t size)
{
	while (size) {
		const uint8_t *message;
		size_t length, message_length;

		if (frame_length(data, size, &length, NULL) != 1)
			return;
		if (length > size)
			abort();
		if (!frame_decode(decoder, data, length, &message, &message_length, NULL) &&
		    message_length)
			fuzz_touch(message, message_length);
		data += length;
		size -= length;
	}
}

static void round_trip(struct frame_encoder *encoder, struct frame_decoder *decoder,
		       const uint8_t *data, size_t size)
{
	uint8_t *room = malloc(FRAME_HEADROOM + size), *frame = malloc(frame_bound(size));
	const uint8_t *message;
	size_t message_length;
	long length;

	if (!room || !frame)
		abort();
	memcpy(room + FRAME_HEADROOM, data, size);
	length = frame_encode(encoder, room + FRAME_HEADROOM, size, frame, frame_bound(size));
	if (length < 0 ||
	    frame_decode(decoder, frame, (size_t)length, &message, &message_length, NULL) ||
	    message_length != size || memcmp(message, data, size))
		abort();
	free(room);
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame_encoder
		*encoder; /* as in use: one for many frames, damaged ones among them */
	static struct frame_decoder *decoder;

	if (!encoder)
		encoder = frame_encoder_new();
	if (!decoder)
		decoder = frame_decoder_new();
	if (!encoder || !decoder)
		abort();
	walk(decoder, data, size);
	if (size)
		round_trip(encoder, decoder, data, size);
	return 0;
}
