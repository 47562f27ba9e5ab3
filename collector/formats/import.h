#pragma once
/*
 * Files of other tools become recordings (rewrite/compose.h), so that every question can be asked
 * of them. Their format is told by the content, and may be any of those in the table of formats.h
 * that have a reader. All may be packed by gzip or zstd.
 */
#include "collector/catalogue/store.h"
#include "collector/formats/read/reader.h"
#include "collector/recording/stream_id.h"

struct err_text;

/* Writes the recording that the file becomes to `fd`, which is empty, under this id, or one by
 * chance if `id` is NULL. 0; -EBADMSG: the file is none of these, or damaged; -ECANCELED; others,
 * all with a sentence. What is in `fd` then is of no use. */
int import_file(const char *path, int fd, const struct stream_id *id,
		const struct import_options *options, struct import_result *ret_result,
		struct err_text *err);
/* The file becomes a stream of a store, which is open for writing or adding: as a whole or not at
 * all. As import_file, and what the store fails with. */
int import_to_store(const char *path, struct store *store, const struct import_options *options,
		    struct import_result *ret_result, struct err_text *err);
/* The same of an open file, which is taken over; `name` is for sentences, and what the recording
 * says that it was made of. */
int import_fd_to_store(int file, const char *name, struct store *store,
		       const struct import_options *options, struct import_result *ret_result,
		       struct err_text *err);
