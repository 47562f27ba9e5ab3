#pragma once
/* --fail-if of report, top and leaks: a condition over the totals of what the filters match, in SQL
 * (collector/sql/condition.c). */
#include "collector/cli/ask/question.h"
#include "collector/sql/sql.h"

#define OPTION_FAIL_IF                                                                             \
	OPTION_TEXT(struct question_options, fail_if, "fail-if", "CONDITION",                      \
		    "exit status 1 if it is true: 'leaked_bytes > 1M or peak_bytes > 2G'; any "    \
		    "expression of SQL; an unknown name lists all there are")

/* Checks the condition before anything is opened. Returns EXIT_DONE, or EXIT_USAGE after saying
 * what is wrong with it. NULL is fine. */
int fail_if_check(const struct command_call *call, const char *condition);
/* Returns `status`, or EXIT_NO with a message if the condition is true of what `q` asks about. */
int fail_if_answer(struct question *q, const char *condition, int status);
/* The same for values of the caller: a table that ends with {0}. To check a condition, zeros do. */
int fail_if_check_values(const struct command *command, const char *condition,
			 const struct sql_named *values);
int fail_if_values(const struct command *command, const char *condition,
		   const struct sql_named *values, int status);
