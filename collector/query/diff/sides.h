#pragma once
/*
 * What a comparison of two recordings needs from both: the name by which a module of one is known
 * in the other, and the functions that are hidden. A function that is a wrapper in one recording is
 * hidden in both. Otherwise its blocks would seem to have moved from one call site to another.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/match/view.h"

struct diff_names {
	const struct recording *base, *now;
	const struct diff_renamed *renamed; /* names of the base that have changed */
	size_t renamed_count;
};

/* Returns the name (without folders) under which a module of a side is compared. If the program was
 * renamed, only one side knows the name of its executable; then the new name is used, as for
 * modules in `renamed`. */
const char *diff_module_name(const struct diff_names *names, bool is_base, const char *path);
/* Does the same for a function. */
const char *diff_function_name(const struct diff_names *names, bool is_base, const char *name);
/* Returns true if only names are compared, because a side was imported from a file with function
 * names but no modules. */
bool diff_has_names_alone(const struct diff_names *names);

struct diff_hiding {
	struct hiding base, now;
	uint8_t *base_wrappers, *now_wrappers; /* owned; NULL: the views' own arrays */
};
/* Returns 0 or a negative errno; call diff_hiding_done in either case. */
int diff_hiding_init(struct diff_hiding *hiding, const struct diff_side *base,
		     const struct diff_side *now, const struct diff_names *names,
		     struct err_text *err);
void diff_hiding_done(struct diff_hiding *hiding);
