/* Reads symbol files that are embedded in a recording. brought.h describes the interface. */
#include "collector/rewrite/brought.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/error.h"
#include "base/write.h"
#include "proto/columns.h"
#include "collector/recording/brought_file.h"
#include "collector/recording/file.h"
#include "base/ban.h"

#define PROGRESS_BYTES (1u << 20)

/* ---- pieces ---- */

static int brought_begin(struct brought_pieces *p, const Heapcast__FilePiece *piece,
			 struct err_text *reason)
{
	if (!piece->build_id.len || piece->build_id.len > sizeof(p->file.build_id))
		return err_set(reason, -EBADMSG, "a build id has 1 to %zu bytes, this one has %zu",
			       sizeof(p->file.build_id), piece->build_id.len);
	if (piece->offset)
		return err_set(reason, -EBADMSG, "its beginning is missing");
	if (piece->total > BROUGHT_FILE_MAX)
		return err_set(reason, -EBADMSG, "it has more than 512 MiB, as it says");
	*p = (struct brought_pieces){.file.build_id_length = (uint32_t)piece->build_id.len,
				     .file.size = piece->total,
				     .identity = piece->identity};
	memcpy(p->file.build_id, piece->build_id.data, piece->build_id.len);
	return 0;
}

static bool brought_is_of(const struct brought_file *file, const Heapcast__FilePiece *piece)
{
	return piece->build_id.len == file->build_id_length && file->build_id_length &&
	       !memcmp(piece->build_id.data, file->build_id, file->build_id_length);
}

int brought_pieces_take(struct brought_pieces *p, const Heapcast__FilePiece *piece,
			struct err_text *reason)
{
	size_t length = piece->data.len;
	int r = p->received ? 0 : brought_begin(p, piece, reason);

	if (r < 0)
		return r;
	if (piece->refusal)
		return err_set(reason, -EBADMSG, "it was changed while the recording was packed");
	if (!length || length > BROUGHT_PIECE_MAX || !piece->identity || !piece->total)
		return err_set(reason, -EBADMSG, "a piece of it makes no sense");
	if (!brought_is_of(&p->file, piece) || piece->identity != p->identity)
		return err_set(reason, -EBADMSG, "pieces of it do not fit together");
	if (piece->total != p->file.size)
		return err_set(reason, -EBADMSG, "it has %llu bytes, and then %llu, as it says",
			       (unsigned long long)p->file.size, (unsigned long long)piece->total);
	if (piece->offset != p->received)
		return err_set(reason, -EBADMSG, "what follows byte %llu of it is missing",
			       (unsigned long long)p->received);
	if (length > p->file.size - p->received)
		return err_set(reason, -EBADMSG, "more of it came than the %llu bytes that it has",
			       (unsigned long long)p->file.size);
	p->crc = crc32_add(p->crc, piece->data.data, length);
	if (p->crc != piece->crc)
		return err_set(reason, -EBADMSG, "a checksum is wrong, of its first %llu bytes",
			       (unsigned long long)(p->received + length));
	p->received += length;
	return p->received == p->file.size;
}

const Heapcast__FilePiece *brought_piece(const Heapcast__Batch *batch)
{
	return batch->link && batch->stream.len == STREAM_ID_SIZE ? batch->link->file : NULL;
}

bool brought_only(const Heapcast__Batch *batch)
{
	Heapcast__Batch rest = *batch, bare = HEAPCAST__BATCH__INIT;

	if (!brought_piece(batch) || !batch->catch_up)
		return false;
	rest.link = NULL;
	bare.stream = batch->stream;
	bare.incarnation = batch->incarnation;
	bare.number = batch->number;
	bare.time_ns = batch->time_ns;
	bare.wall_ns = batch->wall_ns;
	bare.watermark_ns = batch->watermark_ns;
	bare.catch_up = batch->catch_up;
	bare.next = batch->next;
	return heapcast__batch__get_packed_size(&rest) == heapcast__batch__get_packed_size(&bare);
}

/* ---- a recording ---- */

static int brought_failed(const struct brought *b, int error, struct err_text *err)
{
	return err_set(err, error, "cannot read %s: %s", b->path, strerror(-error));
}

int brought_open(struct brought *b, const char *path, struct err_text *err)
{
	struct stat st;
	int r;

	*b = (struct brought){.path = path, .fd = recording_file(path, err)};
	if (b->fd < 0)
		return b->fd;
	if (fstat(b->fd, &st) < 0)
		return brought_failed(b, -errno, err);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "%s is not a recording: it is no regular file", path);
	b->size = (uint64_t)st.st_size;
	r = scan_init(&b->scan, b->fd, 0, NULL);
	return r ? brought_failed(b, r, err) : 0;
}

void brought_close(struct brought *b)
{
	scan_done(&b->scan);
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

static bool is_ours(struct brought *b, const Heapcast__Batch *batch)
{
	if (batch->stream.len != STREAM_ID_SIZE)
		return false;
	if (!b->has_id)
		memcpy(b->id.bytes, batch->stream.data, STREAM_ID_SIZE);
	b->has_id = true;
	return !memcmp(b->id.bytes, batch->stream.data, STREAM_ID_SIZE);
}

static int brought_tell_progress(struct brought *b)
{
	uint64_t done = b->scan.offset;

	if (!b->progress || (done - b->reported < PROGRESS_BYTES && done < b->size))
		return 0;
	b->reported = done;
	return b->progress(b->context, done, b->size) ? -ECANCELED : 0;
}

/* Returns 1 if b->piece is the next piece, 0 if there is none, or a negative errno. */
static int find_piece(struct brought *b)
{
	struct scan_item item;
	int r = 1;

	while (!b->piece && (r = scan_next(&b->scan, b->size, &item)) == 1) {
		r = brought_tell_progress(b);
		if (r < 0)
			return r;
		if (is_ours(b, item.batch))
			b->piece = brought_piece(item.batch);
	}
	return b->piece ? 1 : r;
}

/* Tells whether a piece is the rest of an invalid file, which is skipped silently. */
static bool is_rest(const struct brought *b, const Heapcast__FilePiece *piece)
{
	return piece->refusal || (piece->offset && brought_is_of(&b->spoilt, piece));
}

int brought_next(struct brought *b, struct brought_file *ret_file, struct err_text *err)
{
	const Heapcast__FilePiece *p;
	int r;

	while ((r = find_piece(b)) == 1 && is_rest(b, b->piece))
		b->piece = NULL;
	if (r != 1)
		return r < 0 && r != -ECANCELED ? brought_failed(b, r, err) : r;
	p = b->piece;
	*ret_file = (struct brought_file){.size = p->total};
	if (p->build_id.len && p->build_id.len <= sizeof(ret_file->build_id)) {
		ret_file->build_id_length = (uint32_t)p->build_id.len;
		memcpy(ret_file->build_id, p->build_id.data, p->build_id.len);
	}
	b->spoilt = *ret_file;
	return 1;
}

/*
 * Takes the next piece, which must continue `pieces`. Returns 1 if the file is complete, 0 if not,
 * or a negative errno.
 */
static int brought_read_piece(struct brought *b, struct brought_pieces *pieces, int fd,
			      struct err_text *err)
{
	const Heapcast__FilePiece *p = b->piece;
	int whole, r;

	if (pieces->received && !p->offset && !p->refusal)
		return err_set(err, -EBADMSG, "only %llu of its %llu bytes are there",
			       (unsigned long long)pieces->received,
			       (unsigned long long)pieces->file.size);
	b->piece = NULL;
	whole = brought_pieces_take(pieces, p, err);
	if (whole < 0)
		return whole;
	r = fd < 0 ? 0 : write_all(fd, p->data.data, p->data.len);
	return r < 0 ? err_set(err, r, "writing: %s", strerror(-r)) : whole;
}

int brought_read(struct brought *b, int fd, struct err_text *err)
{
	struct brought_pieces pieces = {0};
	int r, whole = 0;

	while (!whole && (r = find_piece(b)) == 1)
		whole = brought_read_piece(b, &pieces, fd, err);
	if (whole)
		return whole < 0 ? whole : 0;
	if (r < 0)
		return r != -ECANCELED ? brought_failed(b, r, err) : r;
	return err_set(err, -EBADMSG, "only %llu of its %llu bytes are there",
		       (unsigned long long)pieces.received, (unsigned long long)pieces.file.size);
}
