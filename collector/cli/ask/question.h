#pragma once
/* What all commands that ask about one stream share: their options, filters, and opening the
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
	const char *where; /* a condition in SQL: one more filter */
	const char *at;
	const char *value;
	/* taken by some commands only: */
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
	bool force; /* whatever file is there is replaced */
	bool follow;
	bool live;    /* top: on a screen that moves */
	uint64_t pid; /* top --live: of this process; 0: of none */
};

extern const struct option question_table[]; /* --at, --symbols, --debuginfod, --hide-rules */
extern const struct option value_table[];    /* --value */
extern const struct option filter_table[];   /* every filter */

/* The last groups of a command's options. */
#define FILTER_GROUPS                                                                              \
	{"Filters: only allocations that fit are counted", filter_table},                          \
		{"Common options", asking_table},                                                  \
	{                                                                                          \
		0                                                                                  \
	}
#define VALUE_GROUPS {"What to look at", value_table}, {"Also", question_table}, FILTER_GROUPS

/* Of commands that are about no moment, in place of question_table. */
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
	const struct question_kind *kind; /* NULL: nobody asks for an answer */
	const struct question *base;	  /* what it is compared with (--base); NULL: nothing */
	void *result;			  /* the kind's result_bytes, zeroed at first */
	const char *stream;		  /* as the user named it */
	char *path;
	struct recording *recording;
	struct symbol_sources symbol_sources;
	struct site_rules *rules; /* NULL: the default ones */
	struct symbols *symbols;
	struct view *view;
	struct filter filter;
	struct suppressions *suppressions; /* in the filter; NULL: none are asked for */
	struct suppressed suppressed;	   /* what they left out */
	struct progress *progress;	   /* of the filter */
	enum value value;
	uint64_t at_ns;
	struct recorded recorded; /* who, how, and what is lacking: each answer begins with it */
};

/* Opens `stream`. If its name ends in @TIME, the question is what was in use at that moment. */
int question_open_named(struct command_call *call, const char *stream, enum value default_value,
			struct question *ret_question);
/* Opens the stream that the call names (`last` if it names none). Returns EXIT_DONE, or another
 * exit status after saying why. */
int question_open(struct command_call *call, enum value default_value,
		  struct question *ret_question);
void question_close(struct question *question);
/* Says what went wrong with a query and returns its exit status. */
int question_failed(const struct question *question, int error, const struct err_text *err);
/* Does it ask for a part of the allocations only? */
bool question_is_filtered(const struct question *question);
/* Returns "leaked" for a program that has ended, "in use" for one that goes on. */
const char *question_leaked_name(const struct question *question);
/* Says the same in a sentence: "never freed", "in use at the last moment recorded"... `heading`: as
 * the sentence's beginning. */
const char *question_unfreed(const struct question *question, bool heading);
/* Makes a short name for files: the program and the id's first digits. */
void question_file_name(const struct question *question, const char *suffix, char *out,
			size_t size);
