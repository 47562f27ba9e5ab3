#pragma once
/* Reads parameters as their rows say (route.h). */
#include "collector/http/server/route.h"

/* Reads one parameter into the struct that its row describes. */
int parameter_read(const struct route_parameter *p, void *context, const struct view *view,
		   const char *value, struct err_text *err);

extern const struct parameter_word parameter_switch[];
#define PARAMETER_SWITCH(of, label, member, meaning)                                               \
	PARAMETER(of, label, PARAMETER_WORD, member, "true or false", meaning,                     \
		  .words = parameter_switch)

/*
 * A parameter that is ignored. This is the API of another profiler, whose page sends parameters on
 * paths where they have no meaning: the look of the page, the order of its table, and the part of
 * the table that is shown.
 */
#define PASSED_OVER(label)                                                                         \
	{                                                                                          \
		.name = label, .takes = "anything", .about = "ignored", .kind = PARAMETER_IGNORED  \
	}
#define PASSED_OVER_LOOKS PASSED_OVER("group_allocations"), PASSED_OVER("show_full_backtraces")
#define PASSED_OVER_ORDER                                                                          \
	PASSED_OVER("sort_by"), PASSED_OVER("order"), PASSED_OVER("generate_graphs")
#define PASSED_OVER_PAGES PASSED_OVER("page"), PASSED_OVER("page_size")
