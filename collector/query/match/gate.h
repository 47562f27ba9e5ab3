#pragma once
/* Conditions such as "leaked_bytes > 1M and peak_bytes < 2G" over named numbers (--fail-if). The
 * grammar is in gate.c. */
#include <stdbool.h>

struct err_text;

struct gate_value {
	const char *name; /* NULL ends a table */
	double value;	  /* bytes, blocks, seconds or percent */
};

/* Whether the condition is true. -EINVAL: the sentence names the position of what was not
 * understood, and for an unknown name all that there are. To check a condition before there are
 * numbers, give zeros. */
int gate_evaluate(const char *text, const struct gate_value *values, bool *ret_true,
		  struct err_text *err);
