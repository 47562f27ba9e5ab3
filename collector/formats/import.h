#pragma once
/*
 * Turns files of other tools into recordings (rewrite/compose.h), so that every question can be
 * asked about them. The content decides the format, which is any in the table of formats.h that has
 * a reader. Each file may be packed with gzip or zstd.
 */
#include "collector/catalogue/store.h"
#include "collector/formats/read/reader.h"
#include "collector/recording/stream_id.h"

struct err_text;

/* Writes the file as a recording to `fd`, which must be empty. The recording gets the given id, or
 * a random one if `id` is NULL. Returns 0; -EBADMSG if the file has an unknown format or is
 * damaged; -ECANCELED; or another negative errno, all with an error text. After an error the
 * content of `fd` is of no use. */
int import_file(const char *path, int fd, const struct stream_id *id,
		const struct import_options *options, struct import_result *ret_result,
		struct err_text *err);
/* Adds the file as a stream to a store that is open for writing or adding. A failure adds nothing.
 * Returns what import_file returns, or an error of the store. */
int import_to_store(const char *path, struct store *store, const struct import_options *options,
		    struct import_result *ret_result, struct err_text *err);
/* Does the same for an open file, and takes ownership of `file`. `name` appears in error texts, and
 * in the recording as the name of its source. */
int import_fd_to_store(int file, const char *name, struct store *store,
		       const struct import_options *options, struct import_result *ret_result,
		       struct err_text *err);
