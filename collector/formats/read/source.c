/* Reads files to be imported, and unpacks them. See source.h. */
#include "collector/formats/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/ban.h"

#define PACKED_BYTES (256u << 10) /* bytes of the file that are read at a time */
#define STEP_BYTES   (256u << 10) /* bytes that are unpacked at a time */

struct source {
	char *path;
	int fd;
	const struct packing *packing; /* NULL: not determined yet */
	uint8_t *packed;	       /* PACKED_BYTES */
	size_t packed_at, packed_end;
	uint64_t read, size;		/* bytes of the file: read so far, and total */
	bool file_ended, ended, within; /* `within`: inside a member or frame of a packed file */
	struct buf out;			/* unpacked bytes; those before `at` were read */
	size_t at;
	uint64_t line;
	z_stream gzip;
	ZSTD_DStream *zstd;
};

/* `step` unpacks from `packed` to `room`, which has `size` bytes. Returns the number of bytes
 * written, 0 if it needs more of the file, or a negative errno. */
struct packing {
	const char *name;
	uint8_t magic[4];
	size_t magic_length;
	int (*begin)(struct source *s);
	long (*step)(struct source *s, uint8_t *room, size_t size);
	void (*end)(struct source *s);
};

/* ---- plain ---- */

static long plain_step(struct source *s, uint8_t *room, size_t size)
{
	size_t n = s->packed_end - s->packed_at < size ? s->packed_end - s->packed_at : size;

	memcpy(room, s->packed + s->packed_at, n);
	s->packed_at += n;
	return (long)n;
}

/* ---- gzip ---- */

static int gzip_begin(struct source *s)
{
	memset(&s->gzip, 0, sizeof(s->gzip));
	return inflateInit2(&s->gzip, 15 + 16) == Z_OK ? 0 : -ENOMEM;
}

static long gzip_step(struct source *s, uint8_t *room, size_t size)
{
	int r;

	if (s->packed_at == s->packed_end && !s->within)
		return 0;
	s->gzip.next_in = s->packed + s->packed_at;
	s->gzip.avail_in = (uInt)(s->packed_end - s->packed_at);
	s->gzip.next_out = room;
	s->gzip.avail_out = (uInt)size;
	r = inflate(&s->gzip, Z_NO_FLUSH);
	s->packed_at = s->packed_end - s->gzip.avail_in;
	s->within = r != Z_STREAM_END;
	if (r == Z_STREAM_END)
		inflateReset(&s->gzip);
	else if (r != Z_OK && r != Z_BUF_ERROR)
		return -EBADMSG;
	return (long)(size - s->gzip.avail_out);
}

static void gzip_end(struct source *s)
{
	inflateEnd(&s->gzip);
}

/* ---- zstd ---- */

static int zstd_begin(struct source *s)
{
	s->zstd = ZSTD_createDStream();
	if (!s->zstd)
		return -ENOMEM;
	/* A window of 128 MiB, the limit of `zstd -d`. */
	ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, 27);
	return 0;
}

static long zstd_step(struct source *s, uint8_t *room, size_t size)
{
	ZSTD_inBuffer in = {s->packed, s->packed_end, s->packed_at};
	ZSTD_outBuffer out = {room, size, 0};
	size_t r;

	if (s->packed_at == s->packed_end && !s->within)
		return 0;
	r = ZSTD_decompressStream(s->zstd, &out, &in);
	s->packed_at = in.pos;
	if (ZSTD_isError(r))
		return -EBADMSG;
	s->within = r != 0;
	return (long)out.pos;
}

static void zstd_end(struct source *s)
{
	ZSTD_freeDStream(s->zstd);
	s->zstd = NULL;
}

static const struct packing packings[] = {
	{"gzip", {0x1f, 0x8b}, 2, gzip_begin, gzip_step, gzip_end},
	{"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_begin, zstd_step, zstd_end},
	{"plain", {0}, 0, NULL, plain_step, NULL},
};

/* ---- unpacking ---- */

static int source_read_file(struct source *s, struct err_text *err)
{
	size_t left = s->packed_end - s->packed_at;
	ssize_t n;

	memmove(s->packed, s->packed + s->packed_at, left);
	s->packed_at = 0;
	s->packed_end = left;
	do
		n = read(s->fd, s->packed + left, PACKED_BYTES - left);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(err, -errno, "reading %s: %s", s->path, strerror(errno));
	s->packed_end += (size_t)n;
	s->read += (size_t)n;
	s->file_ended = !n;
	return 0;
}

static int find_packing(struct source *s, struct err_text *err)
{
	const struct packing *p = packings;
	int r = 0;

	while (!r && !s->file_ended && s->packed_end < sizeof(p->magic))
		r = source_read_file(s, err);
	if (r < 0)
		return r;
	while (p->magic_length > s->packed_end || memcmp(p->magic, s->packed, p->magic_length) != 0)
		p++;
	r = p->begin ? p->begin(s) : 0;
	if (r < 0)
		return err_set(err, r, "no memory to unpack %s", s->path);
	s->packing = p;
	return 0;
}

/* Unpacks more bytes, or sets `ended`. */
static int source_unpack(struct source *s, struct err_text *err)
{
	uint8_t *room;
	size_t before;
	long n = 0;
	int r = s->packing ? 0 : find_packing(s, err);

	if (r < 0)
		return r;
	if (s->at) {
		buf_consume(&s->out, s->at);
		s->at = 0;
	}
	room = buf_reserve(&s->out, STEP_BYTES);
	if (!room)
		return err_set(err, -ENOMEM, "no memory to read %s", s->path);
	while (!r && !n && !s->ended) {
		/* At the end of the file the unpacker may still hold bytes. An empty member yields
		 * none. */
		before = s->packed_at;
		n = s->packing->step(s, room, STEP_BYTES);
		if (n < 0)
			return err_set(err, (int)n, "%s: damaged %s data before byte %llu", s->path,
				       s->packing->name, (unsigned long long)s->read);
		if (n || s->packed_at != before)
			continue;
		if (s->file_ended)
			s->ended = true;
		else
			r = source_read_file(s, err);
	}
	if (s->ended && s->within)
		return err_set(err, -EBADMSG,
			       "%s is cut: its %s data end in the middle, at byte %llu", s->path,
			       s->packing->name, (unsigned long long)s->read);
	s->out.length += (size_t)n;
	return r;
}

/* ---- public ---- */

int source_open_fd(int fd, const char *name, struct source **ret_source, struct err_text *err)
{
	struct source *s = calloc(1, sizeof(*s));
	struct stat st;
	int r = 0;

	if (!s) {
		close(fd);
		return err_set(err, -ENOMEM, "no memory to read %s", name);
	}
	s->fd = fd;
	s->path = strdup(name);
	s->packed = malloc(PACKED_BYTES);
	if (!s->path || !s->packed)
		r = err_set(err, -ENOMEM, "no memory to read %s", name);
	else if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
		r = err_set(err, -EISDIR, "cannot read %s: %s", name, strerror(EISDIR));
	if (r < 0) {
		source_close(s);
		return r;
	}
	s->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	*ret_source = s;
	return 0;
}

int source_open(const char *path, struct source **ret_source, struct err_text *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	return source_open_fd(fd, path, ret_source, err);
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->packing && s->packing->end)
		s->packing->end(s);
	close(s->fd);
	buf_done(&s->out);
	free(s->packed);
	free(s->path);
	free(s);
}

const char *source_name(const struct source *s)
{
	return s->path;
}

int source_head(struct source *s, const uint8_t **ret_head, size_t *ret_length,
		struct err_text *err)
{
	int r = 0;

	while (!r && !s->ended && s->out.length - s->at < SOURCE_HEAD)
		r = source_unpack(s, err);
	if (r < 0)
		return r;
	*ret_head = s->out.data ? s->out.data + s->at : (const uint8_t *)"";
	*ret_length = s->out.length - s->at < SOURCE_HEAD ? s->out.length - s->at : SOURCE_HEAD;
	return 0;
}

int source_line(struct source *s, char **ret_line, size_t *ret_length, struct err_text *err)
{
	size_t searched = 0, length;
	char *line, *end = NULL;
	int r;

	for (;;) {
		line = (char *)s->out.data + s->at;
		length = s->out.length - s->at;
		end = length > searched ? memchr(line + searched, '\n', length - searched) : NULL;
		if (end || s->ended)
			break;
		searched = length;
		if (length > SOURCE_LINE_MAX)
			break;
		r = source_unpack(s, err);
		if (r < 0)
			return r;
	}
	if (!end && !length)
		return 0;
	s->line++;
	if ((end ? (size_t)(end - line) : length) > SOURCE_LINE_MAX)
		return err_set(err, -EBADMSG, "%s: line %llu is longer than %u bytes", s->path,
			       (unsigned long long)s->line, SOURCE_LINE_MAX);
	*ret_length = end ? (size_t)(end - line) : length;
	s->at += *ret_length + (end != NULL);
	if (!end && !buf_reserve(&s->out, 1))
		return err_set(err, -ENOMEM, "no memory to read %s", s->path);
	line = (char *)s->out.data + s->at - *ret_length - (end != NULL);
	line[*ret_length] = 0;
	*ret_line = line;
	return 1;
}

uint64_t source_line_number(const struct source *s)
{
	return s->line;
}

long source_read(struct source *s, void *room, size_t size, struct err_text *err)
{
	size_t n;
	int r = 0;

	while (!r && !s->ended && s->at == s->out.length)
		r = source_unpack(s, err);
	if (r < 0)
		return r;
	n = s->out.length - s->at < size ? s->out.length - s->at : size;
	if (n)
		memcpy(room, s->out.data + s->at, n);
	s->at += n;
	return (long)n;
}

int source_all(struct source *s, size_t most, struct buf *out, struct err_text *err)
{
	int r = 0;

	while (!r && (!s->ended || s->out.length > s->at)) {
		buf_append(out, s->out.data ? s->out.data + s->at : (const uint8_t *)"",
			   s->out.length - s->at);
		s->at = s->out.length;
		if (buf_error(out))
			return err_set(err, -ENOMEM, "no memory to read %s", s->path);
		if (out->length > most)
			return err_set(err, -EFBIG, "%s unpacks to more than %zu bytes", s->path,
				       most);
		if (!s->ended)
			r = source_unpack(s, err);
	}
	return r;
}

bool source_rewinds(const struct source *s)
{
	return lseek(s->fd, 0, SEEK_CUR) >= 0;
}

int source_rewind(struct source *s, struct err_text *err)
{
	if (lseek(s->fd, 0, SEEK_SET) < 0)
		return err_set(err, -errno, "%s has to be a file: it is read twice", s->path);
	if (s->packing && s->packing->end)
		s->packing->end(s);
	s->packing = NULL;
	s->packed_at = s->packed_end = s->at = 0;
	s->read = s->line = 0;
	s->file_ended = s->ended = s->within = false;
	buf_clear(&s->out);
	return 0;
}

void source_done_of(const struct source *s, uint64_t *ret_done, uint64_t *ret_of)
{
	*ret_done = s->read;
	*ret_of = s->size;
}
