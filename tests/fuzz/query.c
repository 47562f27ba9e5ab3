/*
 * The query string of a request, as it comes from a browser or a stranger: parsed into parameters,
 * each of them tried as a filter, the filter asked several questions of a small recording, where
 * whatever it says must end with an answer or a sentence.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/http/server/request.h"
#include "collector/query/query.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/query/recording.h"

#define LENGTH_MAX 4096
#define EVENTS	   200

static struct test_recording *recording(void)
{
	static struct test_recording t;

	if (!t.view)
		test_random_recording(&t, 7, EVENTS, false);
	return &t;
}

/* As the server does: the path, then what stands between "&". */
static int read_request(struct request *request, char *text)
{
	char *query = strchr(text, '?'), *rest = NULL;
	int r;

	if (query)
		*query++ = 0;
	r = asked_init(request, text);
	if (r < 0)
		return r;
	for (char *part = query ? strtok_r(query, "&", &rest) : NULL; !r && part;
	     part = strtok_r(NULL, "&", &rest))
		r = asked_add(request, part);
	return r;
}

static void ask(struct view *view, const struct filter *filter, const struct series_filters *series,
		uint64_t at_ns)
{
	const struct series_question bands = {.filters = series->count ? series : NULL,
					      .grouping = (enum grouping)(at_ns % 4),
					      .most = 3};
	struct series_list list;
	struct err_text err = {0};
	struct groups groups = {0};
	struct tree tree = {0};
	struct timeline timeline = {0};
	struct query_page *page;
	uint64_t rows[16], total;

	if (query_groups(view, filter, GROUP_BY_SITE, VALUE_IN_USE, at_ns, &groups, &err) == 0)
		groups_done(&groups);
	if (query_tree(view, filter, VALUE_ALLOCATED, at_ns, &tree, &err) == 0)
		tree_done(&tree);
	if (query_timeline(view, filter,
			   &(struct timeline_question){.from_ns = filter->from_ns,
						       .to_ns = filter->to_ns,
						       .buckets = 8},
			   &timeline, &err) == 0)
		timeline_done(&timeline);
	if (query_series(view, filter, &(struct timeline_question){.to_ns = NO_TIME, .buckets = 5},
			 &bands, &timeline, &list, &err) == 0) {
		timeline_done(&timeline);
		series_done(&list);
	}
	if (query_page_new(view, filter, PAGE_BY_ADDRESS, at_ns & 1, &page, &err) == 0) {
		if (query_page_total(page, &total, &err) == 0)
			query_page_next(page, rows, 16, &err);
		query_page_free(page);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct test_recording *t = recording();
	char text[LENGTH_MAX + 1];
	struct request request;
	struct series_filters series = {.count = 0};
	struct filter filter;
	struct err_text err = {0};
	uint64_t at_ns = 0;
	int r;

	if (size > LENGTH_MAX)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	r = read_request(&request, text);
	filter_init(&filter);
	for (size_t i = 0; !r && i < request.parameter_count; i++) {
		const struct parameter *p = &request.parameters[i];

		if (!strcmp(p->name, "at"))
			query_time(t->view, p->name, p->value, &at_ns, &err);
		else if (!strcmp(p->name, "series"))
			series_filters_add(&series, t->view, p->value, &err);
		else
			filter_set(&filter, t->view, p->name, p->value, &err);
	}
	if (!r)
		ask(t->view, &filter, &series, at_ns);
	series_filters_done(&series);
	filter_done(&filter);
	asked_done(&request);
	return 0;
}
