/* Named filters for bands: "NAME:FILTER=VALUE&FILTER=VALUE...". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/query.h"

#include "base/ban.h"

#define NAME_MAX_BYTES 100

/* Modifies `text` ("size_min=4K&lifetime=only_leaked"). */
static int read_filter(struct filter *filter, const struct view *view, const char *name, char *text,
		       struct err_text *err)
{
	for (char *rest = text, *one; (one = strsep(&rest, "&"));) {
		char *value = strchr(one, '=');
		int r;

		if (!*one)
			continue;
		if (!value)
			return err_set(err, -EINVAL, "series %.60s: \"%.60s\" is no FILTER=VALUE",
				       name, one);
		*value++ = 0;
		r = filter_set(filter, view, one, value, err);
		if (r == -ENOENT)
			return err_set(err, -EINVAL, "series %.60s: no filter is called \"%.60s\"",
				       name, one);
		if (r < 0)
			return r == -EINVAL ? err_prefix(err, r, "series") : r;
	}
	return 0;
}

int series_filters_add(struct series_filters *filters, const struct view *view, const char *text,
		       struct err_text *err)
{
	struct series_filter *added = &filters->list[filters->count];
	const char *colon = strchr(text, ':');
	cleanup(cleanup_free) char *filter = NULL;

	if (!colon || colon == text || colon - text > NAME_MAX_BYTES)
		return err_set(err, -EINVAL,
			       "series takes NAME:FILTER=VALUE&FILTER=VALUE (big:size_min=1M), not "
			       "\"%.60s\"",
			       text);
	if (filters->count == SERIES_FILTERS_MAX)
		return err_set(err, -EINVAL, "there are more than %d series", SERIES_FILTERS_MAX);
	filter = strdup(colon + 1);
	added->name = strndup(text, (size_t)(colon - text));
	filter_init(&added->filter);
	filters->count++;
	if (!filter || !added->name)
		return err_set(err, -ENOMEM, "out of memory");
	return read_filter(&added->filter, view, added->name, filter, err);
}

int series_by(const char *text, const char *name, struct series_question *question,
	      const struct series_filters *filters, struct err_text *err)
{
	static const char *const words[] = {[GROUP_BY_BACKTRACE] = "backtrace",
					    [GROUP_BY_SITE] = "site",
					    [GROUP_BY_FUNCTION] = "function",
					    [GROUP_BY_MODULE] = "module"};

	question->filters = !strcmp(text, "custom") ? filters : NULL;
	if (question->filters)
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(text, words[i])) {
			question->grouping = (enum grouping)i;
			return 0;
		}
	}
	return err_set(err, -EINVAL,
		       "%s takes site, function, module, backtrace or custom, not \"%.60s\"", name,
		       text);
}

int series_settle(const char *by, struct series_question *question, struct series_filters *filters,
		  const struct view *view, struct err_text *err)
{
	int r = series_by(by ? by : "custom", "by", question, filters, err);

	if (!r && filters->count && !question->filters)
		r = err_set(err, -EINVAL, "series goes with by custom, not %.60s", by);
	if (r || filters->count || !question->filters)
		return r;
	r = series_filters_add(filters, view, "leaked:lifetime=only_leaked", err);
	return r ? r : series_filters_add(filters, view, "temporary:lifetime=only_temporary", err);
}

void series_filters_done(struct series_filters *filters)
{
	for (size_t i = 0; i < filters->count; i++) {
		free(filters->list[i].name);
		filter_done(&filters->list[i].filter);
	}
	filters->count = 0;
}
