#pragma once
/* A recording that brings the names of its functions along, and files. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/rewrite/rewrite.h"
#include "collector/recording/brought_file.h"

struct err_text;

/* One that is to go along, from here. */
struct bring_file {
	struct brought_file file;
	const char *path;
};

struct name_settings {
	struct copy_settings copy;
	frame_of_function *frame;
	/* Does the recording itself say what is at a node's place, if only that it has no name? No
	 * symbol file is to be asked then. May be NULL: no. */
	bool (*said)(void *context, uint32_t node);
	/* Go along, too; one whose build id the recording brings already does not come twice. */
	const struct bring_file *files;
	size_t file_count;
	/* One of `files` does not go along after all, and why. */
	void (*left_out)(void *context, const struct bring_file *file, const char *why);
	void *context;
};

struct name_result {
	uint64_t places, named;
	uint64_t files, file_bytes;	    /* that go along, those that it had included */
	uint64_t bytes_before, bytes_after; /* of frames */
};

/* The recording at `path` with the names of its functions, as `frame` gives them, in it, and files.
 * As recording_strip. -E2BIG: they are more than a recording can have. */
int recording_bring_names(const char *path, const struct name_settings *settings,
			  struct name_result *ret_result, struct err_text *err);
