#pragma once
/* What several answers have in common: the API's times and frames, and reading parameters. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/export/answer.h"
#include "collector/http/server/exchange.h"

struct filter;
struct json;
struct recording;
struct view;

/* Begins an answer that is an object: what the recording does not hold is its first member, if
 * there is anything. */
void json_answer(struct json *json, struct exchange *x);
struct answer_context answer_context_of(const struct view *view);
/* json_times_in of the recording. */
void json_times(struct json *json, const char *name, const struct view *view, uint64_t ns);
/* What the one who gathers tells all who read (sources_note) becomes what the answer does not
 * hold. */
void sources_tell_note(struct exchange *x);
/* One frame of a backtrace (view_frame). */
int json_frame(struct json *json, const char *key, struct view *view, uint32_t node, uint32_t index,
	       struct err_text *err);
extern const struct answer frame_answer;
/* Where something was called, if it is known. */
#define ROWS_OF_CALL                                                                               \
	BY_HAND("backtrace_id", ANSWER_U32, "id", "", .when = SOMETIMES),                          \
		BY_HAND("backtrace", ANSWER_OBJECT, NULL, "the outermost frame first",             \
			.shape = ANSWER_LIST, .of = &frame_answer, .when = SOMETIMES)
/* json_graph_urls */
#define ROWS_OF_GRAPH                                                                              \
	BY_HAND("graph_url", ANSWER_TEXT, NULL, "a picture, with generate_graphs",                 \
		.when = SOMETIMES),                                                                \
		BY_HAND("graph_preview_url", ANSWER_TEXT, NULL, "a small one", .when = SOMETIMES)
/* An array of frames, outermost first, inlined ones included. */
int json_backtrace(struct json *json, const char *key, struct view *view, uint32_t node,
		   struct err_text *err);
/* The same with functions' names without template arguments if `strip`. */
int json_backtrace_of(struct json *json, const char *key, struct view *view, uint32_t node,
		      bool strip, struct err_text *err);
/* Return addresses of a backtrace as 16 hexadecimal digits each, outermost first. */
int json_addresses(struct json *json, const char *key, struct view *view, uint32_t node,
		   struct err_text *err);
/* graph_url and graph_preview_url: where a picture is drawn of what has that value of that filter,
 * and fits `more` of encode_filters. */
void json_graph_urls(struct json *json, const struct exchange *x, const char *filter,
		     uint64_t value, const char *more);
/* The kernel's number of the thread; 0: unknown. */
uint32_t thread_tid(const struct recording *recording, uint32_t number);

/* A parameter that the route reads by itself; `read` returns 0, or a negative errno with the
 * sentence. */
struct route_parameter {
	const char *name;
	int (*read)(void *context, const struct view *view, const char *name, const char *value,
		    struct err_text *err);
	const char *takes; /* for /openapi.json */
	const char *about;
};

/*
 * Reads all parameters: those of the table (ends with {0}) into `context`, all others as filters.
 * The first that is not understood is named in the answer.
 */
int read_parameters(struct exchange *x, const struct route_parameter *table, void *context,
		    struct filter *filter);
/* The same for another recording than the request's, and, if `takes_filter` is not NULL, only with
 * those filters. */
int read_parameters_of(struct exchange *x, struct view *view, const struct route_parameter *table,
		       void *context, struct filter *filter,
		       bool (*takes_filter)(const char *name));
/* true or false (yes, no, 1, 0). */
int read_switch_value(const char *name, const char *value, bool *ret_on, struct err_text *err);
/*
 * Parameters that the page of the profiler whose API this is sends along on some paths, where they
 * say nothing: they are passed over. How the page looks, what order its table has, and which part
 * of it is shown.
 */
int read_passed_over(void *context, const struct view *view, const char *name, const char *value,
		     struct err_text *err);
#define PASSED_OVER(name)                                                                          \
	{                                                                                          \
		name, read_passed_over, "anything", "passed over"                                  \
	}
#define PASSED_OVER_LOOKS PASSED_OVER("group_allocations"), PASSED_OVER("show_full_backtraces")
#define PASSED_OVER_ORDER                                                                          \
	PASSED_OVER("sort_by"), PASSED_OVER("order"), PASSED_OVER("generate_graphs")
#define PASSED_OVER_PAGES PASSED_OVER("page"), PASSED_OVER("page_size")

/* Appends "&name=value" for each parameter of the request that the table does not have, with what
 * is special in an address encoded. */
void encode_filters(const struct exchange *x, const struct route_parameter *table, struct buf *to);
/* Refuses parameters on a path that takes none. */
int no_parameters(struct exchange *x);
