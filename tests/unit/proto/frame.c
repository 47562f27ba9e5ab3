/*
 * Framing: what goes in comes out; whatever damage a line or a disk can do is noticed, or does not
 * matter. A flipped bit may turn up in a field that changes nothing (the frame then opens to the
 * same message), but never as another message.
 */
#include "proto/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

struct fixture {
	struct frame_encoder *encoder;
	struct frame_decoder *decoder;
};

/* A message with something to compress and something not to; FRAME_HEADROOM is in front of it. */
static uint8_t *message_new(size_t length)
{
	uint8_t *room = malloc(FRAME_HEADROOM + length + 1);
	uint32_t random = 2463534242u;

	assert_non_null(room);
	for (size_t i = 0; i < length; i++) {
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		room[FRAME_HEADROOM + i] = (uint8_t)(i % 512 < 256 ? i : random);
	}
	return room;
}

static uint8_t *encode(struct fixture *f, const uint8_t *room, size_t length, size_t *ret_length)
{
	size_t bound = frame_bound(length);
	uint8_t *copy = malloc(FRAME_HEADROOM + length + 1), *out = malloc(bound);
	long n;

	memcpy(copy, room, FRAME_HEADROOM + length);
	n = frame_encode(f->encoder, copy + FRAME_HEADROOM, length, out, bound);
	assert_true(n > 0 && (size_t)n <= bound);
	free(copy);
	*ret_length = (size_t)n;
	return out;
}

static void round_trip_of(struct fixture *f, size_t length)
{
	uint8_t *room = message_new(length), *frame;
	const uint8_t *message = NULL;
	size_t frame_size, known = 0, message_length = 0;

	frame = encode(f, room, length, &frame_size);
	assert_int_equal(frame_length(frame, frame_size, &known, NULL), 1);
	assert_int_equal(known, frame_size);
	assert_int_equal(
		frame_decode(f->decoder, frame, frame_size, &message, &message_length, NULL), 0);
	assert_int_equal(message_length, length);
	assert_memory_equal(message, room + FRAME_HEADROOM, length);
	free(frame);
	free(room);
}

static void every_size_round_trips(void **state)
{
	static const size_t lengths[] = {
		0,     1,     2,       127,	128,	 1000,	  16383,
		16384, 65536, 1 << 20, 4194303, 4194304, 5000000, FRAME_MAX_CONTENT - 5};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		round_trip_of(*state, lengths[i]);
}

static void too_long_is_refused(void **state)
{
	struct fixture *f = *state;
	uint8_t *room = message_new(FRAME_MAX_CONTENT);
	size_t bound = frame_bound(FRAME_MAX_CONTENT);
	uint8_t *out = malloc(bound);

	assert_int_equal(
		frame_encode(f->encoder, room + FRAME_HEADROOM, FRAME_MAX_CONTENT, out, bound),
		-EMSGSIZE);
	assert_int_equal(
		frame_encode(f->encoder, room + FRAME_HEADROOM, 100, out, frame_bound(100) - 1),
		-EMSGSIZE);
	free(out);
	free(room);
}

/* With a frame's first n bytes, frame_length asks for more and never for more than there is. */
static void every_prefix_asks_for_more(void **state)
{
	struct fixture *f = *state;
	uint8_t *room = message_new(3000), *frame;
	size_t frame_size;

	frame = encode(f, room, 3000, &frame_size);
	for (size_t n = 0; n < frame_size; n++) {
		uint8_t *exact = malloc(n ? n : 1);
		size_t wanted = 0;

		memcpy(exact, frame, n);
		assert_int_equal(frame_length(exact, n, &wanted, NULL), 0);
		assert_true(wanted > n && wanted <= frame_size);
		free(exact);
	}
	free(frame);
	free(room);
}

static void every_truncation_is_noticed(void **state)
{
	struct fixture *f = *state;
	uint8_t *room = message_new(3000), *frame;
	size_t frame_size;

	frame = encode(f, room, 3000, &frame_size);
	for (size_t n = 0; n < frame_size; n++) {
		uint8_t *exact = malloc(n ? n : 1);
		const uint8_t *message;
		struct err_text err = {0};
		size_t length;

		memcpy(exact, frame, n);
		assert_int_equal(frame_decode(f->decoder, exact, n, &message, &length, &err),
				 -EBADMSG);
		assert_int_not_equal(err.text[0], 0);
		free(exact);
	}
	free(frame);
	free(room);
}

/* What a receiver does: find the end, then open. */
static int receive(struct fixture *f, const uint8_t *frame, size_t available,
		   const uint8_t **ret_message, size_t *ret_length)
{
	size_t length;
	int r = frame_length(frame, available, &length, NULL);

	if (r != 1)
		return r < 0 ? r : -EBADMSG;
	return frame_decode(f->decoder, frame, length, ret_message, ret_length, NULL);
}

static void every_flip_is_noticed_or_harmless(void **state)
{
	struct fixture *f = *state;
	uint8_t *room = message_new(700), *frame;
	size_t frame_size, opened = 0;

	frame = encode(f, room, 700, &frame_size);
	for (size_t i = 0; i < frame_size; i++)
		for (unsigned mask = 1; mask < 256; mask++) {
			const uint8_t *message;
			size_t length;

			frame[i] ^= (uint8_t)mask;
			if (!receive(f, frame, frame_size, &message, &length)) {
				opened++;
				assert_int_equal(length, 700);
				assert_memory_equal(message, room + FRAME_HEADROOM, 700);
			}
			frame[i] ^= (uint8_t)mask;
		}
	assert_true(opened < frame_size);
	free(frame);
	free(room);
}

static void foreign_bytes_are_named(void **state)
{
	static const uint8_t elf[] = "\177ELF and so on, for some bytes";
	static const uint8_t empty_frame[] = {0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 0,
					      0,    0,	  0,	5,    0x5d, 0xcc, 2,	0};
	struct err_text err = {0};
	size_t length;

	(void)state;
	assert_int_equal(frame_length(elf, sizeof(elf), &length, &err), -EBADMSG);
	assert_string_equal(err.text, "no LZ4 frame begins here");
	assert_int_equal(frame_length(elf, 1, &length, &err), -EBADMSG);
	assert_int_equal(frame_length(empty_frame, sizeof(empty_frame), &length, &err), -EBADMSG);
}

static int set_up(void **state)
{
	static struct fixture f;

	f.encoder = frame_encoder_new();
	f.decoder = frame_decoder_new();
	*state = &f;
	return !f.encoder || !f.decoder;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	frame_encoder_free(f->encoder);
	frame_decoder_free(f->decoder);
	frame_encoder_free(NULL);
	frame_decoder_free(NULL);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_round_trips),
		cmocka_unit_test(too_long_is_refused),
		cmocka_unit_test(every_prefix_asks_for_more),
		cmocka_unit_test(every_truncation_is_noticed),
		cmocka_unit_test(every_flip_is_noticed_or_harmless),
		cmocka_unit_test(foreign_bytes_are_named),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
