/* Recordings compressed with zstd. compressed.h describes the file. */
#include "collector/recording/compressed.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/write.h"
#include "proto/frame.h"
#include "base/ban.h"

#define VERSION	    1
#define SKIPPABLE   0x184d2a58u
#define HEAD_SIZE   44
#define PIECE_HEAD  16
#define PIECE_BYTES (8u << 20) /* content that makes a piece full */
#define PIECE_MAX   (PIECE_BYTES + FRAME_MAX)
#define READ_BYTES  (1u << 20)
#define LOOK_BYTES  (64u << 10)
#define LEVEL	    9
#define TAG	    0x0a
/*
 * A file may become so many times longer, and a little more. Real ones become twice as long; this
 * bounds what a malicious one can make us write.
 */
#define GROWTH_MAX 64
#define GROWTH_ANY (1u << 20)

static const uint8_t head_begin[COMPRESSED_BEGINS] = {
	0x58, 0x2a, 0x4d, 0x18, HEAD_SIZE - 8, 0, 0, 0, 'h', 'e', 'a', 'p', 'c', 'a', 's', 't'};
static const uint8_t frame_magic[4] = {0x04, 0x22, 0x4d, 0x18};

static int pread_all(int fd, void *to, size_t length, uint64_t at)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = pread(fd, (uint8_t *)to + done, length - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	return 0;
}

/* ---- the head ---- */

static void put_u32(struct buf *out, uint32_t value)
{
	value = htole32(value);
	buf_append(out, &value, sizeof(value));
}

static void put_u64(struct buf *out, uint64_t value)
{
	value = htole64(value);
	buf_append(out, &value, sizeof(value));
}

static int put_head(int to, const struct compressed *c)
{
	cleanup(buf_done) struct buf head = {0};

	buf_append(&head, head_begin, sizeof(head_begin));
	put_u32(&head, VERSION);
	put_u64(&head, c->length);
	put_u64(&head, c->hash);
	put_u64(&head, XXH3_64bits(head.data, head.length));
	if (buf_error(&head))
		return -ENOMEM;
	errno = ENOSPC; /* a short write sets no errno */
	return pwrite(to, head.data, head.length, 0) == HEAD_SIZE ? 0 : -errno;
}

bool compressed_begins(const void *data, size_t available)
{
	return available >= sizeof(head_begin) && !memcmp(data, head_begin, sizeof(head_begin));
}

int compressed_look(const char *path, int fd, struct compressed *ret, struct err_text *err)
{
	struct reader r;
	uint8_t head[HEAD_SIZE];
	struct stat st;
	uint32_t version;
	ssize_t n;

	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (!compressed_begins(head, (size_t)n))
		return 0;
	r = reader_of(head, (size_t)n);
	reader_bytes(&r, COMPRESSED_BEGINS);
	version = reader_u32le(&r);
	if (!reader_error(&r) && version != VERSION)
		return err_set(err, -EBADMSG,
			       "%s was compressed by another version of heapcast (format %u): take "
			       "that version",
			       path, version);
	ret->length = reader_u64le(&r);
	ret->hash = reader_u64le(&r);
	if (reader_u64le(&r) != XXH3_64bits(head, HEAD_SIZE - 8) || reader_error(&r))
		return err_set(err, -EBADMSG, "%s, a compressed recording, is damaged: in its head",
			       path);
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (ret->length > (uint64_t)st.st_size * GROWTH_MAX + GROWTH_ANY)
		return err_set(err, -EBADMSG,
			       "%s, a compressed recording, is damaged or malicious: it says that "
			       "its %lld bytes become %llu",
			       path, (long long)st.st_size, (unsigned long long)ret->length);
	return 1;
}

/* ---- compressing ---- */

struct squeeze {
	const char *path;
	int from, to;
	uint64_t length, at; /* `at`: of the first byte of the input */
	struct buf input, message, frame, content, packed;
	bool bytes; /* what `content` is: bytes, or the messages of frames */
	struct frame_encoder *encoder;
	struct frame_decoder *decoder;
	ZSTD_CCtx *zstd;
	XXH3_state_t *hash;
};

static int squeeze_init(struct squeeze *s)
{
	s->encoder = frame_encoder_new();
	s->decoder = frame_decoder_new();
	s->zstd = ZSTD_createCCtx();
	s->hash = XXH3_createState();
	if (!s->encoder || !s->decoder || !s->zstd || !s->hash)
		return -ENOMEM;
	XXH3_64bits_reset(s->hash);
	ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1);
	return 0;
}

static void squeeze_done(struct squeeze *s)
{
	frame_encoder_free(s->encoder);
	frame_decoder_free(s->decoder);
	ZSTD_freeCCtx(s->zstd);
	XXH3_freeState(s->hash);
	buf_done(&s->input);
	buf_done(&s->message);
	buf_done(&s->frame);
	buf_done(&s->content);
	buf_done(&s->packed);
}

/* Makes `wanted` bytes of the input available, or all that are left. */
static int squeeze_fill(struct squeeze *s, size_t wanted)
{
	while (s->input.length < wanted && s->at + s->input.length < s->length) {
		uint64_t from = s->at + s->input.length, left = s->length - from;
		size_t n = left < READ_BYTES ? (size_t)left : READ_BYTES;
		uint8_t *room = buf_reserve(&s->input, n);
		int r = room ? pread_all(s->from, room, n, from) : -ENOMEM;

		if (r < 0)
			return r;
		XXH3_64bits_update(s->hash, room, n);
		s->input.length += n;
	}
	return 0;
}

static int squeeze_flush(struct squeeze *s)
{
	cleanup(buf_done) struct buf head = {0};
	size_t bound = ZSTD_compressBound(s->content.length), n;
	uint8_t *room;
	int r;

	if (!s->content.length)
		return 0;
	buf_clear(&s->packed);
	room = buf_reserve(&s->packed, bound);
	if (!room)
		return -ENOMEM;
	n = ZSTD_compress2(s->zstd, room, bound, s->content.data, s->content.length);
	if (ZSTD_isError(n))
		return -ENOMEM; /* with room for the result, all that can fail */
	put_u32(&head, SKIPPABLE);
	put_u32(&head, (uint32_t)(8 + (s->bytes ? n : 0)));
	put_u32(&head, (uint32_t)n);
	put_u32(&head, (uint32_t)s->content.length);
	r = buf_error(&head) ? -ENOMEM : write_all(s->to, head.data, head.length);
	buf_clear(&s->content);
	return r ? r : write_all(s->to, room, n);
}

static int squeeze_put(struct squeeze *s, bool bytes, const uint8_t *data, size_t length)
{
	int r = s->bytes != bytes || s->content.length >= PIECE_BYTES ? squeeze_flush(s) : 0;

	s->bytes = bytes;
	buf_append(&s->content, data, length);
	return r ? r : buf_error(&s->content);
}

/*
 * Decodes a frame and encodes it again. Returns 1 with the element in `message` if the frame is the
 * same again, 0 if not, or -ENOMEM.
 */
static int squeeze_again(struct squeeze *s, size_t length, const uint8_t **ret_element,
			 size_t *ret_length)
{
	uint8_t *copy, *room, varint[VARINT_MAX];
	const uint8_t *message;
	size_t n, bound;
	long again;
	int r = frame_decode(s->decoder, s->input.data, length, &message, &n, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	bound = frame_bound(n);
	buf_clear(&s->message);
	buf_clear(&s->frame);
	copy = buf_reserve(&s->message, FRAME_HEADROOM + n);
	room = buf_reserve(&s->frame, bound);
	if (!copy || !room)
		return -ENOMEM;
	memcpy(copy + FRAME_HEADROOM, message, n);
	again = frame_encode(s->encoder, copy + FRAME_HEADROOM, n, room, bound);
	if (again != (long)length || memcmp(room, s->input.data, length) != 0)
		return 0;
	*ret_length = 1 + (size_t)(varint_put(varint, n) - varint) + n;
	*ret_element = copy + FRAME_HEADROOM + n - *ret_length;
	return 1;
}

/* Bytes that are no frame, up to the next place where one may begin. */
static size_t squeeze_odd(const struct squeeze *s)
{
	const uint8_t *next =
		memmem(s->input.data + 1, s->input.length - 1, frame_magic, sizeof(frame_magic));

	if (next)
		return (size_t)(next - s->input.data);
	if (s->at + s->input.length == s->length || s->input.length < sizeof(frame_magic))
		return s->input.length;
	return s->input.length - (sizeof(frame_magic) - 1);
}

/* Takes a frame, or bytes that are none. */
static int squeeze_next(struct squeeze *s)
{
	const uint8_t *element = NULL;
	size_t needed, length = 0;
	int r = squeeze_fill(s, LOOK_BYTES), found = 0;

	while (!r && !(found = frame_length(s->input.data, s->input.length, &length, NULL)) &&
	       s->at + s->input.length < s->length && length > s->input.length)
		r = squeeze_fill(s, length);
	if (r < 0)
		return r;
	needed = length;
	r = found == 1 ? squeeze_again(s, needed, &element, &length) : 0;
	if (r < 0)
		return r;
	if (!r)
		length = needed = found == 1 ? needed : squeeze_odd(s);
	r = squeeze_put(s, !r, r ? element : s->input.data, length);
	s->at += needed;
	buf_consume(&s->input, needed);
	return r;
}

int compressed_write(const char *path, int from, uint64_t length, int to, bool (*stop)(void *),
		     void *context, struct err_text *err)
{
	struct squeeze s = {.path = path, .from = from, .to = to, .length = length};
	struct compressed c = {.length = length};
	int r = squeeze_init(&s);

	if (!r)
		r = put_head(to, &c); /* for its room */
	if (!r && lseek(to, HEAD_SIZE, SEEK_SET) < 0)
		r = -errno;
	while (!r && s.at < length)
		r = stop && stop(context) ? -ECANCELED : squeeze_next(&s);
	if (!r)
		r = squeeze_flush(&s);
	if (!r) {
		c.hash = XXH3_64bits_digest(s.hash);
		r = put_head(to, &c);
	}
	squeeze_done(&s);
	return r < 0 ? err_set(err, r, "cannot compress %s: %s", path, strerror(-r)) : 0;
}

/* ---- restoring ---- */

struct restore {
	const char *path;
	int from, to;
	uint64_t size, at; /* of the file */
	uint64_t written;
	struct compressed head;
	struct buf packed, content, message, frame;
	struct frame_encoder *encoder;
	ZSTD_DCtx *zstd;
	XXH3_state_t *hash;
	struct err_text *err;
};

static int restore_damaged(const struct restore *r, const char *what)
{
	return err_set(r->err, -EBADMSG,
		       "%s, a compressed recording, is damaged at byte %llu of %llu: %s", r->path,
		       (unsigned long long)r->at, (unsigned long long)r->size, what);
}

static int restore_init(struct restore *r)
{
	struct stat st;
	int e;

	if (fstat(r->from, &st) < 0)
		return -errno;
	r->size = (uint64_t)st.st_size;
	e = compressed_look(r->path, r->from, &r->head, r->err);
	if (e <= 0)
		return e ? e : restore_damaged(r, "it has no head");
	r->at = HEAD_SIZE;
	r->encoder = frame_encoder_new();
	r->zstd = ZSTD_createDCtx();
	r->hash = XXH3_createState();
	if (!r->encoder || !r->zstd || !r->hash)
		return -ENOMEM;
	XXH3_64bits_reset(r->hash);
	return 0;
}

static void restore_done(struct restore *r)
{
	frame_encoder_free(r->encoder);
	ZSTD_freeDCtx(r->zstd);
	XXH3_freeState(r->hash);
	buf_done(&r->packed);
	buf_done(&r->content);
	buf_done(&r->message);
	buf_done(&r->frame);
}

static int restore_put(struct restore *r, const uint8_t *data, size_t length)
{
	int e;

	if (length > r->head.length - r->written)
		return restore_damaged(r, "more bytes come of it than its head says");
	r->written += length;
	XXH3_64bits_update(r->hash, data, length);
	e = r->to < 0 ? 0 : write_all(r->to, data, length);
	return e ? err_set(r->err, e, "cannot write what %s holds, %llu bytes: %s", r->path,
			   (unsigned long long)r->head.length, strerror(-e))
		 : 0;
}

static int restore_frame(struct restore *r, const uint8_t *message, size_t length)
{
	size_t bound = frame_bound(length);
	uint8_t *copy, *room;
	long n;

	buf_clear(&r->message);
	buf_clear(&r->frame);
	copy = buf_reserve(&r->message, FRAME_HEADROOM + length);
	room = buf_reserve(&r->frame, bound);
	if (!copy || !room)
		return -ENOMEM;
	memcpy(copy + FRAME_HEADROOM, message, length);
	n = frame_encode(r->encoder, copy + FRAME_HEADROOM, length, room, bound);
	return n < 0 ? restore_damaged(r, "a message in it is too long")
		     : restore_put(r, room, (size_t)n);
}

static int restore_frames(struct restore *r, size_t length)
{
	struct reader in = reader_of(r->content.data, length);
	int e = 0;

	while (!e && reader_more(&in)) {
		uint8_t tag = reader_u8(&in);
		uint64_t n = reader_varint(&in);
		const uint8_t *message = n <= reader_left(&in) ? reader_bytes(&in, n) : NULL;

		e = tag == TAG && message && !reader_error(&in)
			    ? restore_frame(r, message, n)
			    : restore_damaged(r, "what is in it is no message of a recording");
	}
	return e;
}

static int restore_piece(struct restore *r)
{
	uint8_t head[PIECE_HEAD], *packed, *content;
	struct reader in = reader_of(head, sizeof(head));
	uint32_t magic, skipped, stored, length;
	int e;

	if (r->written == r->head.length)
		return restore_damaged(r, "bytes follow that do not belong to it");
	if (r->size - r->at < PIECE_HEAD)
		return restore_damaged(r, "it is cut off");
	e = pread_all(r->from, head, sizeof(head), r->at);
	if (e < 0)
		return e;
	magic = reader_u32le(&in);
	skipped = reader_u32le(&in);
	stored = reader_u32le(&in);
	length = reader_u32le(&in);
	if (magic != SKIPPABLE || !stored || stored > ZSTD_compressBound(PIECE_MAX) || !length ||
	    length > PIECE_MAX || (skipped != 8 && skipped != 8 + stored))
		return restore_damaged(r, "no piece begins there");
	if (r->size - r->at - PIECE_HEAD < stored)
		return restore_damaged(r, "it is cut off");
	buf_clear(&r->packed);
	buf_clear(&r->content);
	packed = buf_reserve(&r->packed, stored);
	content = buf_reserve(&r->content, length);
	e = packed && content ? pread_all(r->from, packed, stored, r->at + PIECE_HEAD) : -ENOMEM;
	if (e < 0)
		return e;
	if (ZSTD_decompressDCtx(r->zstd, content, length, packed, stored) != length)
		return restore_damaged(r, "the piece can't be decompressed");
	e = skipped == 8 ? restore_frames(r, length) : restore_put(r, content, length);
	r->at += PIECE_HEAD + stored;
	return e;
}

int compressed_restore(const char *path, int from, int to, struct err_text *err)
{
	struct restore r = {.path = path, .from = from, .to = to, .err = err};
	struct err_text said = {0};
	int e;

	r.err = &said;
	e = restore_init(&r);
	while (!e && r.at < r.size)
		e = restore_piece(&r);
	if (!e && (r.written != r.head.length || XXH3_64bits_digest(r.hash) != r.head.hash))
		e = restore_damaged(&r, "what came of it is not the recording that it was made of");
	restore_done(&r);
	if (e < 0 && !said.text[0])
		return err_set(err, e, "cannot read %s: %s", path, strerror(-e));
	return e < 0 ? err_set(err, e, "%s", said.text) : 0;
}
