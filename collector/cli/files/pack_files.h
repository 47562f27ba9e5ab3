#pragma once
/* `collector pack --with-binaries`: the files of the modules in a recording's backtraces, as they
 * are found on this machine. */
#include <stddef.h>

#include "base/intern.h"
#include "collector/rewrite/bring_names.h"

struct bring_file;
struct err_text;
struct question;

struct pack_files {
	struct bring_file *list; /* with paths of its own */
	size_t count;
	struct intern found, missing; /* build ids */
};

/* One for each build id. Of which there is none is named on standard error. 0 or a negative
 * errno. */
int pack_files_find(struct pack_files *files, const struct question *question,
		    struct err_text *err);
void pack_files_done(struct pack_files *files);
