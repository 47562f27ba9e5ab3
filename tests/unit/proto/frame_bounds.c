/* Frames made by hand: what frame_length takes, asks for and refuses, at each bound. And the memory
 * that a reader of messages holds. */
#include "proto/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "heapcast.pb-c.h"
#include "proto/message.h"

#define HEADER 15
#define CHUNK  (256u << 10)

static uint8_t *frame; /* zeros, but for what a test puts there */

static int open_frame(void **state)
{
	(void)state;
	frame = calloc(1, FRAME_MAX + 64);
	return frame ? 0 : -1;
}

static int close_frame(void **state)
{
	(void)state;
	free(frame);
	return 0;
}

static void put_u32(size_t at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		frame[at + i] = (uint8_t)(value >> 8 * i);
}

/* Version 1, content size and checksum, independent blocks. */
static void put_header(uint8_t flags, uint64_t content)
{
	put_u32(0, 0x184d2204);
	frame[4] = flags;
	frame[5] = 0x70;
	put_u32(6, (uint32_t)content);
	put_u32(10, (uint32_t)(content >> 32));
}

static void assert_length(size_t available, int result, size_t length)
{
	struct err_text err;
	size_t got = 0;

	assert_int_equal(frame_length(frame, available, &got, &err), result);
	if (result >= 0)
		assert_int_equal(got, length);
}

/* Each byte of the magic number is looked at as soon as it is there. */
static void test_magic(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		put_header(0x4c, 0);
		assert_length(i + 1, 0, HEADER + 4);
		frame[i] ^= 1;
		assert_length(i, 0, HEADER + 4);
		assert_length(i + 1, -EBADMSG, 0);
		assert_length(HEADER + 8, -EBADMSG, 0);
		assert_false(frame_is_beginning(frame, i + 1));
		assert_true(frame_is_beginning(frame, i));
	}
}

static void test_header(void **state)
{
	(void)state;
	put_header(0x4c, 0);
	for (size_t n = 0; n < HEADER + 4; n++)
		assert_length(n, 0, HEADER + 4);
	assert_length(HEADER + 4, 0, HEADER + 8); /* an end mark, and the checksum */
	assert_length(HEADER + 7, 0, HEADER + 8);
	assert_length(HEADER + 8, 1, HEADER + 8);
	assert_length(HEADER + 9, 1, HEADER + 8);
	for (unsigned bit = 0; bit < 8; bit++) {
		bool wanted = 0x4c >> bit & 1, refused = wanted || bit == 7 || bit == 0;

		put_header((uint8_t)(0x4c ^ 1 << bit), 0);
		assert_length(HEADER + 8, refused ? -EBADMSG : 1, HEADER + 8);
	}
}

static void test_content(void **state)
{
	(void)state;
	put_header(0x4c, FRAME_MAX_CONTENT);
	assert_length(HEADER + 8, 1, HEADER + 8);
	put_header(0x4c, FRAME_MAX_CONTENT + 1);
	assert_length(HEADER + 8, -EMSGSIZE, 0);
	put_header(0x4c, 1ull << 32);
	assert_length(HEADER + 8, -EMSGSIZE, 0);
}

static void test_blocks(void **state)
{
	(void)state;
	for (unsigned stored = 0; stored < 2; stored++)
		for (unsigned sums = 0; sums < 2; sums++) {
			size_t end = HEADER + 4 + 5 + 4 * sums;

			put_header(sums ? 0x5c : 0x4c, 0);
			put_u32(HEADER, stored << 31 | 5);
			assert_length(HEADER + 4, 0, end + 4);
			assert_length(end - 1, 0, end + 4);
			assert_length(end, 0, end + 4);
			assert_length(end + 4, 0, end + 8);
			assert_length(end + 8, 1, end + 8);
		}
	put_u32(HEADER, 1u << 31); /* a block of no byte */
	assert_length(HEADER + 8, -EBADMSG, 0);
}

static void test_longest(void **state)
{
	const uint32_t most = FRAME_MAX - HEADER - 4;

	(void)state;
	put_header(0x4c, 0);
	put_u32(HEADER, most);
	assert_length(HEADER + 4, 0, FRAME_MAX + 4);
	put_u32(HEADER, most + 1);
	assert_length(HEADER + 4, -EBADMSG, 0);
	put_u32(HEADER, most - 8); /* with the end mark and the checksum */
	assert_length(FRAME_MAX, 1, FRAME_MAX);
	put_u32(HEADER, most - 7);
	assert_length(FRAME_MAX + 1, -EMSGSIZE, 0);
}

/* A frame of 100 bytes that can be compressed; returns its length. */
static size_t put_whole(void)
{
	struct frame_encoder *encoder = frame_encoder_new();
	uint8_t room[FRAME_HEADROOM + 100];
	long n;

	memset(room, 'a', sizeof(room));
	n = frame_encode(encoder, room + FRAME_HEADROOM, 100, frame, frame_bound(100));
	assert_true(n > HEADER + 8);
	frame_encoder_free(encoder);
	return (size_t)n;
}

static void test_beginning(void **state)
{
	size_t length = put_whole();

	(void)state;
	for (size_t n = 0; n < length; n++)
		assert_true(frame_is_beginning(frame, n));
	for (unsigned at = 4; at < HEADER; at++) { /* the header has a checksum */
		frame[at] ^= 1;
		assert_true(frame_is_beginning(frame, HEADER - 1));
		assert_false(frame_is_beginning(frame, HEADER));
		frame[at] ^= 1;
	}
	put_u32(HEADER, 0); /* the content has a block */
	assert_true(frame_is_beginning(frame, HEADER + 3));
	assert_false(frame_is_beginning(frame, HEADER + 4));
	put_u32(HEADER, 102); /* as long as the content: only if it is stored */
	assert_true(frame_is_beginning(frame, HEADER + 4));
	put_u32(HEADER, 103); /* longer than the content: tag, length and 100 bytes */
	assert_false(frame_is_beginning(frame, HEADER + 4));
	length = put_whole();
	for (unsigned i = 0; i < 4; i++) { /* the end mark */
		frame[length - 8 + i] = 1;
		assert_true(frame_is_beginning(frame, length - 8 + i));
		assert_false(frame_is_beginning(frame, length - 8 + i + 1));
		frame[length - 8 + i] = 0;
	}
}

/* A batch whose stream id has so many bytes. */
static int read_batch(struct message_reader *r, size_t length)
{
	struct frame_encoder *encoder = frame_encoder_new();
	Heapcast__Batch batch;
	ProtobufCMessage *message;
	uint8_t *room, *out;
	size_t size;
	long n;
	int e;

	heapcast__batch__init(&batch);
	batch.stream.data = calloc(1, length + 1);
	batch.stream.len = length;
	size = heapcast__batch__get_packed_size(&batch);
	room = malloc(FRAME_HEADROOM + size);
	out = malloc(frame_bound(size));
	heapcast__batch__pack(&batch, room + FRAME_HEADROOM);
	n = frame_encode(encoder, room + FRAME_HEADROOM, size, out, frame_bound(size));
	assert_true(n > 0);
	e = message_reader_open(r, &heapcast__batch__descriptor, out, (size_t)n, &message, NULL);
	if (!e)
		assert_int_equal(((Heapcast__Batch *)message)->stream.len, length);
	free(batch.stream.data);
	free(room);
	free(out);
	frame_encoder_free(encoder);
	return e;
}

/* A chunk is kept; what is larger goes with its message. */
static void test_message_memory(void **state)
{
	struct message_reader *r = message_reader_new();

	(void)state;
	assert_non_null(r);
	assert_int_equal(message_reader_memory(r), 0);
	for (int round = 0; round < 300; round++) { /* 64 MiB are the limit of each, not of all */
		assert_int_equal(read_batch(r, 16), 0);
		assert_int_equal(message_reader_memory(r), CHUNK);
		if (round % 50 == 0) {
			assert_int_equal(read_batch(r, CHUNK + 16), 0);
			assert_int_equal(message_reader_memory(r), CHUNK + CHUNK + 16);
		}
	}
	assert_int_equal(read_batch(r, CHUNK), 0);
	assert_int_equal(message_reader_memory(r), 2 * CHUNK);
	assert_int_equal(read_batch(r, CHUNK + 1), 0); /* in sixteens */
	assert_int_equal(message_reader_memory(r), 2 * CHUNK + 16);
	message_reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_magic, open_frame, close_frame),
		cmocka_unit_test_setup_teardown(test_header, open_frame, close_frame),
		cmocka_unit_test_setup_teardown(test_content, open_frame, close_frame),
		cmocka_unit_test_setup_teardown(test_blocks, open_frame, close_frame),
		cmocka_unit_test_setup_teardown(test_longest, open_frame, close_frame),
		cmocka_unit_test_setup_teardown(test_beginning, open_frame, close_frame),
		cmocka_unit_test(test_message_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
