#pragma once
/* The call sites of a recording's backtraces, by rules alone, and the modules that gave the names:
 * what a file of sums keeps of a view. */
#include <stdint.h>

#include "base/map.h"
#include "collector/sums/minute_file.h"

struct err_text;
struct symbols;
struct view;

/* Texts belong to the view. */
struct stream_names {
	struct sums_site *sites;
	struct minute_file_module *modules;
	uint32_t site_count, sites_capacity, module_count, modules_capacity;
	struct map site_numbers, module_numbers;
};

void stream_names_done(struct stream_names *names);
/* Finds the call sites of backtraces by their nodes, and sets `site`. The view's rules decide.
 * Returns 0 or a negative errno. */
int stream_names_of(struct view *view, struct sums_stack *stacks, uint32_t count,
		    struct stream_names *ret_names, struct err_text *err);
/* Finds what files name the code of the modules now. `symbols` may be NULL. */
uint64_t module_signature(struct symbols *symbols, const struct minute_file_module *module);
