#pragma once
/*
 * How a command answers a question about a recording. question_run opens the recording, calls
 * `ask`, and prints the result: as text with `print`, or with --json from the rows of `answer`.
 * With --output, `print` writes the file. Last it judges --fail-if and frees the result.
 *
 *   options -> check -> open -> ask -> print, or rows of `answer` -> --fail-if -> done
 *
 * A step that is NULL has nothing to do. `check` and `print` return an exit status.
 */
#include <stddef.h>

#include "collector/answers/answer.h"
#include "collector/cli/ask/fail_if.h"
#include "collector/cli/ask/question.h"

struct question_kind {
	/* What is counted without --value. With --base it is what was leaked. */
	enum value value;
	bool tells_value, tells_notes; /* in JSON: what is counted, and which names are missing */
	bool tells_hidden;	       /* in JSON: what call sites leave out */
	unsigned frames;	       /* of the backtrace under each row */
	size_t result_bytes;
	/* Checks the options before anything is opened. */
	int (*check)(const struct command_call *call);
	/* Fills question->result. Returns 0, a negative errno, or an exit status after saying why
	 * not. */
	int (*ask)(struct question *question, struct err_text *err);
	int (*print)(struct question *question);
	const struct answer *answer; /* of the result; NULL: not JSON */
	void (*done)(void *result);
	fail_if_filler *values; /* NULL: totals */
};
/* Of a command: it answers this kind of question. */
#define ASKS(kind)                                                                                 \
	.options_size = sizeof(struct question_options), .arguments_max = 1, .question = &(kind),  \
	.run = question_run
/* Of a kind: its result is an `of`; then ask, print, answer and done. */
#define ASKED(of, asks, prints, rows, ends)                                                        \
	.result_bytes = sizeof(of), .ask = asks, .print = prints, .answer = rows, .done = ends

/* Begins the JSON of an answer: what the recording lacks, if anything, and who was recorded. */
void question_json_begin(struct json *json, struct buf *out, const struct question *question);
/* Opens the streams that the call names, answers and prints. Returns an exit status. */
int question_run(struct command_call *call);
/* The same for another kind than the command's own. */
int question_run_as(struct command_call *call, const struct question_kind *kind);
