#pragma once
/*
 * Describes how a command answers a question about a recording. question_run opens the recording,
 * calls `ask`, and prints the result: as text with `print`, or with --json from the rows of
 * `answer`. With --output, `print` writes the file. Finally it evaluates --fail-if, and frees the
 * result.
 *
 *   options -> check -> open -> ask -> print, or rows of `answer` -> --fail-if -> done
 *
 * A step that is NULL is skipped. `check` and `print` return an exit status.
 */
#include <stddef.h>

#include "collector/answers/answer.h"
#include "collector/cli/ask/fail_if.h"
#include "collector/cli/ask/question.h"

struct question_kind {
	/* What is counted without --value. With --base, the default is what was leaked. */
	enum value value;
	bool tells_value, tells_notes; /* JSON says what is counted, and which names are missing */
	bool tells_hidden;	       /* JSON says what call sites leave out */
	unsigned frames;	       /* number of backtrace frames shown under each row */
	size_t result_bytes;
	/* Checks the options before anything is opened. */
	int (*check)(const struct command_call *call);
	/* Fills question->result. Returns 0, a negative errno, or an exit status after an error
	 * message. */
	int (*ask)(struct question *question, struct err_text *err);
	int (*print)(struct question *question);
	const struct answer *answer; /* describes the result; NULL: no JSON */
	void (*done)(void *result);
	fail_if_filler *values; /* fills the values of --fail-if; NULL: totals */
};
/* For a command that answers this kind of question. */
#define ASKS(kind)                                                                                 \
	.options_size = sizeof(struct question_options), .arguments_max = 1, .question = &(kind),  \
	.run = question_run
/* For a kind whose result is an `of`. The next arguments are its ask, print, answer and done. */
#define ASKED(of, asks, prints, rows, ends)                                                        \
	.result_bytes = sizeof(of), .ask = asks, .print = prints, .answer = rows, .done = ends

/* Begins the JSON of an answer: what the recording lacks, if anything, and the recorded process. */
void question_json_begin(struct json *json, struct buf *out, const struct question *question);
/* Opens the streams that the call names, and prints the answer. Returns an exit status. */
int question_run(struct command_call *call);
/* Does the same for another kind than the command's own. */
int question_run_as(struct command_call *call, const struct question_kind *kind);
