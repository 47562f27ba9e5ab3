#pragma once
/* --fail-if of report, top, leaks and diff: a condition in SQL (collector/sql/condition.c) over the
 * totals of the allocations that match the filters. */
#include "collector/cli/ask/question.h"
#include "collector/sql/sql.h"

#define OPTION_FAIL_IF                                                                             \
	OPTION_TEXT(struct question_options, fail_if, "fail-if", "CONDITION",                      \
		    "exit status 1 if it is true: 'leaked_bytes > 1M or peak_bytes > 2G'; any "    \
		    "expression of SQL; an unknown name lists all there are")

#define FAIL_IF_MAX 40
/* Lists the names that a condition can use, with their values; ends with {0}. All values are 0 if
 * `result`, the result of the question, is NULL. */
typedef void fail_if_filler(struct sql_named values[FAIL_IF_MAX], const void *result);

/* Checks the condition before anything is opened. `fill` NULL: the names are those of the totals.
 * Returns EXIT_DONE, or EXIT_USAGE after an error message. */
int fail_if_check(const struct command_call *call, fail_if_filler *fill);
/* Evaluates the condition for the answer to `q`. Returns EXIT_NO after a message if it is true,
 * else `status`. */
int fail_if_answer(struct question *q, fail_if_filler *fill, int status);
/* Checks a condition before the values are known. Returns EXIT_DONE, or EXIT_USAGE after an error
 * message. */
int fail_if_known(const struct command *command, const char *condition,
		  const struct sql_named *values);
/* Evaluates a condition over these values, and says what it compared. Returns EXIT_NO if it is
 * true, EXIT_DONE if not, or EXIT_USAGE after an error message. */
int fail_if_judge(const struct command *command, const char *condition,
		  const struct sql_named *values);
