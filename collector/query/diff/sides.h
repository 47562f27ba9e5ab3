#pragma once
/*
 * What comparing two recordings needs of both: under which name a module of one is known in the
 * other, and which functions are hidden. A function that is a wrapper in one of them is hidden in
 * both; else its blocks would have gone from one call site and come to another.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/match/view.h"

struct diff_names {
	const struct recording *base, *now;
	const struct diff_renamed *renamed; /* of the base */
	size_t renamed_count;
};

/* Returns the name (without folders) under which a module of a side is compared. A program that was
 * renamed has its executable under a name that only one of the two knows: then it is the new one,
 * as for modules in `renamed`. */
const char *diff_module_name(const struct diff_names *names, bool is_base, const char *path);
/* The same for a function. */
const char *diff_function_name(const struct diff_names *names, bool is_base, const char *name);
/* Whether names alone are compared: a side was imported from a file with function names but no
 * modules. */
bool diff_has_names_alone(const struct diff_names *names);

struct diff_hiding {
	struct hiding base, now;
	uint8_t *base_wrappers, *now_wrappers; /* own; NULL: as the views have them */
};
/* Returns 0 or a negative errno; call diff_hiding_done in either case. */
int diff_hiding_init(struct diff_hiding *hiding, const struct diff_side *base,
		     const struct diff_side *now, const struct diff_names *names,
		     struct err_text *err);
void diff_hiding_done(struct diff_hiding *hiding);
