#pragma once
/* Copies a recording and adds the names of its functions, and symbol files. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/rewrite/rewrite.h"
#include "collector/recording/brought_file.h"

struct err_text;

/* A local file to add. */
struct bring_file {
	struct brought_file file;
	const char *path;
};

struct name_settings {
	struct copy_settings copy;
	frame_of_function *frame;
	/* Returns true if the recording itself says what is at a node's place, even if only that
	 * the place has no name. No symbol file is then consulted. NULL: always false. */
	bool (*said)(void *context, uint32_t node);
	/* Files to add. A file whose build id the recording already contains is not added again. */
	const struct bring_file *files;
	size_t file_count;
	/* Called for each of `files` that is not added, with the reason. */
	void (*left_out)(void *context, const struct bring_file *file, const char *why);
	void *context;
};

struct name_result {
	uint64_t places, named;
	uint64_t files, file_bytes;	    /* in the copy, with those that the recording already
					       contained */
	uint64_t bytes_before, bytes_after; /* bytes of frames */
};

/* Writes a copy of the recording at `path` with the function names that `frame` gives, and with the
 * files. Returns the same errors as recording_strip, and -E2BIG if there are more names than a
 * recording can hold. */
int recording_bring_names(const char *path, const struct name_settings *settings,
			  struct name_result *ret_result, struct err_text *err);
