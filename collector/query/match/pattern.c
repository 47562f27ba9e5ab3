/* Regular expressions with limits. See pattern.h. */
#include "collector/query/match/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#include "base/ban.h"

#define PATTERN_MAX 4096
#define STEPS_MAX   1000000
#define DEPTH_MAX   10000
#define HEAP_KIB    16384

struct pattern {
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *match;
	char name[40];
};

void pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_match_data_free(pattern->match);
	pcre2_match_context_free(pattern->limits);
	pcre2_code_free(pattern->code);
	free(pattern);
}

static int compile(struct pattern *pattern, const char *text, struct err_text *err)
{
	int code = 0;
	PCRE2_SIZE offset = 0;
	char reason[128] = "";

	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
				      PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
	if (pattern->code)
		return 0;
	pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof(reason));
	return err_set(err, -EINVAL,
		       "%s takes a regular expression; at character %zu of this one: %s",
		       pattern->name, (size_t)offset + 1, reason);
}

int pattern_new(const char *name, const char *text, struct pattern **ret_pattern,
		struct err_text *err)
{
	struct pattern *pattern;
	int r;

	if (strlen(text) > PATTERN_MAX)
		return err_set(err, -EINVAL, "%s takes a regular expression of at most %d bytes",
			       name, PATTERN_MAX);
	pattern = calloc(1, sizeof(*pattern));
	if (!pattern)
		return err_set(err, -ENOMEM, "out of memory");
	strncpy(pattern->name, name, sizeof(pattern->name) - 1);
	r = compile(pattern, text, err);
	if (r < 0) {
		pattern_free(pattern);
		return r;
	}
	/* Errors are ignored: without a JIT, PCRE2 interprets the expression, with the same
	 * results. */
	pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
	pattern->limits = pcre2_match_context_create(NULL);
	pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
	if (!pattern->limits || !pattern->match) {
		pattern_free(pattern);
		return err_set(err, -ENOMEM, "out of memory");
	}
	pcre2_set_match_limit(pattern->limits, STEPS_MAX);
	pcre2_set_depth_limit(pattern->limits, DEPTH_MAX);
	pcre2_set_heap_limit(pattern->limits, HEAP_KIB);
	*ret_pattern = pattern;
	return 0;
}

int pattern_match(struct pattern *pattern, const char *subject, struct err_text *err)
{
	int r = pcre2_match(pattern->code, (PCRE2_SPTR)subject, strlen(subject), 0, 0,
			    pattern->match, pattern->limits);

	if (r >= 0)
		return 1;
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	return err_set(
		err, -EINVAL,
		"%s takes a simpler regular expression: this one needs too many steps on \"%.80s\"",
		pattern->name, subject);
}
