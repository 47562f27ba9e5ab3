#pragma once
/* Leaks by survival: survival.c explains the method. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

struct survivor {
	uint32_t node;			      /* of its biggest block in use */
	const char *function, *file, *module; /* as in struct group */
	uint32_t line;
	struct usage allocated, freed, in_use;
	struct usage old, young; /* in_use: suspect; perhaps still to be freed */
	struct usage late;	 /* of in_use: allocated at since_ns or later */
	uint64_t suspect_bytes;
	bool whole_group; /* none of the group's blocks was freed */
	uint64_t age_min_ns, age_max_ns;
	uint64_t lifetime_max_ns;			/* of freed blocks; 0: none was freed */
	uint64_t min_size, max_size, first_ns, last_ns; /* of all blocks, as in struct group */
};

struct survivors {
	struct survivor *list; /* most suspect bytes first, then most in use */
	size_t count;
	struct usage in_use, old, young; /* without errors */
	uint64_t suspect_bytes;
	uint64_t young_ns;
	uint64_t end_ns;   /* ages are counted up to here */
	uint64_t since_ns; /* the later half of the time, where growth is looked for; NO_TIME: the
			    * program has ended */
};
/* Lists the groups with blocks in use at the end, not by module. Blocks younger than `young_ns`
 * (NO_TIME: a hundredth of the recording) count as young whatever their group does. */
int query_survivors_by(struct view *view, const struct filter *filter, enum grouping grouping,
		       uint64_t young_ns, struct survivors *ret_survivors, struct err_text *err);
/* The same by call site. */
int query_survivors(struct view *view, const struct filter *filter, uint64_t young_ns,
		    struct survivors *ret_survivors, struct err_text *err);
void survivors_done(struct survivors *survivors);
