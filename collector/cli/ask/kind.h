#pragma once
/*
 * How a command answers a question about a recording: it asks, and the answer is printed as a text,
 * or with --json the rows of it (unless --output asks for a picture). A step that is NULL has
 * nothing to do; `check` and `print` return an exit status. A command has its kind and runs
 * question_run (ASKS).
 */
#include <stddef.h>

#include "collector/answers/answer.h"
#include "collector/cli/ask/fail_if.h"
#include "collector/cli/ask/question.h"

struct question_kind {
	enum value
		value; /* what is counted if nobody says; compared with a base: what was leaked */
	bool tells_value, tells_notes; /* in JSON: that, and which names are missing */
	unsigned frames;	       /* of the backtrace under each row */
	size_t result_bytes;
	/* Checks the options before anything is opened. */
	int (*check)(const struct command_call *call);
	/* Leaves what there is to say in the result. Returns 0, a negative errno, or an exit status
	 * after saying why not. */
	int (*ask)(struct question *question, struct err_text *err);
	int (*print)(struct question *question);
	const struct answer *answer; /* of the result; NULL: not JSON */
	void (*done)(void *result);
	fail_if_filler *values; /* NULL: totals */
};
#define ASKS(kind)                                                                                 \
	.options_size = sizeof(struct question_options), .arguments_max = 1, .question = &(kind),  \
	.run = question_run
#define ASKED(of, asks, prints, rows, ends)                                                        \
	.result_bytes = sizeof(of), .ask = asks, .print = prints, .answer = rows, .done = ends

/* Begins the JSON of an answer: what the recording lacks, if anything, and who was recorded. */
void question_json_begin(struct json *json, struct buf *out, const struct question *question);
/* Opens the streams that the call names, answers and prints. Returns an exit status. */
int question_run(struct command_call *call);
/* The same for another kind than the command's own. */
int question_run_as(struct command_call *call, const struct question_kind *kind);
