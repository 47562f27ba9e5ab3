#pragma once
/* `collector analyze`: its options, and what its files share. */
#include "collector/analyze/report.h"
#include "collector/cli/ask/question.h"

struct analyze_options {
	struct question_options question; /* the first member, so that its tables can be shared */
	const char *rules, *search, *drill, *html;
	uint64_t top;
	/* For --format memtracer: */
	bool memtracer, stack_traces;
	uint64_t minimum_size, minimum_count;
};

/* The parts of an answer, in the order in which they are made. */
struct analyze {
	const struct command *command;
	const struct analyze_options *options;
	const char *source; /* as the user named it */
	const char *suited; /* name of the rules that suit the program; NULL: not known */
	struct rules *rules;
	struct analysis *analysis;
	struct analysis_result result;
	struct analysis_report report;
	char note[512];
};

/* Reads the rules, and makes an analysis that waits for stacks. Returns an exit status. */
int analyze_begin(struct analyze *analyze, bool recorded);
/* Finishes the analysis and shows it in the requested form. `question` is NULL for a file. Returns
 * an exit status. */
int analyze_show(struct analyze *analyze, const struct question *question);
void analyze_done(struct analyze *analyze);

/* analyze_file.c: tells whether this is a file of collapsed stacks ("-": standard input) rather
 * than a recording. */
bool analyze_is_file(const char *path);
int analyze_file(struct command_call *call);
/* analyze_stream.c, memtracer.c: the questions about a recording. */
extern const struct question_kind analyze_question, memtracer_question;
/* analyze_find.c: lists the files that can be analysed, in this folder and below. Returns
 * EXIT_DONE, or EXIT_NO if there are none. */
int analyze_find(struct command_call *call);
bool analyze_is_collapsed_name(const char *name);
/* JSON answers of --format memtracer, and of a call without a file. */
extern const struct answer memtracer_answer, candidates_answer;
/* analyze_text.c */
void analyze_text(const struct analysis_report *report);
