#pragma once
/* A recording with other names. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/rewrite/rewrite.h"

struct err_text;

struct anonymise_settings {
	struct copy_settings copy;
	const void
		*salt; /* the same salt gives the same names; what is known of it tells the names */
	size_t salt_length;
	/* Does this file or module, by its path, keep its name, its build id, and the names of its
	 * functions? May be NULL. */
	bool (*keeps)(void *context, const char *path);
	frame_of_function *frame;
	/* What a function is to be called instead, given a word that stands for it: NULL for that
	 * word itself. May be NULL. */
	char *(*disguise)(void *context, const char *function, const char *word);
	void *context;
};

/* The recording at `path` with other names for all that has one, and addresses and times of the
 * clock moved (docs/anonymise.md); it brings the names of its functions along. As recording_strip.
 * -ENOTSUP: there is no libcrypto. */
int recording_anonymise(const char *path, const struct anonymise_settings *settings,
			struct err_text *err);
