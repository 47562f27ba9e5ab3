#pragma once
/* Leaks by survival. survival.c explains the method. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

struct survivor {
	uint32_t node;			      /* node of its biggest block in use */
	const char *function, *file, *module; /* as in struct group */
	uint32_t line;
	struct usage allocated, freed, in_use;
	struct usage old, young; /* parts of in_use: suspect; likely to be freed later */
	struct usage late;	 /* part of in_use: allocated at since_ns or later */
	uint64_t suspect_bytes;
	bool whole_group; /* none of the group's blocks was freed */
	uint64_t age_min_ns, age_max_ns;
	uint64_t lifetime_max_ns;			/* longest lifetime of a freed block; 0:
							 * none was freed */
	uint64_t min_size, max_size, first_ns, last_ns; /* of all blocks, as in struct group */
};

struct survivors {
	struct survivor *list; /* most suspect bytes first, then most in use */
	size_t count;
	struct usage in_use, old, young; /* without errors */
	uint64_t suspect_bytes;
	uint64_t young_ns;
	uint64_t end_ns;   /* time up to which ages are counted */
	uint64_t since_ns; /* start of the later half of the time, which shows growth; NO_TIME: the
			    * program has ended */
};
/* Lists the groups with blocks in use at the end. Grouping by module is not possible. Blocks
 * younger than `young_ns` (NO_TIME: a hundredth of the recording) count as young, whatever their
 * group. */
int query_survivors_by(struct view *view, const struct filter *filter, enum grouping grouping,
		       uint64_t young_ns, struct survivors *ret_survivors, struct err_text *err);
/* Does the same by call site. */
int query_survivors(struct view *view, const struct filter *filter, uint64_t young_ns,
		    struct survivors *ret_survivors, struct err_text *err);
void survivors_done(struct survivors *survivors);
