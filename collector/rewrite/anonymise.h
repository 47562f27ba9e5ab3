#pragma once
/* Copies a recording with pseudonyms in place of names. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/rewrite/rewrite.h"

struct err_text;

struct anonymise_settings {
	struct copy_settings copy;
	const void
		*salt; /* equal salts give equal names; whoever knows the salt can check guesses */
	size_t salt_length;
	/* Returns true if this file or module, given by its path, keeps its name, its build id and
	 * the names of its functions. May be NULL. */
	bool (*keeps)(void *context, const char *path);
	frame_of_function *frame;
	/* Returns another name for a function, which the caller frees, or NULL to use `word`.
	 * `word` is the function's pseudonym. May be NULL. */
	char *(*disguise)(void *context, const char *function, const char *word);
	void *context;
};

/* Writes a copy of the recording at `path` in which all names are pseudonyms, and addresses and
 * wall-clock times are moved (docs/anonymise.md). The copy contains the names of its functions.
 * Returns the same errors as recording_strip, and -ENOTSUP if libcrypto is missing. */
int recording_anonymise(const char *path, const struct anonymise_settings *settings,
			struct err_text *err);
