#pragma once
/*
 * Files that a recording brings along (proto/README.md, "Files of its own"): pieces in Batch.link,
 * one file behind the other.
 *
 *	r = brought_open(&brought, path, err);
 *	while (!r && (r = brought_next(&brought, &file, err)) == 1) {
 *		fd = ...                                             a new file
 *		r = brought_read(&brought, fd, &reason);             0: all of `file` is in it
 *	}
 *
 * Nothing of it is believed: a file is whole when its pieces have come in their order, with the
 * sizes and the checksums that they say. That it is what its build id says has to be looked for in
 * the file itself. Memory is that of one batch.
 */
#include "collector/recording/brought_file.h"
#include "proto/columns.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"

#define BROUGHT_PIECE_MAX 16384

/* The pieces of one file, as far as they have come. Zero: none. */
struct brought_pieces {
	struct brought_file file;
	uint64_t identity, received;
	uint32_t crc;
};

/* 1: the file is whole with this one; 0: more follow; -EBADMSG: it does not go on with it, and why.
 * Then all of it is void. */
int brought_pieces_take(struct brought_pieces *pieces, const Heapcast__FilePiece *piece,
			struct err_text *reason);

/* The piece that a batch of a recording brings; NULL: none. */
const Heapcast__FilePiece *brought_piece(const Heapcast__Batch *batch);
/* It brings a piece, and nothing else. */
bool brought_only(const Heapcast__Batch *batch);

struct brought {
	const char *path;
	int fd;
	uint64_t size;
	struct scan scan;
	bool has_id;
	struct stream_id id;
	const Heapcast__FilePiece *piece; /* the next one; NULL: it is not known yet */
	struct brought_file spoilt;	  /* the rest of it is passed over */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
	uint64_t reported;
};

/* `path` is used until brought_close, which is due after a failure, too. 0 or a negative errno,
 * with a sentence. */
int brought_open(struct brought *brought, const char *path, struct err_text *err);
void brought_close(struct brought *brought);
/* 1: another one begins, and is what brought_read reads; 0: that was all; negative errno, with a
 * sentence. */
int brought_next(struct brought *brought, struct brought_file *ret_file, struct err_text *err);
/* Writes the file that brought_next told of to `fd` (-1: nowhere), from its place on. 0; -EBADMSG:
 * it can't be taken, and why; others. */
int brought_read(struct brought *brought, int fd, struct err_text *err);
