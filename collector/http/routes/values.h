#pragma once
/* Helpers that several routes share: the API's times and frames, and reading parameters. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/answers/frames.h"
#include "collector/http/server/exchange.h"

struct filter;
struct json;
struct recording;
struct view;

/* Begins an answer that is an object. If the recording is incomplete, the first member says what it
 * lacks. */
void json_answer(struct json *json, struct exchange *x);
/* Calls json_times_in for the recording. */
void json_times(struct json *json, const char *name, struct view *view, uint64_t ns);
/* Adds the note of the collector that gathers (sources_note) to what the answer says is missing. */
void sources_tell_note(struct exchange *x);
/* The members that json_graph_urls writes. */
#define ROWS_OF_GRAPH                                                                              \
	BY_HAND("graph_url", ANSWER_TEXT, NULL, "a picture, with generate_graphs",                 \
		.when = SOMETIMES),                                                                \
		BY_HAND("graph_preview_url", ANSWER_TEXT, NULL, "a small one", .when = SOMETIMES)
/* Writes graph_url and graph_preview_url: addresses that draw what has this value of this filter,
 * and also fits `more` of encode_filters. */
void json_graph_urls(struct json *json, const struct exchange *x, const char *filter,
		     uint64_t value, const char *more);
/* Returns the kernel's thread id, or 0 if it is unknown. */
uint32_t thread_tid(const struct recording *recording, uint32_t number);

/* A parameter that a route reads itself. `read` returns 0, or a negative errno with a message in
 * `err`. */
struct route_parameter {
	const char *name;
	int (*read)(void *context, const struct view *view, const char *name, const char *value,
		    struct err_text *err);
	const char *takes; /* for /openapi.json */
	const char *about;
};
/* What a parameter takes that is one of the formats that are read (formats.h). */
#define TAKES_FORMATS "{formats}"

/*
 * Reads all parameters: those in the table, which ends with {0}, into `context`, and all others as
 * filters. The answer names the first parameter that is invalid.
 */
int read_parameters(struct exchange *x, const struct route_parameter *table, void *context,
		    struct filter *filter);
/* Does the same for another recording than the request's. If `takes_filter` is not NULL, it applies
 * only the filters that `takes_filter` accepts. */
int read_parameters_of(struct exchange *x, struct view *view, const struct route_parameter *table,
		       void *context, struct filter *filter,
		       bool (*takes_filter)(const char *name));
/* Parses true or false (also yes, no, 1, 0). */
int read_switch_value(const char *name, const char *value, bool *ret_on, struct err_text *err);
/*
 * Ignores a parameter. This API is that of another profiler, and that profiler's page sends
 * parameters on paths where they have no meaning: the look of the page, the order of its table, and
 * the part of the table that is shown.
 */
int read_passed_over(void *context, const struct view *view, const char *name, const char *value,
		     struct err_text *err);
#define PASSED_OVER(name)                                                                          \
	{                                                                                          \
		name, read_passed_over, "anything", "ignored"                                      \
	}
#define PASSED_OVER_LOOKS PASSED_OVER("group_allocations"), PASSED_OVER("show_full_backtraces")
#define PASSED_OVER_ORDER                                                                          \
	PASSED_OVER("sort_by"), PASSED_OVER("order"), PASSED_OVER("generate_graphs")
#define PASSED_OVER_PAGES PASSED_OVER("page"), PASSED_OVER("page_size")

/* Appends "&name=value" for each parameter of the request that is not in the table, with special
 * characters percent-encoded. */
void encode_filters(const struct exchange *x, const struct route_parameter *table, struct buf *to);
/* Refuses all parameters, for a path without parameters. */
int no_parameters(struct exchange *x);
