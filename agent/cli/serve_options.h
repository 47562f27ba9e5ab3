#pragma once
/* What `agent serve` is told: by its file of options, by variables and on its command line, read at
 * the start and at SIGHUP. */
#include "agent/cli/options.h"

struct err_text;

struct serve_options {
	int argc;
	char **argv;
	const char *file; /* of options; NULL: none */
	bool any_file;	  /* nobody named one: the usual one counts, should it come */
};

/* Notes where options come from, and reads them. Their text may point into *ret_text (NULL: there
 * was no file), which the caller frees once they are not used any more. 0; a negative errno with
 * the reason. */
int serve_options_open(struct serve_options *ret_from, int argc, char **argv,
		       struct options *ret_options, char **ret_text, struct err_text *err);
/* Reads them again. */
int serve_options_read(struct serve_options *from, struct options *ret_options, char **ret_text,
		       struct err_text *err);
/* --check-config: prints what would hold, defaults that depend on the user included. 0; -EINVAL
 * with what is wrong. */
int serve_options_check(const struct serve_options *from, const struct options *options,
			struct err_text *err);
