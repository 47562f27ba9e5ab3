#pragma once
/* Helpers that several routes share: beginning an answer, and reading parameters. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/answers/answer.h"
#include "collector/http/server/exchange.h"

struct filter;
struct json;
struct view;

/* Appends the note of the collector that gathers (sources_note) to what the answer says is
 * missing. */
void sources_tell_note(struct exchange *x);
/* Begins an answer that is an object. If the recording is incomplete, the first member says what it
 * lacks. */
void json_answer(struct json *json, struct exchange *x);
/* Rows for the members that json_graph_urls writes; `writer` calls it. */
#define ROWS_OF_GRAPH(writer)                                                                      \
	ROW_WRITTEN("graph_url", ANSWER_TEXT, NULL, "address of a picture, with generate_graphs",  \
		    writer, .when = SOMETIMES),                                                    \
		BY_HAND("graph_preview_url", ANSWER_TEXT, NULL,                                    \
			"address of a small picture, with generate_graphs", .when = SOMETIMES)
/* Writes graph_url and graph_preview_url: addresses of pictures of the allocations for which
 * `filter` has this value. `more` is the output of encode_filters: further filters. */
void json_graph_urls(struct json *json, const struct exchange *x, const char *filter,
		     uint64_t value, const char *more);
/*
 * Reads all parameters of the request. Those in the table, which ends with {0}, go into `context`;
 * all others are filters of the recording. The error names the first invalid parameter. If
 * `takes_filter` is not NULL, applies only the filters that `takes_filter` accepts.
 */
int read_parameters_of(struct exchange *x, struct view *view, const struct route_parameter *table,
		       void *context, struct filter *filter,
		       bool (*takes_filter)(const char *name));
/* For routes that take no filters. */
bool takes_none(const char *name);
/* Appends a path, or "name=value", with special characters percent-encoded. */
void encode_path(struct buf *to, const char *path);
void encode_parameter(struct buf *to, const struct parameter *parameter);
/* Appends "&name=value" for each parameter of the request that is not in the table, with special
 * characters percent-encoded. */
void encode_filters(const struct exchange *x, const struct route_parameter *table, struct buf *to);
