/* Adds symbol files to a rewritten recording. bring_files.h describes the interface. */
#include "collector/rewrite/bring_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/error.h"
#include "proto/columns.h"
#include "collector/recording/brought_file.h"
#include "collector/rewrite/bring_names.h"
#include "base/ban.h"

#define IDENTITY 1 /* a recording holds one version of a file */

void bring_files_done(struct bring_files *f)
{
	intern_done(&f->there);
}

/* ---- files in the output ---- */

static bool bring_files_is_there(const struct bring_files *f, const struct brought_file *file)
{
	return intern_find(&f->there, file->build_id, file->build_id_length);
}

static int bring_files_add(struct bring_files *f, const struct brought_file *file)
{
	uint32_t before = f->there.count,
		 number = intern_bytes(&f->there, file->build_id, file->build_id_length);

	f->bytes += number > before ? file->size : 0;
	return number ? 0 : -ENOMEM;
}

int bring_files_pass(struct bring_files *f, const struct copy *copy, const Heapcast__Batch *batch)
{
	const Heapcast__FilePiece *piece = brought_piece(batch);
	int r = 0;

	f->last = *batch;
	f->last.stream =
		(ProtobufCBinaryData){sizeof(copy->id.bytes), (uint8_t *)(uintptr_t)copy->id.bytes};
	if (!piece)
		return 0;
	if (!piece->offset)
		f->pieces = (struct brought_pieces){0};
	r = brought_pieces_take(&f->pieces, piece, NULL);
	if (r == 1 && bring_files_add(f, &f->pieces.file) < 0)
		return -ENOMEM;
	if (r)
		f->pieces = (struct brought_pieces){0};
	return 0;
}

/* ---- adding a file ---- */

static int put_piece(struct bring_files *f, struct copy *copy, Heapcast__FilePiece *piece,
		     struct err_text *err)
{
	Heapcast__Batch batch = copy_behind(&f->last);
	Heapcast__Link link = HEAPCAST__LINK__INIT;

	link.file = piece;
	batch.link = &link;
	return copy_put(copy, &batch, err);
}

static bool bring_files_is_same(int fd, const struct stat *before)
{
	struct stat now;

	return !fstat(fd, &now) && now.st_size == before->st_size &&
	       now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == before->st_mtim.tv_nsec &&
	       now.st_ctim.tv_sec == before->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

/*
 * Returns 0 if the whole file was written, 1 if it changed meanwhile, which is also recorded, or a
 * negative errno.
 */
static int put_pieces(struct bring_files *f, struct copy *copy, const struct brought_file *file,
		      int fd, const struct stat *st, struct err_text *err)
{
	Heapcast__FilePiece piece = HEAPCAST__FILE_PIECE__INIT;
	uint8_t bytes[BROUGHT_PIECE_MAX];
	bool same = true;
	int r = 0;

	piece.build_id =
		(ProtobufCBinaryData){file->build_id_length, (uint8_t *)(uintptr_t)file->build_id};
	piece.total = file->size;
	piece.identity = IDENTITY;
	piece.data.data = bytes;
	while (!r && same && piece.offset < piece.total) {
		uint64_t left = piece.total - piece.offset;

		piece.data.len = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
		same = pread(fd, bytes, piece.data.len, (off_t)piece.offset) ==
			       (ssize_t)piece.data.len &&
		       bring_files_is_same(fd, st);
		if (!same) {
			piece.refusal = HEAPCAST__FILE_REFUSAL__FILE_REFUSAL_CHANGED;
			piece.data.len = 0;
		}
		piece.crc = crc32_add(piece.crc, bytes, piece.data.len);
		r = put_piece(f, copy, &piece, err);
		piece.offset += piece.data.len;
	}
	return r ? r : !same;
}

int bring_files_put(struct bring_files *f, struct copy *copy, const struct bring_file *file,
		    struct err_text *err)
{
	cleanup(cleanup_close) int fd = -1;
	struct stat st;
	int r;

	if (bring_files_is_there(f, &file->file))
		return 0;
	fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, 1, "cannot read %s: %s", file->path, strerror(errno));
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != file->file.size || !st.st_size ||
	    file->file.size > BROUGHT_FILE_MAX)
		return err_set(err, 1, "%s was changed meanwhile", file->path);
	r = put_pieces(f, copy, &file->file, fd, &st, err);
	if (r == 1)
		return err_set(err, 1, "%s was changed while it was read", file->path);
	return r ? r : bring_files_add(f, &file->file);
}
