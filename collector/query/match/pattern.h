#pragma once
/*
 * A regular expression from outside (PCRE2, compiled by its JIT where there is one), with limits: a
 * pattern of at most 4096 bytes, and a bounded number of steps for each text.
 */
#include <stdbool.h>

struct err_text;
struct pattern;

/* `name` is the parameter that the sentence names. -EINVAL: not an expression. */
int pattern_new(const char *name, const char *text, struct pattern **ret_pattern,
		struct err_text *err);
void pattern_free(struct pattern *pattern);
/* 1: matches somewhere in `subject`; 0: does not; -EINVAL: the expression needs too many steps on
 * it. */
int pattern_match(struct pattern *pattern, const char *subject, struct err_text *err);
