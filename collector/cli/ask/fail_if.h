#pragma once
/* --fail-if of report, top, leaks and diff: a condition over the totals of what the filters match,
 * in SQL (collector/sql/condition.c). */
#include "collector/cli/ask/question.h"
#include "collector/sql/sql.h"

#define OPTION_FAIL_IF                                                                             \
	OPTION_TEXT(struct question_options, fail_if, "fail-if", "CONDITION",                      \
		    "exit status 1 if it is true: 'leaked_bytes > 1M or peak_bytes > 2G'; any "    \
		    "expression of SQL; an unknown name lists all there are")

#define FAIL_IF_MAX 40
/* Lists the names that a condition can use, and their values; ends with {0}. If the result of the
 * question is NULL, all values are 0. */
typedef void fail_if_filler(struct sql_named values[FAIL_IF_MAX], const void *result);

/* Checks the condition before anything is opened. `fill` NULL: of totals. Returns EXIT_DONE, or
 * EXIT_USAGE after saying what is wrong with it. */
int fail_if_check(const struct command_call *call, fail_if_filler *fill);
/* Returns `status`; or EXIT_NO, after a message, if the condition is true of the answer to `q`. */
int fail_if_answer(struct question *q, fail_if_filler *fill, int status);
