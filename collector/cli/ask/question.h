#pragma once
/*
 * What the commands that ask about one stream have in common: their options, opening the recording
 * with its symbols, filters.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/cli/ask/anonymise.h"
#include "collector/cli/command.h"
#include "collector/cli/ask/symbol_sources.h"
#include "collector/query/query.h"
#include "collector/recording/completeness.h"

struct question_options {
	struct common_options common;
	struct symbol_choice symbols;
	struct option_pairs filters;
	const char *where; /* a condition of SQL, one more filter */
	const char *at;
	const char *value;
	/* What only some commands take: */
	const char *by, *output, *format, *weight;
	uint64_t count;
	const char *fail_if, *base, *start, *end, *young, *percent_min;
	const char *hide_rules;
	const char *title;
	const char *html;
	struct option_list series;
	uint64_t bands;
	uint64_t width;
	bool inverted, reversed;
	const char *table;
	bool with_stacks;
	struct anonymise_choice anonymise;
};

extern const struct option question_table[]; /* --at, --symbols, --debuginfod, --hide-rules */
extern const struct option value_table[];    /* --value */
extern const struct option filter_table[];   /* every filter */

struct question {
	const struct command *command;
	const char *stream; /* as the user named it */
	char *path;
	struct recording *recording;
	struct symbol_sources symbol_sources;
	struct site_rules *rules; /* NULL: the default ones */
	struct symbols *symbols;
	struct view *view;
	struct filter filter;
	struct question_progress *progress; /* of the filter */
	enum value value;
	uint64_t at_ns;
	bool live; /* its end has not been seen: the numbers are as far as it goes */
	bool sampled;
	struct completeness completeness; /* what it does not hold: each answer begins with it */
};

/* Opens `stream`, which may end in @TIME: then what was in use at that moment is asked for. */
int question_open_named(struct command_call *call, const char *stream, enum value default_value,
			struct question *ret_question);
/* Opens the stream that the call names (`last` if it names none). EXIT_DONE, or another exit status
 * after saying why. */
int question_open(struct command_call *call, enum value default_value,
		  struct question *ret_question);
void question_close(struct question *question);
/* Opens, has `answer` print, closes. An exit status. */
int question_run(struct command_call *call, enum value default_value,
		 int (*answer)(struct question *question, const struct question_options *options));
/* Says what went wrong with a query and returns the exit status for it. */
int question_failed(const struct question *question, int error, const struct err_text *err);
/* "leaked" of an ended program, "in use" of one that goes on. */
const char *question_leaked_name(const struct question *question);
/* The same in a sentence: "never freed", "in use as of the last batch"...; `heading`: as its
 * beginning. */
const char *question_unfreed(const struct question *question, bool heading);
/* A short name for files: program and the id's first digits. */
void question_file_name(const struct question *question, const char *suffix, char *out,
			size_t size);
