#pragma once
/* The parameters of questions, besides filters. One struct holds all values, and there is a row for
 * each parameter that several routes have. A route lists the rows that it needs in its table. */
#include "collector/answers/weight.h"
#include "collector/fleet/fleet.h"
#include "collector/http/routes/parameters.h"
#include "collector/http/routes/values.h"
#include "collector/query/query.h"

#define BASE_MAX  256
#define TITLE_MAX 256

enum request_order { ORDER_USUAL, ORDER_ASCENDING, ORDER_DESCENDING };

/* Selects maps by a property: all, those that have it, or those that lack it. */
enum request_only { ANY, ONLY_TRUE, ONLY_FALSE };

struct request_values {
	struct filter filter;
	enum value value;
	bool value_given; /* the request has `value` or `at` */
	uint64_t at_ns;	  /* NO_TIME: not given */
	enum export_weight weight;
	enum grouping grouping;
	uint64_t skip, count;
	const char *sort_by; /* as given; owned by the request. NULL: not given */
	enum request_order order;
	uint32_t key;		   /* what sort_by means to a route with sort keys of its own */
	uint64_t start_ns, end_ns; /* span of a timeline */
	uint32_t points;
	double percent_min;	/* < 0: not given */
	uint32_t width, height; /* size of a picture; 0: not given */
	bool graphs, strip;	/* generate_graphs, strip_template_args */
	uint64_t young_ns;
	uint32_t unsuppressed; /* 1: include suppressed blocks */
	bool inverted, reversed;
	unsigned tables; /* enum rows_table; 0: not given */
	bool with_stacks;
	const char *
		bands_by; /* as given; owned by the request. NULL: no bands, or those of `series` */
	struct series_question bands;
	struct series_filters series;
	/* Owned by the request; NULL: not given. */
	const char *title, *file;
	const char *select;
	struct fleet_question fleet;
	const char *fleet_at; /* owned by the request */
	uint32_t fleet_by;    /* enum fleet_top_by */
	uint64_t fleet_count; /* 0: not given */
	const char *base;     /* the other side of a diff: "ID" or "ID@TIME" */
	/* For maps. */
	uint64_t map; /* number of the map; NO_TIME: any */
	uint64_t peak_rss_min, peak_rss_max;
	enum request_only readable, writable, executable, jemalloc, bytehound;
	bool with_regions, with_usage;
};

typedef int request_values_reader(void *values, const struct view *view, const char *name,
				  const char *value, struct err_text *err);
request_values_reader request_values_value, request_values_at, request_values_bands_by,
	request_values_series;
extern const struct parameter_word request_orders[], request_weights[], request_groupings[],
	request_suppress[];

#define REQUEST(label, form, member, takes, about, ...)                                            \
	PARAMETER(struct request_values, label, form, member, takes, about, ##__VA_ARGS__)
#define REQUEST_SWITCH(label, member, about)                                                       \
	PARAMETER_SWITCH(struct request_values, label, member, about)
#define REQUEST_NUMBER(label, member, about)                                                       \
	REQUEST(label, PARAMETER_NUMBER, member, "a whole number", about)
#define REQUEST_RANGE(label, member, from, to, takes, about)                                       \
	REQUEST(label, PARAMETER_NUMBER, member, takes, about, .least = from, .most = to)

#define SELECT_MAX   4096
#define TAKES_SELECT "NAME=PATTERN..."
#define ABOUT_SELECT                                                                               \
	"only streams that match all of these, separated by blanks: NAME is id, name, "            \
	"executable, host, architecture, board, cgroup, service, build, pid, state, version or "   \
	"tag:KEY; != for what must not match"
#define REQUEST_SELECT                                                                             \
	REQUEST("select", PARAMETER_TEXT, select, TAKES_SELECT, ABOUT_SELECT, .most = SELECT_MAX)
#define REQUEST_PREVIEW                                                                            \
	REQUEST_RANGE("preview", filter.one_in, 2, 1024, "a number from 2 to 1024",                \
		      "a quick estimate: only one in so many of the matched blocks is looked at, " \
		      "and stands for the others")
#define REQUEST_VALUE                                                                              \
	PARAMETER_BY("value", request_values_value, "allocated, leaked, freed, in-use or peak",    \
		     "which of the matched blocks count")
#define REQUEST_AT                                                                                 \
	PARAMETER_BY("at", request_values_at, "time", "only blocks in use at this moment")
#define REQUEST_WEIGHT                                                                             \
	REQUEST("weight", PARAMETER_WORD, weight, "bytes or blocks",                               \
		"what is summed up; default bytes", .words = request_weights)
#define REQUEST_BY                                                                                 \
	REQUEST("by", PARAMETER_WORD, grouping, "site, function or backtrace",                     \
		"what a group is; default site", .words = request_groupings)
#define REQUEST_BANDS                                                                              \
	PARAMETER_BY(                                                                              \
		"by", request_values_bands_by, "site, function, module, backtrace or custom",      \
		"what the bands are: the largest of these, or those of `series`; default none"),   \
		REQUEST_RANGE("bands", bands.most, 1, SERIES_MAX, "a number from 1 to 32",         \
			      "how many bands of the largest; default 8"),                         \
		PARAMETER_BY(                                                                      \
			"series", request_values_series, "NAME:FILTER=VALUE&FILTER=VALUE...",      \
			"a band of by=custom; may be given again; a block belongs to the first "   \
			"band that it fits")
#define REQUEST_SPAN                                                                               \
	REQUEST("start", PARAMETER_TIME, start_ns, "time",                                         \
		"start of the part that is shown; default the start of the recording"),            \
		REQUEST("end", PARAMETER_TIME, end_ns, "time",                                     \
			"end of the part that is shown; default the end of the recording")
#define REQUEST_PAGE                                                                               \
	REQUEST_NUMBER("skip", skip, "leave out so many"),                                         \
		REQUEST_NUMBER("count", count, "give at most so many")
#define REQUEST_GROUPS                                                                             \
	REQUEST_NUMBER("skip", skip, "leave out so many groups"),                                  \
		REQUEST_NUMBER("count", count, "give at most so many groups")
#define REQUEST_ORDER(about)                                                                       \
	REQUEST("order", PARAMETER_WORD, order, "asc or dsc", about, .words = request_orders)
#define REQUEST_STRIP                                                                              \
	REQUEST_SWITCH("strip_template_args", strip,                                               \
		       "shows functions without template arguments; default false")
#define REQUEST_GRAPHS                                                                             \
	REQUEST_SWITCH("generate_graphs", graphs, "adds addresses of pictures; default false")
#define REQUEST_PERCENT(things, default)                                                           \
	REQUEST("percent_min", PARAMETER_PERCENT, percent_min, "a number from 0 to 100",           \
		"leave out " things                                                                \
		" with less than this percentage of the whole; default " default)
#define REQUEST_BASE(takes, about)                                                                 \
	REQUEST("base", PARAMETER_TEXT, base, takes, about, .most = BASE_MAX - 1)
#define REQUEST_REVERSED(from)                                                                     \
	REQUEST_SWITCH("reversed", reversed,                                                       \
		       "leads from the functions that " from " to their callers; default false")
#define REQUEST_TITLE                                                                              \
	REQUEST("title", PARAMETER_TEXT, title, "a text of at most 255 bytes",                     \
		"title of the picture; default the command", .most = TITLE_MAX - 1)
#define REQUEST_PIXELS(label, member, about)                                                       \
	REQUEST_RANGE(label, member, 10, 10000, "a number of pixels from 10 to 10000", about)

/* Sets the defaults. The caller always calls request_values_done. */
void request_values_init(struct request_values *values, struct exchange *x);
void request_values_done(struct request_values *values);
/* Computes the memory in use over time. `ret_series` has at least one band if the request asks for
 * bands, else none. After a return of 0 the caller calls timeline_done and series_done. */
int request_values_over_time(struct exchange *x, struct request_values *values,
			     const struct timeline_question *over, struct timeline *ret_timeline,
			     struct series_list *ret_series);
