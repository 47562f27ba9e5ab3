#pragma once
/* Conditions over named numbers, e.g. "leaked_bytes > 1M and peak_bytes < 2G" (--fail-if). gate.c
 * has the grammar. */
#include <stdbool.h>

struct err_text;

struct gate_value {
	const char *name; /* NULL ends a table */
	double value;	  /* bytes, blocks, seconds or percent */
};

/* Evaluates the condition. Returns -EINVAL if the text is invalid; the error text then names the
 * position and, for an unknown name, lists all known names. To check a condition before the numbers
 * are known, pass zeros. */
int gate_evaluate(const char *text, const struct gate_value *values, bool *ret_true,
		  struct err_text *err);
