#pragma once
/* The parameters besides filters that most questions under /data/ID take: one struct for all
 * values, and a reader for each parameter. A route lists the readers that it needs in its table. */
#include "collector/answers/weight.h"
#include "collector/http/routes/values.h"
#include "collector/query/query.h"

#define BASE_MAX  256
#define TITLE_MAX 256

struct what {
	struct filter filter;
	enum value value;
	bool value_given; /* the request has `value` or `at` */
	uint64_t at_ns;	  /* NO_TIME: not given */
	enum export_weight weight;
	enum grouping grouping;
	uint64_t skip, count;
	const char *sort_by; /* as given; owned by the request. NULL: not given */
	bool ascending;
	uint64_t start_ns, end_ns; /* of a timeline */
	uint32_t points;
	double percent_min;
	uint32_t width, height; /* of a picture; 0: not given */
	bool graphs, strip;	/* generate_graphs, strip_template_args */
	uint64_t young_ns;
	bool inverted, reversed;
	unsigned tables; /* enum rows_table; 0: not given */
	bool with_stacks;
	const char *
		bands_by; /* as given; owned by the request. NULL: no bands, or those of `series` */
	struct series_question bands;
	struct series_filters series;
	char title[TITLE_MAX]; /* "": not given */
	const char *file;      /* owned by the request; NULL: not given */
	char base[BASE_MAX];   /* of a diff: "ID" or "ID@TIME"; "": not given */
};

typedef int what_reader(void *what, const struct view *view, const char *name, const char *value,
			struct err_text *err);
what_reader what_value, what_at, what_weight, what_by, what_number, what_sort_by, what_order,
	what_moment, what_points, what_bands, what_bands_by, what_series, what_percent, what_young,
	what_base, what_graphs, what_strip, what_pixels, what_title, what_file, what_inverted,
	what_reversed, what_table, what_with_stacks, what_preview;

#define PREVIEW_MOST 1024
#define WHAT_PREVIEW                                                                               \
	{                                                                                          \
		"preview", what_preview, "2 to 1024",                                              \
			"a quick estimate: one in so many of the matched blocks is looked at, "    \
			"and stands for the others"                                                \
	}

#define WHAT_VALUE                                                                                 \
	{                                                                                          \
		"value", what_value, "allocated, leaked, freed, in-use or peak",                   \
			"which of the matched blocks count"                                        \
	}
#define WHAT_AT                                                                                    \
	{                                                                                          \
		"at", what_at, "time", "those in use at this moment"                               \
	}
#define WHAT_WEIGHT                                                                                \
	{                                                                                          \
		"weight", what_weight, "bytes or blocks", "default bytes"                          \
	}
#define WHAT_BY                                                                                    \
	{                                                                                          \
		"by", what_by, "site, function or backtrace", "what a group is; default site"      \
	}
#define WHAT_BANDS                                                                                 \
	{"by", what_bands_by, "site, function, module, backtrace or custom",                       \
	 "in bands: of the largest of these, or of `series`; default none"},                       \
		{"bands", what_bands, "1 to 32", "so many of the largest; default 8"},             \
	{                                                                                          \
		"series", what_series, "NAME:FILTER=VALUE&FILTER=VALUE...",                        \
			"a band of by=custom; may be there again, and a block is of the first "    \
			"that it fits"                                                             \
	}
#define WHAT_SKIP                                                                                  \
	{                                                                                          \
		"skip", what_number, "whole number", "leave out so many groups"                    \
	}
#define WHAT_STRIP                                                                                 \
	{                                                                                          \
		"strip_template_args", what_strip, "true or false",                                \
			"functions without template arguments; default false"                      \
	}
#define WHAT_COUNT                                                                                 \
	{                                                                                          \
		"count", what_number, "whole number", "give at most so many groups"                \
	}

/* Sets the defaults. The caller always calls what_done. */
void what_init(struct what *what, struct exchange *x);
/* Sets the defaults and reads the request's parameters. The caller calls what_done even after an
 * error. */
int what_read(struct exchange *x, const struct route_parameter *table, struct what *what);
void what_done(struct what *what);
/* Computes the memory in use over time. `ret_series` has at least one band if the request asks for
 * bands. After a return of 0 the caller calls timeline_done and series_done. */
int what_over_time(struct exchange *x, struct what *what, const struct timeline_question *over,
		   struct timeline *ret_timeline, struct series_list *ret_series);
