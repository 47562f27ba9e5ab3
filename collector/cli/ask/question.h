#pragma once
/* Shared by all commands that ask about a stream: their options and filters, and opening the
 * recording with its symbols. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/cli/command.h"
#include "collector/cli/ask/symbol_sources.h"
#include "collector/query/query.h"
#include "collector/query/suppress.h"
#include "collector/answers/recorded.h"

struct question_options {
	struct common_options common;
	struct symbol_choice symbols;
	struct option_pairs filters;
	const char *where; /* an SQL condition: one more filter */
	const char *at;
	const char *value;
	/* Accepted by some commands only: */
	const char *by, *output, *format, *weight;
	uint64_t count;
	const char *fail_if, *base, *start, *end, *young, *percent_min;
	const char *hide_rules;
	const char *title;
	const char *html;
	struct option_list series, map, suppress;
	uint64_t bands;
	uint64_t width;
	bool inverted, reversed;
	const char *table;
	bool with_stacks;
	bool force; /* replace any existing file */
	bool follow;
	bool live;    /* top: follow the recording on the screen */
	uint64_t pid; /* top --live: process to join; 0: none */
};

extern const struct option question_table[]; /* --at, --symbols, --debuginfod, --hide-rules */
extern const struct option value_table[];    /* --value */
extern const struct option filter_table[];   /* all filters */

/* The last groups of a command's options. */
#define FILTER_GROUPS                                                                              \
	{"Filters: only allocations that fit are counted", filter_table},                          \
		{"Common options", asking_table},                                                  \
	{                                                                                          \
		0                                                                                  \
	}
#define VALUE_GROUPS {"What to look at", value_table}, {"Also", question_table}, FILTER_GROUPS

/* Options of commands without a moment, instead of question_table. */
#define OPTIONS_OF_NAMES                                                                           \
	SYMBOL_OPTIONS(struct question_options, symbols),                                          \
		OPTION_TEXT(struct question_options, hide_rules, "hide-rules", "FILE",             \
			    "functions that only pass allocations on, beside the ones that are "   \
			    "known")
#define OPTION_COUNT(things)                                                                       \
	OPTION_NUMBER(struct question_options, count, "count", "N", things " (10)")
#define OPTION_BY                                                                                  \
	OPTION_TEXT(struct question_options, by, "by", "WHAT",                                     \
		    "a row for each site (call site, the default), function (whatever the line "   \
		    "and the build) or backtrace")

#define OPTION_FORCE                                                                               \
	OPTION_FLAG(struct question_options, force, "force",                                       \
		    "replace FILE whatever it is, not only an earlier one of its kind")

extern const struct question_options question_defaults; /* --count 10 */

struct question {
	const struct command *command;
	const struct question_options *options;
	const struct question_kind *kind; /* NULL: the recording is only opened */
	const struct question *base;	  /* the other side of a comparison (--base); NULL: none */
	void *result;			  /* the kind's result_bytes, initially zero */
	const char *stream;		  /* as the user named it */
	char *path;
	struct recording *recording;
	struct symbol_sources symbol_sources;
	struct site_rules *rules; /* NULL: the default rules */
	struct symbols *symbols;
	struct view *view;
	struct filter filter;
	struct suppressions *suppressions; /* also in the filter; NULL: none */
	struct suppressed suppressed;	   /* what the suppressions left out */
	struct progress *progress;	   /* also in the filter */
	enum value value;
	uint64_t at_ns;
	struct recorded recorded; /* the head of each answer */
};

/* Open `stream`. If its name ends in @TIME, the question is about that moment. question_open_named
 * opens it whatever --select chooses, question_open_selected one of those. They return EXIT_DONE,
 * or another exit status after an error message. */
int question_open_selected(struct command_call *call, const char *stream, enum value default_value,
			   struct question *ret_question);
int question_open_named(struct command_call *call, const char *stream, enum value default_value,
			struct question *ret_question);
/* Opens the stream that the call names, or `last`. Returns EXIT_DONE, or another exit status after
 * an error message. */
int question_open(struct command_call *call, enum value default_value,
		  struct question *ret_question);
void question_close(struct question *question);
/* Prints the error of a query, and returns its exit status. */
int question_failed(const struct question *question, int error, const struct err_text *err);
/* Tells whether filters select a part of the allocations. */
bool question_is_filtered(const struct question *question);
/* Returns the name of blocks that were not freed: "in use" if the program goes on, "leaked" if the
 * whole program was watched, "not freed" if only a part was. */
const char *question_leaked_name(const struct question *question);
/* Returns the same as a phrase: "in use at the last moment recorded", "never freed", or "not freed
 * while watched". With `heading`, it begins with a capital. */
const char *question_unfreed(const struct question *question, bool heading);
/* Formats a file name from the program, the first digits of the id, and `suffix`. */
void question_file_name(const struct question *question, const char *suffix, char *out,
			size_t size);
