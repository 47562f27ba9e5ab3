#pragma once
/*
 * A regular expression from outside (PCRE2, compiled by its JIT if available), with limits: a
 * pattern has at most 4096 bytes, and the number of steps per text is bounded.
 */
#include <stdbool.h>

struct err_text;
struct pattern;

/* `name` is the parameter named in the error text. Returns -EINVAL if the text is no valid
 * expression. */
int pattern_new(const char *name, const char *text, struct pattern **ret_pattern,
		struct err_text *err);
void pattern_free(struct pattern *pattern);
/* Returns 1 if `subject` matches anywhere, 0 if not, and -EINVAL if the expression needs too many
 * steps. */
int pattern_match(struct pattern *pattern, const char *subject, struct err_text *err);
