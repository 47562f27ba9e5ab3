#pragma once
/* `collector pack --with-binaries`: finds, on this machine, the files of the modules in a
 * recording's backtraces. */
#include <stddef.h>

#include "base/intern.h"
#include "collector/rewrite/bring_names.h"

struct bring_file;
struct err_text;
struct question;

struct pack_files {
	struct bring_file *list; /* owns its paths */
	size_t count;
	struct intern found, missing; /* build ids */
};

/* Finds one file for each build id, and names on standard error the files that are missing. Returns
 * 0 or a negative errno. */
int pack_files_find(struct pack_files *files, const struct question *question,
		    struct err_text *err);
void pack_files_done(struct pack_files *files);
