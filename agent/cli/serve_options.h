#pragma once
/* Reads the options of `agent serve` from its configuration file, variables and command line, at
 * the start and at SIGHUP. */
#include "agent/cli/options/options.h"

struct err_text;

struct serve_options {
	int argc;
	char **argv;
	const char *file; /* configuration file; NULL: none */
	bool any_file;	  /* the user named no file: the default file is used if it exists */
};

/* Remembers the sources of the options and reads them. Their texts may point into *ret_text (NULL:
 * no file), which the caller frees when it no longer uses the options. Returns 0, or a negative
 * errno with the reason. */
int serve_options_open(struct serve_options *ret_from, int argc, char **argv,
		       struct options *ret_options, char **ret_text, struct err_text *err);
/* Reads the options again. */
int serve_options_read(struct serve_options *from, struct options *ret_options, char **ret_text,
		       struct err_text *err);
/* --check-config: prints the resulting options, including defaults that depend on the user. Returns
 * 0, or -EINVAL with the reason. */
int serve_options_check(const struct serve_options *from, const struct options *options,
			struct err_text *err);
