/* Snapshots from the data base that collectors share. See snapshot_shared.h. */
#include "collector/cli/fleet/snapshot_shared.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/fleet/snapshot_answers.h"
#include "collector/cli/fleet/snapshot_diff.h"
#include "collector/clickhouse/client.h"
#include "collector/query/query.h"
#include "collector/share/shared_open.h"
#include "collector/share/shared_snapshots.h"

#include "base/ban.h"

DEFINE_CLEANUP(clickhouse_close, struct clickhouse *)

/* A snapshot, and what it had in use. */
struct shared_side {
	struct snapshot snapshot;
	struct shared_functions functions;
};

static void shared_side_done(struct shared_side *s)
{
	snapshot_done(&s->snapshot);
	shared_functions_done(&s->functions);
}

/* Wrappers that are found by their share need the recording. */
static int read_hide(const struct question_options *o, enum filter_hide *ret_hide,
		     struct err_text *err)
{
	struct filter filter;
	int r = 0;

	filter_init(&filter);
	filter.hide = HIDE_RULES;
	for (size_t i = 0; !r && i < o->filters.count; i++)
		r = filter_set(&filter, NULL, o->filters.list[i].name, o->filters.list[i].value,
			       err);
	*ret_hide = filter.hide;
	filter_done(&filter);
	if (r < 0)
		return err_prefix(err, r, "--hide");
	return *ret_hide != HIDE_AUTO ? 0
				      : err_set(err, -EINVAL,
						"--hide auto needs the recording: with --store it "
						"takes rules or none");
}

static int read_side(struct clickhouse *client, const char *name, enum filter_hide hide,
		     struct shared_side *ret, struct err_text *err)
{
	uint64_t owner = 0;
	int r = shared_snapshot_get(client, name, &ret->snapshot, &owner, err);

	return r ? r
		 : shared_snapshot_functions(client, &ret->snapshot, owner, hide, &ret->functions,
					     err);
}

int snapshot_shared_list(struct command_call *call, const char *url)
{
	const struct common_options *o = call->options;
	cleanup(cleanup_clickhouse_close) struct clickhouse *client = NULL;
	cleanup(shared_snapshots_done) struct shared_snapshots snapshots = {0};
	struct err_text err = {0};
	int r = shared_open(url, NULL, &client, &err);

	if (!r)
		r = shared_snapshots(client, &snapshots, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	return snapshot_list_answer(call->command, o, snapshots.list, snapshots.count);
}

/* All that sums know of a block in use. */
static void fill_groups(struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		struct group *g = &groups->list[i];

		g->allocated = g->leaked = g->value;
		g->min_size = g->max_size = g->first_ns = g->last_ns = UINT64_MAX;
	}
}

int snapshot_shared_show(struct command_call *call, const char *url)
{
	const struct question_options *o = call->options;
	cleanup(cleanup_clickhouse_close) struct clickhouse *client = NULL;
	cleanup(shared_side_done) struct shared_side side = {0};
	enum filter_hide hide = HIDE_RULES;
	struct err_text err = {0};
	int r = read_hide(o, &hide, &err);

	if (!r)
		r = shared_open(url, NULL, &client, &err);
	if (!r)
		r = read_side(client, call->arguments[1], hide, &side, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	fill_groups(&side.functions.groups);
	return snapshot_show_answer(call->command, &o->common, o->count, &side.snapshot,
				    &side.functions.groups, NULL);
}

int snapshot_shared_diff(struct command_call *call, const char *url)
{
	const struct question_options *o = call->options;
	cleanup(cleanup_clickhouse_close) struct clickhouse *client = NULL;
	cleanup(shared_side_done) struct shared_side base = {0}, now = {0};
	cleanup(diff_done) struct diff diff = {0};
	enum filter_hide hide = HIDE_RULES;
	struct err_text err = {0};
	int r = read_hide(o, &hide, &err);

	if (!r)
		r = shared_open(url, NULL, &client, &err);
	if (!r)
		r = read_side(client, call->arguments[1], hide, &base, &err);
	if (!r)
		r = read_side(client, call->arguments[2], hide, &now, &err);
	if (!r)
		r = query_diff_functions(&base.functions.groups, &now.functions.groups, &diff);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	return snapshot_diff_show(call, &base.snapshot, &now.snapshot, &diff, o->count,
				  o->common.json);
}
