#pragma once
/*
 * Recordings for fuzz targets. Checksums keep a fuzzer from getting past the framing, so the input
 * is what `lz4 -dc` would show: a row of elements `0a LENGTH MESSAGE`, which are framed here; an
 * input that does not begin with 0a is the file itself.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "proto/frame.h"

static inline void framed_put(int fd, const void *data, size_t length)
{
	if (write(fd, data, length) != (ssize_t)length)
		abort();
}

static inline void framed_put_elements(int fd, const uint8_t *data, size_t size)
{
	static struct frame_encoder *encoder;
	struct reader r = reader_of(data, size);

	if (!encoder)
		encoder = frame_encoder_new();
	while (reader_more(&r) && reader_u8(&r) == 0x0a) {
		size_t length = (size_t)reader_varint(&r);
		const uint8_t *message = reader_bytes(&r, length);
		uint8_t *room, *frame;
		long n;

		if (!message || !length)
			return;
		room = malloc(FRAME_HEADROOM + length);
		frame = malloc(frame_bound(length));
		if (!room || !frame)
			abort();
		memcpy(room + FRAME_HEADROOM, message, length);
		n = frame_encode(encoder, room + FRAME_HEADROOM, length, frame,
				 frame_bound(length));
		if (n > 0)
			framed_put(fd, frame, (size_t)n);
		free(room);
		free(frame);
	}
}

/* A file in memory with the recording of an input. */
static inline int framed_recording(const uint8_t *data, size_t size)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	if (size && data[0] == 0x0a)
		framed_put_elements(fd, data, size);
	else
		framed_put(fd, data, size);
	return fd;
}
