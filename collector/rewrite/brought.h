#pragma once
/*
 * Files that are embedded in a recording (proto/README.md, "Files of its own"): pieces in
 * Batch.link, one file after the other.
 *
 *        r = brought_open(&brought, path, err);
 *        while (!r && (r = brought_next(&brought, &file, err)) == 1) {
 *                fd = ...                                       a new file
 *                r = brought_read(&brought, fd, &reason);       0: all of `file` is in it
 *        }
 *
 * The input is untrusted: a file is complete when its pieces have come in order, with the stated
 * sizes and checksums. Whether the file has the stated build id must be checked in the file itself.
 * Memory is bounded by one batch.
 */
#include "collector/recording/brought_file.h"
#include "proto/columns.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"

#define BROUGHT_PIECE_MAX 16384

/* The pieces of a file received so far; all zeros: none. */
struct brought_pieces {
	struct brought_file file;
	uint64_t identity, received;
	uint32_t crc;
};

/*
 * Takes a piece. Returns 1 if the file is complete, 0 if more pieces follow, or -EBADMSG with the
 * reason if the piece does not fit; the file is then void.
 */
int brought_pieces_take(struct brought_pieces *pieces, const Heapcast__FilePiece *piece,
			struct err_text *reason);

/* Returns the piece in a batch, or NULL. */
const Heapcast__FilePiece *brought_piece(const Heapcast__Batch *batch);
/* Tells whether a batch contains a piece and nothing else. */
bool brought_only(const Heapcast__Batch *batch);

struct brought {
	const char *path;
	int fd;
	uint64_t size;
	struct scan scan;
	bool has_id;
	struct stream_id id;
	const Heapcast__FilePiece *piece; /* the next one; NULL: not read yet */
	struct brought_file spoilt;	  /* the rest of this file is skipped */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
	uint64_t reported;
};

/*
 * Opens a recording. `path` is used until brought_close, which the caller calls even after a
 * failure. Returns 0, or a negative errno with a sentence.
 */
int brought_open(struct brought *brought, const char *path, struct err_text *err);
void brought_close(struct brought *brought);
/*
 * Returns 1 if another file begins, which brought_read reads; 0 if there is none; or a negative
 * errno with a sentence.
 */
int brought_next(struct brought *brought, struct brought_file *ret_file, struct err_text *err);
/*
 * Writes the file announced by brought_next to `fd` (-1: nowhere), from its position on. Returns 0,
 * -EBADMSG with the reason if the file is invalid, or another negative errno.
 */
int brought_read(struct brought *brought, int fd, struct err_text *err);
