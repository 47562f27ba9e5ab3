/*
 * Compressed recordings: what is compressed comes back byte for byte, whatever it was; what is
 * damaged is refused, and never becomes longer than it says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <lz4frame.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/error.h"
#include "collector/recording/compressed.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/store/builder.h"

#define HEAD_LENGTH 20 /* where the head has the length, and its check */
#define HEAD_CHECK  36

static struct builder b;
static unsigned opened;

static int begin(void **state)
{
	(void)state;
	opened = descriptors_open();
	builder_init(&b, 7);
	for (uint64_t i = 1; i <= 6; i++) {
		for (uint64_t k = 0; k < 10 * i; k++)
			builder_malloc(&b, 1000 * i + k, 1, 0x10000 * i + 0x20 * k, i + k);
		builder_close(&b, 1000 * i + 500);
	}
	builder_end(&b, 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	builder_done(&b);
	return descriptors_open() == opened ? 0 : -1;
}

static int memory_file(const void *data, size_t length)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, length, 0), length);
	return fd;
}

static size_t read_file(int fd, uint8_t **ret_data)
{
	off_t length = lseek(fd, 0, SEEK_END);

	*ret_data = malloc((size_t)length + 1);
	assert_int_equal(pread(fd, *ret_data, (size_t)length, 0), length);
	return (size_t)length;
}

/* Compresses the bytes. The caller frees the result. */
static size_t compress(const void *data, size_t length, uint8_t **ret)
{
	int from = memory_file(data, length), to = memory_file("", 0);
	struct err_text err = {0};
	size_t n;

	assert_int_equal(compressed_write("a", from, length, to, NULL, NULL, &err), 0);
	n = read_file(to, ret);
	close(from);
	close(to);
	return n;
}

static int restore(const void *data, size_t length, uint8_t **ret, size_t *ret_length,
		   struct err_text *err)
{
	int from = memory_file(data, length), to = memory_file("", 0);
	int r = compressed_restore("file-name", from, to, err);

	*ret_length = read_file(to, ret);
	close(from);
	close(to);
	return r;
}

static void comes_back(const void *data, size_t length)
{
	uint8_t *packed, *again;
	size_t n = compress(data, length, &packed), m;
	struct err_text err = {0};

	assert_int_equal(restore(packed, n, &again, &m, &err), 0);
	assert_int_equal(m, length);
	assert_memory_equal(again, data, length);
	free(packed);
	free(again);
}

/* A frame with what a frame of ours holds, by another compressor. */
static void put_foreign(struct buf *out, const uint8_t *frame, size_t length)
{
	struct frame_decoder *decoder = frame_decoder_new();
	uint8_t element[65536], *at = element, *room;
	LZ4F_preferences_t p = {.frameInfo = {.contentChecksumFlag = LZ4F_contentChecksumEnabled},
				.compressionLevel = 12};
	const uint8_t *message;
	size_t n, size, bound;

	assert_int_equal(frame_decode(decoder, frame, length, &message, &n, NULL), 0);
	*at++ = 0x0a;
	at = varint_put(at, n);
	memcpy(at, message, n);
	p.frameInfo.contentSize = size = (size_t)(at - element) + n;
	bound = LZ4F_compressFrameBound(size, &p);
	room = buf_reserve(out, bound);
	out->length += LZ4F_compressFrame(room, bound, element, size, &p);
	frame_decoder_free(decoder);
}

static const uint8_t *frame_of(size_t i, size_t *ret_length)
{
	size_t from = i ? b.ends[i - 1] : 0;

	*ret_length = b.ends[i] - from;
	return b.file.data + from;
}

/* ---- round trips ---- */

static void whole(void **state)
{
	struct frame_decoder *decoder = frame_decoder_new();
	uint8_t *packed, *content = malloc(1 << 20);
	size_t n = compress(b.file.data, b.file.length, &packed), at = 0, length;

	(void)state;
	comes_back(b.file.data, b.file.length);
	assert_true(n < b.file.length);
	/* What zstd makes of it is what lz4 makes of the recording. */
	length = ZSTD_decompress(content, 1 << 20, packed, n);
	assert_false(ZSTD_isError(length));
	for (size_t i = 0; i < b.frame_count; i++) {
		size_t frame_length, m;
		const uint8_t *frame = frame_of(i, &frame_length), *message;

		assert_int_equal(frame_decode(decoder, frame, frame_length, &message, &m, NULL), 0);
		assert_int_equal(content[at], 0x0a);
		at = (size_t)(varint_put(content + at + 1, m) - content);
		assert_memory_equal(content + at, message, m);
		at += m;
	}
	assert_int_equal(at, length);
	frame_decoder_free(decoder);
	free(content);
	free(packed);
}

static void cut_anywhere(void **state)
{
	(void)state;
	for (size_t length = 0; length <= b.file.length; length++)
		comes_back(b.file.data, length);
}

static void garbage_between(void **state)
{
	struct buf file = {0};

	(void)state;
	for (size_t i = 0; i < b.frame_count; i++) {
		size_t length;
		const uint8_t *frame = frame_of(i, &length);

		buf_append(&file, "\x04\x22\x4d\x18 no frame \x04\x22\x4d", i % 3 * 8);
		buf_append(&file, frame, i == 4 ? length / 2 : length);
		if (i == 2)
			put_foreign(&file, frame, length);
	}
	assert_false(buf_error(&file));
	comes_back(file.data, file.length);
	/* Damage at each byte in turn. */
	for (size_t i = 0; i < file.length; i++) {
		file.data[i] ^= 0x41;
		comes_back(file.data, file.length);
		file.data[i] ^= 0x41;
	}
	buf_done(&file);
}

/* More than a piece holds, and more than is read at a time. */
static void long_ones(void **state)
{
	size_t length = 20u << 20;
	uint8_t *noise = malloc(length);
	struct buf file = {0};
	uint64_t x = 1;

	(void)state;
	for (size_t i = 0; i < length; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		noise[i] = (uint8_t)(x >> 56);
	}
	comes_back(noise, length);
	for (size_t i = 0; i < 3; i++) {
		uint8_t *message = malloc(FRAME_HEADROOM + (5u << 20)), *room;
		size_t bound = frame_bound(5u << 20);

		memcpy(message + FRAME_HEADROOM, noise + i, 5u << 20);
		room = buf_reserve(&file, bound);
		file.length += (size_t)frame_encode(b.frames, message + FRAME_HEADROOM, 5u << 20,
						    room, bound);
		free(message);
	}
	comes_back(file.data, file.length);
	comes_back(file.data, file.length - 100);
	buf_done(&file);
	free(noise);
}

static bool stops_at_once(void *context)
{
	(void)context;
	return true;
}

static void stopped(void **state)
{
	int from = memory_file(b.file.data, b.file.length), to = memory_file("", 0);
	struct err_text err = {0};

	(void)state;
	assert_int_equal(compressed_write("a", from, b.file.length, to, stops_at_once, NULL, &err),
			 -ECANCELED);
	/* The file became shorter meanwhile. */
	assert_int_equal(compressed_write("a", from, b.file.length + 1, to, NULL, NULL, &err),
			 -EBADMSG);
	close(from);
	close(to);
}

/* ---- damage ---- */

static void refused(const uint8_t *data, size_t length, size_t most)
{
	struct err_text err = {0};
	uint8_t *again;
	size_t n;

	assert_int_equal(restore(data, length, &again, &n, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "file-name"));
	assert_true(n <= most);
	free(again);
}

static bool refused_or_same(const uint8_t *data, size_t length, const struct buf *file)
{
	struct err_text err = {0};
	uint8_t *again;
	size_t n;
	int r = restore(data, length, &again, &n, &err);

	if (r < 0) {
		assert_int_equal(r, -EBADMSG);
		assert_non_null(strstr(err.text, "file-name"));
		assert_true(n <= file->length);
	} else {
		assert_int_equal(n, file->length);
		assert_memory_equal(again, file->data, n);
	}
	free(again);
	return !r;
}

static void damage_at_each_byte(void **state)
{
	struct buf file = {0};
	uint8_t *packed;
	size_t n, length, harmless = 0;
	const uint8_t *frame = frame_of(0, &length);

	(void)state;
	buf_append(&file, b.file.data, b.file.length);
	put_foreign(&file, frame, length);
	n = compress(file.data, file.length, &packed);
	for (size_t i = 0; i < n; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			packed[i] ^= (uint8_t)(1u << bit);
			harmless += refused_or_same(packed, n, &file);
			packed[i] ^= (uint8_t)(1u << bit);
		}
		refused(packed, i, file.length);
	}
	/* Something behind it. */
	packed = realloc(packed, n + 100);
	memset(packed + n, 0, 100);
	assert_true(harmless < n / 10); /* zstd leaves some bits unused (RFC 8878) */
	refused(packed, n + 1, file.length);
	refused(packed, n + 100, file.length);
	free(packed);
	buf_done(&file);
}

/* Says that the recording has another length. */
static void lie(uint8_t *packed, uint64_t length)
{
	uint64_t value = htole64(length);

	memcpy(packed + HEAD_LENGTH, &value, sizeof(value));
	value = htole64(XXH3_64bits(packed, HEAD_CHECK));
	memcpy(packed + HEAD_CHECK, &value, sizeof(value));
}

static void wrong_lengths(void **state)
{
	uint8_t *packed;
	size_t n = compress(b.file.data, b.file.length, &packed);

	(void)state;
	lie(packed, b.file.length + 1);
	refused(packed, n, b.file.length);
	lie(packed, b.file.length - 1);
	refused(packed, n, b.file.length - 1);
	lie(packed, 0);
	refused(packed, n, 0);
	lie(packed, UINT64_MAX);
	refused(packed, n, 0);
	lie(packed, 64 * n + (1u << 20) + 1);
	refused(packed, n, 0);
	free(packed);
}

static void put_piece(struct buf *out, const uint8_t *content, size_t length, size_t told)
{
	size_t bound = ZSTD_compressBound(length), n;
	uint8_t *room = malloc(bound);
	uint32_t head[4] = {htole32(0x184d2a58), htole32(8)};

	n = ZSTD_compress(room, bound, content, length, 1);
	assert_false(ZSTD_isError(n));
	head[2] = htole32((uint32_t)n);
	head[3] = htole32((uint32_t)told);
	buf_append(out, head, sizeof(head));
	buf_append(out, room, n);
	free(room);
}

/* Pieces that hold more than they say, or something else. */
static void wrong_pieces(void **state)
{
	static uint8_t zeros[1 << 20];
	static const uint8_t odd[] = {0x0a, 2, 1, 1, 0x12, 0};
	static const uint8_t beyond[] = {0x0a, 0xff, 0xff, 0xff, 0x7f, 1};
	uint8_t *packed;
	size_t n = compress("", 0, &packed);
	struct buf file = {0};
	const struct {
		const uint8_t *content;
		size_t length, told;
	} cases[] = {
		{zeros, sizeof(zeros), sizeof(zeros)},
		{zeros, sizeof(zeros), 100},
		{zeros, sizeof(zeros), sizeof(zeros) + 1},
		{zeros, sizeof(zeros), UINT32_MAX},
		{odd, sizeof(odd), sizeof(odd)},
		{beyond, sizeof(beyond), sizeof(beyond)},
		{odd, 1, 1},
		{odd, 2, 2},
		{odd, 3, 3},
	};

	(void)state;
	lie(packed, 1000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_clear(&file);
		buf_append(&file, packed, n);
		put_piece(&file, cases[i].content, cases[i].length, cases[i].told);
		refused(file.data, file.length, 1000);
	}
	buf_done(&file);
	free(packed);
}

static void other_files(void **state)
{
	struct compressed head;
	struct err_text err = {0};
	uint8_t *packed;
	size_t n = compress("", 0, &packed);
	int fd = memory_file(b.file.data, b.file.length);

	(void)state;
	assert_int_equal(n, 44);
	assert_int_equal(compressed_look("a", fd, &head, &err), 0);
	close(fd);
	fd = memory_file("", 0);
	assert_int_equal(compressed_look("a", fd, &head, &err), 0);
	close(fd);
	packed[16] = 2; /* the version */
	fd = memory_file(packed, n);
	assert_int_equal(compressed_look("a", fd, &head, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "another version"));
	close(fd);
	free(packed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whole),	   TEST(cut_anywhere),	TEST(garbage_between),
		TEST(long_ones),   TEST(stopped),	TEST(damage_at_each_byte),
		TEST(other_files), TEST(wrong_lengths), TEST(wrong_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
