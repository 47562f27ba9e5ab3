#pragma once
/* For collector/query and its tests: a timeline with room for so many births and deaths at a time. */
#include <stddef.h>

#include "collector/query/query.h"

int timeline_find(struct view *view, const struct filter *filter, const struct timeline_question *question,
		  size_t events_max, struct timeline *ret_timeline, struct err_text *err);
